"""Date patterns of Java's SimpleDateFormat, which ARFF uses, as formats of ``datetime.strptime``."""

from __future__ import annotations

import re

_PIECE = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|(.)", re.DOTALL)
_FORMATS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "M": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "H": "%H",
    "hh": "%I",
    "h": "%I",
    "a": "%p",
    "mm": "%M",
    "m": "%M",
    "ss": "%S",
    "s": "%S",
    "SSS": "%f",
    "EEE": "%a",
    "EEEE": "%A",
    "D": "%j",
    "Z": "%z",
    "X": "%z",
    "XX": "%z",
    "XXX": "%z",
    "z": "%Z",
}


class UnsupportedPattern(ValueError):
    """A date pattern with a field that has no counterpart here."""


def strptime_format(pattern: str) -> str:
    """The format of ``datetime.strptime`` that reads what the pattern writes.

    Raises:
        UnsupportedPattern: names the field that is not known.
    """
    parts: list[str] = []
    for match in _PIECE.finditer(pattern):
        if match[1] is not None:
            parts.append((match[1].replace("''", "'") or "'").replace("%", "%%"))
        elif match[2]:
            if match[0] not in _FORMATS:
                raise UnsupportedPattern(f"the date pattern {pattern[:80]!r} has a field {match[0]!r}, not read here")
            parts.append(_FORMATS[match[0]])
        else:
            parts.append(match[3].replace("%", "%%"))
    return "".join(parts)
