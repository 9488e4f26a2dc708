"""Errors of the learner library; each names what was wrong and what is allowed.

They derive from ``ValueError`` (or ``RuntimeError``) so that callers who know only the
scikit-learn contract catch them too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

#: Longest piece of a caller's own text that a message repeats.
QUOTE_LIMIT = 80
#: Where a message names the row that is at fault; no text that is quoted holds it.
ROW = "\x00"


def quoted(value: object, limit: int = QUOTE_LIMIT) -> str:
    """A caller's value, cut so that no message grows with its input.

    Texts as ``repr`` quotes them; what else JSON can say in its words (``null``, ``true``), as what is allowed is told.
    """
    text = repr(value)
    if value is None or isinstance(value, bool | list | dict):
        with suppress(TypeError, ValueError, RecursionError):
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


class LearnerError(ValueError):
    """Base of everything this library refuses.

    Args:
        message: what is wrong, with :data:`ROW` where the row's number belongs.
        field: the culprit's name, where there is one.
        row: number, from 0, of the row at fault, if it is one of those that were given.
    """

    def __init__(self, message: str, *, field: str | None = None, row: int | None = None) -> None:
        super().__init__(message.replace(ROW, str(row)))
        self._message = message
        self.field = field
        self.row = row

    def renumbered(self, rows: Sequence[int] | Any) -> Self:
        """The same error of a table of which the rows that were given are ``rows``, shape (n,)."""
        if self.row is None:
            return self
        made = copy.copy(self)
        made.row = int(rows[self.row])
        made.args = (self._message.replace(ROW, str(made.row)),)
        return made


@contextmanager
def numbered_by(rows: Sequence[int] | Any | None) -> Iterator[None]:
    """Let errors in work on some of a table's rows name these as the table numbers them.

    Args:
        rows: their numbers there, shape (n,); ``None`` where all are worked on.

    Raises:
        LearnerError: as raised within, the row renumbered.
    """
    try:
        yield
    except LearnerError as error:
        if rows is None or error.row is None:
            raise
        raise error.renumbered(rows) from error


class ParameterError(LearnerError):
    """A parameter is unknown, of the wrong type or out of its range; ``field`` is its name.

    Args:
        allowed: what may stand there, words or names, where it is not what the declaration of ``field`` says.
    """

    def __init__(
        self, message: str, *, field: str | None = None, row: int | None = None, allowed: str | list[str] | None = None
    ) -> None:
        super().__init__(message, field=field, row=row)
        self.allowed = allowed


class DataError(LearnerError):
    """The table or the target cannot be learned from; ``field`` is the column, if one is at fault."""


class SchemaError(LearnerError):
    """Rows given to a fitted model do not fit its columns; ``field`` is the column."""


class NotFittedError(LearnerError, AttributeError):
    """``predict`` and its kin were called before ``fit``."""


class ModelFormatError(LearnerError):
    """Bytes offered as a model are damaged, of a foreign format or of a newer version."""


class Cancelled(RuntimeError):
    """Raised out of ``fit`` when its progress callback asked to stop."""
