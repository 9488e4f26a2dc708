"""Reading arrays of texts as numbers, a block at a time, with the same answers as ``parse_number``.

Arrow's cast is the fast path; whatever it refuses is settled by :func:`learners.table.parse_number` on
the distinct texts, so that there is one definition of a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from learners.table import EXACT_INTEGER, MISSING, parse_number

if TYPE_CHECKING:
    from learners.types import Array, BoolArray, FloatArray

_INTEGER = re.compile(r"\s*[+-]?(\d+)(\.0*)?\s*")
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
_NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ZERO, _NINE, _PLUS, _MINUS = b"09+-"


@dataclass(frozen=True)
class NumberSyntax:
    """How numbers are written in a file.

    Attributes:
        decimal: the decimal mark.
        thousands: the mark between groups of three digits, or None.
        empty_is_missing: an empty text among numbers is a missing value (it cannot be a number).
    """

    decimal: str = "."
    thousands: str | None = None
    empty_is_missing: bool = True

    @property
    def is_plain(self) -> bool:
        return self.decimal == "." and self.thousands is None

    def number(self, text: str) -> float | None:
        """The number a text stands for, NaN for an empty one where that is missing, else None."""
        if not text and self.empty_is_missing:
            return MISSING
        plain = self._plain(text)
        return None if plain is None else parse_number(plain)

    def _plain(self, text: str) -> str | None:
        """The text with ``.`` as decimal mark and no others; None if it cannot be a number."""
        if self.is_plain:
            return text
        if self.thousands is not None and self.thousands in text:
            if not _grouped(self.thousands, self.decimal).fullmatch(text):
                return None
            text = text.replace(self.thousands, "")
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        return text

    def looks_like_name(self, text: str) -> bool:
        """Whether a number is written as names are: leading zeros, or more digits than a double holds."""
        return bool(_LEADING_ZERO.match(text)) or self.is_inexact(text)

    def is_inexact(self, text: str) -> bool:
        """Whether a text is an integer too large to be told from its neighbours as a double."""
        plain = self._plain(text)
        match = _INTEGER.fullmatch(plain) if plain is not None else None
        return match is not None and _digits_exceed(match[1])


#: Numbers with a point and without groups.
PLAIN = NumberSyntax()


def _digits_exceed(digits: str) -> bool:
    digits = digits.lstrip("0")
    return len(digits) > 16 or (len(digits) == 16 and int(digits) >= EXACT_INTEGER)


def is_not_finite(text: str) -> bool:
    """Whether a text is a word for infinity or not-a-number, or a number that overflows a double."""
    if _NOT_FINITE.fullmatch(text):
        return True
    return parse_number(text) is None and _DECIMAL.fullmatch(text.strip()) is not None


def _grouped(thousands: str, decimal: str) -> re.Pattern[str]:
    mark, point = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"\s*[+-]?\d{{1,3}}({mark}\d{{3}})+({point}\d*)?([eE][+-]?\d+)?\s*")


def plain_numbers(texts: pa.StringArray, syntax: NumberSyntax) -> FloatArray | None:
    """The numbers of a block, NaN where null; None unless every text is a number written as one.

    Args:
        texts: cells as they stand in the file, null where missing.
        syntax: how numbers are written.

    Returns:
        float64 of shape (len(texts),), or None if a text is no finite number or looks like a name
        (see :meth:`NumberSyntax.looks_like_name`).
    """
    values = _cast(texts) if syntax.is_plain else None
    if values is None:
        return _by_distinct(texts, syntax)
    if not np.isfinite(values).all() and texts.null_count != np.count_nonzero(~np.isfinite(values)):
        return None
    if _has_leading_zero(texts):
        return None
    large = np.abs(values) >= EXACT_INTEGER  # NaN compares false
    if large.any() and any(syntax.is_inexact(text) for text in texts.filter(pa.array(large)).to_pylist()):
        return None
    return values


def any_numbers(texts: pa.StringArray, syntax: NumberSyntax) -> tuple[FloatArray, list[int]]:
    """The numbers of a block however they are written, and the positions of texts that are none."""
    values = _cast(texts) if syntax.is_plain else None
    if values is not None and np.count_nonzero(~np.isfinite(values)) == texts.null_count:
        return values, []
    codes, distinct = encoded(texts)
    numbers = [syntax.number(text) for text in distinct]
    wrong = np.array([number is None for number in numbers], dtype=bool)
    values = take_or_nan(np.array([MISSING if number is None else number for number in numbers]), codes)
    return values, np.flatnonzero(_at(wrong, codes)).tolist()


def encoded(texts: pa.StringArray) -> tuple[Array, list[str]]:
    """Codes of shape (len(texts),), -1 where null, and the distinct texts they index."""
    dictionary: Any = texts.dictionary_encode()
    codes = dictionary.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, dictionary.dictionary.to_pylist()


def take_or_nan(values: FloatArray, codes: Array) -> FloatArray:
    """``values[codes]``, NaN where a code is -1."""
    return np.append(values, MISSING)[codes]


def _at(flags: BoolArray, codes: Array) -> BoolArray:
    return np.append(flags, False)[codes]


def _cast(texts: pa.StringArray) -> FloatArray | None:
    try:
        values: FloatArray = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return values


def _by_distinct(texts: pa.StringArray, syntax: NumberSyntax) -> FloatArray | None:
    codes, distinct = encoded(texts)
    numbers = np.empty(len(distinct))
    for position, text in enumerate(distinct):
        number = syntax.number(text)
        if number is None or syntax.looks_like_name(text):
            return None
        numbers[position] = number
    return take_or_nan(numbers, codes)


def _has_leading_zero(texts: pa.StringArray) -> bool:
    """Whether a number of a cast block is written with leading zeros, told by the first bytes of each cell."""
    _, offsets_buffer, data_buffer = texts.buffers()
    if data_buffer is None:
        return False
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8)
    starts, ends = offsets[:-1], offsets[1:]
    starts, ends = _beyond(starts, ends, 2)
    first = data[starts]
    signed = (first == _MINUS) | (first == _PLUS)
    if _zero_then_digit(data, starts[first == _ZERO]):
        return True
    return _zero_then_digit_after_sign(data, *_beyond(starts[signed], ends[signed], 3))


def _beyond(starts: Array, ends: Array, length: int) -> tuple[Array, Array]:
    long = ends - starts >= length
    return starts[long], ends[long]


def _zero_then_digit_after_sign(data: Array, starts: Array, ends: Array) -> bool:
    return _zero_then_digit(data, starts[data[starts + 1] == _ZERO] + 1)


def _zero_then_digit(data: Array, zeros: Array) -> bool:
    following = data[zeros + 1]
    return bool(((following >= _ZERO) & (following <= _NINE)).any())
