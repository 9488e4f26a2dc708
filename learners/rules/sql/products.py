"""Products as SQL that no database refuses for being too small.

PostgreSQL fails the whole statement where a product of two numbers other than 0 is too small for a double; the model
and SQLite have 0 there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from math import inf, nextafter

from learners.rules.sql.literals import number_literal
from learners.table import number_text

_ZERO = number_literal(0.0)


def product(coefficient: float, value: str) -> str:
    """A coefficient times an expression: the model's double, 0 where it is too small for one."""
    smallest = _smallest_factor(abs(coefficient))
    return f"{number_literal(coefficient)} * {small_as_zero(value, smallest)}"


def small_as_zero(value: str, smallest: float) -> str:
    """The expression, or 0 where it is smaller in magnitude than a number >= 0.

    The number is written shortest. SQLite, which may read that wrongly in its last bits, refuses no small product, so
    it has at worst 0 for the least double.
    """
    if smallest <= nextafter(0.0, inf):
        return value
    return f"CASE WHEN ABS({value}) < CAST('{number_text(smallest)}' AS DOUBLE PRECISION) THEN {_ZERO} ELSE {value} END"


@lru_cache(maxsize=2**12)
def _smallest_factor(coefficient: float) -> float:
    """The smallest positive double whose product with a number >= 0 is not 0; 0.0 if there is none."""
    if coefficient == 0.0:
        return 0.0
    return nextafter(last_double(lambda factor: coefficient * factor == 0.0), inf)


def last_double(holds: Callable[[float], bool]) -> float:
    """The largest double >= 0 for which something holds that holds for 0, and for none from some double on.

    By halving among all doubles from 0 on, whose bits are ordered as they are.
    """
    low, high = 0, _bits(inf)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(_double(middle)):
            low = middle
        else:
            high = middle
    return _double(low)


def _bits(number: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits)


def _double(bits: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(number)
