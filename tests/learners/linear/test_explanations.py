"""Contributions: they add up to the bit, for every kind of cell; and sums over columns are the variables' sums."""

from __future__ import annotations

import numpy as np
import pytest

from learners.base import Learner
from learners.checks import samples
from learners.checks.require import require_json
from learners.linear import LinearRegressor, LogisticClassifier
from learners.linear.fitted import FittedLinear
from learners.persist import dump, load
from learners.table import MISSING, UNSEEN, Column, Kind, Table
from learners.types import FloatArray

MODELS = [
    LinearRegressor(degree=3),
    LinearRegressor(penalty="lasso", alpha=0.3),
    LogisticClassifier(degree=2),
    LogisticClassifier(penalty="lasso", alpha=0.02),
]


def fitted(learner: Learner) -> tuple[FittedLinear, Table]:
    sample = samples.mixed(learner.capabilities)
    model = type(learner)(**learner.get_params()).fit(sample.table, sample.target)
    values = sample.table.values.copy()
    values[::5, 0], values[1::7, 3], values[2::7, 3], values[::9, 4] = 1e300, MISSING, UNSEEN, UNSEEN
    values[5::11, 1] = -1e308
    return model, Table(sample.table.columns, values)


def answers(model: FittedLinear, table: Table) -> FloatArray:
    return model.predict_proba(table) if isinstance(model, LogisticClassifier) else model.predict(table)


@pytest.mark.parametrize("learner", MODELS, ids=repr)
def test_intercept_and_contributions_are_the_answer_to_the_bit(learner: Learner) -> None:
    model, table = fitted(learner)
    found = answers(model, table)
    predictors = model.linear_predictors(table)
    rows = table.values.tolist()
    for row, explanation in enumerate(model.explain(table)):
        for function, predictor in enumerate(explanation.predictors):
            assert predictor.value == predictors[function, row]
        np.testing.assert_array_equal(explanation.replayed(), found[row])
        plain = model.answer_plainly([rows[row]])[0]
        np.testing.assert_array_equal(plain if len(plain) > 1 else plain[0], found[row])
        require_json(explanation.to_json(), "a reason")
    assert np.isfinite(found).all()


