"""Atoms: the single tests of which candidate rules are made, and the rows on which each holds.

A merged condition on one column falls into atoms that can be dropped one by one: a lower bound, an
upper bound, a set of levels. An atom holds only where a value is known: a missing one satisfies
nothing, a level that the model does not know satisfies only ``not in`` (C4.5rules).

Rows are kept as bits, eight to a byte, lowest bit first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.rules.rule import UNBOUNDED, RuleCondition
from learners.table import Column, Table
from learners.types import BoolArray, FloatArray, IntArray

Bits = NDArray[np.uint8]


class Atom(NamedTuple):
    """One test: ``low < cell <= high`` where ``codes`` is ``None``, else a code in, or not in, a set.

    Attributes:
        feature: index of the column.
        low, high: bounds in cells; one of them is infinite unless both were merged.
        codes: ascending level codes, or ``None``.
        negated: whether the codes are those that are excluded.
    """

    feature: int
    low: float
    high: float
    codes: tuple[int, ...] | None
    negated: bool

    def holds(self, column: Column, cells: FloatArray) -> BoolArray:
        """Where the test holds, shape (n,)."""
        if self.codes is None:
            within: BoolArray = (cells > self.low) & (cells <= self.high)
            return within if column.is_numeric else within & (cells >= 0)
        found: BoolArray = np.isin(cells, self.codes, invert=self.negated)
        return found & ~np.isnan(cells)


def atoms_of(condition: RuleCondition) -> list[Atom]:
    """The atoms of a merged condition."""
    feature = condition.feature
    if condition.codes is not None:
        return [Atom(feature, *UNBOUNDED, condition.codes, condition.negated)]
    bounds = [(condition.low, math.inf)] if math.isfinite(condition.low) else []
    bounds += [(-math.inf, condition.high)] if math.isfinite(condition.high) else []
    return [Atom(feature, low, high, None, False) for low, high in bounds]


def merged(atoms: Iterable[Atom]) -> list[Atom]:
    """At most one atom of bounds and one of levels to each column, in the order of first mention."""
    found: dict[tuple[int, bool], Atom] = {}
    for atom in atoms:
        key = (atom.feature, atom.codes is None)
        before = found.get(key)
        if before is not None and atom.codes is None:
            found[key] = atom._replace(low=max(before.low, atom.low), high=min(before.high, atom.high))
        else:
            found[key] = atom
    return list(found.values())


class Coverage:
    """The rows of a table on which each of some atoms holds.

    Attributes:
        n_rows: n.
        bits: uint8, shape (number of atoms, n / 8 rounded up).
    """

    def __init__(self, table: Table, atoms: Sequence[Atom]) -> None:
        self.n_rows = table.n_rows
        self.bits: Bits = np.empty((len(atoms), (table.n_rows + 7) // 8), dtype=np.uint8)
        for place, atom in enumerate(atoms):
            holds = atom.holds(table.columns[atom.feature], table.values[:, atom.feature])
            self.bits[place] = np.packbits(holds, bitorder="little")

    def of_all(self, atoms: Sequence[int]) -> Bits:
        """The rows on which all these atoms hold; at least one atom."""
        both: Bits = np.bitwise_and.reduce(self.bits[list(atoms)], axis=0)
        return both

    def rows(self, bits: Bits) -> IntArray:
        """The indices of the rows whose bits are set, ascending."""
        return rows_of(bits, self.n_rows)


def rows_of(bits: Bits, n_rows: int) -> IntArray:
    """The indices of the rows whose bits are set, ascending."""
    return np.flatnonzero(np.unpackbits(bits, count=n_rows, bitorder="little"))


def bits_at(bits: Bits, rows: IntArray) -> NDArray[np.uint8]:
    """Bits, shape (m, bytes), of some rows as 0 and 1, shape (m, number of rows)."""
    picked: NDArray[np.uint8] = (bits[:, rows >> 3] >> (rows & 7).astype(np.uint8)) & np.uint8(1)
    return picked
