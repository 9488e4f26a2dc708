import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier as PeerClassifier

from learners.evaluation.folds import hold_out
from learners.trees.cells import by_column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.pruning.compaction import cut
from learners.trees.pruning.reduced_error import class_losses, prune_reduced_error, squared_losses
from learners.trees.regressor import DecisionTreeRegressor
from learners.trees.traverse import pack
from tests.learners.trees.peers import chain, nodes_of_peer
from tests.learners.trees.random_trees import COLUMNS, random_rows, random_tree

ORDERS = ("bottom-up", "best-first")


def grown(seed, missing=0.0, depth=5):
    """A random tree over random rows, and other rows with their labels."""
    rng = np.random.default_rng(seed)
    table, kept_back = random_rows(rng, 60, missing), random_rows(rng, 40, missing)
    nodes = random_tree(rng, table, rng.integers(0, 3, 60), np.ones(60), 3, depth)
    return nodes, kept_back, rng.integers(0, 3, 40)


def losses_of(nodes, table, codes):
    entries = pack(nodes, COLUMNS, regression=False).placed(by_column(table.values), np.arange(len(table)))
    decided = nodes.value.argmax(axis=1)
    return class_losses(nodes, entries, codes, np.ones(len(codes)), decided, 1 - np.eye(3))


def errors(nodes, table, codes):
    answers = pack(nodes, COLUMNS, regression=False).predict(by_column(table.values))
    return int((answers.argmax(axis=1) != codes).sum())


def loss_at_leaves(nodes, losses, at=()):
    """The loss of the tree whose marked nodes are leaves."""
    total, stack = 0.0, [0]
    while stack:
        node = stack.pop()
        if node in at or nodes.test[node] == LEAF:
            total += losses[node]
        else:
            stack.extend(nodes.children(node))
    return total


@pytest.mark.parametrize("order", ORDERS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_never_makes_more_errors_on_the_rows_kept_back(order, seed):
    nodes, table, codes = grown(seed)
    pruned = prune_reduced_error(nodes, losses_of(nodes, table, codes), order=order)
    assert errors(pruned, table, codes) <= errors(nodes, table, codes)


@pytest.mark.parametrize("order", ORDERS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_never_loses_more_where_rows_are_divided(order, seed):
    nodes, table, codes = grown(seed, missing=0.2)
    losses = losses_of(nodes, table, codes)
    pruned = prune_reduced_error(nodes, losses, order=order)
    after = losses_of(pruned, table, codes)
    assert after[pruned.leaves()].sum() <= losses[nodes.leaves()].sum() + 1e-9


def test_losses_of_nodes_are_the_errors_of_leaves_in_their_place():
    nodes, table, codes = grown(3)
    losses = losses_of(nodes, table, codes)
    for node in range(nodes.n_nodes):
        at = np.zeros(nodes.n_nodes, dtype=bool)
        at[node] = True
        assert errors(cut(nodes, at), table, codes) == loss_at_leaves(nodes, losses, {node})


@pytest.mark.parametrize("seed", range(25))
def test_bottom_up_is_the_smallest_of_the_best(seed):
    """Against every pruning there is of a small tree."""
    nodes, table, codes = grown(seed, depth=3)
    losses = losses_of(nodes, table, codes)

    def prunings(node):
        yield losses[node], 1
        if nodes.test[node] == LEAF:
            return
        found = [(0.0, 0)]
        for child in nodes.children(node):
            below = list(prunings(child))
            found = list({(one + other, n + m) for one, n in found for other, m in below})
        yield from found

    pruned = prune_reduced_error(nodes, losses)
    found = losses_of(pruned, table, codes)[pruned.leaves()].sum(), pruned.n_leaves
    assert found == min(prunings(0))


@pytest.mark.parametrize("seed", range(40))
def test_best_first_is_what_one_cut_after_another_gives(seed):
    nodes, table, codes = grown(seed, missing=0.0)
    losses = losses_of(nodes, table, codes)
    at = set()
    while True:
        now = loss_at_leaves(nodes, losses, at)
        reached, stack = [], [0]
        while stack:
            node = stack.pop()
            if node not in at and nodes.test[node] != LEAF:
                reached.append(node)
                stack.extend(nodes.children(node))
        saved = {node: now - loss_at_leaves(nodes, losses, at | {node}) for node in sorted(reached)}
        if not saved or max(saved.values()) < 0:
            break
        at.add(max(saved, key=saved.get))
    pruned = prune_reduced_error(nodes, losses, order="best-first")
    marked = np.isin(np.arange(nodes.n_nodes), list(at))
    expected = cut(nodes, marked)
    for name, array in expected.to_arrays().items():
        np.testing.assert_array_equal(getattr(pruned, name), array, err_msg=name)


def test_the_orders_differ_where_a_cut_high_up_saves_most_at_first():
    """Each branch's test loses 3, the root's whole tree loses 4 more than a leaf: without the 6, it is worth 2."""
    X = np.arange(4, dtype=float)[:, None]
    nodes, _ = nodes_of_peer(PeerClassifier(random_state=0, criterion="entropy").fit(X, [0, 1, 2, 3]).tree_)
    assert nodes.n_children.tolist() == [2, 2, 2, 0, 0, 0, 0]
    losses = np.array([12.0, 5.0, 5.0, 4.0, 4.0, 4.0, 4.0])
    assert prune_reduced_error(nodes, losses, order="bottom-up").n_leaves == 2
    assert prune_reduced_error(nodes, losses, order="best-first").n_leaves == 1


@pytest.mark.parametrize("order", ORDERS)
def test_inside_the_fit_the_kept_back_rows_are_answered_no_worse(order):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 4))
    y = np.where(rng.random(600) < 0.25, rng.integers(0, 3, 600), (X[:, 0] > 0) + (X[:, 1] > 0.5))
    split, _ = hold_out(600, 0.3, 7, y)
    whole = DecisionTreeClassifier().fit(X[split.train], y[split.train])
    pruned = DecisionTreeClassifier(pruning="reduced-error", pruning_order=order, validation_fraction=0.3, seed=7).fit(
        X, y
    )
    assert pruned.tree_.weight[0] == len(split.train)
    assert pruned.n_leaves_ < whole.n_leaves_ / 3
    assert pruned.score(X[split.test], y[split.test]) >= whole.score(X[split.test], y[split.test])
    by_parts = np.abs(np.bincount(y[split.test]) - 0.3 * np.bincount(y))
    assert (by_parts <= 1).all()


