"""Eight numbers at a time, as values of kernels: a processor works on them in one or a few instructions.

A compiler makes such instructions of plain loops too, but keeps no sums in registers across an inner loop, and
takes half the width that a processor may have. Here each operation is a plain function of numpy's arrays of eight,
beside which ``+ - * /`` are numpy's own; in a kernel it is the instruction (:mod:`learners._lanes_compiled`), with
the same bits. A single number stands for eight. So it is with eight bytes, and with 64, of a text.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite
from typing import TypeAlias

import numpy as np

from learners.types import Array, FloatArray, Int16Array, Int32Array

#: How many numbers one value holds.
LANES = 8
#: How many whole numbers one value holds, each a sum of squares of two differences.
WHOLES = 16
#: How many bytes are looked at together.
BYTES = 64
#: 1.5 * 2^52: added to a number it leaves that number, rounded, in the last bits.
ROUNDING = 6755399441055744.0
#: Where a double's exponent begins, and what is added to it there.
EXPONENT, BIAS = 52, 1023
#: The bits of the root of a half.
ROOT_HALF = 0x3FE6A09E667F3BCD

#: Shape (8,).
Lanes: TypeAlias = FloatArray
#: Shape (16,), of 32 bits.
Wholes: TypeAlias = Int32Array


def load(values: FloatArray, at: int) -> Lanes:
    """Eight entries of a flat array; all of them are in it."""
    return values[at : at + LANES].copy()


def store(values: FloatArray, at: int, lanes: Lanes) -> None:
    """Overwrite eight entries of a flat array."""
    values[at : at + LANES] = lanes


def prefetch(values: FloatArray, at: int) -> None:
    """Tell that entries from here on will be read soon, so that a processor gets them ready."""


def prefetch_bytes(values: Array, at: int) -> None:
    """The same of bytes."""


def word(text: Array, at: int) -> np.uint64:
    """Eight bytes of a flat array as one whole number, the first of them the lowest; all are in it."""
    return np.uint64(int.from_bytes(text[at : at + LANES].tobytes(), "little"))


def places_of(text: Array, at: int, first: int, second: int) -> np.uint64:
    """Which of :data:`BYTES` bytes from a place on, all in a flat array, are one of two, as bits."""
    block = text[at : at + BYTES]
    return np.uint64(sum(1 << place for place in np.flatnonzero((block == first) | (block == second)).tolist()))


def lowest_bit(bits: np.uint64) -> int:
    """The place of the lowest of 64 bits that is set; there is one."""
    return (int(bits) & -int(bits)).bit_length() - 1


def spread(value: float) -> Lanes:
    """The same number eight times."""
    return np.full(LANES, value)


def lane(lanes: Lanes, place: int) -> float:
    """One of the eight."""
    return float(lanes[place])


def fused(first: Lanes | float, second: Lanes | float, added: Lanes | float) -> Lanes:
    """``first * second + added``, rounded once."""
    numbers = zip(*(np.broadcast_to(part, LANES).tolist() for part in (first, second, added)), strict=True)
    return np.array([_fused(*three) for three in numbers])


def where_less(first: Lanes | float, second: Lanes | float, lanes: Lanes | float, others: Lanes | float) -> Lanes:
    """``lanes`` where ``first < second``, else ``others``; a NaN is not less."""
    return np.where(np.broadcast_to(first, LANES) < second, lanes, others)


def where_same(first: Lanes | float, second: Lanes | float, lanes: Lanes | float, others: Lanes | float) -> Lanes:
    """``lanes`` where ``first == second``, else ``others``; a NaN is not even itself."""
    return np.where(np.broadcast_to(first, LANES) == second, lanes, others)


def places_up_to(lanes: Lanes, limit: float) -> int:
    """In which places there is at most ``limit``, as bits; a NaN is not."""
    return sum(1 << place for place in np.flatnonzero(lanes <= limit).tolist())


def first_of(places: int) -> int:
    """The first of some places, as bits; there is one."""
    return (places & -places).bit_length() - 1


def power(shifted: Lanes) -> Lanes:
    """2^k, where ``shifted`` is ``k + ROUNDING`` and k whole within -1022 .. 1023."""
    bits: FloatArray = ((shifted.view(np.int64) + BIAS) << EXPONENT).view(np.float64)
    return bits


def exponent(lanes: Lanes) -> Lanes:
    """The whole k for which the number is within 2^k times 0.7 .. 1.4, of numbers from 1e-300 on."""
    return ((lanes.view(np.int64) - ROOT_HALF) >> EXPONENT).astype(np.float64)


def add_lower(values: FloatArray, at: int, lanes: Lanes) -> None:
    """Add the first four to as many entries of a flat array."""
    values[at : at + LANES // 2] += lanes[: LANES // 2]


def add_upper(values: FloatArray, at: int, lanes: Lanes) -> None:
    """Add the last four to as many entries of a flat array."""
    values[at : at + LANES // 2] += lanes[LANES // 2 :]


def totals(
    first: Lanes, second: Lanes, third: Lanes, fourth: Lanes, fifth: Lanes, sixth: Lanes, seventh: Lanes, eighth: Lanes
) -> Lanes:
    """The sum of each one's eight: of neighbours first, then of these."""
    rows = np.array([first, second, third, fourth, fifth, sixth, seventh, eighth])
    pairs = rows[:, ::2] + rows[:, 1::2]
    fours = pairs[:, ::2] + pairs[:, 1::2]
    found: Lanes = fours[:, 0] + fours[:, 1]
    return found


