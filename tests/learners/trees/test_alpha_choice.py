"""Alpha by cross-validation against the same done with scikit-learn's trees, fold by fold and price by price."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

from learners.catalog import dump_model, load_model
from learners.evaluation.folds import k_fold
from learners.persist import load
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.pruning.alpha_choice import PruningPath
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read, read_file
from tests.shared import generated_path

FOLDS = 5


def numeric(task, seed=0, rows=500):
    """Numbers that float32 holds, so that the peer sees the same ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).astype(np.float32).astype(np.float64)
    signal = np.sin(2 * X[:, 0]) + (X[:, 1] > 0.3) * X[:, 2]
    noisy = signal + rng.normal(size=rows) / 2
    return X, (np.digitize(noisy, [-0.4, 0.7]) if task == "classification" else noisy)


def peers_path(peer, X, y, folds, loss):
    """CART's errors of the path's trees by the peer alone: a fit for each fold and price."""
    alphas = peer.cost_complexity_pruning_path(X, y).ccp_alphas
    alphas = np.where(alphas < 1e-12, 0, alphas)
    alphas = alphas[np.append(np.diff(alphas) > 1e-12 * alphas[-1], True)]
    prices = np.sqrt(alphas[:-1] * alphas[1:])
    losses = np.zeros((len(prices) + 1, len(y)))
    for fold in range(FOLDS):
        split = folds[fold]
        for place, price in enumerate([*prices, 1e300]):
            model = type(peer)(**{**peer.get_params(), "ccp_alpha": price}).fit(X[split.train], y[split.train])
            losses[place, split.test] = loss(model.predict(X[split.test]), y[split.test])
    return alphas, prices, losses.mean(axis=1), losses.std(axis=1) / np.sqrt(len(y))


CASES = {
    "classification": (
        DecisionTreeClassifier,
        PeerClassifier(min_samples_leaf=12, random_state=0),
        lambda found, true: (found != true).astype(float),
    ),
    "regression": (
        DecisionTreeRegressor,
        PeerRegressor(min_samples_leaf=12, random_state=0),
        lambda found, true: (found - true) ** 2,
    ),
}


