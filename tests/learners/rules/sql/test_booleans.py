"""Statements read a boolean input in whatever way the table holds it, as the API reads its values."""

from __future__ import annotations

import math
from copy import copy
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.boolean_texts import boolean_level, spellings
from learners.linear import LinearRegressor, LogisticClassifier
from learners.rules import RuleSetClassifier
from learners.rules.access import rules_of
from learners.rules.sql.columns import is_among, is_unseen
from learners.rules.sql.statements import case_expression
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor, ModelTreeRegressor
from tests.learners.rules.databases import Database
from tests.learners.rules.sql.test_names import statement, wanted

#: As files give them: JSON and Parquet, CSV, declared ones, the caller's names and the caller's order.
COLUMNS = {
    "typed": Column("b", Kind.BOOLEAN, ("false", "true"), "boolean"),
    "texts": Column("b", Kind.BOOLEAN, ("False", "True")),
    "words": Column("b", Kind.BOOLEAN, ("No", "Yes")),
    "letters": Column("b", Kind.BOOLEAN, ("n", "y")),
    "numbers": Column("b", Kind.BOOLEAN, ("0", "1"), "number"),
    "names": Column("b", Kind.BOOLEAN, ("female", "male")),
    "capitals": Column("b", Kind.BOOLEAN, ("Ja", "JA")),
    "reversed": Column("b", Kind.BOOLEAN, ("Yes", "No")),
}
#: Types and values in them; each value is given to the model as a row of the API would.
HELD = {
    "BOOLEAN": [True, False, None],
    "INTEGER": [1, 0, None, 2],
    "DOUBLE PRECISION": [1.0, 0.0, None, 0.5],
    "TEXT": [
        *("true", "True", "TRUE", "false", "False", "FALSE", "yes", "no", "YES", "No", "y", "n", "t", "F", "on", "OFF"),
        *("1", "0", "1.0", "0.0", "female", "male", "Male", "Ja", "JA", "ja", "", " true", "true ", "maybe", "2", None),
    ],
    "VARCHAR(9)": ["true", "No", None],
}
NUMBERS = (-1.5, -0.4, 0.1, 0.6, 1.7)
MODELS = {
    "tree": DecisionTreeClassifier(missing="fractional"),
    "most likely": DecisionTreeClassifier(missing="most-likely"),
    "as value": DecisionTreeClassifier(missing="as-value"),
    "one against the rest": DecisionTreeClassifier(nominal="one-vs-rest"),
    "formulas": DecisionTreeClassifier(formula_tests="boolean", nominal="one-vs-rest"),
    "m of n": DecisionTreeClassifier(formula_tests="m-of-n", nominal="one-vs-rest"),
    "rule set": RuleSetClassifier(),
    "regression": DecisionTreeRegressor(),
    "model tree": ModelTreeRegressor(min_deviation=0.0),
    "linear": LinearRegressor(),
    "logistic": LogisticClassifier(),
}


@cache
def fitted(name: str, column: Column):
    """A model whose answers depend on the boolean, and on a number beside it; the same for all databases."""
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.integers(0, 2, 200), rng.normal(size=200)]).astype(float)
    signal = 2 * values[:, 0] + values[:, 1] * (1 + values[:, 0]) + 0.2 * rng.normal(size=200)
    values[rng.random(200) < 0.1, 0] = math.nan
    table = Table((column, Column("x")), np.asfortranarray(values))
    if name in {"regression", "model tree", "linear"}:
        return copy(MODELS[name]).fit(table, Series(Column("t"), signal))
    return copy(MODELS[name]).fit(table, Series(Column("t", Kind.NOMINAL, ("p", "q")), (signal > 1.0).astype(float)))


