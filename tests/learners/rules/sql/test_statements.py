import math
import sqlite3
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learners.decisions import expected_utility
from learners.errors import LearnerError
from learners.rules import RuleSetClassifier
from learners.rules.access import rules_of
from learners.rules.from_tree import rules_of_nodes
from learners.rules.simplify import simplified
from learners.rules.sql.literals import _near_halfway, _rounded, identifier, number_literal, text_literal
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.rules.test_from_tree import TARGET, tree_and_rows
from tests.learners.tables import read
from tests.learners.trees.peers import chain
from tests.learners.trees.test_agreement import COMBINED, around, fitted

sayable = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NAMES = ["plain", "it's", 'say "no"', "a,b", "", "two\nlines", "größe {x}", "--", "/* */", "%s", "?", "日本"]


def test_case_is_the_answer_of_the_one_rule_that_covers_a_row(database):
    for seed in range(12):
        nodes, table = tree_and_rows(seed, 0.2 * (seed % 2), 0.2 * (seed % 3 > 0))
        table.values[:, 3] = np.where(table.values[:, 3] < 0, np.nan, table.values[:, 3])  # no third boolean
        rules = rules_of_nodes(nodes, table.columns, TARGET)
        matches = rules.matches(table)
        database.fill(table)
        leaves, labels = (database.evaluate(case_expression(rules, answer)) for answer in ("leaf", "label"))
        for shares, leaf, label in zip(matches, leaves, labels, strict=True):
            certain = [rule for rule, share in zip(rules.rules, shares, strict=True) if share == 1]
            assert leaf == (certain[0].leaf if certain else None)
            assert label == (certain[0].answer if certain else None)


@pytest.mark.parametrize("seed", range(10))
def test_select_answers_every_row_as_the_tree_does(database, seed):
    nodes, table = tree_and_rows(seed, 0.2, 0.15 * (seed % 2))
    table.values[:, 3] = np.where(table.values[:, 3] < 0, np.nan, table.values[:, 3])  # no third boolean
    rules = rules_of_nodes(nodes, table.columns, TARGET)
    database.fill(table)
    found = database.select(select_statement(rules, "rows"))
    expected = rules.predict_proba(table)
    for row, probabilities in zip(found, expected, strict=True):
        given_ones = [row[f"proba_{label}"] for label in rules.classes]
        np.testing.assert_allclose(given_ones, probabilities, atol=1e-12)
        assert row["prediction"] == rules.classes[int(np.argmax(given_ones))]


@pytest.mark.parametrize("seed", range(4))
def test_select_decides_by_utilities(database, seed):
    nodes, table = tree_and_rows(seed, 0.2, 0.0)
    n_classes = len(TARGET.levels)
    utility = np.random.default_rng(seed).integers(-40, 10, (n_classes, n_classes)) / 7
    rules = rules_of_nodes(nodes, table.columns, TARGET, utility)
    database.fill(table)
    found = [row["prediction"] for row in database.select(select_statement(rules, "rows"))]
    worth = rules.predict_proba(table) @ utility.T
    assert found == rules.predict(table).tolist() == [rules.classes[place] for place in worth.argmax(axis=1)]
    labels = database.evaluate(case_expression(rules))
    assert {label for label in labels if label is not None} <= {rule.answer for rule in rules.rules}
    for rule in rules.rules:
        assert rule.confidence == rule.distribution[rules.classes.index(rule.answer)]


