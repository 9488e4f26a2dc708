"""What rules do on rows: what the training says of itself, and the definition written out row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import support
from learners.reasons.support import rows_of_rule, supports
from learners.rules import rules_of
from learners.rules.classifier import RuleSetClassifier
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.reasons.models import CLASSES, random_model
from tests.learners.tables import read
from tests.learners.trees.random_trees import random_rows


def test_on_its_training_rows_a_tree_has_its_own_figures():
    X, y = read("weather-nominal", "play")
    values = X.values.copy(order="F")
    values[0, 0] = values[5, 2] = np.nan
    X = Table(X.columns, values)
    weights = np.arange(14.0)
    model = DecisionTreeClassifier(nominal="multiway", criterion="entropy").fit(X, y, weights)
    rules = rules_of(model)
    for rule, found in zip(rules.rules, supports(model, rules, X, y.cells, weights), strict=True):
        assert found.rows == rule.rows
        assert found.weight == pytest.approx(rule.weight)
        assert found.counts == pytest.approx(model.tree_.value[rule.leaf].tolist() if found.weight else [0, 0])
        if found.weight:
            assert found.confidence == pytest.approx(rule.confidence)


def test_on_its_training_rows_a_regression_has_its_own_figures():
    X, y = np.arange(12.0)[:, None], np.arange(12.0) ** 2
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    rules = rules_of(model)
    for rule, found in zip(rules.rules, supports(model, rules, Table.from_array(X), y), strict=True):
        assert (found.rows, found.weight) == (rule.rows, rule.weight)
        assert found.mean == pytest.approx(rule.answer)
        assert found.deviation == pytest.approx(rule.deviation)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_on_other_rows_each_rule_has_its_shares(seed, follow_missing):
    model, rng = random_model(seed, follow_missing=follow_missing)
    rules = rules_of(model)
    table = random_rows(rng, 40, 0.3)
    actual = rng.integers(-1, 3, 40).astype(float)  # -1: not known
    weights = rng.integers(0, 3, 40).astype(float)
    matches = rules.matches(table)
    found = supports(model, rules, table, actual, weights)
    for place, (rule, one) in enumerate(zip(rules.rules, found, strict=True)):
        shares = matches[:, place] * weights
        assert one.rows == np.count_nonzero(shares)
        assert one.weight == pytest.approx(shares.sum())
        counts = [shares[actual == code].sum() for code in range(3)]
        assert one.counts == pytest.approx(counts)
        if sum(counts) > 0:
            assert one.confidence == pytest.approx(counts[int(CLASSES.encode(rule.answer))] / sum(counts))
        else:
            assert one.confidence is None
        numbers, own = rows_of_rule(model, rules, place, table)
        assert numbers.tolist() == np.flatnonzero(matches[:, place]).tolist()
        assert own == pytest.approx(matches[numbers, place])


def test_every_row_of_an_ordered_set_has_one_rule(monkeypatch):
    X, y = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(X, y)
    rules = rules_of(model)
    expected = rules.matches(X)
    monkeypatch.setattr("learners.reasons.support._ROWS_AT_ONCE", 4)
    found = supports(model, rules, X, y.cells)
    assert [one.rows for one in found] == expected.sum(axis=0).tolist()
    assert sum(one.rows for one in found) == 14
    for place in range(len(rules.rules)):
        assert rows_of_rule(model, rules, place, X)[0].tolist() == np.flatnonzero(expected[:, place]).tolist()


def test_no_rows_support_nothing():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], Series(CLASSES, np.array([0.0, 1.0])))
    nothing = Table.from_array(np.zeros((0, 1)))
    rules = rules_of(model)
    assert [one.rows for one in supports(model, rules, nothing, np.zeros(0))] == [0, 0]
    assert rows_of_rule(model, rules, 0, nothing)[0].tolist() == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
def test_figures_do_not_depend_on_how_many_rows_are_looked_at_together(seed, rows, shares):
    model, rng = random_model(seed)
    rules, table, actual = rules_of(model), random_rows(rng, 40, 0.3), rng.integers(-1, 3, 40).astype(float)
    weights = rng.random(40)
    whole = supports(model, rules, table, actual, weights), rows_of_rule(model, rules, 0, table)
    paused = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(support, "_ROWS_AT_ONCE", rows)
        patched.setattr(support, "_SHARES_AT_ONCE", shares)
        assert supports(model, rules, table, actual, weights, lambda *told: paused.append(told)) == whole[0]
        for one, other in zip(rows_of_rule(model, rules, 0, table), whole[1], strict=True):
            assert one.tolist() == other.tolist()
    assert paused == sorted(set(paused))
    assert all(0 <= done < count == 40 for done, count in paused)


def test_rows_of_gaps_take_no_more_memory_than_some_shares():
    """A share of each of 2,000 leaves for each of 20,000 rows would be 960 MB."""
    rng = np.random.default_rng(0)
    model = DecisionTreeClassifier(max_leaves=2000).fit(rng.normal(size=(8000, 4)), rng.integers(0, 2, 8000))
    table = Table(model.columns_, np.full((20_000, 4), np.nan))
    most = [len(part.rows) for _, part in zip(range(3), support.covered(model, rules_of(model), table), strict=False)]
    assert max(most) <= support._SHARES_AT_ONCE
