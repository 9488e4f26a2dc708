"""Candidates that cannot be learned with: told with their reasons, passed over, and what remains is chosen among."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.base import no_progress
from learners.errors import Cancelled, DataError, ParameterError
from learners.evaluation import Judging, Plan
from learners.evaluation.choosing import Convergence, converged_after
from learners.evaluation.failing import AllFailed, Failure, told
from learners.evaluation.learning_curve import learning_curve
from learners.evaluation.search import grid_search, nested, select, size_search
from learners.neural import NeuralNetworkClassifier
from learners.params import integer, learner
from learners.table import Column, Kind, Series, Table
from tests.learners.examples import Majority

ROWS = 60


@learner
class Demanding(Majority):
    """A majority that learns only from more rows than a number that is given, if it is not cancelled."""

    name = "demanding"
    needed: int = integer(0, "Rows that are not enough.", minimum=0, is_size=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Demanding:
        if self.needed == 13:
            raise Cancelled("stop")
        if len(y) <= self.needed:
            raise DataError(f"{len(y)} rows are too few, {self.needed + 1} are needed", field="a")
        super().fit(X, y, sample_weight, progress=progress)
        return self


def rows() -> tuple[Table, Series]:
    generator = np.random.default_rng(4)
    codes = (generator.random(ROWS) < 0.4).astype(float)
    return Table.from_columns({"a": generator.random(ROWS)}), Series(Column("y", Kind.NOMINAL, ("n", "y")), codes)


def searcher(*needed: int, folds: int = 3) -> Any:
    return grid_search(Demanding(), {"smoothing": [0, 5], "needed": list(needed)}, Plan(folds=folds))


def test_a_candidate_that_fails_tells_why_and_is_not_chosen():
    found = select(Demanding(), searcher(45, 0), *rows()).search
    failed = [one.failed for one in found.candidates]
    assert failed == [Failure("40 rows are too few, 46 are needed", column="a"), None] * 2
    assert found.parameters["needed"] == 0
    assert [one.value("error") is None for one in found.candidates] == [True, False] * 2


def test_divergence_is_such_a_failure():
    network = NeuralNetworkClassifier(optimizer="sgd", rate=1, epochs=20, batch=None)
    found = select(network, grid_search(network, {"decay": [1000.0, 0.01]}, Plan(folds=2)), *rows()).search
    assert found.parameters == {"decay": 0.01}
    assert "diverged at epoch" in found.candidates[0].failed.detail
    assert found.candidates[0].failed.parameter == "decay"


def test_where_all_fail_each_reason_is_told_once():
    with pytest.raises(AllFailed) as caught:
        select(Demanding(), searcher(45, 50), *rows())
    assert str(caught.value).startswith("none of the 4 candidates can be learned with: with {")
    assert str(caught.value).count("40 rows are too few") == 2
    many = [({"k": k}, Failure(f"reason {k}")) for k in range(9)]
    assert told(many).endswith('with {"k": 4}: reason 4; and 4 other reasons')


def test_what_is_no_failure_of_a_candidate_goes_through():
    with pytest.raises(Cancelled):
        select(Demanding(), searcher(0, 13), *rows())
    with pytest.raises(ParameterError, match="no parameter 'x'"):
        select(Demanding(), grid_search(Demanding(), {"x": [1]}), *rows())
    with pytest.raises(ParameterError, match="folds"):
        select(Demanding(), searcher(0, folds=100), *rows())


def test_one_that_fails_on_all_rows_gives_way_to_the_next_best():
    class Fickle(Demanding):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Any:
            if len(y) == ROWS and self.smoothing == 0:
                raise ParameterError("not on all of them", field="smoothing")
            return super().fit(X, y, sample_weight, progress=progress)

    found = select(Fickle(), grid_search(Fickle(), {"smoothing": [0, 1, 2]}, Plan(folds=3)), *rows())
    assert found.search.chosen == 1
    assert found.search.candidates[0].failed == Failure("not on all of them", parameter="smoothing")
    assert found.search.candidates[0].summary["metrics"]["error"]["mean"] is not None
    assert found.model.get_params()["smoothing"] == 1


def test_an_outer_fold_in_which_all_fail_is_warned_of_and_all_of_them_end_the_evaluation():
    table, target = rows()
    # in time's order the outer folds learn from 15, 30 and 45 rows, and the first folds of their searches from a third
    times = Series(Column("t"), np.arange(float(ROWS)))
    judging = Judging(times=times)
    outer = nested(Demanding(), searcher(8, folds=2), table, target, Plan(folds=3), judging=judging)
    assert [one.fold for one in outer.results] == [2, 3]
    assert [text for text in outer.summary["warnings"] if text.startswith("outer fold 1 failed: none of the 2")]
    with pytest.raises(AllFailed, match=r"outer fold 1 failed.*outer fold 3 failed"):
        nested(Demanding(), searcher(50, folds=2), table, target, Plan(folds=3))


def test_sizes_that_fail_are_passed_over():
    assert converged_after([None, 1, None, 0.5, 0.5, None, 0.5], Convergence(2, 0.0)) == 7
    assert converged_after([None, None], Convergence(1, 0.0)) is None
    way = size_search(Demanding(), "needed", Plan(folds=3), most=50, convergence=Convergence(100, 0.0))
    with pytest.raises(Cancelled):
        select(Demanding(), way, *rows())
    way = size_search(Demanding(), "needed", Plan(folds=3), most=10, convergence=Convergence(2, 0.0))
    assert [one.failed for one in select(Demanding(), way, *rows()).search.candidates] == [None] * 3


def test_a_share_that_cannot_be_learned_from_says_why_in_place_of_metrics():
    points = learning_curve(Demanding(needed=10), *rows(), (0.2, 1.0), Plan(folds=3))
    assert points[0] == {
        "share": 0.2,
        "train_rows": 8,
        "failure": {"detail": "8 rows are too few, 11 are needed", "column": "a", "fold": 1},
    }
    assert points[1]["metrics"]["error"]["mean"] > 0
    with pytest.raises(AllFailed, match=r'none of the 2 shares can be learned from: with {"share": 0.2}: 8 rows'):
        learning_curve(Demanding(needed=10), *rows(), (0.2, 0.21), Plan(folds=3))
