"""Linear models in databases: both answer by the statement as the library does, to the bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learners.linear import LinearRegressor, LogisticClassifier
from learners.linear.additive import NumberPart
from learners.rules.sql.linear import linear_statement
from learners.table import UNSEEN, Column, Kind, Table

COLUMNS = (
    Column("a b"),
    Column('say "c"', Kind.NOMINAL, ("it's", "", "x", "never")),
    Column("grade", Kind.ORDINAL, ("low", "mid", "high")),
    Column("yes", Kind.BOOLEAN, ("false", "true")),
)


def table(rows: int, seed: int, gaps: float = 0.15) -> Table:
    generator = np.random.default_rng(seed)
    values = np.column_stack(
        [
            generator.normal(3, 2, rows),
            generator.integers(0, 3, rows),
            generator.integers(0, 3, rows),
            generator.integers(0, 2, rows),
        ]
    ).astype(float)
    values[generator.random(values.shape) < gaps] = np.nan
    return Table(COLUMNS, np.asfortranarray(values))


def asked(seed: int = 1) -> Table:
    rows = table(40, seed)
    rows.values[:3, 1], rows.values[3, 1], rows.values[4, 2] = UNSEEN, 3.0, UNSEEN
    rows.values[5:8, 0] = 0.0, 1e-200, -1e20
    return rows


@pytest.mark.parametrize(
    "learner",
    [LinearRegressor(), LinearRegressor(degree=3), LinearRegressor(penalty="lasso", alpha=0.3)],
    ids=["line", "cubic", "lasso"],
)
def test_regressions_are_answered_to_the_bit(database, learner) -> None:
    train = table(80, 0)
    model = learner.fit(train, np.nan_to_num(train.values[:, 0]) ** 2 + np.nan_to_num(train.values[:, 2]))
    rows = asked()
    database.fill(rows)
    found = [row["prediction"] for row in database.select(linear_statement(model, "rows"))]
    assert found == model.predict(rows).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes_are_answered_to_the_bit(database, n_classes) -> None:
    train = table(90, 2)
    model = LogisticClassifier().fit(train, np.array(["u", "v", "w"])[np.arange(90) % n_classes])
    rows = asked()
    database.fill(rows)
    told = database.select(linear_statement(model, "rows"))
    scores = model.linear_predictors(rows)
    for function, label in enumerate(model.function_labels_):
        assert [row[f"score_{label}"] for row in told] == scores[function].tolist()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cell=st.floats(allow_nan=False, allow_infinity=False), degree=st.integers(1, 4))
def test_any_number_has_the_models_answer_or_none(database, cell, degree) -> None:
    x = np.arange(12.0)[:, None]
    model = LinearRegressor(degree=degree).fit(x, np.sin(x[:, 0]))
    rows = Table(model.columns_, np.array([[cell]]))
    database.fill(rows)
    (found,) = database.select(linear_statement(model, "rows"))
    answer = found["prediction"]
    assert answer == model.predict(rows)[0] if abs(cell) < 1e20 else answer in (None, model.predict(rows)[0])


EDGES = [sign * one for one in (5e-324, 1e-160, 1e150, 1e290, 1e299, 1e300, 5e300, 1e305, 1.7e308) for sign in (1, -1)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cell=st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False) | st.sampled_from(EDGES),
    slope=st.sampled_from([3.0, -3.0, 1e-3, 1e5, 1e-10, -1e12]),
    unit=st.sampled_from([1.0, 1e-5, 1e6, 1e200, 1e-200]),
)
def test_straight_lines_answer_any_number_as_the_model_does(database, cell, slope, unit) -> None:
    """Contributions beyond 1e300 count as that in both."""
    x = np.arange(12.0)[:, None] * unit
    model = LinearRegressor(penalty="ridge", alpha=0.1).fit(x, slope * np.arange(12.0) + 1)
    edges = np.array([[cell], [np.nextafter(cell, 0)], [-cell], [1e290]])
    rows = Table(model.columns_, np.asfortranarray(edges))
    database.fill(rows)
    found = [row["prediction"] for row in database.select(linear_statement(model, "rows"))]
    assert found == model.predict(rows).tolist()


def test_the_last_number_that_is_kept_within_no_bound(database) -> None:
    """One unit in the last place to either side of where a line passes 1e300."""
    x = np.arange(12.0)[:, None]
    model = LinearRegressor(penalty="ridge", alpha=0.1).fit(x, 3 * x[:, 0])
    (part,) = model.functions_.parts
    low, high = 0.0, 1.7e308
    while np.nextafter(low, np.inf) < high:
        middle = low / 2 + high / 2
        low, high = (middle, high) if part.amount(0, middle) < 1e300 else (low, middle)
    for _ in range(3):
        low, high = float(np.nextafter(low, 0)), float(np.nextafter(high, np.inf))
    near = np.linspace(low, high, 9)[:, None]
    rows = Table(model.columns_, np.asfortranarray(np.vstack([near, -near])))
    database.fill(rows)
    found = [row["prediction"] for row in database.select(linear_statement(model, "rows"))]
    assert found == model.predict(rows).tolist()
    assert len(set(found)) > 4
    assert 1e300 in np.abs(found)


@pytest.mark.parametrize("degree", [3, 4])
def test_small_numbers_to_a_power_beside_no_lower_ones(database, degree) -> None:
    """The product of the number with itself is too small for a double, and the model has 0 there."""
    x = np.linspace(-1, 1, 41)[:, None]
    model = LinearRegressor(degree=degree, penalty="lasso", alpha=0.05).fit(x, 5 * x[:, 0] ** degree + 1)
    (part,) = model.functions_.parts
    assert isinstance(part, NumberPart)
    part = NumberPart(part.feature, False, part.factor, 0.0, part.unit, ((*[0.0] * (degree - 1), 5.0),), part.missing)
    model.functions_ = dataclasses.replace(model.functions_, parts=(part,))
    cells = [10.0**-power for power in range(0, 324, 6)] + [5e-324]
    rows = Table(model.columns_, np.asfortranarray(np.array([cells + [-cell for cell in cells]]).T))
    database.fill(rows)
    found = [row["prediction"] for row in database.select(linear_statement(model, "rows"))]
    assert found == model.predict(rows).tolist()
