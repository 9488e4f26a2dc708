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

from sqlalchemy.orm import Session

from service.jobs import durable
from service.jobs.outcomes import ErrorRecord
from service.jobs.pool import Pool
from service.jobs.states import JobState
from service.jobs.workflows import Workflows
from service.store import jobs, workers
from service.store.failures import PASSING
from service.store.session import Store

log = logging.getLogger("rulewood.jobs")

HEARTBEAT_SECONDS = 2.0
REAP_SECONDS = 1.0
#: A worker whose heartbeat is older is dead.
DEAD_SECONDS = 15.0
REPAIR_SECONDS = 2.0
RETENTION_PERIOD_SECONDS = 3600.0
#: Work that this worker holds and has not run for so long is lost: its end could not be stored, say.
LOST_SECONDS = 10.0
#: How often a job is begun anew whose workflow ended without a result, and the first pause; each is twice as long.
RESTARTS = 3
RESTART_PAUSE_SECONDS = 5.0
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
        """Write it. A gap (the store was away or full, the machine slept) starts the count of steady time anew."""
        try:
            with self._store.begin() as session:
                workers.beat(session, self._worker_id, socket.gethostname(), os.getpid())
        except PASSING:
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
    """Recovers the work of dead workers, and what this one holds and does not run.

    Args:
        exclusive: this is the only worker by a lock, so every other owner of work is dead.
    """

    def __init__(self, store: Store, heart: Heart, worker_id: str, *, exclusive: bool) -> None:
        self._store = store
        self._heart = heart
        self._worker_id = worker_id
        self._exclusive = exclusive
        self._idle_since: dict[str, float] = {}

    def reap(self) -> None:
        """One look for owners without a heartbeat, and for own work that is lost."""
        pending = durable.pending()
        self._give_back({workflow_id for workflow_id, owner in pending.items() if owner == self._worker_id})
        owners = set(pending.values()) - {self._worker_id}
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

    def _give_back(self, own: set[str]) -> None:
        now = time.monotonic()
        idle = own - durable.running_here()
        self._idle_since = {workflow_id: self._idle_since.get(workflow_id, now) for workflow_id in idle}
        for workflow_id, since in self._idle_since.items():
            if now - since > LOST_SECONDS and durable.give_back(workflow_id, self._worker_id):
                log.warning("%s was lost and is begun anew", workflow_id)


class Repairer:
    """Ends or restarts jobs whose row and workflow disagree."""

    def __init__(self, store: Store, workflows: Workflows, pool: Pool) -> None:
        self._store = store
        self._workflows = workflows
        self._pool = pool
        self._restarts: dict[str, tuple[int, float]] = {}

    def repair(self) -> None:
        """One look at the oldest unfinished jobs, among which any that is stuck will be before long."""
        with self._store.read() as session:
            unfinished = jobs.unfinished_ids(session)[:REPAIR_BATCH]
        self._restarts = {job_id: one for job_id, one in self._restarts.items() if job_id in unfinished}
        states = durable.states(unfinished)
        for job_id in unfinished:
            self._repair_job(job_id, states.get(job_id))

    def _repair_job(self, job_id: str, state: str | None) -> None:
        if state is None:
            durable.start(self._workflows, job_id)
        elif state in ("ENQUEUED", "PENDING", "DELAYED"):
            return
        elif state in ("ERROR", "SUCCESS") and self._restarts.get(job_id, (0, 0.0))[0] < RESTARTS:
            self._start_anew(job_id, state)
        else:
            self._end(job_id, state)

    def _start_anew(self, job_id: str, state: str) -> None:
        """The workflow ended first and committed last, so a row that is unfinished now was forsaken."""
        count, not_before = self._restarts.get(job_id, (0, 0.0))
        if time.monotonic() < not_before:
            return
        text = f"its workflow ended as {state} without a result and is begun anew: {durable.reason(job_id)}"
        with self._store.begin() as session:
            if not _is_wanted(session, job_id):
                return
            jobs.add_event(session, job_id, "log", {"message": text.rstrip(": ")})
        log.error("%s: %s", job_id, text)
        self._restarts[job_id] = (count + 1, time.monotonic() + RESTART_PAUSE_SECONDS * 2**count)
        self._pool.stop_job(job_id)
        durable.start_anew(self._workflows, job_id)

    def _end(self, job_id: str, state: str) -> None:
        text = {
            "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "it took its worker down too often",
            "CANCELLED": "its workflow was cancelled from outside",
        }.get(state) or f"its workflow ended as {state} without a result {RESTARTS + 1} times: {durable.reason(job_id)}"
        with self._store.begin() as session:
            if not _is_wanted(session, job_id):
                return
            error = ErrorRecord("engine", f"the engine gave the job up: {text}")
            jobs.set_state(session, job_id, JobState.FAILED, error=error.to_json())
        log.error("%s failed: %s", job_id, error.detail)


def _is_wanted(session: Session, job_id: str) -> bool:
    """Whether a job is unfinished, and stays so until the transaction ends; one that somebody cancelled ends here."""
    job = jobs.unfinished(session, job_id)
    if job is not None and job.cancel_requested:
        jobs.set_state(session, job_id, JobState.CANCELLED)
        return False
    return job is not None
