"""Distances of texts and of sequences: edit distance and dynamic time warping, of one value from many at once.

Both are found by dynamic programming, here on arrays over all the other values, so that no compiler is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.errors import DataError
from learners.types import FloatArray, IntArray

#: Cells of the tables that are held at once.
_CELLS = 2_000_000
_END = -1
#: Numbers of sequences count as no larger than this: sums of distances of steps stay finite, and so do their squares.
_LARGEST = 1e120


def edit_distances(text: str, others: Sequence[str]) -> FloatArray:
    """How many characters must be put in, left out or replaced to make each other text of one, shape (n,).

    Source: Levenshtein 1966; the row-by-row scheme of Wagner and Fischer 1974.
    """
    lengths = np.array([len(other) for other in others], dtype=np.int64)
    found = np.empty(len(others))
    at_once = max(1, _CELLS // (int(lengths.max(initial=0)) + 1))
    own = _codes(text)
    for first in range(0, len(others), at_once):
        part = slice(first, first + at_once)
        found[part] = _edits(own, _padded(others[part], lengths[part]), lengths[part])
    return found


def _edits(own: IntArray, others: IntArray, lengths: IntArray) -> FloatArray:
    places = np.arange(others.shape[1] + 1)
    row = np.tile(places, (len(others), 1))
    for character in own:
        best = row + 1  # left out
        np.minimum(best[:, 1:], row[:, :-1] + (others != character), out=best[:, 1:])  # kept or replaced
        # put in any number of characters: the least of what stands before, plus the way from there
        row = np.minimum.accumulate(best - places, axis=1) + places
    return np.asarray(row[np.arange(len(others)), lengths], dtype=np.float64)


def _codes(text: str) -> IntArray:
    return np.array([ord(character) for character in text], dtype=np.int64)


def _padded(texts: Sequence[str], lengths: IntArray) -> IntArray:
    padded = np.full((len(texts), int(lengths.max(initial=0))), _END, dtype=np.int64)
    for place, text in enumerate(texts):
        padded[place, : len(text)] = _codes(text)
    return padded


def warping_distances(sequence: FloatArray, others: Sequence[FloatArray]) -> FloatArray:
    """Dynamic time warping distance of one sequence from each other one, shape (n,).

    The least sum of Euclidean distances of steps over all ways to go through both sequences in order, each step of
    the one met by at least one of the other (Sakoe and Chiba 1978), without a window. It is symmetric and 0 of equal
    sequences, but no metric: the triangle inequality may fail. Numbers beyond 1e120 count as that.

    Args:
        sequence: shape (T, k).
        others: arrays of shape (any, k).

    Raises:
        DataError: the steps of two sequences hold different counts of numbers.
    """
    n_numbers = sequence.shape[1]
    odd = next((other for other in others if other.shape[1] != n_numbers), None)
    if odd is not None:
        raise DataError(
            f"sequences of {n_numbers} numbers a step cannot be compared with one of {odd.shape[1]} numbers a step"
        )
    lengths = np.array([len(other) for other in others], dtype=np.int64)
    found = np.empty(len(others))
    at_once = max(1, _CELLS // (int(lengths.max(initial=0)) * n_numbers + len(sequence) + 1))
    for first in range(0, len(others), at_once):
        part = slice(first, first + at_once)
        found[part] = _warped(sequence, others[part], lengths[part])
    return found


def _warped(own: FloatArray, others: Sequence[FloatArray], lengths: IntArray) -> FloatArray:
    """Diagonal by diagonal: its entries (i, j), i steps of the own and j of the other, need the two before alone."""
    n_own, longest = len(own), int(lengths.max(initial=0))
    own = np.clip(own, -_LARGEST, _LARGEST)
    padded = np.zeros((len(others), longest, own.shape[1]))
    for place, other in enumerate(others):
        padded[place, : len(other)] = np.clip(other, -_LARGEST, _LARGEST)
    found = np.empty(len(others))
    before = np.full((len(others), n_own + 1), np.inf)
    last = before.copy()
    before[:, 0] = 0.0  # the diagonal of (0, 0)
    for diagonal in range(2, n_own + longest + 1):
        steps = np.arange(max(1, diagonal - longest), min(n_own, diagonal - 1) + 1)
        off = own[steps - 1] - padded[:, diagonal - steps - 1]
        cost = np.abs(off[:, :, 0]) if own.shape[1] == 1 else np.sqrt((off * off).sum(axis=2))
        new = np.full(last.shape, np.inf)
        least = np.minimum(np.minimum(last[:, steps], last[:, steps - 1]), before[:, steps - 1])
        new[:, steps] = cost + least
        ended = lengths == diagonal - n_own
        found[ended] = new[ended, n_own]
        before, last = last, new
    return found
