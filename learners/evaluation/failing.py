"""Parameters that cannot be learned with: among several candidates a failure is a result, with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from learners.errors import DataError, LearnerError, ParameterError, SchemaError, quoted

#: What a learner says when it is its parameters or the rows that do not let it learn. All else stops a search.
REFUSALS = (ParameterError, DataError, SchemaError)
#: Most reasons that one message tells.
_MOST_TOLD = 5


@dataclass(frozen=True)
class Failure:
    """Why parameters cannot be learned with.

    Attributes:
        detail: the learner's own words.
        parameter, column, row: the culprit, where there is one; rows as the whole table counts them, from 0.
        fold: in which it failed first, from 1, where that is known.
    """

    detail: str
    parameter: str | None = None
    column: str | None = None
    fold: int | None = None
    row: int | None = None

    @classmethod
    def of(cls, error: LearnerError, fold: int | None = None) -> Failure:
        """That of a refusal."""
        if isinstance(error, ParameterError):
            return cls(str(error), parameter=error.field, fold=fold, row=error.row)
        return cls(str(error), column=error.field, fold=fold, row=error.row)

    def to_json(self) -> dict[str, Any]:
        """Only what is known."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Failure:
        return cls(**record)


class AllFailed(DataError):
    """None of several candidates, or of several parts of an evaluation, can be learned with.

    Attributes:
        failures: each with the parameters, or whatever else it is of, where they are known one by one.
    """

    def __init__(self, message: str, failures: Iterable[tuple[Any, Failure]] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)


class Failed(Exception):
    """Raised where a fold or a fit fails by what it is given; see :class:`Failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


@contextmanager
def refusals(fold: int | None = None) -> Iterator[None]:
    """Turn what a learner refuses into :class:`Failed`; a cancellation or a fault of ours goes through as it is."""
    try:
        yield
    except REFUSALS as error:
        raise Failed(Failure.of(error, fold)) from error


def told(failures: Iterable[tuple[Any, Failure]]) -> str:
    """What failed and why, in one line; the same reason is told once.

    Args:
        failures: each with the parameters, or whatever else it is of.
    """
    reasons: dict[str, Any] = {}
    for of, failure in failures:
        reasons.setdefault(failure.detail, of)
    words = [f"with {quoted(of)}: {detail}" for detail, of in list(reasons.items())[:_MOST_TOLD]]
    more = len(reasons) - len(words)
    return "; ".join([*words, f"and {more} other reasons"] if more > 0 else words)
