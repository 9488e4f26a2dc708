"""Keeping the promise that no work waits for a worker that is dead, and no job for a workflow that is lost.

DBOS takes up a process's unfinished work only when a process of the same id starts again. Here every
worker has an id of its own and writes a heartbeat by the database's clock; whoever lives takes over
the work of those whose heartbeat stopped.
"""

from __future__ import annotations

import logging
import os
import socket
import time

from service.errors import Unavailable
from service.jobs import durable
from service.jobs.outcomes import ErrorRecord
from service.jobs.states import JobState
from service.jobs.workflows import Workflows
from service.store import jobs, workers
from service.store.session import Store

log = logging.getLogger("rulewood.jobs")

HEARTBEAT_SECONDS = 2.0
REAP_SECONDS = 1.0
#: A worker whose heartbeat is older is dead.
DEAD_SECONDS = 15.0
REPAIR_SECONDS = 2.0
RETENTION_PERIOD_SECONDS = 3600.0
#: Most jobs that one look for disagreement takes in.
REPAIR_BATCH = 500


class Heart:
    """This worker's heartbeat."""

    def __init__(self, store: Store, worker_id: str) -> None:
        self._store = store
        self._worker_id = worker_id
        self._steady_since = time.monotonic()
        self._last = time.monotonic()

    def beat(self) -> None:
        """Write it. A gap (the store was away, the machine slept) starts the count of steady time anew."""
        try:
            with self._store.begin() as session:
                workers.beat(session, self._worker_id, socket.gethostname(), os.getpid())
        except Unavailable:
            self._steady_since = time.monotonic()
            raise
        if time.monotonic() - self._last > DEAD_SECONDS:
            self._steady_since = time.monotonic()
        self._last = time.monotonic()

    def stop(self) -> None:
        """Take the heartbeat back, so that others take over at once."""
        with self._store.begin() as session:
            workers.remove(session, self._worker_id)

    @property
    def is_steady(self) -> bool:
        """Whether others had time to beat too since the store was last out of reach."""
        return time.monotonic() - self._steady_since > DEAD_SECONDS


class Reaper:
    """Recovers the work of dead workers.

    Args:
        exclusive: this is the only worker by a lock, so every other owner of work is dead.
    """

    def __init__(self, store: Store, heart: Heart, worker_id: str, *, exclusive: bool) -> None:
        self._store = store
        self._heart = heart
        self._worker_id = worker_id
        self._exclusive = exclusive
        self._known_dead: set[str] = set()

    def reap(self) -> None:
        """One look for owners without a heartbeat."""
        owners = durable.owners_of_pending() - {self._worker_id}
        if not owners:
            return
        dead = owners if self._exclusive else owners - self._living()
        if dead:
            count = durable.recover(sorted(dead))
            log.warning("took over %d pieces of work of dead workers %s", count, ", ".join(sorted(dead)))

    def _living(self) -> set[str]:
        """Workers that beat of late or, while our own view is fresh after an outage, are known at all."""
        with self._store.read() as session:
            alive = set(workers.alive(session, DEAD_SECONDS))
            return alive if self._heart.is_steady else alive | set(workers.known(session))


class Repairer:
    """Ends or restarts jobs whose row and workflow disagree."""

    def __init__(self, store: Store, workflows: Workflows) -> None:
        self._store = store
        self._workflows = workflows

    def repair(self) -> None:
        """One look at the oldest unfinished jobs, among which any that is stuck will be before long."""
        with self._store.read() as session:
            unfinished = jobs.unfinished_ids(session)[:REPAIR_BATCH]
        states = durable.states(unfinished)
        for job_id in unfinished:
            self._repair_job(job_id, states.get(job_id))

    def _repair_job(self, job_id: str, state: str | None) -> None:
        if state is None:
            durable.start(self._workflows, job_id)
        elif state not in ("ENQUEUED", "PENDING", "DELAYED"):
            self._end(job_id, state)

    def _end(self, job_id: str, state: str) -> None:
        """The workflow ended first and committed last, so a row that is unfinished now was forsaken."""
        text = {
            "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "it took its worker down too often",
            "CANCELLED": "its workflow was cancelled from outside",
        }.get(state, f"its workflow ended as {state} without a result")
        with self._store.begin() as session:
            job = jobs.unfinished(session, job_id)
            if job is None:
                return
            if job.cancel_requested:
                jobs.set_state(session, job_id, JobState.CANCELLED)
                return
            error = ErrorRecord("engine", f"the engine gave the job up: {text}")
            jobs.set_state(session, job_id, JobState.FAILED, error=error.to_json())
        log.error("%s failed: %s", job_id, error.detail)
