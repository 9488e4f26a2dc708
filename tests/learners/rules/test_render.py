import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.rules.from_tree import rules_of_nodes
from learners.rules.indented import Written, indented
from learners.rules.render import to_json, to_json_text, to_markdown, to_text
from learners.table import Column, Kind, Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.rules.sql.test_statements import multiway
from tests.learners.rules.test_from_tree import TARGET, tree_and_rows
from tests.learners.trees.peers import chain

anything = st.text(st.characters(codec="utf-8"), max_size=12)


def example():
    return rules_of_nodes(chain(3, np.array([[3.0, 1, 0], [0, 2, 0], [0, 0, 6]])), [Column("x")], TARGET)


def test_text():
    assert to_text(example()) == (
        "IF x <= 0 THEN answer = no  [share 0.75; 4 rows; where missing: x 0.333]\n"
        "IF 0 < x <= 1 THEN answer = perhaps  [share 1; 2 rows; where missing: x 0.167]\n"
        "IF x > 1 THEN answer = yes  [share 1; 6 rows; where missing: x 0.5]\n"
    )


def test_markdown():
    lines = to_markdown(example()).splitlines()
    assert lines[0] == r"| \# | If | Then answer | Share | Rows | Id |"
    assert lines[2].startswith(r"| 1 | x \<= 0 \(missing: 0.333\) | no | 0.75 | 4 | 1-")
    assert len(lines) == 5


def test_single_leaf_is_a_rule_without_conditions():
    rules = rules_of_nodes(multiway(0, 1), [Column("c", Kind.NOMINAL, ("a",))], Column("t", Kind.NOMINAL, ("a",)))
    rules = replace(rules, rules=(rules.rules[0]._replace(conditions=()),))
    assert to_text(rules) == "ALWAYS t = a  [share 1; 1 row]\n"
    assert "| always | a |" in to_markdown(rules)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_indented_json_is_what_the_library_writes(value):
    assert indented(value) == json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    part = Written(indented(value, 1))
    assert indented([part, part]) == json.dumps([value, value], indent=2, ensure_ascii=False)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_indented_json_has_no_number_that_is_not_finite(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        indented({"a": [number]})


def test_json_is_complete_and_strict():
    rules = example()
    record = json.loads(to_json_text(rules))
    assert record == to_json(rules)
    assert record["classes"] == ["no", "perhaps", "yes"]
    first = record["rules"][0]
    assert first["conditions"][0]["threshold"] == 0
    assert first["conditions"][0]["missing"] == pytest.approx(1 / 3)
    assert first["distribution"] == [0.75, 0.25, 0]
    assert (first["counts"], first["share"]) == ([3, 1, 0], 0.75)
    assert {"id", "leaf", "answer", "confidence", "rows", "weight"} <= set(first)


def test_an_estimate_stands_beside_the_share():
    """Three rows of one class and one of the other: (3 + 1) / (4 + 2)."""
    model = DecisionTreeClassifier(leaf_estimate="laplace").fit([[0.0]] * 4, ["a", "a", "a", "b"])
    rules = rules_of_nodes(model.tree_, model.columns_, model.target_)
    assert to_text(rules).endswith("[estimate 0.6667; 4 rows]\n")
    assert to_markdown(rules).splitlines()[0].count("Estimate") == 1
    assert "counts" not in to_json(rules)["rules"][0]


def test_regression_shows_the_spread():
    rules = rules_of_nodes(chain(2, np.array([[3.0, 4.0], [2.5, 0.0]])), [Column("x")], Column("price"))
    assert "price = 3  [deviation 2; 7 rows; where missing: x 0.737]" in to_text(rules)
    assert "| Deviation |" in to_markdown(rules)
    assert to_json(rules)["rules"][0]["deviation"] == 2


@settings(max_examples=100, deadline=None)
@given(st.lists(anything, min_size=2, max_size=5, unique=True), anything)
def test_no_level_or_name_breaks_the_renderings(levels, name):
    column = Column(name, Kind.NOMINAL, tuple(levels))
    rules = rules_of_nodes(multiway(0, len(levels)), [column], Column("t", Kind.NOMINAL, tuple(levels)))
    lines = to_text(rules).split("\n")
    assert len(lines) == len(levels) + 1
    assert len(set(lines)) == len(lines)
    table = to_markdown(rules).split("\n")
    assert len(table) == len(levels) + 3
    for line in table[:-1]:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 7
    answers = [rule["answer"] for rule in json.loads(to_json_text(rules))["rules"]]
    assert answers == levels
    assert [rule["conditions"][0]["values"] for rule in to_json(rules)["rules"]] == [[level] for level in levels]


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_to_the_same_double(threshold):
    nodes = chain(2, np.eye(3)[[0, 2]])
    nodes.threshold[0] = threshold
    text = to_text(rules_of_nodes(nodes, [Column("x")], TARGET))
    assert float(re.search(r"x <= (\S+)", text)[1]) == threshold
    assert float(re.search(r"x > (\S+)", text)[1]) == threshold


def parsed(text):
    """Conditions on one numeric column read back from the text of each rule."""
    for line in text.splitlines():
        bounds = re.search(r"IF (?:(\S+) < )?x(?: (<=|>) (\S+))?", line)
        low, sign, number = bounds.groups()
        yield (
            float(low) if low else (float(number) if sign == ">" else -math.inf),
            float(number) if sign == "<=" else math.inf,
        )


def test_rules_read_from_the_text_select_the_same_rows():
    rng = np.random.default_rng(1)
    values = np.sort(rng.normal(size=60)) * 1e-7
    nodes = chain(60, np.eye(3)[np.arange(60) % 3])
    nodes.threshold[nodes.feature == 0] = values[:-1]
    rules = rules_of_nodes(nodes, [Column("x")], TARGET)
    matches = rules.matches(Table.from_array(values[:, None], ["x"]))
    read = np.array([[low < value <= high for low, high in parsed(to_text(rules))] for value in values])
    np.testing.assert_array_equal(read, matches == 1)


def test_random_trees_render_all_their_leaves():
    for seed in range(10):
        nodes, table = tree_and_rows(seed, 0.1, 0)
        rules = rules_of_nodes(nodes, table.columns, TARGET)
        assert len(to_text(rules).splitlines()) == nodes.n_leaves
        assert len(to_markdown(rules).splitlines()) == nodes.n_leaves + 2
