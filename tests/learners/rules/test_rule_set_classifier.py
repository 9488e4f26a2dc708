import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.checks.require import require_json
from learners.errors import LearnerError
from learners.explanation import RuleExplanation
from learners.rules import case_expression, rules_of, select_statement, to_markdown, to_text
from learners.rules.classifier import RuleSetClassifier
from learners.rules.few import best_few
from learners.rules.ranking import Judged, default_distribution, ranked
from learners.rules.reasons import MAX_FAILED
from learners.table import Column, Kind, Series, Table
from tests.learners.rules.test_simplify import on_and_beside_the_bounds
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS, random_rows


def nominal(name):
    """A MONK's file, all of whose columns are names."""
    table, labels = read(name, "class")
    cells = {
        column.name: [str(int(cell)) for cell in table.values[:, index]] for index, column in enumerate(table.columns)
    }
    return Table.from_columns(cells), labels


def accuracy(model, table, labels):
    said = model.ordered_rules_.share[model.apply(table)].argmax(axis=1)
    return (said == labels.cells).mean()


def test_mushrooms_need_few_rules():
    """The data's documentation: 98.52 % with 1 rule, 99.41 with 2, 99.90 with 3, 100 with 4 (with disjunctions)."""
    table, labels = read("mushroom", "class")
    model = RuleSetClassifier().fit(table, labels)
    assert accuracy(model, table, labels) == 1
    assert model.n_rules_ <= 8
    assert all(len(rule.conditions) <= 3 for rule in model.rules_.rules)
    # with sets of levels "odor is none of almond, anise, none" is one test, as in the documentation's first rule
    first = RuleSetClassifier(nominal="subset", max_rules=1).fit(table, labels)
    assert first.n_rules_ == 1
    assert accuracy(first, table, labels) >= 0.9852
    for limit, most_errors in ((2, 48), (3, 8), (4, 0)):
        few = RuleSetClassifier(nominal="subset", max_rules=limit).fit(table, labels)
        assert few.n_rules_ <= limit
        assert round((1 - accuracy(few, table, labels)) * table.n_rows) <= most_errors
    assert accuracy(RuleSetClassifier(nominal="subset").fit(table, labels), table, labels) == 1


def test_monks_1_and_3_are_found():
    for number, least in ((1, 1.0), (3, 0.96)):
        model = RuleSetClassifier().fit(*nominal(f"monks-{number}-train"))
        test, labels = nominal(f"monks-{number}-test")
        assert accuracy(model, test, labels) >= least
    model = RuleSetClassifier().fit(*nominal("monks-1-train"))
    found = {frozenset(one.condition.text() for one in rule.conditions) for rule in model.rules_.rules[:-1]}
    assert frozenset({"a5 = 1"}) in found
    assert {frozenset({f"a1 = {value}", f"a2 = {value}"}) for value in "123"} <= found


def test_weather():
    table, labels = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(table, labels)
    assert to_text(rules_of(model)) == (
        "IF outlook = sunny AND humidity = high THEN play = no  [share 1, estimate 0.8; 3 rows]\n"
        'ELSE IF outlook = rainy AND windy = "TRUE" THEN play = no  [share 1, estimate 0.75; 2 rows]\n'
        "ELSE play = yes  [share 1, estimate 0.9091; 9 rows]\n"
    )
    assert "| 3 | else | yes | 1 | 0.9091 | 9 | 3-" in to_markdown(rules_of(model)).replace("\\", "")


def test_probabilities_are_laplaces_of_the_covered_rows():
    table, labels = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(table, labels)
    sunny = table.take(np.array([0]))  # sunny, hot, high, FALSE: the first rule, 3 of 3 rows
    assert model.predict_proba(sunny)[0].tolist() == pytest.approx([4 / 5, 1 / 5])


