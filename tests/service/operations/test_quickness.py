"""Which rows are answered while others wait: by the steps that the answers take."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from learners.base import Learner
from learners.columns import Column, Kind
from learners.ensembles import AdaBoostClassifier, RandomForestClassifier
from learners.linear import LogisticClassifier
from learners.neighbors.classifier import NearestNeighborsClassifier
from learners.neural import NeuralNetworkClassifier
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from service.operations.quickness import QUICK_STEPS, row_steps
from service.operations.served import ServedModel
from tests.service.operations.serving_models import mixed_table, serve


def _numbers(n_rows: int = 200) -> tuple[Table, Series]:
    random = np.random.default_rng(0)
    values = np.asfortranarray(random.normal(size=(n_rows, 3)))
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), (values[:, 0] > 0).astype(float))
    return Table((Column("a"), Column("b"), Column("c")), values), target


def test_a_complete_row_goes_one_way_and_one_with_gaps_through_all_nodes() -> None:
    model = DecisionTreeClassifier().fit(*mixed_table())
    assert row_steps(model, complete=True) == model.tree_.greatest_depth + 1
    assert row_steps(model, complete=False) == model.tree_.n_nodes + 1


def test_a_tree_that_divides_no_gap_has_one_way_for_any_row() -> None:
    model = DecisionTreeClassifier(missing="most-likely").fit(*mixed_table())
    assert row_steps(model, complete=False) == row_steps(model, complete=True)


def test_a_forest_takes_the_steps_of_its_members() -> None:
    model = RandomForestClassifier(members=7, seed=1).fit(*mixed_table())
    bounds, depth = model.members_.bounds.tolist(), model.members_.nodes.depth
    longest = [depth[first:last].max() for first, last in pairwise(bounds)]
    assert row_steps(model, complete=True) == 1 + sum(longest)
    assert row_steps(model, complete=False) == 1 + bounds[-1]


def test_other_members_take_their_own_steps_and_a_call_each() -> None:
    table, target = _numbers()
    lines = AdaBoostClassifier(members=4, member={"learner": "logistic-classifier"}).fit(table, target)
    alone = [row_steps(member, complete=True) for member in lines.members_.learners]
    calls = row_steps(lines, complete=True) - 1 - sum(alone)
    assert calls >= 100 * len(alone)
    nearest = {"learner": "nearest-neighbors-classifier", "parameters": {"k": 9}}
    assert row_steps(AdaBoostClassifier(members=2, member=nearest).fit(table, target), complete=True) == math.inf


def test_terms_and_weights_are_counted() -> None:
    table, target = _numbers()
    assert row_steps(LogisticClassifier().fit(table, target), complete=True) == 1 + 3
    network = NeuralNetworkClassifier(hidden_units=(4,), epochs=2).fit(table, target)
    assert row_steps(network, complete=True) >= 1 + (3 + 1) * 4 + 4 + 1
    tree = ModelTreeRegressor().fit(table, Series(Column("y"), table.values[:, 0]))
    assert row_steps(tree, complete=True) == 1 + tree.tree_.greatest_depth + 3


def test_texts_may_take_any_time() -> None:
    columns = (Column("word", Kind.TEXT, ("one", "two", "three")),)
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.array([0.0, 1.0, 1.0]))
    model = NearestNeighborsClassifier(k=1).fit(Table(columns, np.asfortranarray([[0.0], [1.0], [2.0]])), target)
    assert row_steps(model, complete=True) == math.inf


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), RandomForestClassifier(members=9)])
def test_as_many_rows_are_quick_as_steps_allow(learner: Learner) -> None:
    model: ServedModel = serve(learner.fit(*mixed_table()))
    for complete in (True, False):
        most = int(QUICK_STEPS / row_steps(model.learner, complete=complete))
        assert model.answers_quickly(most, complete=complete)
        assert not model.answers_quickly(most + 1, complete=complete)
