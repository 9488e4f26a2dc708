"""Statements read the model's inputs and nothing else, whatever other columns the table has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from copy import copy
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learners.linear import LinearRegressor, LogisticClassifier
from learners.rules import RuleSetClassifier
from learners.rules.access import rules_of
from learners.rules.sql.linear import linear_statement
from learners.rules.sql.literals import identifier
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor, ModelTreeRegressor
from tests.learners.rules.databases import Database

INPUTS = ("x", "y z", "colour")
CLASSES = ("a", "b", "c")
#: What statements call their answers, what is computed on the way, and the queries in between; and in capitals.
OURS = (
    "prediction",
    "rule",
    *(f"{kind}_{label}" for kind in ("proba", "score") for label in (*CLASSES, 1, 2, 3)),
    *(f"{kind}{number}" for kind in ("p", "column") for number in (1, 2, 3, 4, 5)),
    "source",
    "rated",
    "ruled",
)
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "utilities": DecisionTreeClassifier(max_depth=4, utility={"a": {"a": 3.0}, "b": {"b": 1.0}, "c": {"c": 2.0}}),
    "combined": DecisionTreeClassifier(interval_tests=True, formula_tests="m-of-n", oblique_tests=True),
    "formulas": DecisionTreeClassifier(formula_tests="boolean", max_depth=3),
    "rule set": RuleSetClassifier(),
    "regression": DecisionTreeRegressor(max_depth=4),
    "model tree": ModelTreeRegressor(min_deviation=0.2),
    "linear": LinearRegressor(degree=2),
    "binary": LogisticClassifier(),
    "multinomial": LogisticClassifier(),
}


def rows(names: tuple[str, ...], seed: int, missing: float) -> Table:
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.normal(size=(80, len(names) - 1)), rng.integers(0, 3, 80)])
    values[rng.random(values.shape) < missing] = np.nan
    columns = [*(Column(name) for name in names[:-1]), Column(names[-1], Kind.NOMINAL, ("red", "green", "blue"))]
    return Table(tuple(columns), np.asfortranarray(values))


@cache
def fitted(name: str, names: tuple[str, ...] = INPUTS, target: str = "t"):
    """A model that has learned from rows with gaps; the same for all databases."""
    table = rows(names, 0, 0.1)
    noise = np.random.default_rng(1).normal(size=80)
    signal = np.nan_to_num(table.values[:, 0]) + np.nan_to_num(table.values[:, -1]) + 0.3 * noise
    if name in {"regression", "model tree", "linear"}:
        return copy(MODELS[name]).fit(table, Series(Column(target), signal))
    classes = CLASSES[: 2 if name == "binary" else 3]
    codes = np.searchsorted(np.quantile(signal, np.arange(1, len(classes)) / len(classes)), signal)
    return copy(MODELS[name]).fit(table, Series(Column(target, Kind.NOMINAL, classes), codes.astype(float)))


def statement(model, source: str) -> str:
    linear = isinstance(model, LinearRegressor | LogisticClassifier)
    return linear_statement(model, source) if linear else select_statement(rules_of(model), source)


def with_others(table: Table, others: list[str], seed: int) -> Table:
    """The rows with more columns, before and after, of numbers and of answers that are nobody's."""
    rng = np.random.default_rng(seed)
    columns = [Column(name) if len(name) % 2 else Column(name, Kind.NOMINAL, CLASSES) for name in others]
    cells = rng.integers(0, 3, (len(table), len(others))).astype(float)
    cells[rng.random(cells.shape) < 0.2] = np.nan
    half = len(others) // 2
    values = np.column_stack([cells[:, :half], table.values, cells[:, half:]])
    return Table((*columns[:half], *table.columns, *columns[half:]), np.asfortranarray(values))


def wanted(model, table: Table) -> np.ndarray:
    """The answers in the order of the statement's numbers, shape (n, answers)."""
    if isinstance(model, LogisticClassifier):
        return np.array(model.linear_predictors(table)).T
    if isinstance(model, LinearRegressor | DecisionTreeRegressor | ModelTreeRegressor):
        return model.predict(table)[:, None]
    return model.predict_proba(table)


