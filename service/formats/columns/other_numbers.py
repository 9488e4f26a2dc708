"""Texts that would be numbers if they were read by other options: a hint for whoever wonders at a nominal column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from service.formats.written_numbers import NumberSyntax

#: So many of a column's texts are looked at.
_LOOKED_AT = 2_000
#: Share of them that would have to be numbers.
_NEARLY_ALL = 0.9
_DECIMALS = {".": "options.decimal = '.'", ",": "options.decimal = ','"}
_GROUPS = {
    ",": "options.thousands = ','",
    ".": "options.thousands = '.'",
    " ": "options.thousands = ' '",
    "'": 'options.thousands = "\'"',
    "\u2019": "options.thousands = '\u2019' (U+2019)",
    "\u00a0": "options.thousands = U+00A0, a no-break space",
    "\u202f": "options.thousands = U+202F, a narrow no-break space",
}
_PERCENT = re.compile(r"(.*\S)\s*%\s*", re.DOTALL)


def how_numbers(texts: Collection[str], syntax: NumberSyntax) -> str | None:
    """How nearly all of a column's texts would be numbers; ``None`` where that is not so.

    Args:
        texts: its distinct texts, some of which are no numbers by ``syntax``.
    """
    step = max(1, len(texts) // _LOOKED_AT)
    looked_at = [text for text in islice(texts, 0, None, step) if text]
    for ways in _other_ways(syntax):
        found = [words for words, way in ways if _are_numbers(looked_at, way)]
        if found:
            return "with " + " or with ".join(found)
    bare = [match[1] if (match := _PERCENT.fullmatch(text)) else text for text in looked_at]
    if bare != looked_at:
        if _are_numbers(bare, syntax):
            return "without the sign %, which no option reads"
        if _are_numbers(bare, NumberSyntax(",", None, empty_is_missing=False)):
            return f"without the sign %, which no option reads, and with {_DECIMALS[',']}"
    return None


def _other_ways(syntax: NumberSyntax) -> Iterator[Sequence[tuple[str, NumberSyntax]]]:
    """Ways of writing numbers that differ in one option, then in two."""
    others = [mark for mark in _DECIMALS if mark != syntax.decimal]
    groups = [mark for mark in _GROUPS if mark != syntax.thousands]
    own = [mark for mark in groups if mark != syntax.decimal]
    yield [
        *((_DECIMALS[mark], NumberSyntax(mark, None, empty_is_missing=False)) for mark in others),
        *((_GROUPS[mark], NumberSyntax(syntax.decimal, mark, empty_is_missing=False)) for mark in own),
    ]
    yield [
        (f"{_DECIMALS[mark]} and {_GROUPS[group]}", NumberSyntax(mark, group, empty_is_missing=False))
        for mark in others
        for group in groups
        if group != mark
    ]


def _are_numbers(texts: Sequence[str], syntax: NumberSyntax) -> bool:
    """Whether nearly all are, and not written as names are."""
    if not texts:
        return False
    numbers = sum(syntax.number(text) is not None and not syntax.looks_like_name(text) for text in texts)
    return numbers >= _NEARLY_ALL * len(texts)
