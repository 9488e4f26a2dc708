"""Products that are too small for a double are 0 in both databases, as in the model, and no row fails the others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from learners.linear_function import LinearFunction, LinearTerm
from learners.rules.access import rules_of
from learners.rules.rule import Rule, RuleSet
from learners.rules.sql.products import last_double, product
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, ModelTreeRegressor

LEAST = 5e-324
SMALL = [0.0, *(sign * one for sign in (1, -1) for one in (LEAST, 1.5e-323, 1e-310, 2.3e-308, 1e-200, 1e-100, 0.7))]
numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers, st.lists(numbers | st.sampled_from(SMALL), min_size=1, max_size=4))
@example(0.5, SMALL)
@example(math.nextafter(0.5, 1), SMALL)
@example(-1e-9, SMALL)
@example(LEAST, SMALL)
@example(0.0, SMALL)
def test_a_product_is_the_models(database, coefficient, cells) -> None:
    limit = last_double(lambda cell: abs(coefficient) * cell == 0.0) if coefficient else 1.0
    cells = [*cells, limit, -limit, math.nextafter(limit, math.inf)]
    database.fill(Table((Column("x"),), np.array(cells)[:, None]))
    for found, cell in zip(database.evaluate(product(coefficient, '"x"')), cells, strict=True):
        wanted = coefficient * cell
        # SQLite may read the bound wrongly in its last bits, and then the least double is 0
        assert found == wanted or (found == 0.0 and abs(wanted) == LEAST and database.placeholder == "?")


def test_no_guard_where_no_product_is_too_small() -> None:
    assert product(-2.0, '"x"') == "CAST('-2' AS DOUBLE PRECISION) * \"x\""
    assert product(0.0, '"x"') == "CAST('0' AS DOUBLE PRECISION) * \"x\""
    assert "ABS" in product(0.5, '"x"')


@given(st.floats(0, allow_nan=False, allow_infinity=False))
def test_the_last_double_of_a_condition_is_found_to_the_bit(bound) -> None:
    assert last_double(lambda number: number <= bound) == bound


def small_rows(*, missing: bool) -> Table:
    """Each pair of small numbers, with both levels and an unseen one."""
    cells = [(x, z, level) for x in SMALL for z in (0.4, *SMALL) for level in (0.0, 1.0, -1.0)]
    cells += [(math.nan, LEAST, 0.0), (LEAST, math.nan, math.nan)] if missing else []
    return Table((Column("x"), Column("z"), Column("c", Kind.NOMINAL, ("p", "q"))), np.asfortranarray(cells))


def learned(learner):
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(300, 2)), rng.integers(0, 2, 300)])
    signal = 0.01 * (values[:, 0] - 2 * values[:, 1]) + 0.001 * rng.normal(size=300) + 0.02 * values[:, 2]
    columns = (Column("x"), Column("z"), Column("c", Kind.NOMINAL, ("p", "q")))
    table = Table(columns, np.asfortranarray(values))
    if isinstance(learner, ModelTreeRegressor):
        return learner.fit(table, Series(Column("t"), signal))
    return learner.fit(table, Series(Column("t", Kind.NOMINAL, ("a", "b")), (signal > 0).astype(float)))


def test_a_small_number_fails_no_statement_of_a_model_tree(database) -> None:
    model = learned(ModelTreeRegressor(min_deviation=0.0))
    assert any(abs(term.coefficient) < 0.5 for rule in rules_of(model).rules for term in rule.function.terms)
    rows = small_rows(missing=False)
    database.fill(rows)
    found = [row["prediction"] for row in database.select(select_statement(rules_of(model), "rows"))]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12, atol=1e-15)
    rows = small_rows(missing=True)
    database.fill(rows)
    found = [row["prediction"] for row in database.select(select_statement(rules_of(model), "rows"))]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("missing", ["fractional", "most-likely"])
def test_a_small_number_fails_no_statement_of_weighted_sums(database, missing) -> None:
    model = learned(DecisionTreeClassifier(oblique_tests=True, missing=missing))
    rules = rules_of(model)
    assert any(column.test.is_sum for column in rules.combined)
    rows = small_rows(missing=True)
    database.fill(rows)
    found = database.select(select_statement(rules, "rows"))
    assert [row["prediction"] for row in found] == model.predict(rows).tolist()
    np.testing.assert_allclose([row["proba_a"] for row in found], model.predict_proba(rows)[:, 0], atol=1e-12)


def test_defaults_and_levels_of_tiny_coefficients(database) -> None:
    """A missing value's default, and a level's 1, times a coefficient that leaves nothing of them."""
    columns = (Column("x"), Column("c", Kind.NOMINAL, ("p", "q")))
    terms = (LinearTerm(0, "x", 1e-300, 1e-100), LinearTerm(1, "c", LEAST, 0.3, (0,), (1,), ("p",)))
    function = LinearFunction(0.0, terms)
    rule = Rule("0", 0, (), 0.0, None, None, 0.0, 1, 1.0, function=function)
    rules = RuleSet(columns, Column("t"), None, (rule,))
    cells = [[x, code] for x in (math.nan, 0.0, 1e-30, 1e250) for code in (math.nan, -1.0, 0.0, 1.0)]
    rows = Table(columns, np.asfortranarray(cells))
    database.fill(rows)
    assert database.evaluate(case_expression(rules)) == function.values(rows.values).tolist()
