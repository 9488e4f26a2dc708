"""A batch goes the way of ``branch_of``, the one-row kernel: every kind of test, gap, unseen level and tie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners._accel import interpreted, uncompiled
from learners.table import Column, Kind, Table
from learners.trees import batch, descent
from learners.trees.branching import FEATURE, FIRST_CHILD, N_CHILDREN, OTHER_BRANCH, SHARE, TEST, branch_of
from learners.trees.cells import by_column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.descent import Descent
from learners.trees.nodes import LEAF, LEVELS
from learners.trees.traverse import PackedTree, pack
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS, random_rows, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def reached(tree: PackedTree, row, node=0, share=1.0):
    """By definition: the leaves below a node that a row reaches, with its shares."""
    if tree.links[node, TEST] == LEAF:
        return [(node, share)]
    with uncompiled():
        branch = interpreted(branch_of)(tree.links, tree.splits, tree.levels, node, row[tree.links[node, FEATURE]])
    first = int(tree.links[node, FIRST_CHILD])
    if branch >= 0:
        return reached(tree, row, first + branch, share)
    children = range(first, first + int(tree.links[node, N_CHILDREN]))
    given_shares = [(child, float(tree.splits[child, SHARE])) for child in children]
    return [leaf for child, part in given_shares if part > 0 for leaf in reached(tree, row, child, share * part)]


def expected_answer(tree: PackedTree, row):
    """The shares' mean, added up from the heaviest leaf to the lightest; and that leaf."""
    leaves = sorted(reached(tree, row), key=lambda entry: (-entry[1], entry[0]))
    if len(leaves) == 1:
        return tree.answers[leaves[0][0]], leaves[0][0]
    total = np.zeros(tree.answers.shape[1])
    for leaf, share in leaves:
        total += share * tree.answers[leaf]
    return total, leaves[0][0]


def grown_at_random(seed, n_rows=60, missing=0.15, *, follow=False):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, n_rows, missing)
    nodes = random_tree(rng, table, rng.integers(0, 3, n_rows), np.ones(n_rows), 3, follow_missing=follow)
    return rng, nodes, pack(nodes, COLUMNS, regression=False)


def asked_of(rng, nodes, n_rows=25, missing=0.3):
    """Rows with gaps, unseen levels, and numbers on thresholds and one ulp beside them."""
    values = random_rows(rng, n_rows, missing).values.copy(order="F")
    for place, column in enumerate(COLUMNS):
        if column.is_numeric:
            cells = values[:, place]
            beside = rng.integers(0, 3, n_rows)
            values[:, place] = np.where(beside == 1, np.nextafter(cells, np.inf), cells)
            values[:, place] = np.where(beside == 2, np.nextafter(cells, -np.inf), values[:, place])
        else:
            values[rng.random(n_rows) < 0.15, place] = -1.0
    return by_column(Table(COLUMNS, values).values)


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.booleans())
def test_batches_and_single_rows_go_the_way_of_the_definition(seed, follow):
    rng, nodes, tree = grown_at_random(seed, follow=follow)
    cells = asked_of(rng, nodes)
    answers, leaves = tree.predict(cells), tree.leaves(cells)
    for row in range(cells.shape[1]):
        own = np.array(cells[:, row])
        answer, heaviest = expected_answer(tree, own)
        assert answers[row].tolist() == answer.tolist()
        assert leaves[row] == heaviest
        alone = np.empty_like(answer)
        tree.predict_row(own, alone)
        assert alone.tolist() == answer.tolist()
        found, shares = tree.reach(own)
        entries = sorted(reached(tree, own), key=lambda entry: (-entry[1], entry[0]))
        assert list(zip(found.tolist(), shares.tolist(), strict=True)) == entries


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from([0, 10**6]))
def test_one_row_without_gaps_descends_in_plain_numbers(seed, few_nodes):
    rng, nodes, tree = grown_at_random(seed)
    cells = asked_of(rng, nodes, missing=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent, "_FEW_NODES", few_nodes)
        plain = Descent(tree, COLUMNS)
    found, undecided = tree.descended(cells)
    found[undecided] = -1
    assert [plain.leaf(row) for row in cells.T.tolist()] == found.tolist()