def store_rounded(wholes: Int16Array, at: int, lanes: Lanes) -> None:
    """Overwrite eight entries of a flat array by numbers rounded, halves to even; all are within 16 bits."""
    wholes[at : at + LANES] = np.rint(lanes)


def no_wholes() -> Wholes:
    """Sixteen zeros."""
    return np.zeros(WHOLES, np.int32)


def add_apart(total: Wholes, codes: Array, at: int, pairs: Int16Array, place: int) -> Wholes:
    """Add to each of sixteen how far a pair is from one that is asked, the square of either difference.

    Args:
        codes: bytes, of which sixteen pairs begin at ``at``.
        pairs: of which the one that is asked begins at ``place``; differences and sums are within 16 and 32 bits.
    """
    off = codes[at : at + 2 * WHOLES].reshape(WHOLES, 2) - pairs[place : place + 2].astype(np.int32)
    return np.asarray(total + (off * off).sum(axis=1, dtype=np.int32))


def add_beyond(total: Wholes, codes: Array, at: int, pairs: Int16Array, place: int) -> Wholes:
    """Add for each of eight boxes the squares of how far a pair lies below its least, and of how far above its largest.

    Args:
        total: of what lies below in the first eight, and of what lies above in the last eight.
        codes: bytes, at ``at`` eight pairs of least numbers, then eight of 256 less the largest.
        pairs, place: as for :func:`add_apart`.
    """
    asked = pairs[place : place + 2].astype(np.int32)
    ends = codes[at : at + 2 * WHOLES].reshape(2, LANES, 2).astype(np.int32)
    off = np.maximum(np.concatenate([ends[0] - asked, ends[1] + asked - 256]), 0)
    return np.asarray(total + (off * off).sum(axis=1, dtype=np.int32))


def halves(wholes: Wholes) -> Lanes:
    """The sums of the first eight and the last eight."""
    return np.asarray((wholes[:LANES] + wholes[LANES:]).astype(np.float64))


def wholes_up_to(wholes: Wholes, limit: float) -> int:
    """In which places there is at most ``limit``, within 32 bits, as bits."""
    return sum(1 << place for place in np.flatnonzero(wholes <= int(limit)).tolist())


def _fused(first: float, second: float, added: float) -> float:
    if not (isfinite(first) and isfinite(second)):
        return first * second + added
    if not isfinite(added):
        return added
    exact = Fraction(first) * Fraction(second) + Fraction(added)
    if exact == 0:
        return first * second + added  # for the sign of 0
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf
