import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.rules.access import rules_of
from learners.rules.atoms import Atom
from learners.rules.classifier import RuleSetClassifier
from learners.rules.from_tree import rules_of_nodes
from learners.rules.ordered import ordered_rules, rule_set
from learners.rules.simplify import simplified
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.rules.sql.test_statements import multiway
from tests.learners.rules.test_from_tree import TARGET, tree_and_rows
from tests.learners.tables import read
from tests.learners.trees.peers import chain


def texts(rules):
    return [(" and ".join(one.condition.text() for one in rule.conditions), rule.answer) for rule in rules.rules]


def on_and_beside_the_bounds(rules, rows):
    """The rows, and each with one cell on a bound of some condition, and one unit in the last place beside it."""
    found = [row.copy() for row in rows]
    rng = np.random.default_rng(0)
    for rule in rules.rules:
        for condition in rule.conditions:
            if not rules.columns[condition.feature].is_numeric:
                continue
            for bound in (condition.low, condition.high):
                for cell in (math.nextafter(bound, -math.inf), bound, math.nextafter(bound, math.inf)):
                    if math.isfinite(cell):
                        row = rows[rng.integers(len(rows))].copy()
                        row[condition.feature] = cell
                        found.append(row)
    return Table(rules.columns, np.asfortranarray(found))


def assert_same_decisions(rules, fewer, table):
    before, after = rules.predict_proba(table), fewer.predict_proba(table)
    np.testing.assert_array_equal(fewer.predict(table), rules.predict(table))
    np.testing.assert_allclose(after.sum(axis=1), 1, atol=1e-12)
    return before, after


