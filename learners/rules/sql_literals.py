"""Names, texts and numbers as SQL that SQLite and PostgreSQL read alike.

A decimal literal is not enough for a number: SQLite may read one wrongly in its last bit. So only
those are written as decimals that any reading gets right; others as an integer divided or
multiplied by powers of two, which is exact everywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction

from learners.errors import LearnerError
from learners.table import number_text
from learners.types import Scalar

_INTEGER = 2**53
_POWER = 2**62


def identifier(name: str) -> str:
    """A quoted column name."""
    _refuse_nul(name)
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A quoted text."""
    _refuse_nul(text)
    return "'" + text.replace("'", "''") + "'"


def number_literal(number: float) -> str:
    """A double that both databases read exactly."""
    text = number_text(number)
    if (number == math.floor(number) and abs(number) < _INTEGER) or _reads_well(text):
        return f"CAST('{text}' AS DOUBLE PRECISION)"
    mantissa, exponent = _dyadic(number)
    literal = f"CAST({mantissa} AS DOUBLE PRECISION)"
    sign = "*" if exponent > 0 else "/"
    powers = [_POWER] * (abs(exponent) // 62) + [2 ** (abs(exponent) % 62)] * (abs(exponent) % 62 > 0)
    return "(" + "".join([literal, *(f" {sign} {power}" for power in powers)]) + f" /* {text} */)"


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
    exact = Fraction(significand) * Fraction(10) ** exponent
    return _rounded(_rounded(exact, 64), 53) == _rounded(exact, 53)


def _rounded(exact: Fraction, bits: int) -> Fraction:
    """Nearest number with so many significant bits, ties to even."""
    if exact == 0:
        return exact
    shift = bits - (exact.numerator.bit_length() - exact.denominator.bit_length())
    scaled = exact * Fraction(2) ** shift
    if scaled >= 2**bits:
        shift, scaled = shift - 1, scaled / 2
    return Fraction(round(scaled)) / Fraction(2) ** shift


def scalar_literal(value: Scalar) -> str:
    """A label in its own type."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return text_literal(value)
    return str(value) if isinstance(value, int) else number_literal(value)
