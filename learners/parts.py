"""Parts of a table that are learned from one after the other, as the folds of an evaluation are.

A learner that has to prepare columns, such as sorting them, may prepare those of the whole table once and take what
a part needs from that: so a part knows which rows of which table it holds. Only what each part's own preparation
would give may be taken, to the bit; everything that is learned, levels, cuts and likeliest values among it, is
learned from the part's rows alone.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, ref

from learners.table import Table
from learners.types import Array, IntArray


class Origin(NamedTuple):
    """Where a table's rows come from.

    Attributes:
        whole: the table of which it is a part.
        rows: their numbers there, ascending; ``None``: it is the whole.
    """

    whole: Table
    rows: IntArray | None


_wholes: WeakSet[Table] = WeakSet()
_sound: WeakSet[Table] = WeakSet()
_parts: WeakKeyDictionary[Table, tuple[ReferenceType[Table], IntArray]] = WeakKeyDictionary()


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
    part = table.take(rows)
    origin = origin_of(table)
    if origin is not None and bool((rows[1:] > rows[:-1]).all()):
        _parts[part] = ref(origin.whole), rows if origin.rows is None else origin.rows[rows]
    return part


def origin_of(table: Table) -> Origin | None:
    """Where a table's rows come from, as long as that is there; ``None`` of a table that nobody parts."""
    if table in _wholes:
        return Origin(table, None)
    found = _parts.get(table)
    whole = None if found is None else found[0]()
    return None if found is None or whole is None else Origin(whole, found[1])


def note_sound(table: Table) -> None:
    """Say that every cell of a table is what its column allows: the parts of one that is parted are not looked at."""
    if table in _wholes:
        _sound.add(table)


def is_sound(table: Table) -> bool:
    """Whether that was said of a table, or of the one that it is a part of."""
    origin = origin_of(table)
    return origin is not None and origin.whole in _sound