def full_of_ties(seed):
    """A tree of a few rows with equally many of each class, and rows of which much is missing."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.integers(6, 40)), int(rng.integers(2, 5))
    columns = (Column("x"), Column("z"), Column("c", Kind.NOMINAL, ("p", "q", "r")))
    target = Column("t", Kind.NOMINAL, tuple("abcd"[:n_classes]))
    values = np.asfortranarray(rng.integers(0, 3, (n_rows, 3)).astype(float))
    table = Table(columns, values)
    utility = None
    if seed % 3 == 0:
        utility = {one: {one: 1 + 1 / 3, target.levels[0]: 1 / 3} for one in target.levels}
    y = Series(target, np.resize(rng.permutation(n_classes), n_rows).astype(float))
    model = DecisionTreeClassifier(
        max_depth=int(rng.integers(1, 5)),
        leaf_estimate=("raw", "laplace")[seed % 2],
        utility=utility,
    ).fit(table, y)
    asked = np.vstack([values, rng.integers(0, 3, (60, 3))])
    asked[rng.random(asked.shape) < 0.4] = np.nan
    return model, Table(columns, np.asfortranarray(asked))


def test_ties_are_decided_as_the_model_decides_them(database):
    """The first of equally good classes, in whatever order the database adds up the shares."""
    n_ties = 0
    for seed in range(40):
        model, asked = full_of_ties(seed)
        rules = rules_of_nodes(model.tree_, model.columns_, model.target_, model.utility_)
        database.fill(asked)
        expected = model.predict(asked).tolist()
        assert [row["prediction"] for row in database.select(select_statement(rules, "rows"))] == expected
        assert rules.predict(asked).tolist() == simplified(rules).predict(asked).tolist() == expected
        served = [model.classes_[int(model.decide(row[None])[0])] for row in model.predict_proba(asked)]
        assert served == expected
        whole = database.evaluate(case_expression(rules))
        assert all(label in {None, said} for label, said in zip(whole, expected, strict=True))
        worth = np.sort(expected_utility(model.predict_proba(asked), model.utility_), axis=1)
        n_ties += int((worth[:, -1] - worth[:, -2] < 1e-12).sum())
    assert n_ties > 200


def test_three_equal_thirds_of_iris_are_the_first_class(database):
    """The shares differ in the last bit, and in the database in another one than in the model."""
    table, target = read("iris", "class")
    model = DecisionTreeClassifier.from_params({"preset": "cart"}).fit(table, target)
    rules = rules_of_nodes(model.tree_, model.columns_, model.target_)
    asked = Table(table.columns, np.asfortranarray([[5.0, 3.0, math.nan, math.nan]]))
    database.fill(asked)
    (row,) = database.select(select_statement(rules, "rows"))
    assert row["proba_Iris-setosa"] == pytest.approx(1 / 3)
    assert row["prediction"] == model.predict(asked)[0] == "Iris-setosa"


@pytest.mark.parametrize("discretised", [{}, {"discretise": "equal-width", "bins": 4}], ids=["thresholds", "intervals"])
@pytest.mark.parametrize("missing", ["fractional", "as-value", "most-likely"])
def test_select_answers_as_trees_grown_by_each_rule_for_missing_values(database, missing, discretised):
    for nominal in ("multiway", "subset"):
        check_select(database, *fitted(11, {"missing": missing, "nominal": nominal, **discretised}))


@pytest.mark.parametrize("combined", COMBINED, ids="+".join)
def test_select_answers_as_trees_with_tests_of_several_values(database, combined):
    for seed, missing in enumerate(("fractional", "as-value", "most-likely")):
        check_select(database, *fitted(seed, {"missing": missing, "nominal": "one-vs-rest", **combined}))


@pytest.mark.parametrize("rule", ["id3", "fractional", "most-likely", "as-value", "rule set"])
def test_case_answers_rows_of_unseen_levels_unless_rules_share_them(database, rule):
    """Rows without gaps: where one rule answers alone, its answer is the model's whatever the level is."""
    learners = {"id3": DecisionTreeClassifier.from_params({"preset": "id3"}), "rule set": RuleSetClassifier()}
    rng = np.random.default_rng(7)
    columns = tuple(Column(name, Kind.NOMINAL, tuple("pqrs")) for name in "abc")
    codes = rng.integers(0, 4, (400, 3)).astype(float)
    answers = (codes[:, 0] * (codes[:, 1] < 2) + codes[:, 2] * (codes[:, 0] > 1)) % 3
    model = learners.get(rule) or DecisionTreeClassifier(missing=rule, nominal="multiway", min_leaf=10)
    model = model.fit(Table(columns, np.asfortranarray(codes)), Series(TARGET, answers))
    asked = codes[:200].copy()
    asked[rng.random(asked.shape) < 0.3] = -1.0
    asked = Table(columns, np.asfortranarray(asked))
    rules = rules_of(model)
    database.fill(asked)
    found = database.evaluate(case_expression(rules))
    shared = rules.matches(asked).max(axis=1) < 1
    assert found == [None if one else said for one, said in zip(shared, model.predict(asked).tolist(), strict=True)]
    assert shared.any() == (rule not in {"most-likely", "rule set"})


def check_select(database, model, table):
    asked = around(model, table)
    asked.values[:, 3] = np.where(asked.values[:, 3] < 0, np.nan, asked.values[:, 3])  # no third boolean
    rules = rules_of(model)
    database.fill(asked)
    found = database.select(select_statement(rules, "rows"))
    given_ones = [[row[f"proba_{label}"] for label in rules.classes] for row in found]
    np.testing.assert_allclose(given_ones, model.predict_proba(asked), atol=1e-12)
    leaves = database.evaluate(case_expression(rules, "leaf"))
    whole = rules.matches(asked).max(axis=1) == 1
    assert [leaf for leaf in leaves if leaf is not None] == model.apply(asked)[whole].tolist()


