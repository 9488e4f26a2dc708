"""Logistic and softmax regression: closed cases, scikit-learn's answers, separable classes, standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from learners.errors import ParameterError
from learners.evaluation.folds import k_fold
from learners.linear import LinearRegressor, LogisticClassifier, newton
from learners.linear.design import make_design
from learners.linear.multinomial import Multinomial
from learners.linear.newton import Problem, minimise
from learners.linear.penalty import Penalty
from learners.link import plain_probabilities, probabilities, with_reference
from learners.table import Column, Kind, Series, Table
from tests.learners.tables import read


def test_one_indicator_gives_the_odds_of_the_table() -> None:
    """Of a 2 x 2 table: log odds, log odds ratio, and Woolf's standard error sqrt(1/a + 1/b + 1/c + 1/d)."""
    counts = {("no", 0): 30, ("no", 1): 10, ("yes", 0): 5, ("yes", 1): 20}
    rows = [(level, code) for (level, code), count in counts.items() for _ in range(count)]
    column = Column("exposed", Kind.BOOLEAN, ("no", "yes"))
    table = Table.from_columns({"exposed": [level for level, _ in rows]}, [column])
    target = Series(Column("ill", Kind.NOMINAL, ("well", "ill")), np.array([code for _, code in rows], float))
    model = LogisticClassifier(penalty="none").fit(table, target)
    intercept, ratio = model.coefficients()
    assert intercept.estimate == pytest.approx(np.log(10 / 30))
    assert ratio.estimate == pytest.approx(np.log((20 * 30) / (5 * 10)))
    assert ratio.standard_error == pytest.approx(np.sqrt(1 / 30 + 1 / 10 + 1 / 5 + 1 / 20))
    assert intercept.standard_error == pytest.approx(np.sqrt(1 / 30 + 1 / 10))
    assert ratio.low == pytest.approx(ratio.estimate - 1.959963984540054 * ratio.standard_error)
    shares = model.predict_proba(Table.from_columns({"exposed": ["no", "yes"]}, [column]))
    np.testing.assert_allclose(shares, [[0.75, 0.25], [0.2, 0.8]], rtol=1e-12)
    assert model.statistics_["deviance"] == pytest.approx(
        -2 * sum(n * np.log(p) for n, p in [(30, 0.75), (10, 0.25), (5, 0.2), (20, 0.8)])
    )


@pytest.mark.parametrize("alpha", [0.3, 0.003])
@pytest.mark.parametrize("name", ["wdbc", "iris"])
def test_ridge_probabilities_are_the_peers(name: str, alpha: float) -> None:
    table, target = read(name, {"wdbc": "diagnosis", "iris": "class"}[name])
    X = (table.values - table.values.mean(0)) / table.values.std(0)
    peer = LogisticRegression(C=1 / (alpha * len(X)), tol=1e-10, max_iter=10_000).fit(X, target.codes)
    model = LogisticClassifier(alpha=alpha).fit(table, target)
    np.testing.assert_allclose(model.predict_proba(table), peer.predict_proba(X), atol=1e-6)
    assert model.warnings_ == ()


@pytest.mark.parametrize("name", ["wdbc", "iris"])
def test_lasso_probabilities_are_the_peers(name: str) -> None:
    table, target = read(name, {"wdbc": "diagnosis", "iris": "class"}[name])
    X = (table.values - table.values.mean(0)) / table.values.std(0)
    options = {"l1_ratio": 1.0, "solver": "saga", "C": 1 / (0.05 * len(X)), "tol": 1e-9, "max_iter": 20_000}
    peer = LogisticRegression(**options).fit(X, target.codes)
    model = LogisticClassifier(penalty="lasso", alpha=0.05).fit(table, target)
    np.testing.assert_allclose(model.predict_proba(table), peer.predict_proba(X), atol=2e-5)
    zero = [row.estimate == 0 for row in model.coefficients() if row.variable.kind != "intercept"]
    assert zero == (np.abs(peer.coef_).ravel() < 1e-6).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes_have_a_finite_answer_and_a_warning(n_classes: int) -> None:
    x = np.arange(12.0)
    y = np.floor(x * n_classes / 12).astype(int)
    model = LogisticClassifier(penalty="none").fit(x[:, None], y)
    assert (model.predict(x[:, None]) == y).all()
    assert all(np.isfinite(row.estimate) and abs(row.estimate) < 100 for row in model.coefficients())
    assert len(model.warnings_) == 1
    assert "separable" in model.warnings_[0]
    assert model.alpha_ == 1e-4
    ridge = LogisticClassifier(penalty="ridge", alpha=1e-4).fit(x[:, None], y)
    assert ridge.predict_proba(x[:, None]) == pytest.approx(model.predict_proba(x[:, None]), abs=1e-9)
    assert ridge.warnings_ == ()