def test_a_missing_value_satisfies_no_condition_and_the_reason_says_so():
    table, labels = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(table, labels)
    (reason,) = model.explain(Table(table.columns, np.asfortranarray([[math.nan, 0, 0, 1]])))
    assert isinstance(reason, RuleExplanation)
    assert (reason.is_default, reason.answer, reason.rank, reason.undecided) == (True, "yes", 3, 2)
    assert [(one.rank, one.failed.condition.text(), one.failed.state) for one in reason.failed] == [
        (1, "outlook = sunny", "missing"),
        (2, "outlook = rainy", "missing"),
    ]
    assert reason.text() == "rule 3: no rule covers the row; 2 earlier rules ask for values that are not known"
    record = reason.to_json()
    require_json(record, "a reason")
    assert (record["kind"], record["default"], record["support"]) == ("rule", True, 9)
    assert record["counts"] == [0, 9]
    assert record["distribution"] == [{"label": "no", "share": 1 / 11}, {"label": "yes", "share": 10 / 11}]


def test_the_reason_names_the_rule_with_the_rows_values():
    table, labels = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(table, labels)
    reason = model.explain(table)[5]  # rainy, cool, normal, TRUE
    assert [(one.condition.text(), one.observed) for one in reason.conditions] == [
        ("outlook = rainy", "rainy"),
        ('windy = "TRUE"', "TRUE"),
    ]
    assert (reason.rank, reason.rows, reason.confidence) == (2, 2, 0.75)
    assert reason.rule == model.rules_.rules[1].id
    assert reason.text() == 'rule 2: outlook = rainy and windy = "TRUE"'


def test_reasons_are_bounded():
    rng = np.random.default_rng(0)
    table = Table.from_array(np.arange(1200.0)[:, None])
    labels = Series(Column("y", Kind.NOMINAL, ("a", "b")), (np.arange(1200) // 4 % 2).astype(float))
    model = RuleSetClassifier(subset="all", postpruning="none", criterion="gini").fit(table, labels)
    assert model.n_rules_ > MAX_FAILED + 10
    for reason in model.explain(table.take(rng.permutation(1200)[:50])):
        assert len(reason.failed) == min(reason.rank - 1, MAX_FAILED)
        assert len(reason.failed) + reason.omitted == reason.rank - 1


def noisy(seed, rows=150, missing=0.15):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, rows, missing)
    signal = np.nan_to_num(table.values[:, 0]) + np.nan_to_num(table.values[:, -1]) + rng.normal(0, 0.4, rows)
    codes = np.searchsorted(np.quantile(signal, [0.3, 0.7]), signal).astype(float)
    return table, Series(Column("answer", Kind.NOMINAL, ("no", "perhaps", "yes")), codes)


def asked(model, seed):
    """Random rows with gaps and unseen levels, and rows on and beside every bound."""
    rng = np.random.default_rng(seed + 1)
    rows = random_rows(rng, 80, 0.2).values
    for index, column in enumerate(COLUMNS):
        if not column.is_numeric:
            rows[rng.random(80) < 0.15, index] = -1
    return on_and_beside_the_bounds(model.rules_, rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(["multiway", "subset", "one-vs-rest"]))
def test_arrays_records_and_reasons_answer_alike(seed, way):
    model = RuleSetClassifier(nominal=way).fit(*noisy(seed))
    table = asked(model, seed)
    rules = rules_of(model)
    fired = model.apply(table)
    assert rules.matches(table).argmax(axis=1).tolist() == fired.tolist()
    np.testing.assert_array_equal(rules.predict_proba(table), model.predict_proba(table))
    assert rules.predict(table).tolist() == model.predict(table).tolist()
    for reason, rule in zip(model.explain(table), fired, strict=True):
        assert (reason.rank, reason.rule) == (rule + 1, rules.rules[rule].id)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["multiway", "subset"])
