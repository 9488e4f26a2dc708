"""What pydantic finds wrong with a value, in words that say nothing of Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: By the first word of an error's type, what a value must be, and what is allowed.
_TYPES: dict[str, tuple[str, Any]] = {
    "int": ("a whole number", "whole numbers"),
    "float": ("a number", "numbers"),
    "finite": ("a finite number", "finite numbers"),
    "string": ("a text", "texts"),
    "bool": ("true or false", [True, False]),
    "list": ("an array", "an array"),
    "tuple": ("an array", "an array"),
    "dict": ("an object", "an object"),
    "model": ("an object", "an object"),
}
#: Ends of the types of errors that speak of a value's type, and not of its length or form.
_OF_TYPE = re.compile(r"_(type|attributes_type|parsing|from_float|number)$")
_BEGINNING = re.compile(r"^(Input|String|List|Dictionary|Value|Data) should ")
#: Words that a message can do without.
_IDLE = re.compile(r"^Value error, | after validation")


def said_of(error: Mapping[str, Any]) -> str:
    """What is wrong: what the value must be, or have, where that is known.

    Args:
        error: one of pydantic's.
    """
    if error["type"] == "int_parsing_size":
        return "must be a whole number of fewer digits"
    wanted = _wanted(error)
    return f"must be {wanted[0]}" if wanted else _IDLE.sub("", _BEGINNING.sub("must ", error["msg"]))


def allowed_type(error: Mapping[str, Any]) -> Any:
    """What values are allowed, where one is of another type; else None."""
    wanted = _wanted(error)
    return wanted[1] if wanted else None


def _wanted(error: Mapping[str, Any]) -> tuple[str, Any] | None:
    return _TYPES.get(error["type"].partition("_")[0]) if _OF_TYPE.search(error["type"]) else None
