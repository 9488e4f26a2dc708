import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier
from learners.trees.cells import by_column
from learners.trees.criteria import ENTROPY, GINI, gini
from learners.trees.nodes import LEAF
from learners.trees.pruning.error_based import added_errors, prune_error_based
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.pruning.raising_trial import LEAST_CONFIDENCE
from tests.learners.trees.peers import chain
from tests.learners.trees.random_trees import COLUMNS, branch_of, random_rows, random_tree
from tests.learners.trees.test_pruning_error_based import assert_sound


class Plain:
    """A subtree with its rows, as in a textbook: children are objects, rows a dict of weights."""

    def __init__(self, nodes, node):
        self.test = None
        self.children = [Plain(nodes, child) for child in nodes.children(node)]
        if self.children:
            codes, branches = nodes.levels_of(node)
            self.feature = int(nodes.feature[node])
            self.test = {
                "test": nodes.test[node],
                "threshold": nodes.threshold[node],
                "levels": dict(zip(codes.tolist(), branches.tolist(), strict=True)),
                "other": int(nodes.other_branch[node]),
                "missing_branch": int(nodes.missing_branch[node]),
            }

    def split(self, rows, data):
        branches = {
            row: branch_of(self.test, data[0][row, self.feature], data[2][self.feature].is_numeric) for row in rows
        }
        known = [sum(rows[r] for r in rows if branches[r] == b) for b in range(len(self.children))]
        total = sum(known)
        shares = [k / total if total else 1 / len(known) for k in known]
        return [
            {r: rows[r] * (1 if branches[r] >= 0 else shares[b]) for r in rows if branches[r] in (b, -1)}
            for b in range(len(self.children))
        ]

    def give(self, rows, data):
        self.rows = {r: w for r, w in rows.items() if w > 0}
        for child, part in zip(self.children, self.split(rows, data) if self.children else [], strict=True):
            child.give(part, data)

    def errors(self, data):
        if self.children:
            return sum(child.errors(data) for child in self.children)
        return leaf_errors(self.rows, data)

    def errors_with(self, rows, data):
        if not self.children:
            return leaf_errors(rows, data)
        parts = self.split(rows, data)
        return sum(child.errors_with(part, data) for child, part in zip(self.children, parts, strict=True))

    def prune(self, data):
        if not self.children:
            return
        for child in self.children:
            child.prune(data)
        sizes = [sum(child.rows.values()) for child in self.children]
        largest = self.children[max(b for b in range(len(sizes)) if sizes[b] >= max(sizes) - 1e-6)]
        as_branch = largest.errors_with(self.rows, data)
        as_leaf, as_tree = leaf_errors(self.rows, data), self.errors(data)
        if as_leaf <= as_tree + 0.1 + 1e-6 and as_leaf <= as_branch + 0.1 + 1e-6:
            self.children = []
        elif as_branch <= as_tree + 0.1 + 1e-6:
            self.children, self.test = largest.children, largest.test
            self.feature = largest.feature
            self.give(self.rows, data)
            self.prune(data)


def leaf_errors(rows, data):
    counts = np.bincount([data[1][r] for r in rows], list(rows.values()), 3) if rows else np.zeros(3)
    weight = counts.sum()
    if weight < 1e-6:
        return 0
    return weight - counts.max() + added_errors(weight, max(weight - counts.max(), 0), 0.25)


def assert_same(nodes, node, plain):
    assert nodes.weight[node] == pytest.approx(sum(plain.rows.values()), abs=1e-9)
    assert nodes.rows[node] == len(plain.rows)
    assert nodes.n_children[node] == len(plain.children)
    if plain.children:
        assert nodes.feature[node] == plain.feature
    for child, part in zip(nodes.children(node), plain.children, strict=True):
        assert_same(nodes, child, part)


def case(seed, missing, n_rows=120):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, n_rows, missing)
    first, colour = (np.nan_to_num(table.values[:, index]) for index in (0, 1))
    codes = np.where(rng.random(n_rows) < 0.25, rng.integers(0, 3, n_rows), (first > 3) + (colour > 1)).astype(np.int64)
    weights = rng.integers(0, 3, n_rows) / 2
    return random_tree(rng, table, codes, weights, 3, follow_missing=seed % 3 == 0), table.values, codes, weights


def assert_textbook(nodes, values, codes, weights, columns=COLUMNS, criterion=GINI):
    """Prune both ways and compare; returns the pruned tree."""
    pruned = prune_with_raising(nodes, columns, by_column(values), codes, weights, criterion=criterion)
    plain, data = Plain(nodes, 0), (values, codes, columns)
    plain.give({r: weights[r] for r in range(len(codes))}, data)
    plain.prune(data)
    assert_same(pruned, 0, plain)
    assert_sound(pruned)
    return pruned


