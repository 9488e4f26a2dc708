"""The pool of killable processes in which the parts of jobs are computed."""

from __future__ import annotations

import itertools
import math
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from service.jobs.child import PartFunction
from service.jobs.lane import Lane, LaneOptions, Order, Ticket, Waiting
from service.jobs.outcomes import Outcome
from service.temporary import TemporaryFolder

#: Added to the priority number of each process, so that predictions go first.
NICENESS = 10


#: Before every ticket: what tells a lane to end.
_FIRST: Order = (-math.inf, "", 0)


class Running(NamedTuple):
    """A part in work: whose it is and how far it is."""

    job_id: str
    part: str
    share: float
    message: str
    pid: int


class Pool:
    """``processes`` warm processes that all run one function; parts wait in the order of their tickets.

    Args:
        processes: how many.
        function: what they run.
        scratch: where the folder is made through which they tell their progress.
        warm: called in each new process.
        niceness: added to the priority number of each.
    """

    def __init__(
        self,
        processes: int,
        function: PartFunction,
        scratch: Path,
        *,
        warm: Callable[[], None] | None = None,
        niceness: int = NICENESS,
    ) -> None:
        self._folder = TemporaryFolder(scratch, "worker")
        self._tickets: queue.PriorityQueue[Waiting] = queue.PriorityQueue()
        self._arrivals = itertools.count()
        options = LaneOptions(function, warm, niceness, self._folder.path)
        self._lanes = [Lane(number, self._tickets, options) for number in range(processes)]
        for lane in self._lanes:
            lane.start()

    def wait_until_warm(self, seconds: float) -> bool:
        """Wait until a process is ready to work; False if none was in that time."""
        give_up_at = time.monotonic() + seconds
        while not any(lane.is_warm for lane in self._lanes):
            if time.monotonic() > give_up_at:
                return False
            time.sleep(0.02)
        return True

    def submit(self, ticket: Ticket) -> None:
        """Queue a part; its ``outcome`` is resolved from a lane's thread."""
        self._tickets.put((ticket.order, next(self._arrivals), ticket))

    def stop_job(self, job_id: str) -> None:
        """Kill the processes that work for a job and drop its waiting parts."""
        for ticket in self._all_tickets():
            if ticket.job_id == job_id:
                ticket.stop.set()
                if ticket in self._waiting():
                    ticket.resolve(Outcome(stopped=True))

    def job_ids(self) -> set[str]:
        """The jobs that have a part here, in work or waiting."""
        return {ticket.job_id for ticket in self._all_tickets()}

    def running(self) -> list[Running]:
        """The parts in work."""
        found = []
        for lane in self._lanes:
            ticket = lane.current
            if ticket is not None:
                pid, share, message = lane.reading()
                found.append(Running(ticket.job_id, ticket.part, share, message, pid))
        return found

    def close(self) -> None:
        """Kill every process at once; parts in work stay unresolved."""
        for lane in self._lanes:
            lane.close()
            self._tickets.put((_FIRST, next(self._arrivals), None))
        for lane in self._lanes:
            lane.join(timeout=5.0)
        self._folder.close()

    def _waiting(self) -> list[Ticket]:
        with self._tickets.mutex:
            return [ticket for _, _, ticket in self._tickets.queue if ticket is not None]

    def _all_tickets(self) -> list[Ticket]:
        current = [lane.current for lane in self._lanes]
        return [*self._waiting(), *(ticket for ticket in current if ticket is not None)]
