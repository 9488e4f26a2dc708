"""Sequences of numbers as values: the one text under which each is known, and the array that it stands for.

A sequence has T >= 1 steps. A step is a number, or k >= 1 numbers, the same k in each step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from learners.errors import DataError, quoted
from learners.number_texts import number_text, parse_number
from learners.types import FloatArray

#: What a message says of the form of a value.
FORM = "an array of numbers, or of arrays of equally many numbers, as JSON; or numbers with blanks between them"


def sequence_text(value: Any) -> str:
    """The canonical text of a sequence: JSON without blanks, ``[1,2.5]``, or ``[[1,2],[3,4]]`` where k > 1.

    Args:
        value: a list or tuple as JSON has it, an array of shape (T,) or (T, k), or a text as in :data:`FORM`.

    Raises:
        DataError: empty, ragged, or with something in it that is no finite number.
    """
    steps = _steps(value)
    if all(len(step) == 1 for step in steps):
        return f"[{','.join(step[0] for step in steps)}]"
    return f"[{','.join('[' + ','.join(step) + ']' for step in steps)}]"


def step_width(text: str) -> int:
    """How many numbers each step of a canonical text holds: its k."""
    return text[: text.index("]")].count(",") + 1 if text.startswith("[[") else 1


def check_widths(texts: Iterable[str], width: int | None) -> None:
    """Refuse sequences of other steps than the first one, or than others before them.

    Args:
        texts: canonical.
        width: how many numbers each step of those before holds; None if there are none.

    Raises:
        DataError: names the first culprit.
    """
    for text in texts:
        width = step_width(text) if width is None else width
        if step_width(text) != width:
            raise DataError(
                f"the sequence {_shown(text)} has {step_width(text)} numbers a step, where others of its column have "
                f"{width}"
            )


def parse_sequence(text: str) -> FloatArray:
    """The array of a canonical text, shape (T, k)."""
    array = np.array(json.loads(text), dtype=np.float64)
    return array if array.ndim == 2 else array[:, np.newaxis]


def sequence_value(text: str) -> list[Any]:
    """A canonical text as JSON has it, as it is given back to a caller."""
    found: list[Any] = json.loads(text)
    return found


def _steps(value: Any) -> list[list[str]]:
    items = _read(value) if isinstance(value, str) else value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(items, list | tuple):
        raise DataError(f"{_shown(value)} is no sequence; one is {FORM}")
    if not items:
        raise DataError(f"the sequence {_shown(value)} is empty; one has at least one step")
    nested = [isinstance(one, list | tuple) for one in items]
    if any(nested) != all(nested):
        raise DataError(f"the sequence {_shown(value)} holds numbers beside arrays; its steps are all one or the other")
    steps = [_numbers(one if isinstance(one, list | tuple) else (one,), value) for one in items]
    widths = {len(step) for step in steps}
    if len(widths) > 1 or 0 in widths:
        counts = " and ".join(map(str, sorted(widths)))
        raise DataError(f"steps of the sequence {_shown(value)} hold {counts} numbers; all hold equally many")
    return steps


def _read(text: str) -> Any:
    stripped = text.strip()
    if not stripped.startswith("["):
        return [_parsed(one, text) for one in stripped.split()]
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        raise DataError(f"{_shown(text)} is no sequence; one is {FORM}") from None


def _numbers(step: Sequence[Any], value: Any) -> list[str]:
    return [_number(one, value) for one in step]


def _number(one: Any, value: Any) -> str:
    if isinstance(one, bool) or not isinstance(one, int | float):
        raise DataError(f"the sequence {_shown(value)} holds {quoted(one)}, which is no number")
    try:
        number = float(one)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"the sequence {_shown(value)} holds {quoted(one)}, which is no finite number")
    return number_text(number)


def _parsed(written: str, text: str) -> float:
    """A number between blanks."""
    number = parse_number(written)
    if number is None or not math.isfinite(number):
        raise DataError(f"the sequence {_shown(text)} holds {quoted(written)}, which is no finite number")
    return number


def _shown(value: Any) -> str:
    return quoted(value if isinstance(value, str) else str(value))