@pytest.mark.parametrize("missing", [0.0, 0.02, 0.15])
def test_equals_the_textbook_form(missing):
    raised = 0
    for seed in range(40):
        nodes, values, codes, weights = case(seed, missing)
        pruned = assert_textbook(nodes, values, codes, weights)
        raised += pruned.n_nodes != prune_error_based(nodes).n_nodes
    assert raised >= 10  # the case under test does occur


@pytest.mark.parametrize("seed", [50, 67, 68])
def test_branches_without_rows_take_in_what_comes_and_nothing_else(seed):
    """A branch for levels that did not occur shows its parent's distribution, and is empty all the same."""
    rng, size = np.random.default_rng(seed), 60 + seed
    rare = [rng.integers(0, levels, size) * (rng.random(size) < 0.6) for levels in (4, 5)]
    values = np.column_stack([*rare, rng.integers(0, 10, size), rng.integers(0, 3, size)]).astype(float)
    codes = np.where(rng.random(size) < 0.3, rng.integers(0, 2, size), (values[:, 0] > 1) ^ (values[:, 2] > 4))
    kinds = ((Kind.NOMINAL, "pqrs"), (Kind.NOMINAL, "pqrst"), (Kind.NUMERIC, ""), (Kind.NOMINAL, "pqr"))
    columns = tuple(Column(f"x{index}", kind, tuple(levels)) for index, (kind, levels) in enumerate(kinds))
    table = Table(columns, np.asfortranarray(values))
    target = Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), codes.astype(float))
    nodes = DecisionTreeClassifier(nominal="multiway", criterion="entropy").fit(table, target).tree_
    assert (nodes.weight == 0).any()
    assert_textbook(nodes, values, codes.astype(np.int64), np.ones(size), columns, ENTROPY)


@pytest.mark.parametrize("gaps", [0, 1, 5])
def test_a_chain_with_gaps_equals_the_textbook_form(gaps):
    """A row of which the tested value is missing is in every leaf of it."""
    values = np.full((240, len(COLUMNS)), 1.0, order="F")
    values[:, 0] = np.arange(240)
    codes = np.arange(240) // 6 % 2
    codes[::31] = 2
    values[17 : 17 + 40 * gaps : 40, 0] = np.nan
    target = Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), codes.astype(float))
    nodes = DecisionTreeClassifier().fit(Table(COLUMNS, values), target).tree_
    pruned = assert_textbook(nodes, values, codes, np.ones(240))
    assert 10 < pruned.depth.max() < nodes.depth.max()


@given(
    counts=st.lists(st.floats(0, 1e4) | st.integers(0, 20).map(float), min_size=2, max_size=4),
    more=st.lists(st.floats(0, 100) | st.integers(0, 3).map(float), min_size=4, max_size=4),
    confidence=st.floats(LEAST_CONFIDENCE, 0.5),
)
def test_no_leaf_is_estimated_to_make_fewer_errors_with_more_rows(counts, more, confidence):
    """So the estimates without the rows that are divided are a bound of those with them."""

    def estimated(weights):
        total = sum(weights)
        errors = max(total - max(weights), 0.0)
        return errors + added_errors(total, errors, confidence) if total >= 1e-6 else 0.0

    grown = [one + other for one, other in zip(counts, more, strict=False)]
    assert estimated(grown) >= estimated(counts) - 1e-10 * (1 + sum(counts))


def test_leaves_hold_the_rows_that_reach_them():
    nodes, values, codes, weights = case(4, 0.0, 500)
    pruned = prune_with_raising(nodes, COLUMNS, by_column(values), codes, weights, criterion=GINI)
    np.testing.assert_allclose(pruned.value[pruned.leaves()].sum(axis=0), np.bincount(codes, weights, 3))
    assert (pruned.rows[pruned.leaves()]).sum() == np.count_nonzero(weights)


def test_impurities_and_gains_are_those_of_the_rows_that_now_get_there():
    for seed in range(30):
        nodes, values, codes, weights = case(seed, 0.1)
        pruned = prune_with_raising(nodes, COLUMNS, by_column(values), codes, weights, criterion=GINI)
        for node in range(pruned.n_nodes):
            assert pruned.impurity[node] == pytest.approx(gini(pruned.value[node]), abs=1e-9)
        assert (pruned.gain >= 0).all()
        assert (pruned.gain[pruned.test == LEAF] == 0).all()


def test_deep_chain_of_real_rows():
    """4000 levels, one row a leaf, classes in runs of four: pruned to few nodes, and without recursion."""
    n_rows = 4000
    codes = np.arange(n_rows) // 4 % 2
    nodes = chain(n_rows, np.eye(2)[codes])
    values = np.arange(n_rows, dtype=float)[:, None]
    pruned = prune_with_raising(nodes, [Column("x")], by_column(values), codes, np.ones(n_rows), criterion=GINI)
    assert_sound(pruned)
    assert pruned.n_nodes < nodes.n_nodes
    assert pruned.weight[pruned.test == LEAF].sum() == n_rows
