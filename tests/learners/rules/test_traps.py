"""Inputs that broke other systems' rules and exports; numbers in names are those of the project's list."""

import math
import re
import sqlite3

import numpy as np
import pytest

from learners.rules.access import rules_of
from learners.rules.render import to_json, to_text
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF, THRESHOLD
from tests.learners.rules.databases import Database
from tests.learners.rules.test_render import parsed
from tests.learners.tables import read
from tests.shared import trap_path


def numbers(name):
    """A trap with numeric columns and the class last."""
    header, *lines = trap_path(name).read_text().splitlines()
    rows = [line.split(",") for line in lines]
    columns = tuple(Column(name) for name in header.split(",")[:-1])
    values = np.asfortranarray([[float(cell) for cell in row[:-1]] for row in rows])
    labels = [row[-1] for row in rows]
    target = Column("class", Kind.NOMINAL, tuple(sorted(set(labels))))
    return Table(columns, values), Series.from_values("class", labels, target)


def assert_rules_agree(model, table):
    """Each row lies in one rule, that of its leaf; text, JSON and SQL say the same."""
    rules = rules_of(model)
    assert len(rules.rules) == model.n_leaves_
    matches = rules.matches(table)
    assert ((matches == 0) | (matches == 1)).all()
    leaves = model.apply(table)
    assert [rules.rules[index].leaf for index in matches.argmax(axis=1)] == leaves.tolist()
    assert rules.predict(table).tolist() == model.predict(table).tolist()
    connection = sqlite3.connect(":memory:")
    database = Database(connection, "?")
    database.fill(table)
    assert database.evaluate(case_expression(rules, "leaf")) == leaves.tolist()
    connection.close()
    return rules


def on_the_thresholds(model):
    """Rows exactly on every threshold and one unit in the last place to both sides."""
    nodes = model.tree_
    rows = []
    for node in np.flatnonzero(nodes.test == THRESHOLD):
        at = nodes.threshold[node]
        for value in (np.nextafter(at, -math.inf), at, np.nextafter(at, math.inf)):
            row = np.zeros(len(model.columns_))
            row[nodes.feature[node]] = value
            rows.append(row)
    return Table(model.columns_, np.asfortranarray(rows))


@pytest.mark.parametrize("name", ["threshold_ties.csv", "close_floats.csv", "tiny_scale.csv", "big_values.csv"])
def test_1_2_3_5_7_every_row_on_and_beside_every_threshold(name):
    table, labels = numbers(name)
    model = DecisionTreeClassifier().fit(table, labels)
    assert model.score(table, [labels.column.labels[int(code)] for code in labels.cells]) == 1
    assert_rules_agree(model, table)
    assert_rules_agree(model, on_the_thresholds(model))


def test_3_rules_read_from_text_select_the_same_rows():
    table, labels = numbers("tiny_scale.csv")
    only_first = table.select(table.names[:1])
    model = DecisionTreeClassifier().fit(only_first, labels)
    rules = rules_of(model)
    text = re.sub(rf"\b{re.escape(table.names[0])}\b", "x", to_text(rules))
    read_back = np.array([[low < x <= high for low, high in parsed(text)] for x in only_first.values[:, 0]])
    np.testing.assert_array_equal(read_back, rules.matches(only_first) == 1)


def test_4_forty_alternating_classes_give_forty_rules():
    table = Table((Column("x"),), np.asfortranarray(np.arange(40.0)[:, None]))
    labels = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.arange(40) % 2.0)
    rules = assert_rules_agree(DecisionTreeClassifier().fit(table, labels), table)
    assert len(to_text(rules).splitlines()) == 40


def test_6_a_threshold_between_whole_numbers_stays():
    table = Table((Column("x"),), np.asfortranarray([[1.0], [2.0], [3.0], [4.0]]))
    model = DecisionTreeClassifier().fit(table, Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 0, 0, 1])))
    rules = rules_of(model)
    assert to_json(rules)["rules"][0]["conditions"][0]["threshold"] == 3.5
    assert "x <= 3.5" in to_text(rules)
    assert "CAST('3.5' AS DOUBLE PRECISION)" in case_expression(rules)


