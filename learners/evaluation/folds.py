"""Which rows train and which test: k folds and hold-out, stratified and seeded.

A split is a function of (number of rows, class codes, number of folds, seed) alone, so that every
process that knows these four makes the same fold. The shuffle sorts raw words of PCG64, whose
stream numpy guarantees; the ``Generator`` methods above it may change between versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learners.errors import ParameterError, quoted
from learners.types import Array, BoolArray, Int32Array, IntArray

#: How many classes a warning names before it only counts.
_NAMED_CLASSES = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Row indices, ascending: ``train`` to learn from, ``test`` to be judged on."""

    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Folds:
    """k splits whose test parts are disjoint and cover every row.

    Attributes:
        assignment: int32, shape (n,): the fold 0 .. k-1 in which a row is tested.
        count: k.
        warnings: sentences on classes too rare for so many folds.
    """

    assignment: Int32Array
    count: int
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, fold: int) -> Split:
        if not 0 <= fold < self.count:
            raise IndexError(f"fold {fold} of {self.count}, counted from 0")
        tested = self.assignment == fold
        return Split(np.flatnonzero(~tested), np.flatnonzero(tested))

    @cached_property
    def sizes(self) -> IntArray:
        """Number of tested rows of each fold; any two differ by at most 1."""
        return np.bincount(self.assignment, minlength=self.count)


def k_fold(
    n_rows: int, folds: int = 10, seed: int = 0, codes: Array | None = None, labels: Sequence[object] = ()
) -> Folds:
    """Shuffled folds; stratified where class codes are given.

    Rows are shuffled, ordered by class, and dealt to the folds in turn: so both the sizes of the
    folds and each class's counts in them differ by at most 1.

    Args:
        n_rows: n.
        folds: k, from 2 to n; n is leave-one-out.
        seed: whole number >= 0.
        codes: class code of each row, shape (n,); ``None`` for plain folds.
        labels: names of the classes by code, for warnings.

    Raises:
        ParameterError: folds or seed out of range.
    """
    if n_rows < 2:
        raise ParameterError(f"folds need at least 2 rows; there is {n_rows}", field="folds")
    if not is_whole(folds) or not 2 <= folds <= n_rows:
        raise ParameterError(
            f"parameter folds must be a whole number >= 2 and <= {n_rows} (the number of rows); it is {quoted(folds)}",
            field="folds",
        )
    count = int(folds)
    assignment = np.empty(n_rows, dtype=np.int32)
    assignment[dealing_order(n_rows, seed, codes)] = np.arange(n_rows) % count
    return Folds(assignment, count, rare_classes(codes, count, labels))


def hold_out(
    n_rows: int, fraction: float = 0.25, seed: int = 0, codes: Array | None = None, labels: Sequence[object] = ()
) -> tuple[Split, tuple[str, ...]]:
    """One split with round(fraction n) test rows, at least 1 and at most n - 1, and its warnings.

    Stratified where class codes are given: every class's share of the test part is within one row
    of the fraction.

    Raises:
        ParameterError: fraction or seed out of range, or fewer than 2 rows.
    """
    if n_rows < 2:
        raise ParameterError(f"a hold-out needs at least 2 rows; there is {n_rows}", field="fraction")
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise ParameterError(
            f"parameter fraction must be a number > 0 and < 1; it is {quoted(fraction)}", field="fraction"
        )
    count = n_held_out(n_rows, fraction)
    positions = np.arange(n_rows)
    chosen = (positions + 1) * count // n_rows > positions * count // n_rows  # evenly spaced along the order
    tested = np.zeros(n_rows, dtype=bool)
    tested[dealing_order(n_rows, seed, codes)] = chosen
    split = Split(np.flatnonzero(~tested), np.flatnonzero(tested))
    return split, absent_classes(codes, tested, labels)


def n_held_out(n_rows: int, fraction: float) -> int:
    """How many of at least 2 rows a hold-out tests."""
    return min(max(round(fraction * n_rows), 1), n_rows - 1)


def dealing_order(n_rows: int, seed: int, codes: Array | None) -> IntArray:
    """The rows in random order; where codes are given, class by class."""
    if not is_whole(seed) or seed < 0:
        raise ParameterError(f"parameter seed must be a whole number >= 0; it is {quoted(seed)}", field="seed")
    words = np.random.PCG64(int(seed)).random_raw(n_rows)
    shuffled = np.argsort(words)
    if bool((np.diff(words[shuffled]) == 0).any()):  # which hardly ever happens: then the first comes first
        shuffled = np.argsort(words, kind="stable")
    if codes is None:
        return shuffled
    if len(codes) != n_rows:
        raise ParameterError(f"there are {n_rows} rows but {len(codes)} class codes", field="codes")
    return shuffled[np.argsort(np.asarray(codes)[shuffled], kind="stable")]


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, of Python's or numpy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def rare_classes(codes: Array | None, folds: int, labels: Sequence[object]) -> tuple[str, ...]:
    """Warnings of the classes that have fewer rows than there are folds."""
    if codes is None:
        return ()
    present, counts = np.unique(codes, return_counts=True)
    rare = [(code, count) for code, count in zip(present.tolist(), counts.tolist(), strict=True) if count < folds]
    return _listed(
        [f"class {_name(code, labels)} has {count} of the rows" for code, count in rare],
        f"fewer than the {folds} folds, so some folds have none to test",
    )


def absent_classes(codes: Array | None, tested: BoolArray, labels: Sequence[object]) -> tuple[str, ...]:
    """Warnings of the classes that one of two parts lacks."""
    if codes is None:
        return ()
    values = np.asarray(codes)
    parts = {"train on": values[~tested], "test": values[tested]}
    found: list[str] = []
    for purpose, part in parts.items():
        absent = np.setdiff1d(values, part).tolist()
        found += _listed([f"class {_name(code, labels)}" for code in absent], f"no row of it is there to {purpose}")
    return tuple(found)


def _listed(subjects: list[str], remark: str) -> tuple[str, ...]:
    shown = [f"{subject}: {remark}" for subject in subjects[:_NAMED_CLASSES]]
    left = len(subjects) - len(shown)
    return (*shown, *([f"{left} more classes: {remark}"] if left else []))


def _name(code: int, labels: Sequence[object]) -> str:
    return quoted(labels[code]) if 0 <= code < len(labels) else str(code)