@pytest.mark.parametrize("task", CASES)
def test_path_errors_and_choice_equal_the_peers(task):
    ours, peer, loss = CASES[task]
    X, y = numeric(task)
    folds = k_fold(len(y), FOLDS, 3, y if task == "classification" else None)
    alphas, prices, errors, spread = peers_path(peer, X, y, folds, loss)
    for rule in ("cv-min", "cv-1se"):
        model = ours(min_leaf=12, pruning="cost-complexity", alpha_choice=rule, alpha_folds=FOLDS, seed=3).fit(X, y)
        path = model.pruning_path_
        np.testing.assert_allclose(path.alphas, alphas, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(path.prices[:-1], prices, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(path.errors, errors, rtol=1e-9)
        np.testing.assert_allclose(path.standard_errors, spread, rtol=1e-7)
        best = errors.argmin()
        bound = errors[best] + (spread[best] if rule == "cv-1se" else 0)
        chosen = np.flatnonzero(errors <= bound * (1 + 1e-12))[-1]
        assert path.alpha == pytest.approx([*prices, alphas[-1]][chosen])
        pruned = type(peer)(**{**peer.get_params(), "ccp_alpha": path.alpha}).fit(X, y)
        assert model.n_leaves_ == pruned.get_n_leaves() == path.leaves[chosen]
        assert 1 < model.n_leaves_ < path.leaves[0]


def test_the_standard_error_of_a_share_is_carts():
    X, y = numeric("classification")
    path = DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-1se").fit(X, y).pruning_path_
    np.testing.assert_allclose(path.standard_errors, np.sqrt(path.errors * (1 - path.errors) / len(y)), rtol=1e-9)
    assert path.folds == 10
    assert path.leaves[-1] == 1


def test_by_errors_path_and_choice_are_rparts():
    """R's rpart 4.1.19 on the same rows and folds: ``rpart(digit ~ ., method = "class", control = rpart.control(cp = 0,
    minsplit = 6, minbucket = 1, xval = folds))``, its ``cptable`` times the root's 170 errors.
    """
    table, target = read_file(generated_path("led7-train200.csv"), "digit")
    model = DecisionTreeClassifier.from_params({"preset": "cart"}).fit(table, target)
    path = model.pruning_path_
    assert path.leaves.tolist() == [23, 19, 12, 10, 9, 7, 6, 4, 3, 1]
    np.testing.assert_allclose(path.impurities * 200, [42, 44, 51, 55, 62, 82, 93, 117, 132, 170])
    np.testing.assert_allclose(path.alphas * 200, [0, 0.5, 1, 2, 7, 10, 11, 12, 15, 19], atol=1e-12)
    np.testing.assert_allclose(path.errors, [0.325, 0.325, 0.305, 0.305, 0.355, 0.485, 0.54, 0.595, 0.67, 0.85])
    np.testing.assert_allclose(path.standard_errors[[0, 3, -1]], [0.03311910, 0.03255572, 0.02524876], rtol=1e-6)
    assert model.n_leaves_ == 10


def by_predictions(model, table, target, codes):
    """The errors of each price when every fold's tree is pruned and asked for itself."""
    path = model.pruning_path_
    plan = k_fold(len(table), path.folds, model.seed, codes)
    wrong = np.zeros((len(path.prices), len(table)))
    for fold in range(path.folds):
        split = plan[fold]
        for place, price in enumerate(path.prices):
            params = model.get_params() | {"alpha_choice": "given", "alpha_folds": 10, "alpha": min(price, 1e300)}
            other = type(model)(**params).fit(table.take(split.train), target.take(split.train))
            found = other.decide(other.predict_proba(table.take(split.test)))
            wrong[place, split.test] = found != codes[split.test]
    return wrong.mean(axis=1)


@pytest.mark.parametrize("cost", ["impurity", "error"])
def test_rows_with_missing_values_are_judged_as_they_would_be_answered(cost):
    table, target = read("hepatitis", "Class")
    model = DecisionTreeClassifier(
        pruning="cost-complexity",
        alpha_choice="cv-min",
        alpha_folds=3,
        min_leaf=3,
        leaf_estimate="laplace",
        nominal="multiway",
        pruning_cost=cost,
    ).fit(table, target)
    assert np.isnan(table.values).any()
    np.testing.assert_allclose(model.pruning_path_.errors, by_predictions(model, table, target, target.codes))


def test_weights_count():
    """A row of weight 0 is in no fold, and errors are shares of the weight."""
    X, y = numeric("classification", rows=200)
    weights = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    kept = weights > 0
    params = {"pruning": "cost-complexity", "alpha_choice": "cv-min", "min_leaf": 5}
    one = DecisionTreeClassifier(**params).fit(X, y, weights)
    other = DecisionTreeClassifier(**params).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_array_equal(one.pruning_path_.errors, other.pruning_path_.errors)
    root_alone = one.pruning_path_.errors[-1]
    shares = np.bincount(y, weights) / weights.sum()
    assert root_alone == pytest.approx(1 - shares.max(), abs=0.02)


def test_the_path_is_kept_with_the_model():
    X, y = numeric("classification", rows=150)
    model = DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-1se").fit(X, y)
    copy = load_model(load(dump_model(model)))
    for name in PruningPath.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(copy.pruning_path_, name), getattr(model.pruning_path_, name))
    given = DecisionTreeClassifier(pruning="cost-complexity", alpha=0.01).fit(X, y)
    assert given.pruning_path_.alpha == 0.01
    assert given.pruning_path_.folds == 0
    assert len(given.pruning_path_.errors) == 0
    assert load_model(load(dump_model(given))).pruning_path_.alphas.tolist() == given.pruning_path_.alphas.tolist()
    assert DecisionTreeClassifier().fit(X, y).pruning_path_ is None


@pytest.mark.parametrize("scale", [1e139, 1e-120, 2.0**200])
def test_very_large_and_very_small_targets(scale):
    """The squares of squared errors are no doubles; the choice is the same."""
    X, y = numeric("regression", rows=120)
    params = {"pruning": "cost-complexity", "alpha_choice": "cv-1se", "min_leaf": 5}
    one = DecisionTreeRegressor(**params).fit(X, y)
    other = DecisionTreeRegressor(**params).fit(X, y / 8 * scale)
    assert other.n_leaves_ == one.n_leaves_
    np.testing.assert_allclose(other.pruning_path_.errors / scale / scale * 64, one.pruning_path_.errors, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_fewer_rows_than_folds(rows):
    X, y = np.arange(rows, dtype=float)[:, None], np.arange(rows) % 2
    model = DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-1se").fit(X, y)
    assert model.pruning_path_.folds == (rows if rows > 1 else 0)
    assert np.isfinite(model.predict_proba(X)).all()
