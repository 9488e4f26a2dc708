"""The rules of model trees: what they say, and that databases answer by them as the model does."""

import json
import math

import numpy as np
import pytest

from learners.rules.access import rules_of
from learners.rules.compare import compare_rules
from learners.rules.render import to_json_text, to_markdown, to_text
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import UNSEEN, Table
from learners.trees import ModelTreeRegressor
from tests.learners.trees.model_tree.tables import mixed

#: Of sums of shares times functions that are added in another order.
ULPS = 64


def fitted(seed, missing=0.0, **parameters):
    table, y = mixed(seed, missing=missing)
    return ModelTreeRegressor(**parameters).fit(table, y), table


def on_the_thresholds(model, table):
    """Rows of the table with a tested number at a threshold and one unit in the last place to either side."""
    nodes = model.tree_
    rows = []
    for node in np.flatnonzero(~np.isnan(nodes.threshold)).tolist():
        feature, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        if table.columns[feature].is_numeric:
            near = (math.nextafter(threshold, -math.inf), threshold, math.nextafter(threshold, math.inf))
            for source in table.values[:10]:
                rows += [[*source[:feature], value, *source[feature + 1 :]] for value in near]
    assert rows
    return Table(table.columns, np.asfortranarray(rows))


@pytest.mark.parametrize("seed", range(4))
def test_sql_answers_complete_rows_as_the_model_does_to_the_bit(database, seed):
    model, table = fitted(seed, pruning="none", min_deviation=0.15)
    rules = rules_of(model)
    for rows in (table, on_the_thresholds(model, table)):
        database.fill(rows)
        wanted = model.predict(rows).tolist()
        assert database.evaluate(case_expression(rules)) == wanted
        assert [row["prediction"] for row in database.select(select_statement(rules, "rows"))] == wanted


@pytest.mark.parametrize("seed", range(3))
def test_sql_answers_missing_and_unseen_values_as_the_model_does(database, seed):
    model, _ = fitted(seed, missing=0.15, min_deviation=0.15)
    rows = mixed(seed + 50, n_rows=80, missing=0.2)[0]
    rows.values[:5, 2] = UNSEEN
    rows.values[5:9, 2] = 4.0  # a level that no training row had
    database.fill(rows)
    found = np.array([row["prediction"] for row in database.select(select_statement(rules_of(model), "rows"))])
    wanted = model.predict(rows)
    assert (np.abs(found - wanted) <= ULPS * np.spacing(np.maximum(np.abs(wanted), 32.0))).all()


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_rules_answer_as_the_tree_does(missing):
    for seed in range(5):
        model, table = fitted(seed, missing=missing)
        rules = rules_of(model)
        assert len(rules.rules) == model.n_leaves_
        np.testing.assert_allclose(rules.predict(table), model.predict(table), rtol=1e-12, atol=1e-12)
        simple = rules_of(model, simplify=True)
        np.testing.assert_allclose(simple.predict(table), model.predict(table), rtol=1e-12, atol=1e-12)


def test_texts_say_the_functions_and_numbers_read_back():
    model, _ = fitted(1)
    rules = rules_of(model)
    record = json.loads(to_json_text(rules))
    assert to_text(rules).count(" THEN y = ") + to_text(rules).count("ALWAYS y = ") == len(rules.rules)
    for rule, told in zip(rules.rules, record["rules"], strict=True):
        assert rule.function.text() in to_text(rules)
        assert told["linear"]["intercept"] == rule.function.intercept
        pieces = rule.function.text().replace("- ", "-").replace("+ ", "").split()
        read = [float(piece) for piece in pieces if _is_number(piece)]
        assert read == [rule.function.intercept, *(term.coefficient for term in rule.function.terms)]
        assert told["answer"] == model.tree_.value[rule.leaf, 0]
    assert r"\*" in to_markdown(rules)


def _is_number(piece):
    try:
        float(piece)
    except ValueError:
        return False
    return True


def test_another_function_is_another_rule():
    model, table = fitted(2)
    again = rules_of(fitted(2)[0])
    difference = compare_rules(rules_of(model), again)
    assert len(difference.same) == model.n_leaves_
    other = rules_of(ModelTreeRegressor(smoothing=3.0).fit(table, mixed(2)[1]))
    assert [rule.leaf for rule in other.rules] == [rule.leaf for rule in again.rules]
    changed = {one.id for one in other.rules} ^ {one.id for one in again.rules}
    assert len(compare_rules(again, other).same) < len(again.rules)
    assert changed
