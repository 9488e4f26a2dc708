"""Text in an SVG: escaped, cut to a width, how wide it will be, and as an element."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from xml.sax.saxutils import escape

#: Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
#: Right-to-left and other overrides could turn the text around them.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f]")
INK, SOFT, LINE = "#1b1f24", "#656d76", "#afb8c1"
_NARROW = frozenset("iljtfrI.,:;'|![]()· ")
_WIDE = frozenset("mwMW@%+−±=<>≤≥")


def xml_text(text: str) -> str:
    """A caller's text as XML character data or attribute value, whatever is in it."""
    shown = _DIRECTION.sub("", _FORBIDDEN.sub("\ufffd", text))
    return escape(" ".join(shown.split()), {'"': "&quot;", "'": "&#39;"})


def width(text: str, size: float) -> float:
    """About how many pixels a text takes in a usual sans-serif face of a size."""
    return sum(map(_share, text)) * size


@lru_cache(maxsize=4096)
def _share(character: str) -> float:
    if character in _NARROW:
        return 0.34
    if character in _WIDE:
        return 0.9
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.68 if character.isupper() else 0.64 if character.isdigit() or character in "{}" else 0.58


def fitted(text: str, size: float, room: float) -> str:
    """The text, cut with an ellipsis if it is wider than the room."""
    text = text[:1000]
    if width(text, size) <= room:
        return text
    used = _share("…") * size
    for end, character in enumerate(text):
        used += _share(character) * size
        if used > room:
            return text[:end].rstrip() + "…"
    return text


def wrapped(text: str, size: float, room: float, most: int | None = None) -> list[str]:
    """The text in lines that are broken at blanks where they would be wider than the room.

    Of more than ``most`` lines the last of these is cut.
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    if most is not None and len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    return [fitted(line, size, room) for line in lines]


def svg_text(x: float, y: float, text: str, size: float, colour: str, full: str = "", *, bold: bool = False) -> str:
    """A line of text as an element; ``full`` is its tooltip where it was cut."""
    weight = ' font-weight="600"' if bold else ""
    tooltip = f"<title>{xml_text(full)}</title>" if full and full != text else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{weight}>{tooltip}{xml_text(text)}</text>'
    )
