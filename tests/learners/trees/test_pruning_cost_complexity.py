import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners.errors import ParameterError
from learners.trees.nodes import LEAF
from learners.trees.pruning.cost_complexity import cost_complexity_path, error_risks, prune_cost_complexity
from tests.learners.trees.peers import chain, nodes_of_peer


def peers(seed=0):
    noise = np.random.default_rng(seed)
    X, y = load_iris(return_X_y=True)
    yield DecisionTreeClassifier(random_state=0), X, y
    yield DecisionTreeClassifier(random_state=0, criterion="entropy"), X, np.where(noise.random(150) < 0.2, 0, y)
    X, y = load_breast_cancer(return_X_y=True)
    yield DecisionTreeClassifier(random_state=0), X, y
    X, y = load_diabetes(return_X_y=True)
    yield DecisionTreeRegressor(random_state=0), X, y
    X = noise.normal(size=(400, 3))
    yield DecisionTreeRegressor(random_state=0), X, np.sin(X[:, 0]) + noise.normal(size=400)


def merged(alphas, impurities):
    """The peer's path with steps of equal alpha joined, as CART defines the sequence."""
    last = np.append(np.diff(alphas) > 1e-12 * alphas[-1], True)
    first = np.insert(last[:-1], 0, True)
    return np.where(alphas[first] < 1e-12 * alphas[-1], 0, alphas[first]), impurities[last]


@pytest.mark.parametrize("case", range(5))
def test_path_equals_the_peers(case):
    model, X, y = list(peers())[case]
    model.fit(X, y)
    nodes, _ = nodes_of_peer(model.tree_, classification=hasattr(model, "classes_"))
    alphas, impurities, _ = cost_complexity_path(nodes)
    peer = model.cost_complexity_pruning_path(X, y)
    expected_alphas, expected_impurities = merged(peer.ccp_alphas, peer.impurities)
    np.testing.assert_allclose(alphas, expected_alphas, rtol=1e-9, atol=1e-13 * expected_alphas[-1])
    np.testing.assert_allclose(impurities, expected_impurities, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("case", range(5))
def test_pruned_tree_equals_the_peers(case):
    model, X, y = list(peers())[case]
    model.fit(X, y)
    classification = hasattr(model, "classes_")
    nodes, _ = nodes_of_peer(model.tree_, classification=classification)
    alphas, _, _ = cost_complexity_path(nodes)
    for alpha in (alphas[1:] + alphas[:-1]) / 2:
        pruned = prune_cost_complexity(nodes, alpha=alpha)
        peer = type(model)(**{**model.get_params(), "ccp_alpha": alpha}).fit(X, y)
        expected, _ = nodes_of_peer(peer.tree_, classification=classification)
        for name, array in expected.to_arrays().items():
            np.testing.assert_array_equal(getattr(pruned, name), array, err_msg=name)


def test_each_step_of_the_path_is_the_cost_of_the_pruned_tree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4))
    nodes, _ = nodes_of_peer(DecisionTreeClassifier(random_state=1).fit(X, rng.integers(0, 3, 500)).tree_)
    alphas, impurities, n_leaves = cost_complexity_path(nodes)
    leaves = []
    for alpha, impurity in zip(alphas, impurities, strict=True):
        pruned = prune_cost_complexity(nodes, alpha=alpha)
        at_leaves = pruned.leaves()
        assert (pruned.impurity * pruned.weight)[at_leaves].sum() / pruned.weight[0] == pytest.approx(impurity)
        leaves.append(len(at_leaves))
    assert leaves == n_leaves.tolist() == sorted(leaves, reverse=True)
    assert leaves[-1] == 1


def test_ends_of_the_scale():
    nodes = chain(50, np.eye(2)[np.arange(50) % 2])
    assert prune_cost_complexity(nodes, alpha=0.0).n_leaves == 50
    assert prune_cost_complexity(nodes, alpha=1.0).n_nodes == 1
    with pytest.raises(ParameterError, match="alpha must be >= 0; it is -1"):
        prune_cost_complexity(nodes, alpha=-1.0)
    with pytest.raises(ParameterError, match="nan"):
        prune_cost_complexity(nodes, alpha=float("nan"))


def test_single_leaf():
    root = prune_cost_complexity(chain(2, np.eye(2)), alpha=1.0)
    alphas, impurities, n_leaves = cost_complexity_path(root)
    assert alphas.tolist() == [0.0]
    assert impurities.tolist() == [0.5]
    assert n_leaves.tolist() == [1]


def test_half_a_million_levels():
    rng = np.random.default_rng(0)
    nodes = chain(500_000, rng.dirichlet((1, 1, 1), 500_000))
    alphas, impurities, _ = cost_complexity_path(nodes)
    assert (np.diff(alphas) > 0).all()
    assert (np.diff(impurities) > 0).all()
    assert impurities[-1] == pytest.approx(nodes.impurity[0])


def pruned_forms(nodes, node=0):
    """The leaves of every tree that pruning can leave of a subtree."""
    if nodes.test[node] == LEAF:
        return [[node]]
    below = itertools.product(*(pruned_forms(nodes, child) for child in nodes.children(node)))
    return [[node], *([leaf for form in forms for leaf in form] for forms in below)]


def least_loss(counts, utility):
    """By the definition: the best decision of one class for all rows of a node."""
    best = utility.max(axis=0)
    return min(sum(count * (best[true] - row[true]) for true, count in enumerate(counts)) for row in utility)


@given(
    seed=st.integers(0, 10_000),
    utility=st.none() | st.lists(st.integers(-5, 5), min_size=9, max_size=9).map(lambda flat: np.reshape(flat, (3, 3))),
    sixtieths=st.integers(0, 120),
)
def test_by_errors_the_pruned_tree_is_the_smallest_of_least_cost(seed, utility, sixtieths):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    nodes, _ = nodes_of_peer(DecisionTreeClassifier(random_state=0, max_leaf_nodes=8).fit(X, y).tree_)
    counts, wanted = np.rint(nodes.value).astype(int), np.eye(3, dtype=int) if utility is None else utility
    losses = [least_loss(one, wanted) for one in counts.tolist()]
    risks = error_risks(nodes, None if utility is None else utility.astype(float))
    np.testing.assert_allclose(risks, np.array(losses) / 60, atol=1e-15)
    costs = {len(leaves): [] for leaves in pruned_forms(nodes)}
    for leaves in pruned_forms(nodes):
        costs[len(leaves)].append(2 * sum(losses[leaf] for leaf in leaves) + sixtieths * len(leaves))
    least = min(min(of_size) for of_size in costs.values())
    pruned = prune_cost_complexity(nodes, alpha=sixtieths / 2 / 60, risks=risks)
    assert pruned.n_leaves == min(size for size, of_size in costs.items() if min(of_size) == least)
