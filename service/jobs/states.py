"""The states of a job and the moves among them."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"  # accepted and stored; no part of it has begun
    RUNNING = "running"  # a worker works on its parts, or will again after a crash
    SUCCEEDED = "succeeded"  # every part is done, its result is stored, its model registered
    FAILED = "failed"  # it cannot be done; ``error`` says which column, parameter or limit stopped it
    CANCELLED = "cancelled"  # somebody asked to stop it; nothing of it remains but its finished parts

    @property
    def is_final(self) -> bool:
        return not TRANSITIONS[self]


#: From each state those that may follow it. Final states have none, so a late writer changes nothing.
TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.FAILED, JobState.CANCELLED}),
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}
