"""The job engine of one worker process: pool, workflows and the threads around them."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from service.errors import ServiceError
from service.jobs import durable
from service.jobs.ahead import Ahead
from service.jobs.child import PartFunction
from service.jobs.dispatcher import DISPATCH_SECONDS, PROGRESS_SECONDS, Dispatcher, ProgressTeller, Repeating
from service.jobs.pace import Pace
from service.jobs.pool import Pool
from service.jobs.reaper import (
    HEARTBEAT_SECONDS,
    REAP_SECONDS,
    REPAIR_SECONDS,
    RETENTION_PERIOD_SECONDS,
    Heart,
    Reaper,
    Repairer,
)
from service.jobs.runner import Runner, Work, patiently
from service.settings import Limits
from service.store import workers
from service.store.session import Store

log = logging.getLogger("rulewood.jobs")

#: Longest wait for a process of the pool to be ready; a first compilation of the kernels takes a while.
WARM_SECONDS = 300.0
#: Heartbeats of workers that did not end in order are kept this long, for those who look into it.
FORGET_WORKERS_SECONDS = 86_400.0


@dataclass(frozen=True)
class EngineOptions:
    """How a worker's engine is set up.

    Attributes:
        workflows_url: database of the workflows; on SQLite a file of its own, because in the store's
            file the writers of both would wait for each other.
        schema: PostgreSQL schema of the workflows' tables.
        processes: parts computed at a time.
        scratch: folder of temporary folders.
        exclusive: a lock makes sure that this is the only worker of its store.
        limits: time and memory of a part.
    """

    workflows_url: str
    schema: str
    processes: int
    scratch: Path
    exclusive: bool
    limits: Limits

    @property
    def parts(self) -> int:
        """How many parts a worker takes from the queue at a time.

        One waits beside those in work, so that a process need not wait for the queue to be looked at between two
        parts; but none that another worker could compute, and none beside a single process, where it could be charged
        with the worker's death by another part.
        """
        return self.processes + (1 if self.exclusive and self.processes > 1 else 0)


class Engine:
    """Starts with :meth:`start`, ends with :meth:`hand_over`, after which the process must exit.

    Args:
        store: where jobs are queued and results go.
        work: what jobs do, in this process.
        run_part: what jobs do, in the pool's processes; a function at the top of a module.
        options: see :class:`EngineOptions`.
        warm: called in each new process of the pool, to load what parts need.
        ahead: what is prepared beside the pool, from the start on.
        tidy: called once an hour in a thread of its own, to remove what the store no longer needs.
    """

    def __init__(
        self,
        store: Store,
        work: Work,
        run_part: PartFunction,
        options: EngineOptions,
        *,
        warm: Callable[[], None] | None = None,
        ahead: Ahead | None = None,
        tidy: Callable[[], None] | None = None,
    ) -> None:
        self.worker_id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._store = store
        self._options = options
        self._pool = Pool(options.processes, run_part, options.scratch, warm=warm)
        self._runner = Runner(store, self._pool, work, options.limits, self.worker_id)
        self._heart = Heart(store, self.worker_id)
        self._paces = durable.Paces(Pace(), Pace())
        self._ahead = ahead
        self._tidy = tidy
        self._threads: list[Repeating] = []

    def start(self) -> None:
        """Beat first, so that no other worker takes this one's work for forsaken; then launch and look for work.

        Work is taken up when a process is warm: what a worker that dies earlier never began must not be
        charged with its death.
        """
        if not self._pool.wait_until_warm(WARM_SECONDS):
            log.warning("no process was ready within %g s; going on", WARM_SECONDS)
        if self._ahead is not None:
            self._ahead.start()
        patiently(self._heart.beat)
        options = self._options
        workflows = durable.launch(
            options.workflows_url,
            options.schema,
            self.worker_id,
            self._runner,
            self._paces,
            parts=options.parts,
            jobs=4 + 4 * options.processes,
            alone=options.exclusive,
        )
        dispatcher = Dispatcher(self._store, self._pool, self._runner, workflows, self._paces)
        teller = ProgressTeller(self._store, self._pool, lru_cache(1000)(self._runner.expected))
        reaper = Reaper(self._store, self._heart, self.worker_id, exclusive=options.exclusive)
        repairer = Repairer(self._store, workflows, self._pool)
        self._threads = [
            Repeating("heartbeat", HEARTBEAT_SECONDS, self._heart.beat),
            Repeating("reaper", REAP_SECONDS, reaper.reap),
            Repeating("dispatcher", DISPATCH_SECONDS, dispatcher.look, dispatcher.may_be_asked),
            Repeating("progress", PROGRESS_SECONDS, teller.tell),
            Repeating("repairer", REPAIR_SECONDS, repairer.repair),
            Repeating("retention", RETENTION_PERIOD_SECONDS, self._forget_old),
        ]
        for thread in self._threads:
            thread.start()
        log.info("worker %s is ready: %d processes", self.worker_id, options.processes)

    def hand_over(self) -> None:
        """Stop at once: kill the parts in work and take the heartbeat back, so that others continue them.

        The workflows are left as they stand, as after a crash; the process must exit now, before one
        of them sees that its part is gone.
        """
        for thread in self._threads:
            thread.stop()
        self._pool.close()
        if self._ahead is not None:
            self._ahead.close()
        try:
            self._heart.stop()
        except ServiceError as error:
            log.warning("the heartbeat stays until it is old: %s", error.detail)

    def _forget_old(self) -> None:
        count = durable.forget_old()
        if count:
            log.info("deleted %d old workflows", count)
        with self._store.begin() as session:
            workers.forget(session, FORGET_WORKERS_SECONDS)
        if self._tidy is not None:
            self._tidy()
