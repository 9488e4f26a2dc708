"""Parts of a table that are learned from one after the other, as the folds of an evaluation are.

A learner that has to prepare columns, such as sorting them, may prepare those of the whole table once and take what
a part needs from that: so a part knows which rows of which table it holds. Only what each part's own preparation
would give may be taken, to the bit; everything that is learned, levels, cuts and likeliest values among it, is
learned from the part's rows alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np

from learners.table import Series, Table
from learners.types import Array, FloatArray, IntArray


class Origin(NamedTuple):
    """Where a table's rows come from.

    Attributes:
        whole: the table of which it is a part.
        rows: their numbers there, ascending; ``None``: it is the whole.
    """

    whole: Table
    rows: IntArray | None


_wholes: WeakSet[Table] = WeakSet()
_sound: WeakKeyDictionary[Table, WeakSet[Series]] = WeakKeyDictionary()


class Part(Table):
    """Some rows of a whole; their cells are copied when they are first asked for.

    Args:
        whole: which is not kept, but for its cells.
        rows: their numbers there, int64, ascending.
    """

    whole: ref[Table]
    rows: IntArray
    _cells: FloatArray

    def __init__(self, whole: Table, rows: IntArray) -> None:
        self.__dict__.update(columns=whole.columns, whole=ref(whole), rows=rows, _cells=whole.values)

    @cached_property
    def values(self) -> FloatArray:
        return np.take(self._cells.T, self.rows, axis=1).T

    @property
    def n_rows(self) -> int:
        return len(self.rows)


def parted(table: Table) -> Table:
    """The same rows as a table that is to be learned from in parts.

    What learners prepare of it is kept as long as the table that is returned; its cells must not change meanwhile.
    """
    if origin_of(table) is not None:
        return table
    whole = Table(table.columns, table.values)
    _wholes.add(whole)
    return whole


def part_of(table: Table, rows: Array) -> Table:
    """Some rows, by their numbers, as :meth:`~learners.table.Table.take` gives them; of a table that is parted (or a
    part of one), a part of it.
    """
    origin = origin_of(table)
    if origin is None or not bool((rows[1:] > rows[:-1]).all()):
        return table.take(rows)
    return Part(origin.whole, rows if origin.rows is None else origin.rows[rows])


def origin_of(table: Table) -> Origin | None:
    """Where a table's rows come from, as long as that is there; ``None`` of a table that nobody parts."""
    if table in _wholes:
        return Origin(table, None)
    if not isinstance(table, Part):
        return None
    whole = table.whole()
    return None if whole is None else Origin(whole, table.rows)


def note_sound(table: Table, target: Series) -> None:
    """Say that every cell of a table and of its target is what its column allows.

    Of a table that is parted they are not looked at again, nor are its parts.
    """
    if table in _wholes:
        _sound.setdefault(table, WeakSet()).add(target)


def is_sound(table: Table) -> bool:
    """Whether that was said of a table, or of the one that it is a part of."""
    origin = origin_of(table)
    return origin is not None and origin.whole in _sound


def is_sound_target(table: Table, target: Series) -> bool:
    """Whether that was said of a table and this target."""
    return target in _sound.get(table, ())
