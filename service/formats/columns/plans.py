"""Which columns a file has, which of them are wanted, and what is decided of each before it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from learners.boolean_texts import boolean_pair
from learners.table import OPEN_KINDS, Kind
from service.errors import Fault, Invalid, TooLarge
from service.formats.columns.builder import Plan
from service.formats.faults import Faults, cut, shown
from service.formats.options import EXCLUDED, ReadOptions
from service.formats.readers.reading import Declared
from service.formats.written_numbers import NumberSyntax
from service.settings import Limits

_ADVICE = " If another character separates the cells, name it in the option 'delimiter'"


def check_names(names: Sequence[str], limits: Limits, *, is_first_line: bool = False) -> None:
    """Refuse columns that could not be named later.

    Args:
        names: of the columns.
        limits: what is too much.
        is_first_line: whether the first line of a delimited file was taken for the names.

    Raises:
        TooLarge: there are too many columns.
        Invalid: a name is empty, too long, holds a NUL or occurs twice; the faults name the columns.
    """
    if len(names) > limits.columns:
        raise TooLarge(
            f"The file has {len(names)} columns; at most {limits.columns} are allowed",
            [Fault("too many columns", column=cut(names[limits.columns]), allowed=limits.columns)],
        )
    faults, seen = Faults(), dict[str, int]()
    for number, name in enumerate(names, 1):
        fault = _name_fault(name, number, limits.name_length)
        if fault is not None:
            faults.add(fault)
        elif name in seen:
            message = f"columns {seen[name]} and {number} are both named {shown(name)}"
            faults.add(Fault(message, column=cut(name)))
        seen.setdefault(name, number)
    advice = " (with header: false the first line is a row)" if is_first_line else ""
    faults.raise_if_any(f"The columns' names are not valid{advice}")


def _name_fault(name: str, number: int, limit: int) -> Fault | None:
    if not name:
        return Fault(f"column {number} has no name", parameter=f"columns.{number}")
    if len(name) > limit:
        message = f"the name of column {number}, {shown(name)}, is longer than {limit} characters"
        return Fault(message, column=cut(name), allowed=limit)
    if "\0" in name:
        return Fault(f"the name of column {number} holds a NUL character", parameter=f"columns.{number}")
    return None


def check_options(names: Iterable[str], options: ReadOptions, *, is_delimited: bool) -> None:
    """Refuse options that speak of columns which the file does not have, or leave too few.

    Args:
        names: of the file's columns.
        options: how it is read.
        is_delimited: whether a character separates its cells, as in CSV.

    Raises:
        Invalid: names the option, or says that fewer than two columns remain.
    """
    known = list(names)
    present = set(known)
    faults = Faults()
    for option, mentioned in (("kinds", options.kinds), ("orders", options.orders)):
        for name in mentioned:
            if name not in present:
                made = options.windows is not None and name == options.windows.name
                lacks = "windows make, which is a sequence" if made else "the file does not have"
                faults.add(
                    Fault(
                        f"{option} speaks of a column {shown(name)} that {lacks}",
                        parameter=f"options.{option}.{cut(name)}",
                        allowed=[cut(one) for one in known[:20]],
                    )
                )
    if options.target is not None and options.target not in present:
        faults.add(Fault(f"there is no column {shown(options.target)}", parameter="options.target"))
    _check_windows(options, present, faults)
    faults.raise_if_any("The reading options do not fit the file")
    kept = [name for name in known if options.kinds.get(name) != EXCLUDED]
    if len(kept) < (1 if options.windows is not None else 2):
        raise Invalid(
            f"The table has {len(kept)} column{'s' if len(kept) != 1 else ''}; at least 2 are needed, something to "
            f"learn from and a target.{_ADVICE if is_delimited else ''}",
            [
                Fault(
                    "at least 2 columns are needed",
                    column=cut(kept[0]) if kept else None,
                    parameter="options.kinds" if options.kinds else "options.delimiter" if is_delimited else "file",
                    allowed=2,
                )
            ],
        )


def _check_windows(options: ReadOptions, present: set[str], faults: Faults) -> None:
    """Columns that windows speak of are there, and the new one is not."""
    if options.windows is None:
        return
    for place, name in options.windows.named():
        if name not in present or options.kinds.get(name) == EXCLUDED:
            missing = "the file does not have" if name not in present else "is left out as asked"
            message = f"windows speaks of a column {shown(name)} that {missing}"
            faults.add(Fault(message, parameter=f"options.windows.{place}"))
    if options.windows.name in present:
        message = f"there is a column {shown(options.windows.name)} already; give another windows.name"
        faults.add(Fault(message, parameter="options.windows.name"))


def plan_column(name: str, options: ReadOptions, declared: Declared | None) -> Plan:
    """What is decided of a column: by the caller first, else by the file, else nothing."""
    syntax = NumberSyntax(options.decimal, options.thousands, "" in options.missing_tokens)
    asked, order = options.kinds.get(name), options.orders.get(name)
    if asked is None and order is None:
        if declared is None:
            return Plan(name, syntax=syntax)
        return Plan(name, declared.kind, _order(declared.kind, declared), syntax=syntax)
    kind = Kind(asked) if asked is not None else Kind.ORDINAL
    if order is not None and (kind is Kind.NUMERIC or kind in OPEN_KINDS):
        message = f"column {shown(name)} is {kind}, so it has no order of levels"
        raise Invalid(message, [Fault(message, column=cut(name), parameter=f"options.orders.{cut(name)}")])
    if order is None and kind is not Kind.NUMERIC and kind not in OPEN_KINDS and declared is not None:
        order = _order(kind, declared)
    return Plan(name, kind, order, is_request=True, syntax=syntax)


def _order(kind: Kind | None, declared: Declared) -> tuple[str, ...] | None:
    """The levels that a file declares, of a boolean as (false, true) in whatever order they stand there."""
    return boolean_pair(declared.levels or ()) if kind is Kind.BOOLEAN else declared.levels
