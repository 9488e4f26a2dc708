"""Reading arrays of texts as numbers, a block at a time, with the same answers as ``parse_number``.

Arrow's cast is the fast path; whatever it refuses is settled by :func:`learners.table.parse_number` on
the distinct texts, so that there is one definition of a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from learners.table import EXACT_INTEGER, MISSING
from learners.types import Array, BoolArray, FloatArray
from service.formats.written_numbers import NumberSyntax

_ZERO, _NINE, _PLUS, _MINUS = b"09+-"
#: The shortest texts of numbers that are nearer to 0 than to any other double, with an exponent and without: ``1e-324``
#: and a point with so many zeros after it.
_SHORTEST_TINY, _SHORTEST_WRITTEN_OUT = 6, 324
_NOT_ZERO = r"^[^eE]*[1-9]"


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


def vanished(texts: pa.StringArray, values: FloatArray) -> list[int]:
    """The positions of texts that are not 0 but so near to it that their number is.

    Args:
        texts: cells as they stand in the file.
        values: their numbers, of the same length.
    """
    zeros = np.flatnonzero(values == 0)
    if not zeros.size:
        return []
    lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    zeros = zeros[lengths[zeros] >= _SHORTEST_TINY]
    if zeros.size and not _has_small_exponent(texts):
        zeros = zeros[lengths[zeros] >= _SHORTEST_WRITTEN_OUT]
    if not zeros.size:
        return []
    tiny: Any = pc.match_substring_regex(texts.take(pa.array(zeros)), _NOT_ZERO)
    found: list[int] = zeros[tiny.to_numpy(zero_copy_only=False).astype(bool)].tolist()
    return found


def _has_small_exponent(texts: pa.StringArray) -> bool:
    """Whether a negative exponent stands in the memory of the texts, by which most blocks need no closer look."""
    data = texts.buffers()[2]
    found = b"" if data is None else data.to_pybytes()
    return b"e-" in found or b"E-" in found


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
    if data_buffer is None or not data_buffer.size:
        return False
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8)
    starts, ends = offsets[:-1], offsets[1:]
    first = data[np.minimum(starts, len(data) - 1)]  # of an empty cell, which the last test leaves out, any byte
    if _zero_then_digit(data, starts[first == _ZERO], ends[first == _ZERO]):
        return True
    signed = (first == _MINUS) | (first == _PLUS)
    return bool(signed.any()) and _zero_then_digit(data, starts[signed] + 1, ends[signed])


def _zero_then_digit(data: Array, starts: Array, ends: Array) -> bool:
    """Whether a zero with a digit after it begins at one of the places, within its cell."""
    long = ends - starts >= 2
    starts = starts[long]
    following = data[starts + 1]
    return bool(((data[starts] == _ZERO) & (following >= _ZERO) & (following <= _NINE)).any())
