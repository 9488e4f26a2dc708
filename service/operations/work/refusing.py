"""Jobs of which no part could learn: the failure names the parameter or the column of each reason."""

from __future__ import annotations

from learners.errors import quoted
from learners.evaluation.failing import AllFailed
from service.errors import Fault, Invalid


def nothing_learned(error: AllFailed) -> Invalid:
    """The same as a failure of the job, one fault for each candidate or share."""
    faults = [
        Fault(f"with {quoted(of)}: {one.detail}", parameter=one.parameter, column=one.column)
        for of, one in error.failures
    ]
    message = str(error)
    return Invalid(message[:1].upper() + message[1:], faults)
