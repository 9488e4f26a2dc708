"""Jobs of which no part could learn: the failure names the parameter or the column of each reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from learners.errors import DataError, quoted
from learners.evaluation.failing import AllFailed
from learners.validation import WEIGHTS
from service.errors import Fault, Invalid


@contextmanager
def naming_weights(request: Mapping[str, Any]) -> Iterator[None]:
    """Let what is refused of the weights of some rows name the column that they are in.

    Raises:
        DataError: as raised within, of the dataset's column.
    """
    try:
        yield
    except DataError as error:
        column = request.get("weights")
        if error.field != WEIGHTS or column is None:
            raise
        raise DataError(f"the weights {quoted(column)}: {error}", field=column) from error


def nothing_learned(error: AllFailed) -> Invalid:
    """The same as a failure of the job, one fault for each candidate or share."""
    faults = [
        Fault(f"with {quoted(of)}: {one.detail}", parameter=one.parameter, column=one.column, row=one.row)
        for of, one in error.failures
    ]
    message = str(error)
    return Invalid(message[:1].upper() + message[1:], faults)
