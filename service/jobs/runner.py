"""The steps of a job against the store and the pool. Every one may be repeated without harm.

The store's row is the truth about a job: a step first looks whether the job still wants it, and every
change of state is conditional. So it does not matter how often a crash or a second worker makes a
step run again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from service.jobs import durable
from service.jobs.lane import Ticket
from service.jobs.outcomes import ErrorRecord, Outcome, error_record
from service.jobs.pool import Pool
from service.jobs.states import JobState
from service.jobs.workflows import part_id
from service.settings import Limits
from service.store import jobs
from service.store.failures import PASSING
from service.store.session import Store
from service.store.tables import Job

log = logging.getLogger("rulewood.jobs")

P = ParamSpec("P")
R = TypeVar("R")

#: How long a step waits for a store that is out of reach, or whose disk is full, before the engine gives it back.
PATIENCE_SECONDS = 600.0
#: How often a part is started again because its process did not reach the store, or found its disk full.
STORE_RETRIES = 60
_PAUSE_SECONDS = 0.5
_AGAIN = "the store was out of reach or full; it is started again"
#: Longest pause before a part is started again; they double up to it.
_LONGEST_PAUSE_SECONDS = 8.0
#: How long a job waits for one submitted earlier, which may be a dead worker's, before it goes on without.
_TURN_SECONDS = 20.0
_TURN_POLL_SECONDS = 0.02


#: Gives the results of a job's parts so far, by name.
Results = Callable[[], Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Work:
    """What jobs do; handed over by the worker so that the engine knows nothing of learning.

    Attributes:
        plan: the names of a request's parts in order, as far as they are known. It may ask for the results so
            far, which is dear; with more results it may name more parts behind those that it named before.
        expected: about how many parts there will be.
        finish: combines the parts' results inside the given transaction; its JSON is the job's result.
        extra: JSON values that every part gets besides its job's request.
    """

    plan: Callable[[Mapping[str, Any], Results], list[str]]
    expected: Callable[[Mapping[str, Any]], int]
    finish: Callable[[Session, Job, Mapping[str, dict[str, Any]]], dict[str, Any]]
    extra: Mapping[str, Any]


def patiently(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call, again and again while the store is out of reach or full, up to :data:`PATIENCE_SECONDS`."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return function(*args, **kwargs)
        except PASSING as error:
            if time.monotonic() > give_up_at:
                raise
            log.warning("the store is out of reach or full, trying again: %s", error.detail)
            time.sleep(_PAUSE_SECONDS)


def _wait_until(look: Callable[[], bool], seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while not patiently(look) and time.monotonic() < give_up_at:
        time.sleep(_TURN_POLL_SECONDS)


def _number(part: str, plan: list[str]) -> int:
    """The place of a part among those of the first stage; any later part comes behind them."""
    return plan.index(part) if part in plan else len(plan)


def _none_yet() -> Mapping[str, Mapping[str, Any]]:
    return {}


class Runner:
    """Implements :class:`service.jobs.workflows.Steps`."""

    def __init__(self, store: Store, pool: Pool, work: Work, limits: Limits, worker_id: str) -> None:
        self._store = store
        self._pool = pool
        self._work = work
        self._limits = limits
        self._worker_id = worker_id

    def plan(self, job_id: str) -> list[str]:
        """The parts, so far, of a job that still wants to be done, else none."""
        return patiently(self._plan, job_id)

    def _plan(self, job_id: str) -> list[str]:
        with self._store.read() as session:
            job = jobs.find(session, job_id)
            if job is None or JobState(job.state).is_final:
                return []
            return self._work.plan(job.request, partial(jobs.parts, session, job_id))

    def expected(self, job_id: str) -> int:
        """About how many parts a job has; 0 if there is no such job."""
        with self._store.read() as session:
            job = jobs.find(session, job_id)
            return 0 if job is None else self._work.expected(job.request)

    def await_turn(self, job_id: str) -> None:
        """Wait until the parts of the jobs submitted earlier are in the queue; not for ever."""
        _wait_until(lambda: not self._is_one_unplanned(job_id), _TURN_SECONDS)
        time.sleep(durable.TICK_SECONDS)

    def _is_one_unplanned(self, job_id: str) -> bool:
        with self._store.read() as session:
            job = jobs.find(session, job_id)
            before = [] if job is None else jobs.unfinished_before(session, job)
            last = [part_id(one.id, part) for one in before for part in self._first_stage(one)[-1:]]
        return len(durable.states(last)) < len(last)

    async def run_part(self, job_id: str, part: str) -> None:
        """Compute a part in the pool and store what became of it."""
        outcome = Outcome(retry=True)
        for tried in range(STORE_RETRIES):
            ticket = await asyncio.to_thread(patiently, self._begin, job_id, part)
            if ticket is None:
                return
            self._pool.submit(ticket)
            outcome = await asyncio.wrap_future(ticket.outcome)
            if not outcome.retry:
                break
            await asyncio.to_thread(self._note, job_id, f"{part}: {_AGAIN}")
            await asyncio.sleep(min(_PAUSE_SECONDS * 2**tried, _LONGEST_PAUSE_SECONDS))
        await asyncio.to_thread(patiently, self._record, job_id, part, outcome)

    def _begin(self, job_id: str, part: str) -> Ticket | None:
        """Mark the job as running and make the part's ticket; None where nothing is left to do."""
        with self._store.begin() as session:
            job = jobs.unfinished(session, job_id)
            if job is None or jobs.has_part(session, job_id, part):
                return None
            begins = jobs.set_state(session, job_id, JobState.RUNNING, worker=self._worker_id)
            if not begins and job.worker != self._worker_id:
                jobs.set_worker(session, job_id, self._worker_id)
            jobs.add_event(session, job_id, "log", {"message": f"{part}: started", "worker": self._worker_id})
            arguments = {
                **self._work.extra,
                "job_id": job_id,
                "workspace": job.workspace,
                "part": part,
                "request": job.request,
            }
        return Ticket(
            job_id,
            part,
            arguments,
            seconds=self._limits.job_seconds,
            memory_bytes=self._limits.job_memory_bytes,
            order=(job.created_at, job.id, _number(part, self._first_stage(job))),
            on_death=lambda text: self._note(job_id, text),
        )

    def _note(self, job_id: str, text: str) -> None:
        """A log line of the job; lost where the store cannot take it."""
        log.warning("%s: %s", job_id, text)
        try:
            with self._store.begin() as session:
                jobs.add_event(session, job_id, "log", {"message": text})
        except PASSING as error:
            log.warning("%s: the line was not stored: %s", job_id, error.detail)

    def _record(self, job_id: str, part: str, outcome: Outcome) -> None:
        if outcome.stopped:
            return
        if outcome.result is not None:
            with self._store.begin() as session:
                jobs.put_part(session, job_id, part, outcome.result)
            return
        error = outcome.error or ErrorRecord("unavailable", "the store could not be reached from the part's process")
        self._fail(job_id, replace(error, part=part))

    def finish(self, job_id: str) -> None:
        """Combine the parts, register what came out and end the job, in one transaction."""
        _wait_until(lambda: not self._is_one_to_finish_first(job_id), _TURN_SECONDS)
        patiently(self._finish, job_id)

    def _is_one_to_finish_first(self, job_id: str) -> bool:
        """Whether a job submitted earlier has all its parts too: it is to register its version first."""
        with self._store.read() as session:
            job = jobs.find(session, job_id)
            before = [] if job is None else jobs.unfinished_before(session, job)
            running = [one for one in before if one.state == JobState.RUNNING]
            return any(self._has_all_parts(session, one) for one in running)

    def _has_all_parts(self, session: Session, job: Job) -> bool:
        count = jobs.count_parts(session, job.id)
        if count < len(self._first_stage(job)):
            return False
        return count == len(self._work.plan(job.request, partial(jobs.parts, session, job.id)))

    def _first_stage(self, job: Job) -> list[str]:
        return self._work.plan(job.request, _none_yet)

    def _finish(self, job_id: str) -> None:
        try:
            with self._store.begin() as session:
                job = jobs.unfinished(session, job_id)
                if job is None or job.cancel_requested:
                    return
                results = jobs.parts(session, job_id)
                result = self._work.finish(session, job, results)
                jobs.set_state(session, job_id, JobState.SUCCEEDED, result=result)
        except PASSING:
            raise
        except Exception as error:  # a job never stays "running": whatever went wrong ends it
            self._fail(job_id, error_record(error))

    def give_up(self, job_id: str, reason: str) -> None:
        """Fail a job with which the engine cannot go on."""
        patiently(self._fail, job_id, ErrorRecord("engine", f"the engine gave the job up: {reason}"))

    def cancel(self, job_id: str) -> None:
        """Make a requested cancel true: no part goes on, the state says so."""
        self._pool.stop_job(job_id)
        with self._store.begin() as session:
            jobs.set_state(session, job_id, JobState.CANCELLED)

    def _fail(self, job_id: str, error: ErrorRecord) -> None:
        with self._store.begin() as session:
            jobs.set_state(session, job_id, JobState.FAILED, error=error.to_json())
        self._pool.stop_job(job_id)