def test_coefficients_beyond_what_is_told_are_warned_of() -> None:
    """Of a column of numbers near 1e-305 the coefficient in their units lies near 1e305."""
    x, y = np.arange(12.0), [0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    for learner in (LogisticClassifier(), LinearRegressor()):
        target = y if learner.capabilities.task == "classification" else np.array(y, float)
        (warning,) = learner.fit(x[:, None] * 1e-305, target).warnings_
        assert [row.estimate for row in learner.coefficients()][1] == 1e300
        assert "1e+300" in warning
        assert learner.training_notes() == {"warnings": [warning]}
        assert learner.fit(x[:, None], target).warnings_ == ()
        assert learner.training_notes() == {}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"max_degree": 3}, "max_degree"),
        ({"max_degree": 3, "alpha": None}, "max_degree"),
        ({"folds": 3}, "folds"),
        ({"seed": 1}, "seed"),
        ({"selection": "one-standard-error"}, "selection"),
        ({"folds": 3, "penalty": "none", "degree": 2}, "folds"),
    ],
)
def test_what_chooses_is_refused_where_nothing_is_chosen(given: dict[str, object], fault: str) -> None:
    with pytest.raises(ParameterError, match="no effect") as refused:
        LogisticClassifier(**given).fit(np.arange(6.0)[:, None], [0, 1] * 3)
    assert refused.value.field == fault
    LogisticClassifier(degree=None, max_degree=2, folds=2, seed=1).check_together()
    LinearRegressor(penalty="ridge", folds=2, validation="leave-one-out").check_together()


def test_classes_that_are_nearly_separable_are_not() -> None:
    """Of 1,000 rows on either side all but one are of its class: the log odds ratio is 2 log 999."""
    x, y = np.repeat([0.0, 1.0], 1000), np.repeat([0, 1, 0, 1], [999, 1, 1, 999])
    model = LogisticClassifier(penalty="none").fit(x[:, None], y)
    assert model.warnings_ == ()
    assert model.coefficients()[1].estimate == pytest.approx(2 * np.log(999))


def test_of_many_coefficients_separable_classes_are_noticed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "MOST_COEFFICIENTS", 0)
    x = np.arange(12.0)[:, None]
    assert "separable" in LogisticClassifier(penalty="none").fit(x, x[:, 0] > 5).warnings_[0]
    assert LogisticClassifier(penalty="none").fit(x, np.arange(12) % 2).warnings_ == ()


def test_one_class_that_is_separable_from_two_others_counts_too() -> None:
    x = np.array([0.0, 1, 0, 1, 0, 1, 9, 10, 11])
    y = np.array([0, 0, 1, 1, 0, 1, 2, 2, 2])
    model = LogisticClassifier(penalty="none").fit(x[:, None], y)
    assert model.warnings_
    assert model.predict_proba([[0.5]])[0, :2] == pytest.approx([0.5, 0.5], abs=0.01)


def test_gradients_are_differences() -> None:
    random = np.random.default_rng(0)
    for n_classes in (2, 4):
        variables = np.column_stack([random.normal(size=(15, 3)), np.ones(15)])
        codes = np.arange(15.0) % n_classes
        problem = Problem(variables, codes, np.full(15, 1 / 15), n_classes, np.array([0.1, 0.1, 0.1, 0]))
        theta = random.normal(size=(problem.n_functions, 4))
        gradient = problem.gradient(theta, problem.likely(theta))
        second = problem.information(problem.likely(theta))
        for place in np.ndindex(theta.shape):
            step = np.zeros_like(theta)
            step[place] = 1e-6
            slope = (problem.value(theta + step) - problem.value(theta - step)) / 2e-6
            assert gradient[place] == pytest.approx(slope, abs=1e-7)
            after, before = (problem.gradient(t, problem.likely(t)).ravel() for t in (theta + step, theta - step))
            bend = (after - before) / 2e-6 - step.ravel() * 1e6 * np.tile(problem.ridge, len(theta))
            at = place[0] * 4 + place[1]
            np.testing.assert_allclose(second[at], bend, atol=1e-7)