def fill(database: Database, held: str, values: list) -> list:
    """Each value beside some numbers, as the rows of a table that has the type's name; the same rows are returned."""
    rows = [(value, number) for value in values for number in NUMBERS]
    cursor = database.connection.cursor()
    cursor.execute(f'CREATE TABLE "{held}" ("row key" INTEGER, b {held}, x DOUBLE PRECISION)')
    marks = ", ".join([database.placeholder] * 3)
    cursor.executemany(f'INSERT INTO "{held}" VALUES ({marks})', [(key, *row) for key, row in enumerate(rows)])
    return rows


@pytest.mark.parametrize("spelled", COLUMNS)
@pytest.mark.parametrize("name", MODELS)
def test_every_way_to_hold_a_boolean_is_answered_as_the_model_answers_its_value(database, name, spelled) -> None:
    column = COLUMNS[spelled]
    model = fitted(name, column)
    sides = [Table(model.columns_, np.asfortranarray([[code, number] for number in NUMBERS])) for code in (0.0, 1.0)]
    assert (wanted(model, sides[0]) != wanted(model, sides[1])).any()  # the boolean decides
    for held, values in HELD.items():
        rows = fill(database, held, values)
        cells = np.array([[column.encode(value), number] for value, number in rows])
        table = Table(model.columns_, np.asfortranarray(cells))
        numbers = wanted(model, table)
        found = database.select(statement(model, held))
        answers = [list(row.values())[3:] for row in found]
        if isinstance(model, DecisionTreeClassifier | RuleSetClassifier):
            assert [row[-1] for row in answers] == model.predict(table).tolist()
            answers = [row[:-1] for row in answers]
        told = np.array([row[len(row) - numbers.shape[1] :] for row in answers], dtype=float)
        np.testing.assert_allclose(told, numbers, rtol=1e-12, atol=1e-12)
        if name in {"tree", "most likely", "rule set", "formulas"}:
            rules = rules_of(model)
            shares = rules.matches(table)
            alone = database.evaluate(case_expression(rules), held)
            assert [one is not None for one in alone] == (shares.max(axis=1) == 1).tolist()
            assert all(one in {None, said} for one, said in zip(alone, model.predict(table), strict=True))


@pytest.mark.parametrize("spelled", COLUMNS)
def test_levels_are_read_as_rows_of_the_api_are(database, spelled) -> None:
    column = COLUMNS[spelled]
    rows = fill(database, "TEXT", HELD["TEXT"])
    codes = [column.encode(value) for value, _ in rows]
    for code in (0, 1):
        asked = database.evaluate(is_among(column, [code], ""), "TEXT")
        others = database.evaluate(is_among(column, [code], "", negated=True), "TEXT")
        assert [None if one is None else bool(one) for one in asked] == [
            None if math.isnan(one) else one == code for one in codes
        ]
        assert [None if one is None else not one for one in others] == [
            None if one is None else bool(one) for one in asked
        ]
    unseen = database.evaluate(is_unseen(column, ""), "TEXT")
    assert [None if one is None else bool(one) for one in unseen] == [
        None if math.isnan(one) else one == -1 for one in codes
    ]


def test_short_where_the_levels_are_spellings_themselves() -> None:
    assert is_among(COLUMNS["texts"], [1], "source") == (
        "LOWER(CAST(source.\"b\" AS TEXT)) IN ('true', 'yes', 'y', 't', '1', 'on', '1.0')"
    )
    assert is_among(COLUMNS["names"], [0], "", negated=True) == (
        "(CAST(\"b\" AS TEXT) NOT IN ('female') AND LOWER(CAST(\"b\" AS TEXT)) NOT IN ('false', '0', '0.0'))"
    )


@given(st.lists(st.sampled_from(["False", "TRUE", "yes", "No", "1", "0", "ja", "JA", "t"]), min_size=2, max_size=2))
def test_no_text_spells_both_levels(levels) -> None:
    if levels[0] != levels[1]:
        false, true = spellings(*levels)
        assert not set(false) & set(true)
        assert [boolean_level(level, levels) for level in levels] == levels
