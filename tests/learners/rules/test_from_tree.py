import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.conditions import Condition
from learners.rules.from_tree import rules_of_nodes
from learners.table import Column, Kind, Table
from learners.trees.nodes import LEAF, THRESHOLD
from tests.learners.trees.peers import chain
from tests.learners.trees.random_trees import COLUMNS, branch_of, random_rows, random_tree

TARGET = Column("answer", Kind.NOMINAL, ("no", "perhaps", "yes"))


def followed(nodes, row):
    """Leaf shares of one row by plain recursion over the nodes."""
    shares = {}

    def walk(node, share):
        if nodes.test[node] == LEAF:
            shares[node] = shares.get(node, 0) + share
            return
        codes, branches = nodes.levels_of(node)
        test = {
            "test": nodes.test[node],
            "threshold": nodes.threshold[node],
            "levels": dict(zip(codes.tolist(), branches.tolist(), strict=True)),
            "other": nodes.other_branch[node],
            "missing_branch": nodes.missing_branch[node],
        }
        feature = nodes.feature[node]
        branch = branch_of(test, row[feature], COLUMNS[feature].is_numeric)
        for index, child in enumerate(nodes.children(node)):
            if branch in (index, -1):
                walk(child, share * (1 if branch >= 0 else nodes.fraction[child]))

    walk(0, 1.0)
    return shares


