"""One lane of the pool: a thread that keeps one warm, killable process and gives it task after task.

Each lane has a pool of a single process. A process that was killed may have died with a lock of its
pool in its hands, so after every death the lane throws its pool away and starts another: no death
reaches beyond its lane. The thread lives as long as the lane, which the parent-death signal needs:
the kernel sends it when the *thread* that made the child ends.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from service.jobs import child
from service.jobs.outcomes import ErrorRecord, Outcome
from service.jobs.slot import Reading, Slot
from service.store.failures import is_no_space

log = logging.getLogger("rulewood.jobs")

#: How often a lane looks at its task: cancel, limits.
TICK_SECONDS = 0.1
#: A part whose process dies is tried this often in all.
ATTEMPTS = 4
#: An idle lane whose processes end before they are ready waits so long before it starts another, twice as long
#: each time, up to the longest.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0


#: See :class:`Ticket`.
Order = tuple[float, str, int]


@dataclass
class Ticket:
    """A part on its way through the pool.

    Attributes:
        seconds: time in work after which it is killed, or None; waiting does not count.
        memory_bytes: anonymous memory beyond which it is killed, or None.
        order: of waiting parts the lowest is taken first: when its job was submitted, the job, the part's number.
        outcome: resolved with an :class:`Outcome`; cancelling it kills the part.
    """

    job_id: str
    part: str
    arguments: dict[str, Any]
    seconds: float | None = None
    memory_bytes: int | None = None
    order: Order = (0.0, "", 0)
    on_death: Callable[[str], None] = lambda text: None
    outcome: Future[Outcome] = field(default_factory=Future)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def is_unwanted(self) -> bool:
        return self.stop.is_set() or self.outcome.cancelled()

    def resolve(self, outcome: Outcome) -> None:
        """Hand the outcome over unless nobody waits for it any more."""
        with contextlib.suppress(InvalidStateError):
            self.outcome.set_result(outcome)


@dataclass(frozen=True)
class LaneOptions:
    """What every process of the pool is made with."""

    function: child.PartFunction
    warm: Callable[[], None] | None
    niceness: int
    folder: Path


#: A ticket with its order and, among equals, its number of arrival.
Waiting = tuple[Order, int, Ticket | None]


class Lane(threading.Thread):
    """See the module's text. Tasks come from ``tickets``; ``None`` ends the lane."""

    def __init__(self, number: int, tickets: queue.PriorityQueue[Waiting], options: LaneOptions) -> None:
        super().__init__(name=f"lane-{number}", daemon=True)
        self._number = number
        self._tickets = tickets
        self._options = options
        self._starts = 0
        self._early_ends = 0
        self._not_before = 0.0
        self._closing = threading.Event()
        self.current: Ticket | None = None

    @property
    def is_warm(self) -> bool:
        """Whether the process has loaded what it needs."""
        return self._starts > 0 and self._slot.read().pid != 0

    def run(self) -> None:
        self._start_process()
        while not self._closing.is_set():
            try:
                _, _, ticket = self._tickets.get(timeout=1.0)
            except queue.Empty:
                self._look_after()
                continue
            if ticket is None:
                break
            self._serve(ticket)
        self._discard_process()

    def close(self) -> None:
        """Kill the process; a ticket in work stays unresolved, for its worker is about to end."""
        self._closing.set()
        self._kill()

    def reading(self) -> Reading:
        """What the process last told of its progress."""
        return self._slot.read()

    def _serve(self, ticket: Ticket) -> None:
        self.current = ticket
        try:
            outcome = self._until_done(ticket)
            if outcome is not None:
                ticket.resolve(outcome)
        finally:
            self.current = None

    def _until_done(self, ticket: Ticket) -> Outcome | None:
        began = time.monotonic()
        cause = ""
        for attempt in range(1, ATTEMPTS + 1):
            if ticket.is_unwanted:
                return Outcome(stopped=True)
            self._look_after(patient=False)
            outcome = self._attempt(ticket, began)
            if self._closing.is_set():
                return None
            if isinstance(outcome, Outcome):
                return outcome
            cause = outcome
            ticket.on_death(f"{ticket.part}: its process died ({cause}), attempt {attempt} of {ATTEMPTS}")
        return Outcome(error=ErrorRecord("process-died", _death_text(cause), part=ticket.part))

    def _attempt(self, ticket: Ticket, began: float) -> Outcome | str:
        """One run: its outcome, or in words how the process died."""
        self._slot.write(self._slot.read().pid, 0.0, "")
        try:
            future = self._pool.schedule(child.perform, args=(self._options.function, ticket.arguments))
        except RuntimeError:
            self._restart_process()
            time.sleep(TICK_SECONDS)
            return "could not be started"
        while True:
            try:
                outcome: Outcome = future.result(timeout=TICK_SECONDS)
            except NotYet:
                broken = self._limit_broken(ticket, time.monotonic() - began)
                if broken is not None:
                    self._kill()
                    self._restart_process()
                    return broken
            except (ProcessExpired, BrokenProcessPool) as death:
                self._restart_process()
                return _cause(death)
            else:
                return outcome

    def _limit_broken(self, ticket: Ticket, seconds: float) -> Outcome | None:
        if ticket.is_unwanted or self._closing.is_set():
            return Outcome(stopped=True)
        if ticket.seconds is not None and seconds > ticket.seconds:
            text = f"the work took longer than the limit of {ticket.seconds:g} seconds"
            return Outcome(error=ErrorRecord("time-limit", text, part=ticket.part))
        limit = ticket.memory_bytes
        if limit is not None and anonymous_memory(self._slot.read().pid) > limit:
            text = f"the work needed more memory than the limit of {limit:,} bytes"
            return Outcome(error=ErrorRecord("memory-limit", text, part=ticket.part))
        return None

    def _start_process(self) -> None:
        path = self._options.folder / f"lane-{self._number}-{self._starts + 1}"
        self._slot = self._new_slot(path)
        self._starts += 1
        initial = (str(path), os.getpid(), self._options.niceness, self._options.warm)
        self._pool = ProcessPool(
            1, initializer=child.prepare, initargs=initial, context=multiprocessing.get_context("spawn")
        )
        try:
            _ = self._pool.active  # reading it starts the process
        except BrokenProcessPool:
            log.exception("lane %d: no process could be started", self._number)

    def _new_slot(self, path: Path) -> Slot:
        """A slot; while there is no room on the disk for it, the lane waits."""
        while True:
            try:
                return Slot(path, create=True)
            except OSError as error:
                if not is_no_space(error):
                    raise
                if self._closing.wait(FIRST_PAUSE_SECONDS):
                    raise
            log.warning("lane %d: no process can be started while the disk is full", self._number)

    def _discard_process(self) -> None:
        self._kill()
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()
        self._slot.close()

    def _restart_process(self) -> None:
        if not self._closing.is_set():
            self._discard_process()
            self._start_process()

    def _look_after(self, *, patient: bool = True) -> None:
        """Start another process where it is gone; with patience not at once if others ended early too."""
        pid, _, message = self._slot.read()
        if message.startswith(child.UNPREPARED):
            log.error("lane %d: its process %s; it goes on without", self._number, message)
            self._slot.write(pid, 0.0, "")
        if self._pool.active:
            self._early_ends = 0 if pid else self._early_ends
            return
        now = time.monotonic()
        if patient and now < self._not_before:
            return
        if pid:
            log.warning("lane %d: its process is gone; starting another", self._number)
        else:
            self._early_ends += 1
            pause = min(FIRST_PAUSE_SECONDS * 2**self._early_ends, LONGEST_PAUSE_SECONDS)
            self._not_before = now + pause
            said = "lane %d: its process ended before it was ready, %d in a row; starting another, the next in %g s"
            log.error(said, self._number, self._early_ends, pause)
        self._restart_process()

    def _kill(self) -> None:
        pid = self._slot.read().pid
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _cause(death: Exception) -> str:
    code = getattr(death, "exitcode", None)
    if isinstance(code, int) and code < 0:
        return f"killed by signal {-code}"
    return "could not be started" if code in (None, 0) else f"exit status {code}"


def _death_text(cause: str) -> str:
    hint = "; the machine may be short of memory" if cause == "killed by signal 9" else ""
    return f"the process of this part died {ATTEMPTS} times, at last: {cause}{hint}"


def anonymous_memory(pid: int) -> int:
    """Bytes of memory of a process that no file backs, 0 where the system does not tell.

    Mapped files (the dataset) do not count: they are shared, and given back when memory is short.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="ignore")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(("RssAnon", "VmSwap")))
