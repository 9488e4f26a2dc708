from math import comb, log2

import numpy as np
import pytest

from learners.table import Column, Kind
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.pruning.compaction import cut
from learners.trees.pruning.minimum_length import description_length, leaf_bits, prune_minimum_length
from learners.trees.pruning.minimum_length import test_bits as bits_of_tests
from tests.learners.trees.peers import chain
from tests.learners.trees.random_trees import COLUMNS, random_rows, random_tree
from tests.learners.trees.trees import classes, grown_on, nominal


def grown(labels_by_level, **params):
    """A tree on two nominal columns, of which the second is the same everywhere."""
    cells = [level for level, labels in labels_by_level.items() for _ in labels]
    labels = [label for labels in labels_by_level.values() for label in labels]
    table = grown_on(nominal("level", cells), nominal("other", ["x"] * len(cells)))
    return DecisionTreeClassifier(nominal="multiway", **params).fit(table, classes(*labels)), table


def test_a_message_counted_by_hand():
    """Three branches of 4 rows; one of 12 rows is an exception to its leaf."""
    model, table = grown({"a": "yyyy", "b": "nnnn", "c": "yyyn"})
    assert model.n_leaves_ == 3
    nodes_and_test = 4 + log2(2)  # four nodes of one bit, one of two columns
    leaves = 3 * (log2(2) + log2(5)) + log2(comb(4, 1))  # class, number of exceptions of 0 to 4, which row
    assert description_length(model.tree_, table.columns) == pytest.approx(nodes_and_test + leaves)
    root = 1 + log2(2) + log2(13) + log2(comb(12, 5))
    assert leaf_bits(model.tree_)[0] == pytest.approx(root - 1)
    assert nodes_and_test + leaves > root  # 16.97 against 15.33 bits: a leaf is told sooner
    assert grown({"a": "yyyy", "b": "nnnn", "c": "yyyn"}, pruning="minimum-length")[0].n_leaves_ == 1


def test_the_same_branches_five_times_as_often_pay():
    rows = {"a": "yyyy" * 5, "b": "nnnn" * 5, "c": "yyyn" * 5}
    whole, table = grown(rows)
    tree = 4 + 1 + 3 * (1 + log2(21)) + log2(comb(20, 5))
    assert description_length(whole.tree_, table.columns) == pytest.approx(tree)
    assert tree < 1 + 1 + log2(61) + log2(comb(60, 25))
    assert grown(rows, pruning="minimum-length")[0].n_leaves_ == 3


def test_exceptions_of_several_classes():
    model, _ = grown({"a": "xxxxxyyz"}, max_depth=0)
    assert leaf_bits(model.tree_)[0] == pytest.approx(log2(3) + log2(9) + log2(comb(8, 3)) + 3 * log2(2))


def test_bits_of_each_kind_of_test():
    columns = (
        Column("number"),
        Column("nominal", Kind.NOMINAL, tuple("abcde")),
        Column("grade", Kind.ORDINAL, ("low", "middle", "high")),
        Column("other"),
    )
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=60), rng.integers(0, 5, 60), rng.integers(0, 3, 60), np.zeros(60)])
    for tested, nominal_split, expected in (
        (0, "subset", log2(59)),
        (1, "subset", log2(2**4 - 1)),
        (1, "one-vs-rest", log2(5)),
        (1, "multiway", 0.0),
        (2, "subset", log2(2)),
    ):
        label = values[:, tested] > np.median(values[:, tested])
        cells = np.where(np.arange(4) == tested, values, 0.0)
        table = grown_on(*((column, cells[:, place]) for place, column in enumerate(columns)))
        model = DecisionTreeClassifier(nominal=nominal_split, max_depth=1).fit(table, label)
        bits = bits_of_tests(model.tree_, columns)
        assert bits[0] == pytest.approx(log2(4) + expected), (tested, nominal_split)
        assert (bits[1:] == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_other_pruning_is_shorter(seed):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, 80)
    nodes = random_tree(rng, table, (table.values[:, 0] > 4).astype(int), np.ones(80), 2, depth=2)
    inner = np.flatnonzero(nodes.test != LEAF)
    lengths = []
    for pattern in range(2 ** len(inner)):
        at = np.zeros(nodes.n_nodes, dtype=bool)
        at[inner] = [bool(pattern >> bit & 1) for bit in range(len(inner))]
        lengths.append(description_length(cut(nodes, at), COLUMNS))
    pruned = prune_minimum_length(nodes, COLUMNS)
    assert description_length(pruned, COLUMNS) == pytest.approx(min(lengths))


def test_noise_is_told_as_a_leaf_and_a_rule_as_a_tree():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    noise = DecisionTreeClassifier(pruning="minimum-length").fit(X, rng.integers(0, 2, 400))
    assert noise.n_leaves_ == 1
    rule = DecisionTreeClassifier(pruning="minimum-length").fit(X, (X[:, 0] > 0) & (X[:, 1] < 1))
    assert rule.n_leaves_ == 3


def test_half_a_million_levels():
    nodes = chain(500_000, np.eye(2)[np.arange(500_000) % 2])
    assert 1 <= prune_minimum_length(nodes, (Column("x"),)).n_leaves <= 500_000