def test_regression(database):
    nodes = chain(3, np.array([[3.5, 1.0], [2.0, 4.0], [-1e15, 0.0]]))
    rules = rules_of_nodes(nodes, [Column("x")], Column("price"))
    table = Table((Column("x"),), np.asfortranarray([[0.0], [0.5], [2.0], [math.nan]]))
    database.fill(table)
    found = [row["prediction"] for row in database.select(select_statement(rules, "rows"))]
    np.testing.assert_allclose(found, rules.predict(table), rtol=1e-12)
    assert database.evaluate(case_expression(rules)) == [3.5, 2.0, -1e15, None]


def neighbours(threshold):
    return [math.nextafter(threshold, -math.inf), threshold, math.nextafter(threshold, math.inf)]


def thresholds():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 0x7FE0000000000000, 60, dtype=np.uint64).view(float)
    decimals = [0.1, 0.3, 0.1 + 0.2, 2.45, 75.0, 0.8, 4.95, 1.7, 3.965e-06, 123456.789, -5.25, 0.0]
    return [*decimals, 5e-324, 2.3e-308, 1.46e258, -1.67e71, 1e300, 2.0**53, 1e22, 1e23, *bits, *rng.normal(size=60)]


def test_thresholds_are_exact_to_the_last_bit(database):
    """A row on the threshold and one unit in the last place to each side of it."""
    for start in range(0, len(thresholds()), 40):
        some = thresholds()[start : start + 40]
        columns = tuple(Column(f"x{index}") for index in range(len(some)))
        database.fill(Table(columns, np.asfortranarray(np.array([neighbours(one) for one in some]).T)))
        found = [
            database.evaluate(f"CASE WHEN {identifier(column.name)} <= {number_literal(one)} THEN 1 ELSE 0 END")
            for column, one in zip(columns, some, strict=True)
        ]
        assert found == [[1, 1, 0]] * len(some)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-1000, 1000, places=4).map(float))
def test_number_literals_read_back_exactly(number):
    (found,) = sqlite3.connect(":memory:").execute(f"SELECT {number_literal(number)}").fetchone()
    assert found == number