@pytest.mark.parametrize("order", ORDERS)
def test_numbers_by_squared_error(order):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 3))
    y = np.sin(2 * X[:, 0]) + 1e6 + rng.normal(size=500) / 2
    split, _ = hold_out(500, 0.25, 0)
    whole = DecisionTreeRegressor().fit(X[split.train], y[split.train])
    pruned = DecisionTreeRegressor(pruning="reduced-error", pruning_order=order).fit(X, y)

    def loss(model):
        return ((model.predict(X[split.test]) - y[split.test]) ** 2).sum()

    assert pruned.n_leaves_ < whole.n_leaves_ / 3
    assert loss(pruned) <= loss(whole)
    entries = whole.packed_tree_.placed(by_column(np.asfortranarray(X)), split.test)
    losses = squared_losses(whole.tree_, entries, y, np.ones(500))
    assert losses[whole.tree_.leaves()].sum() == pytest.approx(loss(whole), rel=1e-9)
    assert losses[0] == pytest.approx(((y[split.train].mean() - y[split.test]) ** 2).sum(), rel=1e-9)


def test_utilities_are_what_is_not_to_fall():
    """A spam that passes costs 1, a good message lost costs 20."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(800, 3))
    y = np.where(X[:, 0] + rng.normal(size=800) > 0, "spam", "nospam")
    utility = {"nospam": {"spam": -1}, "spam": {"nospam": -20}}
    split, _ = hold_out(800, 0.25, 0, (y == "spam").astype(int))
    whole = DecisionTreeClassifier(utility=utility, min_leaf=5).fit(X[split.train], y[split.train])
    pruned = DecisionTreeClassifier(utility=utility, min_leaf=5, pruning="reduced-error").fit(X, y)

    def cost(model):
        decided, true = model.predict(X[split.test]), y[split.test]
        return ((decided == "nospam") & (true == "spam")).sum() + 20 * ((decided == "spam") & (true == "nospam")).sum()

    assert cost(pruned) <= cost(whole)


@pytest.mark.parametrize("order", ORDERS)
def test_half_a_million_levels(order):
    rng = np.random.default_rng(0)
    nodes = chain(500_000, rng.dirichlet((1, 1), 500_000))
    losses = rng.integers(0, 5, nodes.n_nodes).astype(float)
    losses[::2] *= np.linspace(250_000, 1, len(losses[::2])).round()
    pruned = prune_reduced_error(nodes, losses, order=order)
    assert 1 <= pruned.n_leaves < 500_000
