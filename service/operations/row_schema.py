"""The JSON Schema of a row to predict: what a model takes without a warning but that of missing values."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from learners.boolean_texts import spellings
from learners.number_texts import parse_number
from learners.sequences import step_width
from learners.table import Column, Kind

_NUMBER = {"type": "number", "minimum": -sys.float_info.max, "maximum": sys.float_info.max}


def row_schema(inputs: Sequence[Mapping[str, Any]], missing_tokens: Iterable[str]) -> dict[str, Any]:
    """JSON Schema (2020-12) of one row.

    Numbers in texts, and sequences in texts, are taken as well, but are no part of it.

    Args:
        inputs: the model's columns, as JSON.
        missing_tokens: texts that stand for a missing value.
    """
    columns = [Column.from_json(one) for one in inputs]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {column.name: _cell_schema(column, sorted(missing_tokens)) for column in columns},
        "additionalProperties": True,
    }


def _cell_schema(column: Column, tokens: Sequence[str]) -> dict[str, Any]:
    if column.kind is Kind.TEXT:
        return {"type": ["string", "number", "boolean", "null"]}
    missing = [token for token in tokens if token not in column.levels]
    if column.is_numeric:
        forms = [_NUMBER]
    elif column.kind is Kind.SEQUENCE:
        forms = _sequences(step_width(column.levels[0]) if column.levels else None)
    else:
        return _labels(column, missing)
    return {"anyOf": [*forms, {"enum": [None, *missing]}]}


def _sequences(width: int | None) -> list[dict[str, Any]]:
    """Arrays of numbers, and of arrays of as many numbers as a step has."""
    size = {"minItems": 1} if width is None else {"minItems": width, "maxItems": width}
    steps = [_NUMBER] if width in (None, 1) else []
    steps.append({"type": "array", "items": _NUMBER, **size})
    return [{"type": "array", "items": step, "minItems": 1} for step in steps]


def _labels(column: Column, missing: Sequence[str]) -> dict[str, Any]:
    """Every value that is one of the levels, whatever its type is; of a boolean column in any spelling."""
    values: list[Any] = list(column.labels)
    values += [text for text in column.levels if text not in values]
    others = [True, False, *(number for text in column.levels if (number := parse_number(text)) is not None)]
    if column.kind is Kind.BOOLEAN:
        others += [1, 0]
    known = {(type(value) is bool, value) for value in values}
    for value in others:
        if (type(value) is bool, value) not in known and column.encode(value) >= 0:
            known.add((type(value) is bool, value))
            values.append(value)
    enum = {"enum": [*values, None, *missing]}
    if column.kind is not Kind.BOOLEAN:
        return enum
    words = sorted(word for texts in spellings(column.levels[0], column.levels[1]) for word in texts)
    return {"anyOf": [enum, {"type": "string", "pattern": f"^(?:{'|'.join(map(_any_case, words))})$"}]}


def _any_case(word: str) -> str:
    """A pattern of a word in capitals and small letters, which JSON Schema's patterns have no flag for."""
    cases = ({letter.lower(), letter.upper()} for letter in word)
    return "".join(
        f"[{''.join(sorted(both))}]" if len(both) == 2 and all(len(one) == 1 for one in both) else re.escape(letter)
        for letter, both in zip(word, cases, strict=True)
    )
