"""Parameters: one declaration gives the check, its message and the JSON Schema."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from learners.checks.require import require_json
from learners.errors import ParameterError, quoted
from learners.params import Parameterised, choice, flag, integer, learner, mapping, real, sizes


@learner
class Example(Parameterised):
    depth: int | None = integer(None, "Greatest depth.", minimum=1, maximum=30, none_means="no limit")
    leaf: int = integer(2, "Fewest rows.", minimum=1, maximum=10**9)
    share: float = real(0.5, "A share.", minimum=0.0, maximum=1.0)
    rate: float = real(0.1, "A rate.", minimum=0.0, exclusive_minimum=True)
    prune: bool = flag(True, "Whether to prune.")
    criterion: str = choice("gini", ("gini", "entropy"), "Measure.")
    strategy: str | None = choice(None, ("a", "b"), "Strategy.", none_means="chosen by the data")
    class_weights: Any = mapping("Weight of each class.", none_means="all 1")
    layers: tuple[int, ...] = sizes((4, 2), "Sizes of layers.", maximum=50, most=3, fewest=1)


GOOD: dict[str, list[Any]] = {
    "depth": [None, 1, 30, 3.0, np.int64(4)],
    "leaf": [1, 10**9],
    "share": [0, 1, 0.5, np.float32(0.25)],
    "rate": [1e-300, 5],
    "prune": [True, False, np.bool_(True)],
    "criterion": ["gini", "entropy"],
    "strategy": [None, "a"],
    "class_weights": [None, {}, {"a": 0, "b": 2.5}],
    "layers": [[1], (50, 1, 3), [2.0], (np.int64(3),)],
}
BAD: dict[str, list[Any]] = {
    "depth": [0, 31, 1.5, "3", True, math.nan, math.inf, 10**400, [1]],
    "leaf": [None, 0, -1, 0.5, 10**9 + 1],
    "share": [-0.1, 1.1, math.nan, None, "0.5", True],
    "rate": [0, -1, math.inf],
    "prune": [1, 0, "true", None],
    "criterion": ["Gini", "", None, 1],
    "strategy": ["c", 1],
    "class_weights": [{"a": -1}, {"a": math.nan}, {"a": "1"}, {"a": True}, [1, 2], "a"],
    "layers": [None, [], [0], [51], [1, 2, 3, 4], [1.5], ["1"], [True], [[1]], 3, "3"],
}
ALLOWED = {
    "depth": "a whole number >= 1 and <= 30, or null (no limit)",
    "leaf": "a whole number >= 1 and <= 1000000000",
    "share": "a finite number >= 0 and <= 1",
    "rate": "a finite number > 0",
    "prune": "true or false",
    "criterion": "one of gini, entropy",
    "strategy": "one of a, b, or null (chosen by the data)",
    "class_weights": "an object of finite numbers >= 0, or null (all 1)",
    "layers": "an array of 1 to 3 whole numbers >= 1 and <= 50",
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_allowed_values_pass(name: str, value: Any) -> None:
    Example(**{name: value}).check_params()


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values], ids=lambda v: repr(v)[:20]
)
def test_other_values_are_refused_with_name_range_and_value(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        Example(**{name: value}).check_params()
    assert caught.value.field == name
    assert str(caught.value).startswith(f"parameter {name} must be {ALLOWED[name]}; it is {quoted(value)}")
    assert len(str(caught.value)) < 300


def test_the_schema_says_the_same() -> None:
    schema = Example.parameter_schema()
    require_json(schema, "a schema")
    assert schema["additionalProperties"] is False
    assert schema["type"] == "object"
    properties = schema["properties"]
    assert list(properties) == list(ALLOWED)
    assert properties["depth"] == {
        "type": ["integer", "null"],
        "default": None,
        "description": "Greatest depth. null: no limit.",
        "minimum": 1,
        "maximum": 30,
    }
    assert properties["rate"] == {"type": "number", "default": 0.1, "description": "A rate.", "exclusiveMinimum": 0.0}
    assert properties["prune"] == {"type": "boolean", "default": True, "description": "Whether to prune."}
    assert properties["strategy"]["enum"] == ["a", "b", None]
    assert properties["class_weights"]["additionalProperties"] == {"type": "number", "minimum": 0}
    layers = properties["layers"]
    assert (layers["type"], layers["default"], layers["minItems"], layers["maxItems"]) == ("array", [4, 2], 1, 3)
    assert layers["items"] == {"type": "integer", "minimum": 1, "maximum": 50}


def test_the_constructor_takes_keywords_only_and_checks_nothing() -> None:
    with pytest.raises(TypeError):
        Example(3)  # type: ignore[misc]
    assert Example(depth=-5).depth == -5


def test_parameters_are_read_and_set() -> None:
    made = Example(leaf=7)
    assert made.get_params()["leaf"] == 7
    assert made.set_params(leaf=8, share=0.0) is made
    assert (made.leaf, made.share) == (8, 0.0)


def test_an_unknown_name_is_refused_and_nothing_is_set() -> None:
    made = Example()
    with pytest.raises(ParameterError, match="no parameter 'dept'; it has depth, leaf") as caught:
        made.set_params(leaf=9, dept=3)
    assert caught.value.field == "dept"
    assert made.leaf == 2


def test_parameters_from_json_are_checked_and_whole_numbers_made_integers() -> None:
    made = Example.from_params(json.loads('{"leaf": 3.0, "share": 1}'))
    assert made.leaf == 3
    assert isinstance(made.leaf, int)
    assert Example.from_params({"layers": [7.0, 2]}).layers == (7, 2)
    with pytest.raises(ParameterError, match="leaf"):
        Example.from_params({"leaf": 0})


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, "null"), (True, "true"), ("it's", '"it\'s"'), (0.1, "0.1"), ({"a": [1, None]}, '{"a": [1, null]}')],
)
def test_a_value_is_repeated_in_the_words_of_what_is_allowed(value: Any, told: str) -> None:
    assert quoted(value) == told
    assert quoted([value] * 1000).endswith("characters)")