def play():
    table, labels = read("weather-numeric", "play")
    options = {"criterion": "gain-ratio", "nominal": "multiway", "min_leaf": 2, "threshold": "data"}
    return DecisionTreeClassifier(**options).fit(table, labels), table


def blanked(table):
    """Every row with each of its cells missing in turn, and with each level unseen in turn."""
    rows = []
    for row in table.values:
        for index, column in enumerate(table.columns):
            for cell in (math.nan, *(() if column.is_numeric else (-1.0,))):
                rows.append(row.copy())
                rows[-1][index] = cell
    return Table(table.columns, np.asfortranarray(rows))


def test_14_missing_and_unseen_values_give_the_trees_probabilities():
    model, table = play()
    rules = rules_of(model)
    rows = blanked(table)
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(rules.predict_proba(rows), expected, atol=1e-12)
    divided = model.predict_proba(Table(table.columns, np.asfortranarray([[math.nan, 70, 80, 0]])))
    assert divided[0] == pytest.approx([1 - 4 / 14 - 5 / 14, 9 / 14])  # sunny 80 no, overcast yes, rainy FALSE yes


def test_14_sql_answers_rows_with_gaps_as_the_tree_does():
    model, table = play()
    rows = blanked(table)
    rows.values[:, 3] = np.where(rows.values[:, 3] < 0, math.nan, rows.values[:, 3])
    connection = sqlite3.connect(":memory:")
    database = Database(connection, "?")
    database.fill(rows)
    found = database.select(select_statement(rules_of(model), "rows"))
    given = np.array([[row["proba_no"], row["proba_yes"]] for row in found])
    np.testing.assert_allclose(given, model.predict_proba(rows), atol=1e-12)
    connection.close()


def test_25_every_class_shows_its_own_text_the_first_included():
    table, labels = read("iris", "class")
    rules = rules_of(DecisionTreeClassifier().fit(table, labels))
    answers = {rule["answer"] for rule in to_json(rules)["rules"]}
    assert answers == {"Iris-setosa", "Iris-versicolor", "Iris-virginica"}
    assert "THEN class = Iris-setosa" in to_text(rules)


def test_41_four_thousand_levels():
    table, labels = numbers("alternating.csv")
    model = DecisionTreeClassifier().fit(table, labels)
    rules = rules_of(model)
    assert len(rules.rules) == model.n_leaves_ == 4000
    assert all(len(rule.conditions) == 1 for rule in rules.rules)
    matches = rules.matches(table)
    np.testing.assert_array_equal(matches.sum(axis=1), np.ones(table.n_rows))
    assert rules.predict(table).tolist() == model.predict(table).tolist()
    pruned = DecisionTreeClassifier(pruning="error-based", subtree_raising=True).fit(table, labels)
    assert pruned.n_leaves_ < 100
    assert (pruned.tree_.test[pruned.tree_.leaves()] == LEAF).all()


REAL = {"vote": "Class", "labor": "class", "car": "class", "zoo": "type", "glass": "Type", "soybean": "class"}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("nominal", ["multiway", "one-vs-rest", "subset"])
def test_rules_give_the_trees_probabilities_on_real_rows(name, nominal):
    table, labels = read(name, REAL[name])
    model = DecisionTreeClassifier(nominal=nominal).fit(table, labels)
    rules = rules_of(model)
    np.testing.assert_allclose(rules.predict_proba(table), model.predict_proba(table), atol=1e-12)
    complete = ~np.isnan(table.values).any(axis=1)
    matches = rules.matches(table)[complete]
    leaves = model.apply(table)[complete]
    assert [rules.rules[index].leaf for index in matches.argmax(axis=1)] == leaves.tolist()
    assert (matches.sum(axis=1) == 1).all()
