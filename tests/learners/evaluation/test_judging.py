"""How rows are judged goes along with them where some are taken."""

from __future__ import annotations

import numpy as np
import pytest

from learners.evaluation import Judging, Plan, cross_validate
from learners.table import Column, Kind, Series, Table
from tests.learners.examples import Majority


def test_some_rows_are_judged_as_all_were_to_be():
    """Of each four rows one is an a; b is always decided, which is worth -7 of it and 3 of the others."""
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), (np.arange(40) % 4 > 0).astype(float))
    table = Table.from_array(np.zeros((40, 1)))
    judging = Judging(utility=np.array([[2.0, -5.0], [-7.0, 3.0]]), judge_training=True)
    taken = np.arange(8, 40)
    summary = cross_validate(
        Majority(), table.take(taken), target.take(taken), Plan(folds=4), judging=judging.taken(taken)
    ).summary
    worth = (-7 + 3 * 3) / 4  # in every fold, as they are stratified
    assert summary["metrics"]["mean_utility"]["values"] == pytest.approx([worth] * 4)
    assert summary["training"]["mean_utility"] == pytest.approx(worth)


def test_what_rows_have_of_their_own_is_taken_with_them():
    own = np.arange(5.0)
    judging = Judging(own + 10, Series(Column("g"), own + 20), Series(Column("t"), own + 30), rows=np.arange(40, 45))
    taken = judging.taken(np.array([4, 1])).taken(np.array([1, 0]))
    assert taken.weights.tolist() == [11, 14]
    assert (taken.groups.cells.tolist(), taken.times.cells.tolist()) == ([21, 24], [31, 34])
    assert taken.rows.tolist() == [41, 44]
    assert Judging().taken(np.array([4, 1])).rows.tolist() == [4, 1]
    assert taken.utility is None
    assert not taken.judge_training
