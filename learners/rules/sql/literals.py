"""Names, texts and numbers as SQL that SQLite and PostgreSQL read alike.

A decimal literal is not enough for a number: SQLite may read one wrongly in its last bit. So only
those are written as decimals that any reading gets right; others as an integer divided or
multiplied by powers of two, which is exact everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from learners.errors import LearnerError
from learners.table import Column, number_text
from learners.types import Scalar

_INTEGER = 2**53
_POWER = 2**62
_POWERS_OF_TEN = tuple(10**exponent for exponent in range(23))


@lru_cache(maxsize=2**10)
def identifier(name: str, of: str = "") -> str:
    """A quoted column name, of the table or query with this alias if one is given."""
    _refuse_nul(name)
    quoted = '"' + name.replace('"', '""') + '"'
    return f"{of}.{quoted}" if of else quoted


def text_literal(text: str) -> str:
    """A quoted text."""
    _refuse_nul(text)
    return "'" + text.replace("'", "''") + "'"


@lru_cache(maxsize=2**16)
def number_literal(number: float) -> str:
    """A double that both databases read exactly."""
    text = number_text(number)
    if (number == math.floor(number) and abs(number) < _INTEGER) or _reads_well(text):
        return f"CAST('{text}' AS DOUBLE PRECISION)"
    mantissa, exponent = _dyadic(number)
    return f"(CAST({mantissa} AS DOUBLE PRECISION){_scaling(exponent)} /* {text} */)"


@lru_cache(maxsize=2**10)
def _scaling(exponent: int) -> str:
    """Times two to the power of an exponent, in steps that are integers of 64 bits."""
    sign = "*" if exponent > 0 else "/"
    powers = [_POWER] * (abs(exponent) // 62) + [2 ** (abs(exponent) % 62)] * (abs(exponent) % 62 > 0)
    return "".join([f" {sign} {power}" for power in powers])


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise LearnerError("a name or level holds the character NUL, which SQL texts cannot hold")


def _dyadic(number: float) -> tuple[int, int]:
    """The integers m and e with number == m * 2**e."""
    mantissa, exponent = math.frexp(number)
    return int(mantissa * _INTEGER), exponent - 53


def _reads_well(text: str) -> bool:
    """Whether a decimal is read to the nearest double by one division or multiplication.

    That is so if the digits are below 2**53 and the power of ten is at most 10**22, both exact as
    doubles; some readers do it in 64 bits of precision first, so that must round alike.
    """
    digits, _, power = text.partition("e")
    whole, _, decimals = digits.partition(".")
    exponent = int(power or 0) - len(decimals)
    significand = abs(int(whole + decimals))
    if significand >= _INTEGER or abs(exponent) > 22:
        return False
    power_of_ten = _POWERS_OF_TEN[abs(exponent)]
    numerator, denominator = (significand, power_of_ten) if exponent < 0 else (significand * power_of_ten, 1)
    if not _near_halfway(numerator, denominator):
        return True
    mantissa, power_of_two = _rounded(numerator, denominator, 64)
    if mantissa.bit_length() != 54:  # not halfway between two doubles, so rounding again goes where rounding once does
        return True
    twice = _rounded(mantissa << max(power_of_two, 0), 1 << max(-power_of_two, 0), 53)
    return twice == _rounded(numerator, denominator, 53)


def _near_halfway(numerator: int, denominator: int) -> bool:
    """Whether a number's first 64 bits may end like one halfway between two doubles; never wrongly false."""
    shift = 64 - numerator.bit_length() + denominator.bit_length()
    first = (numerator << shift) // denominator if shift >= 0 else numerator // (denominator << -shift)  # 64 or 65 bits
    below = first.bit_length() - 53
    rest = first & ((1 << below) - 1)
    return abs(rest - (1 << below - 1)) <= 2


def _rounded(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """The nearest number of so many significant bits, ties to even, as m and e of m * 2**e; both arguments > 0."""
    exponent = numerator.bit_length() - denominator.bit_length() - bits
    if numerator << max(-exponent, 0) >= (denominator << max(exponent, 0)) << bits:
        exponent += 1
    scaled, unit = numerator << max(-exponent, 0), denominator << max(exponent, 0)
    mantissa, rest = divmod(scaled, unit)
    if 2 * rest > unit or (2 * rest == unit and mantissa % 2 == 1):
        mantissa += 1
    while mantissa % 2 == 0:  # one way to write each number
        mantissa, exponent = mantissa // 2, exponent + 1
    return mantissa, exponent


def label_list(column: Column, codes: Iterable[int]) -> str:
    """The labels of some levels, to stand between brackets."""
    return ", ".join(scalar_literal(column.labels[code]) for code in codes)


def scalar_literal(value: Scalar) -> str:
    """A label in its own type."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return text_literal(value)
    return str(value) if isinstance(value, int) else number_literal(value)