def tree_and_rows(seed, missing, unseen):
    rng = np.random.default_rng(seed)
    training = random_rows(rng, 150, missing)
    codes = rng.integers(0, 3, 150)
    nodes = random_tree(rng, training, codes, np.ones(150), 3, depth=7, follow_missing=seed % 2 == 0)
    rows = random_rows(rng, 60, missing).values
    for index, column in enumerate(COLUMNS):
        if not column.is_numeric:
            rows[rng.random(60) < unseen, index] = -1
    return nodes, Table(COLUMNS, rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_every_complete_row_satisfies_the_rule_of_its_leaf_alone(seed):
    nodes, table = tree_and_rows(seed, 0.0, 0.0)
    rules = rules_of_nodes(nodes, COLUMNS, TARGET)
    matches = rules.matches(table)
    assert sorted(rule.leaf for rule in rules.rules) == nodes.leaves().tolist()
    for row, shares in zip(table.values, matches, strict=True):
        (leaf,) = followed(nodes, row)
        assert [rule.leaf for rule, share in zip(rules.rules, shares, strict=True) if share] == [leaf]
        assert shares.sum() == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_missing_and_unseen_values_share_the_row_as_the_tree_does(seed):
    nodes, table = tree_and_rows(seed, 0.3, 0.2)
    rules = rules_of_nodes(nodes, COLUMNS, TARGET)
    probabilities = rules.predict_proba(table)
    for index, (row, shares) in enumerate(zip(table.values, rules.matches(table), strict=True)):
        expected = followed(nodes, row)
        for rule, share in zip(rules.rules, shares, strict=True):
            assert share == pytest.approx(expected.get(rule.leaf, 0), abs=1e-12)
        mean = sum(share * nodes.value[leaf] / nodes.value[leaf].sum() for leaf, share in expected.items())
        np.testing.assert_allclose(probabilities[index], mean, atol=1e-12)
        assert probabilities[index].sum() == pytest.approx(1, abs=1e-12)


def test_one_condition_a_column():
    for seed in range(30):
        nodes, _ = tree_and_rows(seed, 0.1, 0)
        for rule in rules_of_nodes(nodes, COLUMNS, TARGET).rules:
            features = [condition.feature for condition in rule.conditions]
            assert len(set(features)) == len(features)
            for condition in rule.conditions:
                column = COLUMNS[condition.feature]
                assert condition.condition.column == column.name
                assert set(condition.condition.values) <= set(column.labels)


def test_deep_chain_merges_into_intervals():
    n_leaves = 4000
    nodes = chain(n_leaves, np.eye(3)[np.arange(n_leaves) % 3])
    rules = rules_of_nodes(nodes, [Column("x")], TARGET).rules
    assert len(rules) == n_leaves
    assert rules[0].conditions[0].condition == Condition("x", "<=", threshold=0.0)
    assert rules[1].conditions[0].condition == Condition("x", "interval", low=0.0, high=1.0)
    assert rules[-1].conditions[0].condition == Condition("x", ">", threshold=3998.0)
    assert [rule.answer for rule in rules[:4]] == ["no", "perhaps", "yes", "no"]
    assert all(len(rule.conditions) == 1 for rule in rules)


def test_fifty_thousand_levels_take_no_quadratic_time():
    nodes = chain(50_000, np.eye(3)[np.arange(50_000) % 3])
    rules = rules_of_nodes(nodes, [Column("x")], TARGET).rules
    assert rules[-1].conditions[0].missing == pytest.approx(1 / 50_000)


def test_ids_follow_content():
    values = np.array([[3.0, 1, 0], [0, 2, 0], [0, 0, 5]])
    first = rules_of_nodes(chain(3, values), [Column("x")], TARGET).rules
    again = rules_of_nodes(chain(3, values * 2), [Column("x")], TARGET).rules
    other = rules_of_nodes(chain(3, values[:, ::-1]), [Column("x")], TARGET).rules
    assert [rule.id for rule in first] == [rule.id for rule in again]
    assert [a.id != b.id for a, b in zip(first, other, strict=True)] == [True, False, True]
    assert [rule.id.split("-")[0] for rule in first] == [str(rule.leaf) for rule in first]


def test_support_and_confidence():
    rule = rules_of_nodes(chain(2, np.array([[3.0, 1, 0], [0, 0, 5]])), [Column("x")], TARGET).rules[0]
    assert (rule.answer, rule.confidence, rule.rows, rule.weight) == ("no", 0.75, 4, 4.0)
    assert rule.distribution == (0.75, 0.25, 0.0)


def test_regression_rules():
    nodes = chain(2, np.array([[3.0, 1], [2.0, 4.0]]))
    rules = rules_of_nodes(nodes, [Column("x")], Column("price"))
    assert [(rule.answer, rule.deviation) for rule in rules.rules] == [(3.0, 1.0), (2.0, 2.0)]
    np.testing.assert_allclose(rules.predict(Table.from_array([[0.0], [0.5], [math.nan]])), [3, 2, 2.4])
    with pytest.raises(TypeError, match="regression"):
        rules.predict_proba(Table.from_array([[0.0]]))


def test_one_against_the_rest_excludes_without_listing_the_rest():
    """Ten thousand levels, each split off in turn: only what was split off is written."""
    n_levels, n_leaves = 10_000, 60
    column = Column("city", Kind.NOMINAL, tuple(f"city {code:05}" for code in range(n_levels)))
    nodes = one_against_rest_chain(n_leaves)
    rules = rules_of_nodes(nodes, [column], TARGET).rules
    assert [rule.conditions[0].condition.text() for rule in rules[:2]] == ['city = "city 00000"', 'city = "city 00001"']
    last = rules[-1].conditions[0]
    assert last.condition.operator == "not in"
    assert last.codes == tuple(range(n_leaves - 1))
    assert last.unseen == 1
    assert rules[0].conditions[0].unseen == 0


def one_against_rest_chain(n_leaves):
    arrays = chain(n_leaves, np.eye(3)[np.arange(n_leaves) % 3]).to_arrays()
    inner = arrays["test"] == THRESHOLD
    count = int(inner.sum())
    arrays |= {
        "test": (arrays["test"] * 2).astype(np.int8),
        "threshold": np.full(len(inner), np.nan),
        "other_branch": np.where(inner, 1, -1).astype(np.int32),
        "level_count": inner.astype(np.int32),
        "level_start": (np.cumsum(inner) - inner).astype(np.int32),
        "level_codes": np.arange(count, dtype=np.int32),
        "level_branch": np.zeros(count, dtype=np.int32),
    }
    return type(chain(2, np.eye(2))).from_arrays(arrays)


def test_ordinal_conditions_show_levels():
    column = Column("grade", Kind.ORDINAL, ("D", "C", "B", "A"))
    nodes = chain(4, np.eye(3)[[0, 1, 2, 0]])
    rules = rules_of_nodes(nodes, [column], TARGET).rules
    texts = [rule.conditions[0].condition.text() for rule in rules]
    assert texts == ["grade <= D", "D < grade <= C", "C < grade <= B", "grade > B"]
