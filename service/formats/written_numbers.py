"""How a file writes numbers: decimal mark, groups of digits, and what only looks like a number."""

from __future__ import annotations

import re
from dataclasses import dataclass

from learners.table import EXACT_INTEGER, MISSING, parse_number

_INTEGER = re.compile(r"\s*[+-]?(\d+)(\.0*)?\s*")
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
_NOT_FINITE = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class NumberSyntax:
    """How numbers are written in a file.

    Attributes:
        decimal: the decimal mark.
        thousands: the mark between groups of three digits, or None.
        empty_is_missing: an empty text among numbers is a missing value (it cannot be a number).
    """

    decimal: str = "."
    thousands: str | None = None
    empty_is_missing: bool = True

    @property
    def is_plain(self) -> bool:
        return self.decimal == "." and self.thousands is None

    def number(self, text: str) -> float | None:
        """The number a text stands for, NaN for an empty one where that is missing, else None."""
        if not text and self.empty_is_missing:
            return MISSING
        plain = self._plain(text)
        return None if plain is None else parse_number(plain)

    def _plain(self, text: str) -> str | None:
        """The text with ``.`` as decimal mark and no others; None if it cannot be a number."""
        if self.is_plain:
            return text
        if self.thousands is not None and self.thousands in text:
            if not _grouped(self.thousands, self.decimal).fullmatch(text):
                return None
            text = text.replace(self.thousands, "")
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        return text

    def looks_like_name(self, text: str) -> bool:
        """Whether a number is written as names are: leading zeros, or more digits than a double holds."""
        return bool(_LEADING_ZERO.match(text)) or self.is_inexact(text)

    def is_inexact(self, text: str) -> bool:
        """Whether a text is an integer too large to be told from its neighbours as a double."""
        plain = self._plain(text)
        match = _INTEGER.fullmatch(plain) if plain is not None else None
        return match is not None and _digits_exceed(match[1])


#: Numbers with a point and without groups.
PLAIN = NumberSyntax()


def _digits_exceed(digits: str) -> bool:
    digits = digits.lstrip("0")
    return len(digits) > 16 or (len(digits) == 16 and int(digits) >= EXACT_INTEGER)


def is_not_finite(text: str) -> bool:
    """Whether a text is a word for infinity or not-a-number, or a number that overflows a double."""
    if _NOT_FINITE.fullmatch(text):
        return True
    return parse_number(text) is None and _DECIMAL.fullmatch(text.strip()) is not None


def _grouped(thousands: str, decimal: str) -> re.Pattern[str]:
    mark, point = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"\s*[+-]?\d{{1,3}}({mark}\d{{3}})+({point}\d*)?([eE][+-]?\d+)?\s*")
