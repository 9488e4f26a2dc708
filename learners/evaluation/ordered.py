"""Folds in the order of time: what is tested lies later than everything that was learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.errors import ParameterError, quoted
from learners.evaluation.folds import Split, is_whole
from learners.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TimeFolds:
    """k splits: the rows are parted by time into k + 1 blocks, and each block after the first is tested in turn
    by what is learned from all blocks before it.

    Attributes:
        order: the rows by time, shape (n,).
        starts: where each block begins in ``order``, and n: shape (k + 2,).
        warnings: none.
    """

    order: IntArray
    starts: IntArray
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.starts) - 2

    def __getitem__(self, fold: int) -> Split:
        if not 0 <= fold < len(self):
            raise IndexError(f"fold {fold} of {len(self)}, counted from 0")
        begin, end = self.starts[fold + 1 : fold + 3]
        return Split(np.sort(self.order[:begin]), np.sort(self.order[begin:end]))


def time_folds(times: FloatArray, folds: int) -> TimeFolds:
    """Blocks of about equal size; rows of the same time are never parted.

    Args:
        times: shape (n,), in any unit; larger is later.
        folds: k, less than the number of different times.

    Raises:
        ParameterError: folds out of range.
    """
    order, begins = _by_time(times)
    if len(begins) < 2:
        raise ParameterError(f"folds by time need at least 2 different times; there is {len(begins)}", field="time")
    if not is_whole(folds) or not 1 <= folds < len(begins):
        raise ParameterError(
            f"parameter folds must be a whole number >= 1 and <= {len(begins) - 1} (one less than the different "
            f"times); it is {quoted(folds)}",
            field="folds",
        )
    wanted = len(times) * np.arange(1, folds + 1) / (folds + 1)
    return TimeFolds(order, np.array([0, *_nearest(begins[1:], wanted), len(times)]))


def time_hold_out(times: FloatArray, fraction: float) -> Split:
    """The last ``fraction`` of the rows is tested; rows of the same time are never parted.

    Raises:
        ParameterError: fraction out of range, or all times are equal.
    """
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise ParameterError(
            f"parameter fraction must be a number > 0 and < 1; it is {quoted(fraction)}", field="fraction"
        )
    order, begins = _by_time(times)
    if len(begins) < 2:
        raise ParameterError("a hold-out by time needs at least 2 different times", field="time")
    (begin,) = _nearest(begins[1:], np.array([len(times) * (1 - fraction)]))
    return Split(np.sort(order[:begin]), np.sort(order[begin:]))


def _by_time(times: FloatArray) -> tuple[IntArray, IntArray]:
    """The rows by time, and where in that order each different time begins."""
    order = np.argsort(times, kind="stable")
    changes = np.flatnonzero(np.diff(np.asarray(times)[order])) + 1
    return order, np.concatenate([[0], changes])


def _nearest(places: IntArray, wanted: FloatArray) -> list[int]:
    """For each wanted place the nearest of ``places``, all different and ascending."""
    found: list[int] = []
    first = 0
    for number, target in enumerate(wanted):
        last = len(places) - (len(wanted) - number) + 1  # so many must be left for those that follow
        left = places[first:last]
        at = first + int(np.argmin(np.abs(left - target)))
        found.append(int(places[at]))
        first = at + 1
    return found