def answers(database, model, table: Table, text: str) -> None:
    """The last columns are the model's answers, row by row."""
    cursor = database.connection.cursor()
    cursor.execute(text)
    keys = [name for name, *_ in cursor.description].index("row key")
    found = sorted(cursor.fetchall(), key=lambda row: row[keys])
    assert [row[keys] for row in found] == list(range(len(table)))
    numbers = wanted(model, table)
    width = numbers.shape[1]
    if isinstance(model, DecisionTreeClassifier | RuleSetClassifier):
        assert [row[-1] for row in found] == model.predict(table).tolist()
        found = [row[:-1] for row in found]
    if isinstance(model, RuleSetClassifier):
        ids = [rule.id for rule in rules_of(model).rules]
        assert [row[-width - 1] for row in found] == [ids[number] for number in model.apply(table)]
    given_ones = np.array([row[len(row) - width :] for row in found], dtype=float)
    np.testing.assert_allclose(given_ones, numbers, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("capitals", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_other_columns_are_not_read_whatever_their_names(database, name, capitals) -> None:
    model, table = fitted(name), rows(INPUTS, 2, 0.2)
    others = [one.upper() if capitals else one for one in OURS]
    database.fill(with_others(table, [*others, "t"], 3))
    answers(database, model, table, statement(model, "rows"))
    if name not in {"linear", "binary", "multinomial"}:
        alone = database.evaluate(case_expression(rules_of(model)))
        said = [None if one is None else answer for one, answer in zip(alone, model.predict(table), strict=True)]
        assert alone == said or np.array(alone, dtype=float) == pytest.approx(np.array(said, dtype=float), nan_ok=True)


@pytest.mark.parametrize("name", MODELS)
def test_a_table_that_was_answered_before_is_answered_anew(database, name) -> None:
    """Its first answers stand beside other rows by now."""
    model, old, new = fitted(name), rows(INPUTS, 4, 0.2), rows(INPUTS, 5, 0.2)
    database.fill(old)
    cursor = database.connection.cursor()
    cursor.execute(f"CREATE TABLE scored AS {statement(model, 'rows')}")
    for key, row in enumerate(new.values.tolist()):
        cells = [None if cell != cell else cell for cell in row[:-1]]
        cells.append(None if row[-1] != row[-1] else new.columns[-1].labels[int(row[-1])])
        changes = ", ".join(f"{identifier(column)} = {database.placeholder}" for column in INPUTS)
        cursor.execute(f'UPDATE scored SET {changes} WHERE "row key" = {key}', cells)
    answers(database, model, new, statement(model, "scored"))


@pytest.mark.parametrize("name", MODELS)
def test_inputs_and_targets_of_such_names(database, name) -> None:
    for number, names in enumerate(
        (("p1", "rated", "prediction"), ("source", "rule", "proba_a"), ("column1", "score_b", "ruled"))
    ):
        for target in {"prediction", "proba_b", "rule", "score_c"}.difference(names):
            model, table = fitted(name, names, target), rows(names, 6, 0.2)
            asked = f"{target} {number}"
            database.fill(with_others(table, [target, "p2", "column2"], 7), asked)
            text = statement(model, asked)
            answers(database, model, table, text)
            cursor = database.connection.cursor()
            cursor.execute(text)
            told = [column[0] for column in cursor.description]
            assert all(told.count(one) == 1 for one in (*names, target))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(MODELS)),
    st.lists(st.sampled_from(OURS) | st.from_regex(r"(p|column|proba_|score_)[a-c1-5]_?", fullmatch=True), unique=True),
    st.integers(0, 1000),
)
def test_any_other_columns_change_no_answer(name, others, seed) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        model, table = fitted(name), rows(INPUTS, seed, 0.2)
        database = Database(connection, "?")
        database.fill(with_others(table, others, seed))
        answers(database, model, table, statement(model, "rows"))


@pytest.mark.parametrize("name", MODELS)
def test_a_table_that_lacks_an_input_is_refused(database, name) -> None:
    """SQLite takes a bare name that it does not know for a text."""
    model, table = fitted(name), rows(INPUTS, 8, 0.0)
    database.fill(Table(table.columns[1:], table.values[:, 1:]))
    with pytest.raises(Exception, match=r"source.*x"):
        database.select(statement(model, "rows"))
