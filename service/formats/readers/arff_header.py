"""The header of an ARFF file: its attributes with their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from service.errors import Fault, Invalid
from service.formats.faults import cut, shown
from service.formats.readers.arff_text import ArffSyntaxError, first_word, split_values
from service.formats.readers.java_dates import UnsupportedPattern, strptime_format

_NUMERIC_TYPES = ("numeric", "real", "integer")
_KEYWORD = re.compile(r"(\S+)\s*(.*)", re.DOTALL)
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True)
class Attribute:
    """One column as the header declares it.

    Attributes:
        name: of the column.
        type: ``numeric``, ``nominal``, ``string`` or ``date``.
        levels: of a nominal attribute, in order.
        date_format: of a date attribute, for ``datetime.strptime``.
        date_pattern: of a date attribute, as the file writes it.
    """

    name: str
    type: str
    levels: tuple[str, ...] = ()
    date_format: str = ""
    date_pattern: str = ""


def read_header(lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """The attributes; the iterator of numbered lines is left at the first line after ``@data``.

    Raises:
        Invalid: something in the header cannot be read; names the line.
    """
    attributes: list[Attribute] = []
    number = 1
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, rest = _KEYWORD.match(text).groups()  # type: ignore[union-attr]  # the text is not empty
        if keyword.lower() == "@data":
            if not attributes:
                break
            return attributes
        if keyword.lower() == "@attribute":
            try:
                attributes.append(_attribute(rest))
            except (ArffSyntaxError, UnsupportedPattern) as error:
                raise _bad_line(number, str(error)) from None
        elif keyword.lower() != "@relation":
            raise _bad_line(number, f"{shown(text)} is none of @relation, @attribute, @data")
    message = f"the header has no @attribute or no @data up to line {number}"
    raise Invalid(f"The ARFF file cannot be read: {message}", [Fault(message, line=number)])


def _attribute(text: str) -> Attribute:
    name, rest = first_word(text)
    if rest.startswith("{"):
        return Attribute(name, "nominal", levels=_levels(rest))
    word, rest = first_word(rest)
    type_name = word.lower()
    if type_name in _NUMERIC_TYPES:
        return Attribute(name, "numeric")
    if type_name == "string":
        return Attribute(name, "string")
    if type_name == "date":
        pattern = first_word(rest)[0] if rest else _DEFAULT_DATE
        return Attribute(name, "date", date_format=strptime_format(pattern), date_pattern=pattern)
    raise ArffSyntaxError(
        f"attribute {shown(name)} has the type {shown(word)}; numeric, real, integer, string, date and "
        "{...} are read here"
    )


def _levels(text: str) -> tuple[str, ...]:
    if not text.endswith("}"):
        raise ArffSyntaxError("the list of levels is not closed by }")
    levels = [value for value, _ in split_values(text[1:-1])]
    if len(set(levels)) != len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise ArffSyntaxError(f"the level {shown(twice)} is declared twice")
    return tuple(levels)


def _bad_line(number: int, message: str) -> Invalid:
    return Invalid(f"Line {number} of the ARFF header: {message}", [Fault(cut(message), line=number)])