def test_many_coefficients_are_found_without_second_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    table, target = read("iris", "class")
    newtons = LogisticClassifier(alpha=0.01).fit(table, target).predict_proba(table)
    monkeypatch.setattr(newton, "MOST_COEFFICIENTS", 0)
    assert LogisticClassifier(alpha=0.01).fit(table, target).predict_proba(table) == pytest.approx(newtons, abs=1e-6)


def test_functions_of_three_classes_sum_to_nothing() -> None:
    table, target = read("iris", "class")
    model = LogisticClassifier(alpha=0.01).fit(table, target)
    by_class = np.array([row.estimate for row in model.coefficients()]).reshape(3, -1)
    np.testing.assert_allclose(by_class.sum(0), 0, atol=1e-7)
    assert {row.label for row in model.coefficients()} == set(target.column.labels)


def test_so_do_those_of_a_lasso_whose_intercepts_no_penalty_holds() -> None:
    table, target = read("iris", "class")
    model = LogisticClassifier(penalty="lasso", alpha=0.02).fit(table, target)
    mean = Table.from_array(table.values.mean(axis=0)[None], table.names)
    assert model.linear_predictors(mean).sum() == pytest.approx(0, abs=1e-9)


def test_a_class_that_training_lacks_is_hardly_possible() -> None:
    """Of a fold without it; what it costs in nats is as much as its score is below that of the others."""
    random = np.random.default_rng(9)
    X = random.normal(size=(30, 2))
    for n_classes, present in ((3, (0, 2)), (4, (0, 1, 3)), (3, (1,))):
        codes = np.array(present, float)[np.arange(30) % len(present)]
        design = make_design(Table.from_array(X), np.ones(30), degree=1, gaps=False)
        variables = design.encoding.values(design.cells, design.columns)
        scores = Multinomial(codes, n_classes).solve(design, Penalty(0.0), np.array([0.01])).scores(variables)[0]
        shares = probabilities(with_reference(scores))
        absent = [code for code in range(n_classes) if code not in present]
        assert (shares[absent] < 1e-10).all()
        alone = LogisticClassifier(alpha=0.01).fit(X, codes).predict_proba(X)
        np.testing.assert_allclose(shares[list(present)], alone.T, atol=1e-8)


def test_strength_and_degree_are_chosen_by_cross_entropy() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(-3, 3, 80)
    y = (np.abs(x) + random.normal(size=80) / 4 > 1.5).astype(int)
    model = LogisticClassifier(degree=None, max_degree=2, penalty="lasso", alpha=None, n_alphas=4, folds=3)
    model.fit(x[:, None], y)
    assert model.degree_ >= 2
    assert model.score(x[:, None], y) > 0.85
    assert model.tried_ is not None
    assert len(model.tried_.losses) == 8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_path_of_classes_begins_where_the_first_column_comes_in(n_classes: int) -> None:
    """At the largest slope of the loss of the shares alone; a ridge's at 100 times the largest eigenvalue."""
    random = np.random.default_rng(5)
    for n_rows, end in ((40, 1e-4), (3, 1e-2)):
        X, codes = random.normal(size=(n_rows, 3)), np.arange(n_rows) % n_classes
        weights = np.arange(n_rows) % 2 + 1.0
        design = make_design(Table.from_array(X), weights, degree=1, gaps=False)
        standard, shares = design.standard, weights / weights.sum()
        off = [(codes == code) - shares @ (codes == code) for code in range(n_classes)]
        steepest = max(abs(standard.T @ (shares * rest)).max() for rest in off)
        found = Multinomial(codes.astype(float), n_classes).grid(design, Penalty(0.5), 5)
        assert (found[0], found[-1]) == pytest.approx((steepest / 0.5, steepest / 0.5 * end))
        largest = np.linalg.eigvalsh(standard.T @ (shares[:, None] * standard))[-1]
        ridges = Multinomial(codes.astype(float), n_classes).grid(design, Penalty(0.0), 5)
        assert (ridges[0], ridges[-1]) == pytest.approx((largest * 1e2, largest * 1e-8))