def test_sql_answers_as_the_rules_do(database, seed, way):
    model = RuleSetClassifier(nominal=way, subset="all" if seed % 2 else "mdl").fit(*noisy(seed))
    table = asked(model, seed)
    table.values[:, 3] = np.where(table.values[:, 3] < 0, np.nan, table.values[:, 3])  # no third boolean
    rules = rules_of(model)
    database.fill(table)
    fired = [rules.rules[number].id for number in model.apply(table)]
    assert database.evaluate(case_expression(rules, "rule")) == fired
    assert database.evaluate(case_expression(rules)) == model.predict(table).tolist()
    found = database.select(select_statement(rules, "rows"))
    assert [row["rule"] for row in found] == fired
    assert [row["prediction"] for row in found] == model.predict(table).tolist()
    given_ones = np.array([[row[f"proba_{label}"] for label in rules.classes] for row in found])
    np.testing.assert_array_equal(given_ones, model.predict_proba(table))


def test_a_default_alone(database):
    table = Table.from_array(np.ones((4, 1)))
    model = RuleSetClassifier().fit(table, ["b", "b", "a", "b"])
    assert model.n_rules_ == 0
    assert model.predict(table).tolist() == ["b"] * 4
    database.fill(table)
    assert database.evaluate(case_expression(rules_of(model))) == ["b"] * 4
    assert {row["prediction"] for row in database.select(select_statement(rules_of(model), "rows"))} == {"b"}
    assert to_text(rules_of(model)).startswith("ALWAYS ")


def test_post_pruning_by_validation_depends_on_the_seed_alone():
    table, labels = read("vote", "Class")
    models = [RuleSetClassifier(postpruning="validation", seed=seed).fit(table, labels) for seed in (0, 0, 1)]
    assert to_text(rules_of(models[0])) == to_text(rules_of(models[1]))
    assert to_text(rules_of(models[0])) != to_text(rules_of(models[2]))
    assert accuracy(models[0], table, labels) > 0.93


def test_fewer_rules_with_dear_theory_and_with_a_limit():
    table, labels = read("car", "class")
    sizes = [RuleSetClassifier(theory_weight=weight).fit(table, labels).n_rules_ for weight in (0.1, 1.0, 20.0)]
    assert sizes[0] >= sizes[1] >= sizes[2]
    assert sizes[0] > sizes[2]
    limited = RuleSetClassifier(max_rules=5).fit(table, labels)
    assert limited.n_rules_ == 5
    assert accuracy(limited, table, labels) > 0.75
    assert RuleSetClassifier(max_rules=0).fit(table, labels).n_rules_ == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_few_rules_are_the_best_of_all_such_sets(seed):
    """Against every list of so many of the candidates, written out plainly."""
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(0, 3, 40), rng.integers(1, 4, 40).astype(float)
    candidates = []
    for place in range(6):
        rows = np.flatnonzero(rng.random(40) < 0.3)
        value = np.bincount(codes[rows], weights=weights[rows], minlength=3)
        candidates.append(Judged((place,), int(value.argmax()), rows, value, float(rng.random()), 1.0))

    def errors(chosen):
        order = ranked(chosen, codes, weights, 3)
        left = np.ones(40, np.bool_)
        for rule in order:
            left[rule.rows] = False
        totals = np.bincount(codes, weights=weights, minlength=3)
        uncovered = np.bincount(codes[left], weights=weights[left], minlength=3)
        default = int(default_distribution(uncovered, totals).argmax())
        said = [next((rule.answer for rule in order if row in rule.rows), default) for row in range(40)]
        return weights[np.array(said) != codes].sum()

    for most in range(7):
        sets = [chosen for size in range(most + 1) for chosen in combinations(candidates, size)]
        found = best_few(candidates, codes, weights, 3, most)
        assert errors(found) == min(map(errors, sets))
        assert len(found) == min(len(chosen) for chosen in sets if errors(chosen) == errors(found))


def test_a_class_weight_moves_the_answers():
    table, labels = noisy(3)
    plain = RuleSetClassifier().fit(table, labels).predict(table)
    heavy = RuleSetClassifier(class_weight={"yes": 20}).fit(table, labels).predict(table)
    assert (heavy == "yes").sum() > (plain == "yes").sum()


def test_something_else_has_no_rules():
    from tests.learners.examples import Majority

    with pytest.raises(LearnerError, match="neither a tree nor a rule set"):
        rules_of(Majority().fit([[1.0], [2.0]], ["a", "b"]))
