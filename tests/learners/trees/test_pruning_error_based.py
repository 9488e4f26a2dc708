import numpy as np
import pytest
from scipy.stats import norm

from learners.errors import ParameterError
from learners.trees.nodes import LEAF
from learners.trees.pruning.error_based import added_errors, collapse, prune_error_based
from tests.learners.trees.peers import chain
from tests.learners.trees.random_trees import random_rows, random_tree


@pytest.mark.parametrize(("weight", "rate"), [(6, 0.206), (9, 0.143), (1, 0.750)])
def test_rates_without_errors_are_those_printed_in_the_book(weight, rate):
    assert added_errors(weight, 0, 0.25) / weight == pytest.approx(rate, abs=5e-4)


def test_no_errors_is_the_exact_binomial_limit():
    for weight in (0.5, 1, 2.7, 100):
        assert added_errors(weight, 0, 0.1) == pytest.approx(weight * (1 - 0.1 ** (1 / weight)), rel=1e-15)


def test_wilson_limit_with_continuity_correction():
    weight, errors, z = 100.0, 10.0, norm.ppf(0.75)
    rate = (errors + 0.5) / weight
    centre = rate + z**2 / (2 * weight)
    spread = z * np.sqrt(rate * (1 - rate) / weight + z**2 / (4 * weight**2))
    upper = (centre + spread) / (1 + z**2 / weight)
    assert added_errors(weight, errors, 0.25) == pytest.approx(upper * weight - errors, rel=1e-12)


def test_few_errors_are_interpolated_and_many_are_bounded():
    none, one = added_errors(10, 0, 0.25), added_errors(10, 1, 0.25)
    assert added_errors(10, 0.5, 0.25) == pytest.approx((none + one) / 2)
    assert added_errors(10, 9.75, 0.25) == 0.25
    assert added_errors(1, 1, 0.25) == 0


def test_more_confidence_in_the_data_adds_fewer_errors():
    added = [added_errors(30, 3, confidence) for confidence in (0.01, 0.1, 0.25, 0.5)]
    assert added == sorted(added, reverse=True)


@pytest.mark.parametrize("confidence", [0, -0.1, 0.51, float("nan")])
def test_confidence_out_of_range(confidence):
    with pytest.raises(ParameterError, match=r"confidence must be > 0 and <= 0\.5"):
        prune_error_based(chain(2, np.eye(2)), confidence=confidence)


def estimate(nodes, node):
    weight = nodes.weight[node]
    errors = weight - nodes.value[node].max()
    return 0 if weight == 0 else errors + added_errors(weight, errors, 0.25)


def replaced(nodes, node=0):
    """The method as the book tells it, recursively: estimated errors and the ids of the leaves."""
    as_leaf = estimate(nodes, node)
    if nodes.test[node] == LEAF:
        return as_leaf, {node}
    parts = [replaced(nodes, child) for child in nodes.children(node)]
    as_tree = sum(errors for errors, _ in parts)
    if as_leaf <= as_tree + 0.1:
        return as_leaf, {node}
    return as_tree, set().union(*(leaves for _, leaves in parts))


def collapsed(nodes, node=0):
    def training_errors(at):
        if nodes.test[at] == LEAF:
            return nodes.weight[at] - nodes.value[at].max() if nodes.weight[at] > 0 else 0
        return sum(training_errors(child) for child in nodes.children(at))

    if nodes.test[node] == LEAF or training_errors(node) >= nodes.weight[node] - nodes.value[node].max() - 1e-3:
        return {node}
    return set().union(*(collapsed(nodes, child) for child in nodes.children(node)))


def trees():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = random_rows(rng, 80, missing=0.2 * (seed % 2))
        codes = ((table.values[:, 0] > 3).astype(int) + rng.integers(0, 2, 80)) % 3
        yield random_tree(rng, table, codes, rng.integers(0, 3, 80) / 2, 3)


@pytest.mark.parametrize(
    ("method", "reference"), [(prune_error_based, lambda n: replaced(n)[1]), (collapse, collapsed)]
)
def test_equals_the_recursive_method(method, reference):
    for nodes in trees():
        pruned, leaves = method(nodes), reference(nodes)
        assert sorted(weights_of(pruned)) == sorted(map(tuple, nodes.value[sorted(leaves)]))


def weights_of(nodes):
    return [tuple(nodes.value[leaf]) for leaf in nodes.leaves()]


def test_pruned_arrays_keep_the_invariants_and_the_input():
    for nodes in trees():
        before = {name: array.copy() for name, array in nodes.to_arrays().items()}
        pruned = prune_error_based(nodes)
        assert_sound(pruned)
        for name, array in nodes.to_arrays().items():
            np.testing.assert_array_equal(array, before[name])


def assert_sound(nodes):
    """What :mod:`learners.trees.nodes` promises of every tree."""
    inner = np.flatnonzero(nodes.test != LEAF)
    seen = [child for node in inner for child in nodes.children(node)]
    assert sorted(seen) == list(range(1, nodes.n_nodes))
    for node in inner:
        for child in nodes.children(node):
            assert child > node
            assert nodes.parent[child] == node
            assert nodes.depth[child] == nodes.depth[node] + 1
        codes, branches = nodes.levels_of(node)
        assert (np.diff(codes) > 0).all()
        assert (branches < nodes.n_children[node]).all()
        assert sum(nodes.fraction[child] for child in nodes.children(node)) == pytest.approx(1)
        assert nodes.weight[list(nodes.children(node))].sum() == pytest.approx(nodes.weight[node])
    leaves = nodes.leaves()
    for name, empty in {"feature": -1, "first_child": -1, "n_children": 0, "level_count": 0, "gain": 0}.items():
        assert (getattr(nodes, name)[leaves] == empty).all()
    assert np.isnan(nodes.threshold[leaves]).all()
    assert nodes.level_codes.shape == nodes.level_branch.shape == (nodes.level_count.sum(),)


def test_half_a_million_levels():
    n_leaves = 500_000
    pure = np.eye(2)[np.arange(n_leaves) % 2]
    assert prune_error_based(chain(n_leaves, pure)).n_nodes < 10
    assert prune_error_based(chain(n_leaves, pure * 100)).n_leaves == n_leaves
    assert collapse(chain(n_leaves, pure)).n_leaves == n_leaves
