"""How false and true are spelled: which two texts are those of a boolean, and which of them another text means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

_WORDS = ("false", "true")
#: As numbers; of a column of doubles, such as one with gaps in a data frame, with a fraction.
_NUMBERS = (("0", "1"), ("0.0", "1.0"))
#: Spellings of (false, true), in any case.
_PAIRS = (_WORDS, ("no", "yes"), ("n", "y"), ("f", "t"), _NUMBERS[0], ("off", "on"))
#: The spellings that make a column of a file without booleans one unasked.
_UNASKED = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))


def boolean_pair(texts: Collection[str]) -> tuple[str, str] | None:
    """Two distinct texts in the order (false, true); None if it cannot be told."""
    found = {text.lower(): text for text in texts}
    if len(texts) != 2:
        return None
    pair = next((pair for pair in _PAIRS if set(found) == set(pair)), None)
    return None if pair is None else (found[pair[0]], found[pair[1]])


def unasked_pair(texts: Collection[str]) -> tuple[str, str] | None:
    """The same of texts that are those of a boolean though nobody says so; yes and no are names as well."""
    return next((pair for pair in _UNASKED if set(texts) == set(pair)), None)


def boolean_level(text: str, levels: Sequence[str]) -> str | None:
    """Which level of a boolean column a text spells: that of its own, else what :func:`spellings` says.

    Args:
        text: a value of the column.
        levels: (false, true).

    Returns:
        One of the levels; None if the text spells neither.
    """
    if text in levels:
        return text
    lower = text.lower()
    return next((level for level, texts in zip(levels, spellings(*levels), strict=True) if lower in texts), None)


@lru_cache(maxsize=2**8)
def spellings(false: str, true: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts, in small letters, that spell each level of a boolean column in any case.

    Of two levels that are a known spelling themselves these are all spellings. Of others the words false and true, and
    the numbers 0 and 1, stand for the values themselves, as they do where a format or a database has such values; not
    where a level is such a word or number in another meaning.
    """
    pair = boolean_pair((false, true))
    if pair == (false, true):
        known = [*_PAIRS, _NUMBERS[1]]
    else:
        own = {false.lower(), true.lower()}
        known = [one for kind in ((_WORDS,), _NUMBERS) if own.isdisjoint(sum(kind, ())) for one in kind]
        known += [(false.lower(), true.lower())] if pair is not None else []
    return tuple(one[0] for one in known), tuple(one[1] for one in known)