def test_the_order_of_the_cells_and_the_size_of_the_turns_change_nothing(monkeypatch):
    rng, nodes, tree = grown_at_random(7)
    cells = asked_of(rng, nodes, 300)
    whole = tree.predict(cells)
    alone = [tree.reach(np.array(row)) for row in cells.T]
    assert tree.predict(np.asfortranarray(cells)).tobytes() == whole.tobytes()
    monkeypatch.setattr(batch, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(batch, "_STEPS", 1)
    monkeypatch.setattr(batch, "_LEAVES_AT_ONCE", 1)
    assert tree.predict(cells).tobytes() == whole.tobytes()
    monkeypatch.setattr(batch, "_NODES_A_WALK", 0)  # each way of one row by itself, not from all nodes at once
    for row, (leaves, shares) in zip(cells.T, alone, strict=True):
        found, own = tree.reach(np.array(row))
        assert (found.tolist(), own.tolist()) == (leaves.tolist(), shares.tolist())


def test_a_row_whose_values_are_known_walks_to_a_leaf():
    table, target = read("pima", "class")
    tree = DecisionTreeClassifier().fit(table, target).packed_tree_
    nodes, undecided = tree.descended(by_column(table.values))
    assert len(undecided) == 0
    assert (tree.links[nodes, TEST] == LEAF).all()


def test_codes_that_no_test_lists_take_the_branch_of_others_or_every_one():
    column = Column("c", Kind.NOMINAL, tuple(f"l{code}" for code in range(2000)))
    links = np.zeros((4, 8), np.int32)
    links[0] = (LEVELS, 0, 1, 3, -1, 2, 0, 2)  # levels 5 and 900; others to the third child
    tree = PackedTree(
        links=links,
        splits=np.column_stack((np.full(4, np.nan), [1.0, 0.25, 0.5, 0.25], np.full(4, np.nan))),
        levels=np.array([[5, 0], [900, 1]], np.int32),
        answers=np.array([[0.0], [1.0], [2.0], [4.0]]),
    )
    codes = np.array([5.0, 900.0, 0.0, 4.0, 6.0, 899.0, 901.0, float(len(column.levels) - 1), -1.0, np.nan])
    assert tree.predict(codes.reshape(1, -1)).ravel().tolist() == [1, 2, 4, 4, 4, 4, 4, 4, 4, 0.25 + 1 + 1]
    assert [Descent(tree, [column]).leaf([code]) for code in codes[:-1].tolist()] == [1, 2, 3, 3, 3, 3, 3, 3, 3]
    links[0, OTHER_BRANCH] = -1
    undecided = PackedTree(links, tree.splits, tree.levels, tree.answers)
    assert undecided.predict(codes.reshape(1, -1)).ravel().tolist() == [1, 2, *[2.25] * 8]
    assert [Descent(undecided, [column]).leaf([code]) for code in codes[:-1].tolist()] == [1, 2, *[-1] * 7]


@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_a_tree_of_one_leaf_answers_every_row_alike(n_rows):
    tree = PackedTree(np.zeros((1, 8), np.int32), np.ones((1, 3)), np.empty((0, 2), np.int32), np.array([[0.25, 0.75]]))
    cells = np.full((2, n_rows), np.nan)
    assert tree.predict(cells).tolist() == [[0.25, 0.75]] * n_rows
    assert tree.leaves(cells).tolist() == [0] * n_rows


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_machine_code_walks_and_divides_as_arrays_do(seed):
    rng, nodes, tree = grown_at_random(seed)
    cells = asked_of(rng, nodes)
    walk, rows = tree.walk, np.arange(cells.shape[1])
    for order in (np.ascontiguousarray(cells), np.asfortranarray(cells)):
        found = walk._compiled.descended(0 * rows, order, rows)
        assert np.array_equal(found, walk._walk(0 * rows, order, rows, None))
        divided = walk._compiled.divided(0 * rows, order, rows, tree.answers)
        assert divided.tobytes() == walk._divided(0 * rows, order, rows, tree.answers).tobytes()


def test_machine_code_finds_the_same_where_codes_are_large_or_shares_are_equal():
    """By the definition: a set of codes up to 61 is looked up by bits, a larger one searched; and 40 equal leaves."""
    column = Column("c", Kind.NOMINAL, tuple(f"l{code}" for code in range(70)))
    for largest in (61, 62, 69):
        links = np.zeros((3, 8), np.int32)
        links[0] = (LEVELS, 0, 1, 2, -1, 0, 0, 3)
        levels = np.array([[0, 1], [3, 0], [largest, 1]], np.int32)
        tree = PackedTree(links, np.array([[np.nan, 1, np.nan]] * 3), levels, np.eye(3))
        codes = np.append(np.arange(-1.0, len(column.levels)), np.nan)
        found = tree.walk._compiled.descended(np.zeros(len(codes), int), codes.reshape(1, -1), np.arange(len(codes)))
        assert found.tolist() == [2 if code in (0, largest) else 1 for code in codes[:-1].tolist()] + [0]
    links = np.zeros((41, 8), np.int32)
    links[0] = (LEVELS, 0, 1, 40, -1, -1, 0, 40)
    shares, each = np.full((41, 3), np.nan), np.arange(40)
    shares[:, SHARE] = np.append(1.0, 1 + each % 4) / 100
    answers = np.random.default_rng(0).random((41, 2))
    tree = PackedTree(links, shares, np.column_stack((each, each)).astype(np.int32), answers)
    gap = np.full((1, 1), np.nan)
    found = tree.walk._compiled.divided(np.zeros(1, int), gap, np.zeros(1, int), answers)
    assert found.tolist() == [expected_answer(tree, gap[:, 0])[0].tolist()]
