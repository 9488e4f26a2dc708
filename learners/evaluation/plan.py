"""How rows are parted into what is learned from and what is judged on: one record for every way.

A plan says the method; with groups or times it says the same of whole groups, or in the order of time.
Its splits are a function of (plan, target, groups, times, seed) alone, so every process makes the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from learners.errors import ROW, DataError, ParameterError, quoted
from learners.evaluation.folds import Folds, Split, hold_out, is_whole, k_fold
from learners.evaluation.grouped import group_folds, group_hold_out, leave_groups_out
from learners.evaluation.ordered import time_folds, time_hold_out
from learners.table import Series
from learners.types import Array

METHODS = ("k-fold", "hold-out", "leave-one-out")


class Splits(Protocol):
    """Numbered splits: ``len``, an index from 0, and sentences on what is unusual about them."""

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, fold: int) -> Split: ...


@dataclass(frozen=True, eq=False)
class Once:
    """One split."""

    split: Split
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, fold: int) -> Split:
        if fold != 0:
            raise IndexError(f"split {fold} of 1, counted from 0")
        return self.split


@dataclass(frozen=True, eq=False)
class Repeated:
    """The splits of several drawings, one drawing after the other."""

    drawn: tuple[Splits, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all drawings, each once."""
        return tuple(dict.fromkeys(text for splits in self.drawn for text in splits.warnings))

    def __len__(self) -> int:
        return sum(len(splits) for splits in self.drawn)

    def __getitem__(self, fold: int) -> Split:
        if not 0 <= fold < len(self):
            raise IndexError(f"fold {fold} of {len(self)}, counted from 0")
        repeat, within = divmod(fold, len(self.drawn[0]))
        return self.drawn[repeat][within]


@dataclass(frozen=True)
class Plan:
    """How rows are parted.

    Attributes:
        method: ``k-fold``, ``hold-out`` or ``leave-one-out`` (with groups: one group).
        folds: of k-fold.
        fraction: of the rows that a hold-out tests.
        repeats: drawings of k-fold or hold-out, by seed, seed + 1, ...
        stratified: keep the shares of the classes alike in all parts; without effect on numbers, on the order
            of time and on leave-one-out.
    """

    method: str = "k-fold"
    folds: int = 10
    fraction: float = 0.25
    repeats: int = 1
    stratified: bool = True

    def splits(
        self, target: Series, seed: int = 0, *, groups: Series | None = None, times: Series | None = None
    ) -> Splits:
        """The splits for a target.

        Args:
            target: n labels or numbers.
            seed: whole number >= 0.
            groups: the rows' groups, which are never parted.
            times: the rows' times; then what is tested is later than what is learned from.

        Raises:
            ParameterError: a number is out of range, or two wishes have no sense together.
            DataError: a row has no group or no time.
        """
        self._check(groups, times)
        if times is not None:
            return self._by_time(_known(times, len(target), "time"))
        wanted = target.codes if self.stratified and not target.column.is_numeric else None
        labels = target.column.labels
        keys = None if groups is None else _known(groups, len(target), "group")
        drawn = tuple(self._drawn(len(target), seed + repeat, keys, wanted, labels) for repeat in range(self.repeats))
        return drawn[0] if len(drawn) == 1 else Repeated(drawn)

    def _check(self, groups: Series | None, times: Series | None) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                f"parameter method must be one of {', '.join(METHODS)}; it is {quoted(self.method)}", field="method"
            )
        if not is_whole(self.repeats) or self.repeats < 1:
            raise ParameterError(
                f"parameter repeats must be a whole number >= 1; it is {quoted(self.repeats)}", field="repeats"
            )
        if groups is not None and times is not None:
            raise ParameterError("folds keep groups together or follow time, not both", field="groups")
        if times is not None and self.method == "leave-one-out":
            raise ParameterError("leave-one-out learns from later rows too; take k-fold with time", field="time")
        if self.repeats > 1 and (times is not None or self.method == "leave-one-out"):
            why = "the order of time" if times is not None else "leave-one-out"
            raise ParameterError(f"parameter repeats has no effect with {why}: nothing is drawn", field="repeats")

    def _by_time(self, times: Array) -> Splits:
        return Once(time_hold_out(times, self.fraction)) if self.method == "hold-out" else time_folds(times, self.folds)

    def _drawn(
        self, n_rows: int, seed: int, groups: Array | None, codes: Array | None, labels: tuple[object, ...]
    ) -> Splits:
        if self.method == "leave-one-out":
            return _one_by_one(n_rows) if groups is None else leave_groups_out(groups)
        if self.method == "hold-out":
            if groups is None:
                return Once(*hold_out(n_rows, self.fraction, seed, codes, labels))
            return Once(*group_hold_out(groups, self.fraction, seed, codes, labels))
        if groups is None:
            return k_fold(n_rows, self.folds, seed, codes, labels)
        return group_folds(groups, self.folds, seed, codes, labels)


def each(splits: Splits) -> Iterator[Split]:
    """The splits in order."""
    return (splits[number] for number in range(len(splits)))


def _one_by_one(n_rows: int) -> Folds:
    if n_rows < 2:
        raise ParameterError(f"leave-one-out needs at least 2 rows; there is {n_rows}", field="method")
    return Folds(np.arange(n_rows, dtype=np.int32), n_rows)


def _known(series: Series, n_rows: int, word: str) -> Array:
    """The cells, none of which is missing."""
    if len(series) != n_rows:
        raise DataError(f"there are {n_rows} rows but {len(series)} {word}s", field=series.column.name)
    unknown = np.flatnonzero(~np.isfinite(series.cells))
    if len(unknown):
        raise DataError(
            f"row {ROW} (counted from 0) has no {word} in column {quoted(series.column.name)}; every row needs one",
            field=series.column.name,
            row=int(unknown[0]),
        )
    return series.cells