@pytest.mark.parametrize("learner", MODELS, ids=repr)
def test_sums_over_columns_are_sums_over_variables(learner: Learner) -> None:
    model, _ = fitted(learner)
    sample = samples.mixed(learner.capabilities)
    variables = model.encoding_.values(sample.table.values, sample.table.columns)
    wanted = variables @ model.coefficients_.T + model.intercepts_
    np.testing.assert_allclose(model.linear_predictors(sample.table), wanted.T, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("learner", MODELS, ids=repr)
def test_coefficients_in_the_units_of_the_data_answer_too(learner: Learner) -> None:
    model, _ = fitted(learner)
    sample = samples.mixed(learner.capabilities)
    totals = dict.fromkeys(model.function_labels_, 0.0)
    place = next(i for i in range(sample.table.n_rows) if not np.isnan(sample.table.values[i]).any())
    values = {name: column[place] for name, column in sample.table.to_columns().items()}
    for one in model.coefficients():
        variable = one.variable
        value = 1.0 if variable.column is None else values[variable.column]
        if variable.kind == "level":
            value = float(value == variable.level)
        elif variable.kind == "missing":
            value = 0.0
        elif variable.kind in ("number", "power") and variable.column is not None:
            column = sample.table.columns[sample.table.position(variable.column)]
            value = float(value) if column.is_numeric else column.encode(value)
            if variable.kind == "power":
                value = ((value - variable.centre) / variable.unit) ** variable.power
        totals[one.label] += one.estimate * value
    found = model.linear_predictors(sample.table.take(np.array([place])))[:, 0]
    np.testing.assert_allclose(list(totals.values()), found, rtol=1e-9, atol=1e-9)


def test_states_and_texts() -> None:
    sample = samples.mixed(LinearRegressor.capabilities)
    model = LinearRegressor().fit(sample.table, sample.target)
    cells = np.array([[1.5, MISSING, 2.0, UNSEEN, UNSEEN, 1.0]])
    (explanation,) = model.explain(Table(sample.table.columns, cells))
    told = {one.column: (one.observed, one.state) for one in explanation.predictors[0].contributions}
    assert told["height"] == (1.5, "known")
    assert told["width"] == (None, "missing")
    assert told["colour"] == (None, "unseen")
    assert told["grade"] == (None, "unseen")
    assert told["round"] == (True, "known")
    assert "(width = missing)" in explanation.text()
    assert explanation.n_tests == 6


def test_formulas_have_their_signs_and_reasons_the_largest_first() -> None:
    assert LinearRegressor().fit([[-1.0], [0.0], [1.0]], [5.0, 3.0, 1.0]).formula() == "3 - 2 * x0"
    x = np.arange(-9.0, 0)[:, None]
    assert "* ((x0 + 5) / 2.58" in LinearRegressor(degree=2).fit(x, x[:, 0] ** 2).formula()
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    (reason,) = LinearRegressor().fit(X, X @ [1.0, -3.0]).explain([[1.0, 1.0]])
    text = reason.text()
    assert text.index("(x1 = 1)") < text.index("(x0 = 1)")
    assert reason.link == "identity"
    model = LogisticClassifier(alpha=1e3).fit(X, [0, 0, 1, 1])
    assert model.formula().startswith("1: ")
    assert model.explain(X)[0].to_json()["link"] == "logistic"
    assert LogisticClassifier().fit(X, [0, 0, 1, 2]).explain(X)[0].to_json()["link"] == "softmax"
    assert LogisticClassifier(penalty="lasso", alpha=1e3).fit(X, [0, 0, 1, 1]).formula() == "1: 0"


def test_a_level_that_training_lacks_adds_the_mean_of_the_others_and_a_gap_its_own() -> None:
    """By hand: a adds 0, b 2, in the mean 1; what is missing is told 11, which is 9 beyond the mean and a's 1."""
    colour = Column("colour", Kind.NOMINAL, ("a", "b", "never"))
    cells = np.array([0, 0, 1, 1, MISSING, MISSING])[:, None]
    model = LinearRegressor().fit(Table((colour,), cells), [1.0, 1.0, 3.0, 3.0, 10.0, 12.0])
    asked = Table((colour,), np.array([0, 1, 2, UNSEEN, MISSING])[:, None])
    told = [reason.predictors[0].contributions[0] for reason in model.explain(asked)]
    assert [one.amount for one in told] == pytest.approx([0, 2, 1, 1, 10])
    assert [one.state for one in told] == ["known", "known", "unseen", "unseen", "missing"]
    assert model.predict(asked) == pytest.approx([1, 3, 2, 2, 11])


def test_a_model_comes_back_with_all_it_tells() -> None:
    sample = samples.mixed(LinearRegressor.capabilities)
    model = LinearRegressor(penalty="ridge", degree=2, n_alphas=5, folds=3).fit(sample.table, sample.target)
    copy = LinearRegressor.from_state(load(dump(model.get_state())))
    assert copy.coefficients(0.8) == model.coefficients(0.8)
    assert copy.formula() == model.formula()
    assert copy.statistics_ == model.statistics_
    assert copy.tried_ is not None
    assert model.tried_ is not None
    assert copy.tried_.to_json() == model.tried_.to_json()
    assert (copy.alpha_, copy.degree_, copy.warnings_) == (model.alpha_, model.degree_, model.warnings_)


def test_one_class_is_always_said() -> None:
    model = LogisticClassifier().fit([[0.0], [1.0]], ["a", "a"])
    (explanation,) = model.explain([[3.0]])
    assert explanation.text() == "always a"
    assert explanation.replayed().tolist() == [1.0]
    assert model.coefficients() == []


def test_what_lies_beyond_the_largest_sum_is_told_to_be_bounded() -> None:
    x = np.arange(8.0)[:, None]
    model = LinearRegressor(degree=3).fit(x, x[:, 0] ** 3)
    near, far = model.explain(np.array([[20.0], [1e200]]))
    assert [one.predictors[0].contributions[0].state for one in (near, far)] == ["known", "bounded"]
    assert "bounded" in far.predictors[0].contributions[0].text()
    assert model.predict(np.array([[20.0]])) == pytest.approx(8000)
