"""Numbers as texts: the one text of each double, the level of a value, and what is read as a number."""

from __future__ import annotations

import math

import numpy as np

from learners.errors import DataError
from learners.types import Scalar

#: The largest magnitude below which every integer is exactly a float64.
EXACT_INTEGER = 2**53
#: Larger whole numbers are written with an exponent.
_LARGEST_PLAIN = 2**63


def number_text(value: float) -> str:
    """The shortest text that reads back as the same double; whole numbers up to 2^63 without a point.

    ``1`` and ``1.0`` are one text, so they are one level.

    Raises:
        DataError: NaN or infinite.
    """
    if not math.isfinite(value):
        raise DataError(f"{value!r} is not a finite number")
    if abs(value) <= _LARGEST_PLAIN and value == math.floor(value):
        return str(int(value))
    return repr(float(value))


def canonical_text(value: Scalar) -> str:
    """The text under which a value is a level: texts as they are, ``true``/``false``, numbers shortest."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return _integer_text(int(value))
    return _double_text(float(value))


#: Whole numbers below this are written with all their digits as levels, whether they came as integers or doubles.
_PLAIN_INTEGER = 10**22


def _integer_text(value: int) -> str:
    """Its digits; from 10^22 on as the equal double is written, if there is one."""
    if abs(value) < _PLAIN_INTEGER:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    return repr(number) if number == value else str(value)


def _double_text(value: float) -> str:
    """The level of a double: equal to that of the equal integer."""
    text = number_text(value)
    return str(int(value)) if value == math.floor(value) and abs(value) < _PLAIN_INTEGER else text


def parse_number(text: str) -> float | None:
    """A finite double written in plain decimal or scientific notation, else ``None``.

    Python's own extras (underscores, ``nan``, ``infinity``, full-width digits) are not numbers here.
    """
    stripped = text.strip()
    if not stripped or not set(stripped) <= _NUMBER_CHARACTERS:
        return None
    try:
        number = float(stripped)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_NUMBER_CHARACTERS = frozenset("0123456789+-.eE")


def numeric_level(text: str) -> str:
    """The level of a text in a column whose levels are numbers: ``1``, ``1.0`` and ``01`` are one."""
    number = parse_number(text)
    if number is None:
        return text
    if abs(number) >= EXACT_INTEGER:
        digits = text.strip().lstrip("+-")
        if digits.isdecimal():  # a double would lose digits that are there
            sign = "-" if number < 0 else ""
            return _integer_text(int(sign + (digits.lstrip("0"))))
    return _double_text(number)