def pure(nodes):
    """The same tree, whose leaves each hold the likeliest class alone: many neighbours say the same."""
    value = np.eye(nodes.value.shape[1])[nodes.value.argmax(axis=1)] * np.maximum(nodes.weight, 1)[:, None]
    return replace(nodes, value=value)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_rules_of_pure_leaves_keep_every_probability(seed):
    nodes, table = tree_and_rows(seed, 0.3, 0.2)
    rules = rules_of_nodes(pure(nodes), table.columns, TARGET)
    fewer = simplified(rules)
    assert len(fewer.rules) <= len(rules.rules)
    rows = on_and_beside_the_bounds(rules, table.values)
    before, after = rules.predict_proba(rows), fewer.predict_proba(rows)
    np.testing.assert_allclose(after, before, atol=1e-12)
    merged = [leaf for rule in fewer.rules for leaf in (rule.leaves or (rule.leaf,))]
    assert set(merged) <= {rule.leaf for rule in rules.rules}
    assert len(merged) == len(set(merged))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_any_tree_decides_as_before(seed):
    nodes, table = tree_and_rows(seed, 0.3, 0.2)
    rules = rules_of_nodes(nodes, table.columns, TARGET)
    assert_same_decisions(rules, simplified(rules), on_and_beside_the_bounds(rules, table.values))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_for_complete_rows_more_is_merged_and_decided_as_before(seed):
    nodes, table = tree_and_rows(seed, 0.0, 0.0)
    rules = rules_of_nodes(nodes, table.columns, TARGET)
    fewer = simplified(rules, complete_rows_only=True)
    assert len(fewer.rules) <= len(simplified(rules).rules)
    rows = on_and_beside_the_bounds(rules, table.values)
    whole = rules.matches(rows).max(axis=1) == 1  # a level that a node never saw divides a row too
    assert_same_decisions(rules, fewer, rows.take(np.flatnonzero(whole)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(["multiway", "subset", "one-vs-rest"]))
def test_an_ordered_set_decides_as_before(seed, nominal):
    _, table = tree_and_rows(seed, 0.15, 0.1)
    rng = np.random.default_rng(seed)
    target = Series(TARGET, rng.integers(0, 3, table.n_rows).astype(float))
    model = RuleSetClassifier(nominal=nominal, min_leaf=1, subset="all", postpruning="none").fit(table, target)
    rules = rules_of(model)
    fewer = rules_of(model, simplify=True)
    assert fewer.ordered
    rows = on_and_beside_the_bounds(rules, table.values)
    assert fewer.predict(rows).tolist() == rules.predict(rows).tolist() == model.predict(rows).tolist()
    assert fewer.rules[-1].conditions == ()
    assert [rule.id.split("-")[0] for rule in fewer.rules] == [str(rank) for rank in range(1, len(fewer.rules) + 1)]


@pytest.mark.parametrize(("between", "kept"), [("no", []), ("yes", ["x <= 1"])])
def test_a_rule_is_needless_only_if_no_other_answer_comes_before_the_wider_one(between, kept):
    """x <= 1: no; x <= 2: no or yes; x <= 3: no. At x = 1 the second answers if the first is gone."""
    codes = [TARGET.labels.index(label) for label in ("no", between, "no", "perhaps")]
    shares = np.eye(len(TARGET.labels))[codes]
    conditions = [[Atom(0, -math.inf, bound, None, False)] for bound in (1.0, 2.0, 3.0)]
    rules = rule_set(ordered_rules(conditions, shares, shares, [1, 1, 1, 1]), (Column("x"),), TARGET)
    fewer = simplified(rules)
    middle = [("x <= 2", "yes")] if between == "yes" else []
    assert texts(fewer) == [*((text, "no") for text in kept), *middle, ("x <= 3", "no"), ("", "perhaps")]
    said = fewer.predict(Table(rules.columns, np.array([[1.0], [2.0], [3.0], [4.0]])))
    assert said.tolist() == ["no", between, "no", "perhaps"]


def test_neighbouring_intervals_become_one():
    values = np.array([[2.0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 4, 0]])
    rules = rules_of_nodes(chain(4, values), [Column("x")], TARGET)
    fewer = simplified(rules)
    assert texts(fewer) == [("x <= 1", "no"), ("x > 1", "perhaps")]
    assert [rule.weight for rule in fewer.rules] == [5, 5]
    assert [rule.conditions[0].missing for rule in fewer.rules] == pytest.approx([0.5, 0.5])
    assert [rule.leaf for rule in fewer.rules] == [None, None]
    assert sorted(leaf for rule in fewer.rules for leaf in rule.leaves) == [rule.leaf for rule in rules.rules]


def test_sets_of_levels_become_one_and_a_test_that_says_nothing_goes():
    columns = (Column("c", Kind.NOMINAL, ("a", "b", "d")),)
    rules = rules_of_nodes(multiway(0, 3), columns, TARGET)
    same = replace(rules, rules=tuple(rule._replace(answer="no", distribution=(1.0, 0.0, 0.0)) for rule in rules.rules))
    assert texts(simplified(rules)) == texts(rules)
    (only,) = simplified(same).rules
    assert only.conditions == ()  # a missing or unseen level has shares 1/3 of each, so all of the whole
    two = replace(same, rules=(*same.rules[:2], rules.rules[2]))
    assert texts(simplified(two)) == [("c in {a, b}", "no"), ("c = d", "yes")]


def test_leaves_that_say_the_same_with_other_shares_stay_apart_where_rows_are_divided():
    values = np.array([[3.0, 1, 0], [2, 1, 0], [0, 0, 5]])
    rules = rules_of_nodes(chain(3, values), [Column("x")], TARGET)
    assert len(simplified(rules).rules) == 3
    fewer = simplified(rules, complete_rows_only=True)
    assert texts(fewer) == [("x <= 1", "no"), ("x > 1", "yes")]
    assert fewer.rules[0].distribution == pytest.approx((5 / 7, 2 / 7, 0))


def test_regression_merges_equal_means_with_equal_deviations():
    rules = rules_of_nodes(chain(3, np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 4.0]])), [Column("x")], Column("price"))
    assert [rule.weight for rule in simplified(rules).rules] == [
        rules.rules[0].weight + rules.rules[1].weight,
        rules.rules[2].weight,
    ]


@pytest.mark.parametrize(("name", "target"), [("vote", "Class"), ("car", "class"), ("mushroom", "class")])
def test_real_trees(name, target):
    table, labels = read(name, target)
    rules = rules_of(DecisionTreeClassifier(nominal="multiway").fit(table, labels))
    fewer = simplified(rules)
    assert len(fewer.rules) < len(rules.rules)
    np.testing.assert_allclose(fewer.predict_proba(table), rules.predict_proba(table), atol=1e-9)
    assert sum(rule.weight for rule in fewer.rules) == pytest.approx(sum(rule.weight for rule in rules.rules))
