"""What statements ask of a column that has levels, whatever type a table holds it in.

Levels are compared as what they are, texts or numbers. Booleans are compared by their texts, since tables hold them in
many ways: PostgreSQL's ``boolean`` is ``true`` as a text, SQLite's ``TRUE`` is the number 1, and other tables spell it.
So a statement reads what the API reads, see :func:`~learners.boolean_texts.spellings`.
"""

from __future__ import annotations

from collections.abc import Iterable

from learners.boolean_texts import spellings
from learners.rules.sql.literals import identifier, label_list, text_literal
from learners.table import Column, Kind


def is_among(column: Column, codes: Iterable[int], of: str, *, negated: bool = False) -> str:
    """Whether the value is known and one of some levels, at least one; null where it is missing.

    Args:
        column: of levels.
        codes: of the levels.
        of: the alias of the table, or empty.
        negated: whether the value is known and none of them, which an unseen one is too.
    """
    name, word = identifier(column.name, of), "NOT IN" if negated else "IN"
    if column.kind is not Kind.BOOLEAN:
        return f"{name} {word} ({label_list(column, codes)})"
    exact, lower = _boolean_texts(column, codes)
    asked = [f"CAST({name} AS TEXT) {word} ({_texts(exact)})"] if exact else []
    if lower:
        asked.append(f"LOWER(CAST({name} AS TEXT)) {word} ({_texts(lower)})")
    return asked[0] if len(asked) == 1 else f"({(' AND ' if negated else ' OR ').join(asked)})"


def is_unseen(column: Column, of: str) -> str:
    """Whether the value is known and none of the column's levels."""
    return is_among(column, range(len(column.levels)), of, negated=True)


def _boolean_texts(column: Column, codes: Iterable[int]) -> tuple[list[str], list[str]]:
    """The texts of some levels as they are written, and those that are meant in any case, in small letters."""
    exact: list[str] = []
    lower: list[str] = []
    for code in codes:
        level, spelled = column.levels[code], spellings(*column.levels)[code]
        if level.lower() not in spelled:
            exact.append(level)
        lower += spelled
    return exact, lower


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(map(text_literal, texts))
