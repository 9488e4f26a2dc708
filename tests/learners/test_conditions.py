"""What tests may ask: texts that read one way only, JSON without surprises."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.conditions import Condition, name_text, scalar_text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("x", "<=", threshold=2.45), "x <= 2.45"),
        (Condition("x", ">", threshold=3.0), "x > 3"),
        (Condition("x", "<=", threshold=3.965e-06), "x <= 3.965e-06"),
        (Condition("x", "<=", threshold=0.1 + 0.2), "x <= 0.30000000000000004"),
        (Condition("x", "interval", low=1.5, high=2.5), "1.5 < x <= 2.5"),
        (Condition("grade", ">", threshold="low"), "grade > low"),
        (Condition("outlook", "in", values=("sunny",)), "outlook = sunny"),
        (Condition("outlook", "in", values=("sunny", "rainy")), "outlook in {sunny, rainy}"),
        (Condition("windy", "in", values=(True,)), "windy = true"),
        (Condition("windy", "in", values=("TRUE", "NULL")), 'windy in {"TRUE", "NULL"}'),
        (Condition("c", "in", values=("nan", "None", "NA", "n.a.")), 'c in {"nan", "None", "NA", n.a.}'),
        (Condition("code", "in", values=(1, 2.5)), "code in {1, 2.5}"),
        (Condition("petal length", "<=", threshold=1.0), '"petal length" <= 1'),
        (Condition("a", "in", values=("a,a", "", "it's", "x and y")), 'a in {"a,a", "", "it\'s", "x and y"}'),
    ],
)
def test_texts(condition: Condition, text: str) -> None:
    assert condition.text() == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_thresholds_print_exactly(threshold: float) -> None:
    text = Condition("x", "<=", threshold=threshold).text()
    assert float(text.removeprefix("x <= ")) == threshold


@given(st.text(max_size=12))
def test_a_name_reads_back(name: str) -> None:
    text = name_text(name)
    assert (json.loads(text) if text.startswith('"') else text) == name
    if not text.startswith('"'):
        assert shlex.split(text) == [name]


@given(st.lists(st.text(max_size=6), min_size=2, max_size=4, unique=True))
def test_a_list_of_levels_reads_back(levels: list[str]) -> None:
    text = Condition("x", "in", values=tuple(levels)).text().removeprefix("x in {").removesuffix("}")
    decoder, found = json.JSONDecoder(), []
    while text:
        if text.startswith('"'):
            level, end = decoder.raw_decode(text)
        else:
            end = text.find(",") if "," in text else len(text)
            level = text[:end]
        found.append(level)
        text = text[end:].removeprefix(", ")
    assert found == levels


def test_json_holds_what_the_operator_needs_and_the_text() -> None:
    assert Condition("x", "<=", threshold=1.5).to_json() == {
        "column": "x",
        "operator": "<=",
        "threshold": 1.5,
        "text": "x <= 1.5",
    }
    assert Condition("x", "in", values=("a", 1)).to_json()["values"] == ["a", 1]
    interval = Condition("x", "interval", low=0.5, high=1.5).to_json()
    assert (interval["low"], interval["high"]) == (0.5, 1.5)


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (1, "1"), (1.0, "1"), ("1", "1"), (None, "None")])
def test_scalars(value: object, text: str) -> None:
    assert scalar_text(value) == text  # type: ignore[arg-type]
