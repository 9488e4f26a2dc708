"""How false and true are spelled: which two texts are those of a boolean, and which of them another text means."""

from __future__ import annotations

from collections.abc import Collection, Sequence

#: Spellings of (false, true), in any case.
_PAIRS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("0", "1"), ("off", "on"))
_WORDS = frozenset(_PAIRS[0])


def boolean_pair(texts: Collection[str]) -> tuple[str, str] | None:
    """Two distinct texts in the order (false, true); None if it cannot be told."""
    found = {text.lower(): text for text in texts}
    if len(texts) != 2:
        return None
    pair = next((pair for pair in _PAIRS if set(found) == set(pair)), None)
    return None if pair is None else (found[pair[0]], found[pair[1]])


def boolean_level(text: str, levels: Sequence[str]) -> str | None:
    """Which level of a boolean column a text spells: that of its own, else one in another case, else a word.

    Case counts in none of the known spellings. The words false and true stand for the values themselves where the
    column has other spellings, as they do where a format has such values.

    Args:
        text: a value of the column.
        levels: (false, true).

    Returns:
        One of the levels; None if the text spells neither.
    """
    if text in levels:
        return text
    lower = text.lower()
    by_case = {level.lower(): level for level in levels}
    if lower in by_case:
        return by_case[lower] if boolean_pair(levels) is not None else None
    return levels[int(lower == "true")] if lower in _WORDS and _WORDS.isdisjoint(by_case) else None
