"""What a caller may say about a file: its format, its dialect, its missing tokens and its columns' kinds."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from learners.table import Kind, canonical_text
from service.errors import Fault, Invalid
from service.formats.window_options import WindowOptions
from service.strict_json import quoted

FORMATS: Final = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "arff")
#: A column of this "kind" is left out of the table.
EXCLUDED: Final = "excluded"
KINDS: Final = (*(kind.value for kind in Kind), EXCLUDED)
#: Encodings that turn bytes into text one by one; Python's other codecs (zip, punycode, ...) are no encodings here.
ENCODINGS: Final = [
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "ascii",
    "iso8859-1",
    "iso8859-2",
    "iso8859-3",
    "iso8859-4",
    "iso8859-5",
    "iso8859-6",
    "iso8859-7",
    "iso8859-8",
    "iso8859-9",
    "iso8859-10",
    "iso8859-13",
    "iso8859-14",
    "iso8859-15",
    "iso8859-16",
    "cp437",
    "cp850",
    "cp852",
    "cp866",
    "cp1250",
    "cp1251",
    "cp1252",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp1258",
    "koi8-r",
    "koi8-u",
    "mac-roman",
    "shift_jis",
    "cp932",
    "euc_jp",
    "euc_kr",
    "cp949",
    "gbk",
    "gb18030",
    "big5",
]

_DELIMITED = ("csv", "tsv")
_TEXTS = (*_DELIMITED, "json", "ndjson", "arff")
#: The formats in which an option has an effect; options that are not named here have one in all.
OF_FORMATS: Final = {
    "delimiter": _DELIMITED,
    "quote": _DELIMITED,
    "header": _DELIMITED,
    "encoding": _TEXTS,
}


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; every field has a default that means "see for yourself" or the usual.

    Attributes:
        format: one of :data:`FORMATS`, or None for the file's name, content type or first bytes to tell.
        delimiter: one character between the cells of a CSV row, or None to find it out.
        quote: the character round CSV cells that hold delimiters or newlines, or None for none.
        encoding: one of :data:`ENCODINGS` (or an alias of one); None is UTF-8.
        decimal: the decimal mark in numbers, ``.`` or ``,``.
        thousands: the mark between groups of three digits, or None for none.
        header: whether the first CSV row holds the names; else they are column_1, column_2, ...
        missing_tokens: texts that stand for a missing value. ``""`` is the empty cell; an empty text
            in quotes is a text. ARFF's bare ``?`` and JSON's ``null`` are missing besides.
        kinds: kind by column name, one of :data:`KINDS`; columns not named are inferred.
        orders: by column name, the levels of an ordinal column from low to high, or of a boolean one
            as (false, true).
        target: the column that the profile relates the others to.
        windows: a column of the steps before each row to add, or None.
    """

    format: str | None = None
    delimiter: str | None = None
    quote: str | None = '"'
    encoding: str | None = None
    decimal: str = "."
    thousands: str | None = None
    header: bool = True
    missing_tokens: tuple[str, ...] = ("",)
    kinds: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target: str | None = None
    windows: WindowOptions | None = None

    def __post_init__(self) -> None:
        faults = [fault for fault in _faults(self) if fault is not None]
        if faults:
            raise Invalid("The reading options are not valid: " + faults[0].message, faults)

    @property
    def codec(self) -> str:
        """Python's name of the encoding."""
        return codecs.lookup(self.encoding or "utf-8").name

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes equal options."""
        return asdict(self) | {
            "missing_tokens": list(self.missing_tokens),
            "kinds": dict(self.kinds),
            "orders": {name: list(order) for name, order in self.orders.items()},
            "windows": None if self.windows is None else self.windows.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ReadOptions:
        """Options from a caller's JSON object.

        Raises:
            Invalid: an option is unknown, of the wrong type or not allowed; the fault names it.
        """
        known = {one.name for one in fields(cls)}
        faults = [
            Fault(f"there is no option {name!r}"[:200], parameter=f"options.{name}"[:200], allowed=sorted(known))
            for name in record
            if name not in known
        ]
        values = dict(record)
        for name, check in _SHAPES.items():
            if name in values and not check(values[name]):
                faults.append(Fault(f"{name} must be {check.__doc__}", parameter=f"options.{name}"))
        if faults:
            raise Invalid("The reading options are not valid: " + faults[0].message, faults)
        if "missing_tokens" in values:
            values["missing_tokens"] = tuple(values["missing_tokens"])
        if "orders" in values:
            values["orders"] = {name: tuple(map(canonical_text, order)) for name, order in values["orders"].items()}
        if "windows" in values:
            values["windows"] = WindowOptions.from_json(values["windows"])
        return cls(**values)


def check_effect(options: ReadOptions, format_name: str) -> None:
    """Refuse options that would have no effect in a file of this format.

    Raises:
        Invalid: names each with the formats that it is of.
    """
    usual = ReadOptions()
    faults = [
        Fault(
            f"{name} has no effect in {format_name}; it is of {', '.join(formats)}",
            parameter=f"options.{name}",
            allowed=list(formats),
        )
        for name, formats in OF_FORMATS.items()
        if format_name not in formats and getattr(options, name) != getattr(usual, name)
    ]
    if faults:
        raise Invalid("The reading options do not fit the file: " + faults[0].message, faults)


def _is_text(value: object) -> bool:
    """a text or null"""
    return value is None or isinstance(value, str)


def _is_mark(value: object) -> bool:
    """a text"""
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    """true or false"""
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    """a list of texts"""
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


def _is_texts_by_name(value: object) -> bool:
    """an object of texts"""
    return isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())


def _is_orders(value: object) -> bool:
    """an object of lists of texts, finite numbers, true and false"""
    return isinstance(value, Mapping) and all(map(_is_levels, value.values()))


def _is_levels(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_level, value))


def _is_level(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max)


_SHAPES = {
    "format": _is_text,
    "delimiter": _is_text,
    "quote": _is_text,
    "encoding": _is_text,
    "decimal": _is_mark,
    "thousands": _is_text,
    "header": _is_flag,
    "missing_tokens": _is_texts,
    "kinds": _is_texts_by_name,
    "orders": _is_orders,
    "target": _is_text,
}


def _faults(options: ReadOptions) -> list[Fault | None]:
    return [
        _choice("format", options.format, (None, *FORMATS)),
        _mark("delimiter", options.delimiter),
        _mark("quote", options.quote),
        _clash(options),
        _encoding(options.encoding),
        _choice("decimal", options.decimal, (".", ",")),
        _choice("thousands", options.thousands, (None, ",", ".", " ", "'", "_")),
        _same_marks(options),
        *(_choice(f"kinds.{name[:80]}", kind, KINDS) for name, kind in options.kinds.items()),
        *(_order(name, order) for name, order in options.orders.items()),
    ]


def _choice(name: str, value: object, allowed: Sequence[str | None]) -> Fault | None:
    if value in allowed:
        return None
    shown = [one for one in allowed if one is not None]
    return Fault(f"{name} must be one of {', '.join(map(quoted, shown))}", parameter=f"options.{name}", allowed=shown)


def _mark(name: str, value: str | None) -> Fault | None:
    if value is None or (len(value) == 1 and value.isascii() and value not in "\r\n\0"):
        return None
    return Fault(f"{name} must be one ASCII character other than a newline", parameter=f"options.{name}")


def _clash(options: ReadOptions) -> Fault | None:
    if options.quote is None or options.quote != options.delimiter:
        return None
    return Fault("delimiter and quote must differ", parameter="options.quote")


def _same_marks(options: ReadOptions) -> Fault | None:
    if options.thousands != options.decimal:
        return None
    return Fault("decimal and thousands must differ", parameter="options.thousands")


def _encoding(name: str | None) -> Fault | None:
    if name is None:
        return None
    try:
        known = codecs.lookup(name).name in ENCODINGS
    except (LookupError, ValueError):
        known = False
    if known:
        return None
    return Fault("encoding is not one that is supported", parameter="options.encoding", allowed=ENCODINGS)


def _order(name: str, order: tuple[str, ...]) -> Fault | None:
    if order and len(set(order)) == len(order):
        return None
    return Fault("an order lists each level once", parameter=f"options.orders.{name[:80]}")
