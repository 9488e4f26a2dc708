"""How a part ended, as JSON values: its result, or the error a person can act on."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from learners.errors import LearnerError, ParameterError
from service.errors import MAX_FAULTS, ServiceError, StorageFull, Unavailable
from service.store.failures import is_no_space, storage_full

log = logging.getLogger("rulewood.jobs")


@dataclass(frozen=True)
class ErrorRecord:
    """Why a job failed.

    Attributes:
        type: a stable slug: ``invalid``, ``not-found``, ``time-limit``, ``memory-limit``,
            ``process-died``, ``storage-full``, ``engine`` or ``internal``.
        detail: one sentence for people.
        parameter, column, row: the culprit, where there is one; rows as the dataset counts them, from 0.
        errors: each fault of a request with several.
        part: the part in which it happened.
    """

    type: str
    detail: str
    parameter: str | None = None
    column: str | None = None
    row: int | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)
    part: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Only what is known."""
        return {name: value for name, value in vars(self).items() if value not in (None, [])}


@dataclass(frozen=True)
class Outcome:
    """Exactly one of: a result, an error, ``stopped`` (on request) or ``retry`` (the store was away or its disk full).

    With ``retry`` there is an error too where it tells more than that, for a part that is not tried any more.
    """

    result: dict[str, Any] | None = None
    error: ErrorRecord | None = None
    stopped: bool = False
    retry: bool = False


def describe(error: Exception) -> Outcome:
    """What a part's exception means. One that nobody foresaw is logged whole and told without its text."""
    if isinstance(error, Unavailable):
        return Outcome(retry=True)
    record = error_record(error)
    return Outcome(error=record, retry=record.type == StorageFull.slug)


def error_record(error: Exception) -> ErrorRecord:
    """The record of an exception."""
    if is_no_space(error):
        error = storage_full()
    if isinstance(error, ServiceError):
        return _service_error(error)
    if isinstance(error, LearnerError):
        if isinstance(error, ParameterError):
            return ErrorRecord("invalid", str(error), parameter=error.field, row=error.row)
        return ErrorRecord("invalid", str(error), column=error.field, row=error.row)
    log.error("a job met an error that nobody foresaw", exc_info=error)
    return ErrorRecord("internal", f"an internal error ({type(error).__name__}) stopped the work; the log has more")


def _service_error(error: ServiceError) -> ErrorRecord:
    faults = [
        {name: value for name, value in vars(fault).items() if value is not None} for fault in error.faults[:MAX_FAULTS]
    ]
    first = error.faults[0] if error.faults else None
    return ErrorRecord(
        error.slug,
        error.detail,
        parameter=first.parameter if first else None,
        column=first.column if first else None,
        row=first.row if first else None,
        errors=faults,
    )
