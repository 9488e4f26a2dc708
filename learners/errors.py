"""Errors of the learner library; each names what was wrong and what is allowed.

They derive from ``ValueError`` (or ``RuntimeError``) so that callers who know only the
scikit-learn contract catch them too.
"""

from __future__ import annotations

import json
from contextlib import suppress

#: Longest piece of a caller's own text that a message repeats.
QUOTE_LIMIT = 80


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
    """Base of everything this library refuses; ``field`` names the culprit where there is one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ParameterError(LearnerError):
    """A parameter is unknown, of the wrong type or out of its range; ``field`` is its name."""


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
