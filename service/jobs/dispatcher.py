"""Threads between the store and the workflows: starting queued jobs, stopping unwanted ones, telling progress."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from service.errors import ServiceError
from service.jobs import durable
from service.jobs.pool import Pool, Running
from service.jobs.runner import Runner
from service.jobs.workflows import Workflows
from service.store import jobs
from service.store.session import Store
from service.store.watch import Watch

log = logging.getLogger("rulewood.jobs")

DISPATCH_SECONDS = 0.15
PROGRESS_SECONDS = 1.0
#: How often a hint is asked for.
HINT_SECONDS = 0.02
#: Most jobs that one look at the store starts.
BATCH = 100


class Repeating(threading.Thread):
    """Calls a function every so often until it is stopped; a failure is logged and the next call follows.

    Args:
        hint: asked in between whether the function should be called now.
    """

    def __init__(
        self, name: str, seconds: float, function: Callable[[], None], hint: Callable[[], bool] | None = None
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._seconds = seconds
        self._function = function
        self._hint = hint
        self._stopping = threading.Event()

    def _is_time(self) -> bool:
        """Wait until the next call; false, if there is to be none."""
        if self._hint is None:
            return not self._stopping.wait(self._seconds)
        until = time.monotonic() + self._seconds
        while not self._stopping.wait(HINT_SECONDS):
            if self._hint() or time.monotonic() >= until:
                return True
        return False

    def run(self) -> None:
        while self._is_time():
            try:
                self._function()
            except ServiceError as error:
                log.warning("%s: %s", self.name, error.detail)
            except Exception:
                log.exception("%s failed; it goes on", self.name)

    def stop(self) -> None:
        """Ask it to end and wait a moment."""
        self._stopping.set()
        if self is not threading.current_thread() and self.is_alive():
            self.join(timeout=2.0)


class Dispatcher:
    """Starts what is queued and stops what is no longer wanted."""

    def __init__(self, store: Store, pool: Pool, runner: Runner, workflows: Workflows, paces: durable.Paces) -> None:
        self._store = store
        self._pool = pool
        self._runner = runner
        self._workflows = workflows
        self._started: set[str] = set()
        self._paces = paces
        self._watch = Watch(store)
        #: Whether the last look saw any job that has not ended.
        self.has_work = False

    def may_be_asked(self) -> bool:
        """Whether somebody wrote to the store since an idle worker looked: at work it looks often enough."""
        return self._watch.has_changed() and not self.has_work

    def look(self) -> None:
        """One look at the store."""
        in_work = self._pool.job_ids()
        with self._store.read() as session:
            has_work = jobs.first_unfinished_id(session) is not None
            if not has_work and not in_work:
                self._tell(has_work=False)
                return
            queued = jobs.queued_ids(session, BATCH)
            unwanted = jobs.cancel_requested_ids(session)
            ended = jobs.final_ids(session, in_work)
        self._tell(has_work=has_work)
        for job_id in ended:
            self._pool.stop_job(job_id)
        for job_id in unwanted:
            log.info("cancelling %s", job_id)
            self._runner.cancel(job_id)
            durable.cancel(job_id)
        for job_id in queued:
            if job_id not in self._started:
                durable.start(self._workflows, job_id)
                self._paces.jobs.ring()
        self._started = set(queued)

    def _tell(self, *, has_work: bool) -> None:
        self.has_work = has_work
        self._paces.tell(has_work=has_work)


class ProgressTeller:
    """Copies the shares that the processes tell to the rows of their jobs, where they changed."""

    def __init__(self, store: Store, pool: Pool, count_parts: Callable[[str], int]) -> None:
        self._store = store
        self._pool = pool
        self._count_parts = count_parts
        self._told: dict[str, tuple[float, str]] = {}

    def tell(self) -> None:
        """One round."""
        by_job: dict[str, list[Running]] = {}
        for running in self._pool.running():
            by_job.setdefault(running.job_id, []).append(running)
        for job_id, parts in by_job.items():
            self._tell_job(job_id, parts)
        self._told = {job_id: told for job_id, told in self._told.items() if job_id in by_job}

    def _tell_job(self, job_id: str, parts: list[Running]) -> None:
        total = self._count_parts(job_id)
        if total == 0:
            return
        with self._store.read() as session:
            job = jobs.find(session, job_id)
            done = jobs.count_parts(session, job_id)
        if job is None:
            return
        # Another worker may know of other parts, and a part that is started again begins at 0: never go back.
        share = max(job.progress, round(min(0.99, (done + sum(part.share for part in parts)) / total), 3))
        message = "; ".join(f"{part.part}: {part.message or 'working'}" for part in parts)
        if self._told.get(job_id) != (share, message):
            with self._store.begin() as session:
                jobs.set_progress(session, job_id, share, message)
            self._told[job_id] = (share, message)
