"""Columns with few values have codes: the same trees as by sorted keys, whatever the number of levels and rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners._accel import interpreted
from learners.table import MISSING, UNSEEN, Column, Kind, Table
from learners.trees import coding
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.coding import first_seen, rank_codes, table_size
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.trees.trees import same_tree


def coded(cells, most, is_level=False, label_bits=0, labels=None):
    cells = np.asarray(cells, dtype=float)
    out = np.zeros(len(cells), np.int32)
    labels = np.zeros(len(cells), np.int32) if labels is None else np.asarray(labels, np.int32)
    values, table = np.empty(most), np.empty(interpreted(table_size)(most), np.int32)
    count = interpreted(first_seen)(cells, cells.view(np.uint64), table, values, out, is_level)
    return None if count < 0 else rank_codes(values, count, label_bits, labels, out), out.tolist()


def test_codes_are_ranks_beside_the_class():
    values, codes = coded([5.0, -2.5, 5.0, 0.0], 3, label_bits=1, labels=[1, 0, 0, 1])
    assert values.tolist() == [-2.5, 0, 5]
    assert codes == [2 << 1 | 1, 0, 2 << 1, 1 << 1 | 1]


def test_a_missing_cell_has_the_code_after_the_last_and_so_has_an_unseen_level():
    values, codes = coded([1.0, MISSING, 0.0, UNSEEN], 5, is_level=True)
    assert values.tolist() == [0, 1]
    assert codes == [1, 2, 0, 2]
    assert coded([MISSING, MISSING], 2)[0].tolist() == []


def test_more_values_than_asked_for_have_no_codes():
    assert coded([1.0, 2, 3], 2)[0] is None
    assert coded([1.0, 2, 3], 3)[0].tolist() == [1, 2, 3]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False).map(lambda x: x + 0.0) | st.just(np.nan), min_size=1, max_size=60))
def test_codes_tell_just_the_different_values_apart(cells):
    values, codes = coded(cells, len(cells))
    known = [cell for cell in cells if not np.isnan(cell)]
    assert values.tolist() == sorted(set(known))
    assert all(
        code == (len(values) if np.isnan(cell) else values.tolist().index(cell))
        for cell, code in zip(cells, codes, strict=True)
    )


PARAMS = [
    {},
    {"criterion": "entropy"},
    {"criterion": "gain-ratio", "min_leaf": 3},
    {"criterion": "entropy", "threshold_penalty": True},
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_is_that_of_sorted_keys(monkeypatch, classes, params, weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, size, 900) * 0.3 - 1 for size in (2, 5, 40, 200)])
    y = (X @ [1, 0.4, 0.2, 0.02] + rng.normal(size=900) > np.arange(classes - 1)[:, None]).sum(axis=0)
    weight = rng.integers(1, 4, 900).astype(float) if weighted else None
    by_codes = DecisionTreeClassifier(**params).fit(X, y, weight)
    monkeypatch.setattr(coding, "MOST_VALUES", 0)
    assert same_tree(by_codes, DecisionTreeClassifier(**params).fit(X, y, weight))


def test_regression_is_that_of_sorted_keys_up_to_rounding(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 30, (600, 3)).astype(float)
    y = X @ [1, -2, 0.5] + rng.normal(size=600)
    by_codes = DecisionTreeRegressor(min_leaf=4).fit(X, y)
    monkeypatch.setattr(coding, "MOST_VALUES", 0)
    by_keys = DecisionTreeRegressor(min_leaf=4).fit(X, y)
    assert np.array_equal(by_codes.tree_.threshold, by_keys.tree_.threshold, equal_nan=True)
    assert np.allclose(by_codes.tree_.value, by_keys.tree_.value, rtol=1e-12)


def test_ten_thousand_levels():
    """Each level is one class but for a few rows; a subset test puts every level on its side."""
    rng = np.random.default_rng(2)
    levels = 10_000
    codes = rng.permutation(np.repeat(np.arange(levels), 3))
    y = codes % 2
    column = Column("c", Kind.NOMINAL, tuple(f"level {i}" for i in range(levels)))
    table = Table((column,), codes.astype(float).reshape(-1, 1))
    model = DecisionTreeClassifier().fit(table, y)
    assert model.n_leaves_ == 2
    assert model.score(table, y) == 1
    each = DecisionTreeClassifier(nominal="multiway").fit(table, y)
    assert each.n_leaves_ == levels