@settings(max_examples=200, deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(-3, 3), st.integers(0, 22))
def test_what_is_rounded_twice_is_never_taken_for_harmless(mantissa, beside, power):
    """Numbers at, or a few 2**-66ths beside, the middle of two doubles, over a power of ten."""
    halfway = (2 * mantissa + 1) * 2**13 + beside
    for numerator, denominator in ((halfway, 1), (halfway, 2**40), (halfway * 10**power // 2**13, 10**power)):
        if _rounded(numerator, denominator, 64)[0].bit_length() == 54:
            assert _near_halfway(numerator, denominator)


def test_short_numbers_stay_readable():
    assert number_literal(2.45) == "CAST('2.45' AS DOUBLE PRECISION)"
    assert number_literal(75.0) == "CAST('75' AS DOUBLE PRECISION)"
    assert number_literal(0.1 + 0.2) == (
        "(CAST(5404319552844596 AS DOUBLE PRECISION) / 18014398509481984 /* 0.30000000000000004 */)"
    )


def test_names_and_levels_are_quoted(database):
    columns = tuple(
        Column(f"c {name}"[:40], Kind.NOMINAL, (*NAMES[index:], *NAMES[:index])) for index, name in enumerate(NAMES)
    )
    target = Column("t", Kind.NOMINAL, tuple(NAMES))
    table = Table(columns, np.asfortranarray(np.tile(np.arange(len(NAMES), dtype=float)[:, None], len(NAMES))))
    database.fill(table)
    for feature in range(len(NAMES)):
        nodes = multiway(feature, len(NAMES))
        rules = rules_of_nodes(nodes, columns, target)
        assert database.evaluate(case_expression(rules)) == NAMES
        found = database.select(select_statement(rules, "rows"))
        assert [row["prediction"] for row in found] == NAMES
        assert [row[f"proba_{name}"] for row, name in zip(found, NAMES, strict=True)] == [1] * len(NAMES)


def multiway(feature, width):
    """A root that sends code k to leaf k, which answers class k."""
    nodes = chain(2, np.eye(2))
    arrays = {name: np.resize(array, (width + 1, *array.shape[1:])) for name, array in nodes.to_arrays().items()}
    first = np.arange(width + 1) == 0
    values = np.vstack([np.ones(width), np.eye(width)])
    arrays |= {
        "test": np.where(first, 2, 0).astype(np.int8),
        "feature": np.where(first, feature, -1).astype(np.int32),
        "first_child": np.where(first, 1, -1).astype(np.int32),
        "n_children": np.where(first, width, 0).astype(np.int32),
        "parent": np.where(first, -1, 0).astype(np.int32),
        "fraction": np.where(first, 1.0, 1 / width),
        "level_start": np.zeros(width + 1, np.int32),
        "level_count": np.where(first, width, 0).astype(np.int32),
        "level_codes": np.arange(width, dtype=np.int32),
        "level_branch": np.arange(width, dtype=np.int32),
        "missing_branch": np.full(width + 1, -1, np.int32),
        "other_branch": np.full(width + 1, -1, np.int32),
        "weight": values.sum(axis=1),
        "value": values,
    }
    return type(nodes).from_arrays(arrays)


def test_number_and_boolean_levels(database):
    numbers = Column("n", Kind.NOMINAL, ("-2", "0.1", "3"), "number")
    flags = Column("f", Kind.BOOLEAN, ("false", "true"), "boolean")
    table = Table((numbers, flags), np.asfortranarray([[0.0, 0], [1, 1], [2, 0]]))
    database.fill(table)
    by_number = rules_of_nodes(multiway(0, 3), table.columns, Column("t", Kind.NOMINAL, ("-2", "0.1", "3"), "number"))
    assert database.evaluate(case_expression(by_number)) == [-2, 0.1, 3]
    by_flag = rules_of_nodes(multiway(1, 2), table.columns, Column("t", Kind.BOOLEAN, ("false", "true"), "boolean"))
    assert [bool(one) for one in database.evaluate(case_expression(by_flag))] == [False, True, False]


def test_four_thousand_rules_stay_within_the_databases_limits(database):
    nodes = chain(4000, np.eye(3)[np.arange(4000) % 3])
    rules = rules_of_nodes(nodes, [Column("x")], TARGET)
    table = Table((Column("x"),), np.asfortranarray([[0.0], [1.5], [3999.0], [math.nan]]))
    database.fill(table)
    assert database.evaluate(case_expression(rules)) == ["no", "yes", "no", None]
    found = database.select(select_statement(rules, "rows"))
    assert [row["prediction"] for row in found] == ["no", "yes", "no", "no"]
    assert found[3]["proba_perhaps"] == pytest.approx(1333 / 4000, abs=1e-12)


def test_answer_columns_do_not_clash_with_the_tables(database):
    columns = (Column("prediction"), Column("proba_yes"))
    rules = rules_of_nodes(chain(3, np.eye(3)), columns, TARGET)
    database.fill(Table(columns, np.asfortranarray([[0.0, 7.0]])))
    (row,) = database.select(select_statement(rules, "rows"))
    assert (row["prediction"], row["prediction_"], row["proba_yes"], row["proba_yes_"]) == (0, "no", 7, 0)


def test_long_classes_and_classes_that_differ_in_capitals(database):
    labels = ("x" * 100 + "a", "x" * 100 + "b", "yes", "YES")
    target = Column("t", Kind.NOMINAL, labels)
    columns = (Column("c", Kind.NOMINAL, ("1", "2", "3", "4")),)
    database.fill(Table(columns, np.asfortranarray(np.arange(4.0)[:, None])))
    found = database.select(select_statement(rules_of_nodes(multiway(0, 4), columns, target), "rows"))
    assert [row["prediction"] for row in found] == list(labels)
    assert [found[0][name] for name in ("proba_1", "proba_2", "proba_yes", "proba_YES_")] == [1, 0, 0, 0]


def test_nul_is_refused():
    for quote in (identifier, text_literal):
        with pytest.raises(LearnerError, match="NUL"):
            quote("a\0b")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=2, max_size=6, unique=True
    )
)
def test_any_level_survives(levels):
    column = Column("c'\"", Kind.NOMINAL, tuple(levels))
    rules = rules_of_nodes(multiway(0, len(levels)), [column], Column("t", Kind.NOMINAL, tuple(levels)))
    connection = sqlite3.connect(":memory:")
    for level in levels:
        source = f"SELECT {text_literal(level)} AS {identifier(column.name)}"
        (found,) = connection.execute(f"SELECT {case_expression(rules)} FROM ({source})").fetchone()
        assert found == level
    connection.close()


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 2**80), st.integers(1, 2**80), st.sampled_from([24, 53, 64]))
def test_rounding_to_so_many_bits(numerator, denominator, bits):
    mantissa, exponent = _rounded(numerator, denominator, bits)
    exact, nearest = Fraction(numerator, denominator), mantissa * Fraction(2) ** exponent
    assert mantissa.bit_length() <= bits
    unit = Fraction(2) ** (math.floor(math.log2(exact)) - bits + 1)
    assert abs(nearest - exact) <= unit  # within a unit in the last place, whatever log2 rounds to
    if bits == 53:
        assert nearest == Fraction(numerator / denominator)