def test_losses_of_the_path_are_those_of_fits_to_stratified_folds() -> None:
    random = np.random.default_rng(6)
    X, y = random.normal(size=(31, 2)), (random.random(31) < 0.3).astype(int)
    tried = LogisticClassifier(alpha=None, n_alphas=3, folds=4, seed=2).fit(X, y).tried_
    assert tried is not None
    folds = k_fold(31, 4, 2, y)
    for alpha, loss in zip(tried.alphas.tolist(), tried.losses, strict=True):
        costs = np.empty(31)
        for number in range(4):
            train, test = folds[number].train, folds[number].test
            own = LogisticClassifier(alpha=alpha).fit(X[train], y[train])
            costs[test] = -np.log(own.predict_proba(X[test])[np.arange(len(test)), y[test]])
        assert loss == pytest.approx(costs.mean(), rel=1e-6)


def test_class_weights_and_utilities_move_the_decision() -> None:
    random = np.random.default_rng(2)
    x = np.concatenate([random.normal(0, 1, 80), random.normal(1, 1, 20)])
    labels = ["ham"] * 80 + ["spam"] * 20
    plain = LogisticClassifier().fit(x[:, None], labels)
    weighed = LogisticClassifier(class_weight={"spam": 4}).fit(x[:, None], labels)
    assert (weighed.predict(x[:, None]) == "spam").sum() > (plain.predict(x[:, None]) == "spam").sum()
    costs = {"ham": {"spam": -1.0}, "spam": {"ham": -10.0}}
    careful = LogisticClassifier(class_weight={"spam": 4}, utility=costs).fit(x[:, None], labels)
    shares = careful.predict_proba(x[:, None])[:, 1]
    assert ((careful.predict(x[:, None]) == "spam") == (shares > 10 / 11)).all()


def test_a_class_absent_from_a_fold_ends_no_choice() -> None:
    x = np.arange(30.0)
    y = np.array([0] * 14 + [1] * 15 + [2])
    model = LogisticClassifier(alpha=None, n_alphas=3, folds=6).fit(x[:, None], y)
    assert model.tried_ is not None
    assert np.isfinite(model.tried_.losses).all()


def test_softmax_bears_any_scores() -> None:
    scores = np.array([[1e300, -1e300, 0.0], [-1e300, 1e300, 0.0]])
    np.testing.assert_array_equal(probabilities(scores), [[1, 0, 0.5], [0, 1, 0.5]])


def test_one_row_has_the_bits_of_many() -> None:
    scores = np.random.default_rng(6).normal(size=(4, 3_000)) * 20
    many = probabilities(scores)
    assert [plain_probabilities(row) for row in scores.T.tolist()] == many.T.tolist()


def test_a_wide_table_is_learned() -> None:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(10, 40)), np.arange(10) % 2
    model = LogisticClassifier().fit(X, y)
    assert model.score(X, y) == 1


def test_minimising_starts_anywhere() -> None:
    random = np.random.default_rng(4)
    variables = np.column_stack([random.normal(size=(30, 2)), np.ones(30)])
    problem = Problem(variables, np.arange(30.0) % 2, np.full(30, 1 / 30), 2, np.array([0.01, 0.01, 0]))
    wanted, reached = minimise(problem, np.zeros((1, 3)))
    assert reached
    for seed in range(3):
        start = np.random.default_rng(seed).normal(size=(1, 3)) * 20
        np.testing.assert_allclose(minimise(problem, start)[0], wanted, atol=1e-9)


def test_variables_that_depend_on_each_other_are_learned_like_those_that_do_not() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] + random.normal(size=60) > 0, "a", "b")
    plain, doubled = LogisticClassifier(penalty="none").fit(X, y), LogisticClassifier(penalty="none")
    doubled.fit(np.hstack([X, X[:, :1] * 5 - 2]), y)
    asked = np.hstack([X, X[:, :1] * 5 - 2])
    np.testing.assert_allclose(doubled.predict_proba(asked), plain.predict_proba(X), atol=1e-8)
    halves = doubled.coefficients_[0, [0, 3]]  # of standardised columns, so that of least norm parts them alike
    assert halves[0] == pytest.approx(halves[1], rel=1e-6)
    assert not doubled.warnings_


def test_classes_of_rows_that_can_have_any_scores_are_separable() -> None:
    X = np.random.default_rng(4).normal(size=(8, 10))
    model = LogisticClassifier(penalty="none").fit(X, list("abababab"))
    assert "separable" in model.warnings_[0]
    assert model.score(X, list("abababab")) == 1
