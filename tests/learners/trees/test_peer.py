"""Equal to scikit-learn's exact tree on numeric data, up to which of equally good tests is taken."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.regressor import DecisionTreeRegressor

SETS = {"iris": load_iris, "wine": load_wine, "breast-cancer": load_breast_cancer}


def peer_gain(tree):
    """Decrease of impurity at the root."""
    parts = [tree.children_left[0], tree.children_right[0]]
    weight = tree.weighted_n_node_samples
    return tree.impurity[0] - sum(weight[part] / weight[0] * tree.impurity[part] for part in parts)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("name", SETS)
def test_classification(name, criterion):
    X, y = SETS[name](return_X_y=True)
    ours = DecisionTreeClassifier(criterion=criterion).fit(X, y)
    peer = PeerClassifier(criterion=criterion, random_state=0).fit(X, y)
    assert ours.tree_.gain[0] == pytest.approx(peer_gain(peer.tree_), abs=1e-12)
    assert np.array_equal(ours.predict(X), peer.predict(X))
    assert abs(ours.n_leaves_ - peer.get_n_leaves()) <= 2  # ties may be followed by other subtrees


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_continuous_columns_have_no_ties_so_trees_are_equal(criterion, n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 1)).astype(np.float32).astype(float)  # the peer rounds to float32
    y = (np.digitize(X[:, 0], np.linspace(-1, 1, n_classes - 1)) + (rng.random(400) < 0.2)) % n_classes
    weight = rng.integers(1, 5, 400).astype(float) if weighted else None
    for depth in (1, 2, 3):
        ours = DecisionTreeClassifier(criterion=criterion, max_depth=depth).fit(X, y, weight)
        peer = PeerClassifier(criterion=criterion, max_depth=depth, random_state=0).fit(X, y, weight)
        assert np.allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)
        assert sorted(ours.tree_.threshold[ours.tree_.test != LEAF]) == pytest.approx(
            sorted(peer.tree_.threshold[peer.tree_.feature >= 0])
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_regression(weighted):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    ours = DecisionTreeRegressor().fit(X, y, weight)
    peer = PeerRegressor(random_state=0).fit(X, y, weight)
    assert ours.tree_.gain[0] == pytest.approx(peer_gain(peer.tree_), rel=1e-12)
    assert np.allclose(ours.predict(X), peer.predict(X))
    shallow = DecisionTreeRegressor(max_depth=3).fit(X, y, weight)
    assert np.allclose(shallow.predict(X), PeerRegressor(max_depth=3, random_state=0).fit(X, y, weight).predict(X))


def test_leaf_limit_splits_best_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 6)).astype(np.float32).astype(float)
    y = ((X[:, 0] > 0) ^ (X[:, 1] + X[:, 2] > 0.3)).astype(int)
    for leaves in (1, 2, 5, 17):
        ours = DecisionTreeClassifier(max_leaves=leaves).fit(X, y)
        assert ours.n_leaves_ == leaves
        if leaves > 1:
            peer = PeerClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y)
            assert np.allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)


def test_importances():
    X, y = load_iris(return_X_y=True)
    ours = DecisionTreeClassifier(max_depth=2).fit(X[:, 2:], y)
    peer = PeerClassifier(max_depth=2, random_state=0).fit(X[:, 2:], y)
    assert ours.feature_importances_.sum() == pytest.approx(1)
    assert peer.feature_importances_.sum() == pytest.approx(1)
    single = DecisionTreeClassifier(max_depth=0).fit(X, y)
    assert single.feature_importances_.tolist() == [0, 0, 0, 0]
