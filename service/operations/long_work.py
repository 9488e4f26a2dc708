"""Answers that may take long: they take turns, end when nobody waits for them any more, and are bounded.

Few are made at a time, since all need a processor, and whose work has had least of one comes first (least attained
service): a short answer waits for a part of a long one at most, however many long ones there are. Code that answers
many rows goes through them by :func:`parts`, between which it may have to wait, or ends.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from service.errors import Fault, TooLarge

Made = TypeVar("Made")

#: Processor seconds of one part: more rows are taken at once below the first, fewer above the second.
_SHORT, _LONG = 0.1, 0.4


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Amount:
    """By what a work is counted, to tell who asked for too much how much fits.

    Attributes:
        what: is counted.
        parameter: of the request, that says how many there are.
        before: so many were done in other parts of the work.
        count: how many there are in all parts; ``None``: in this one.
        asked: what the parameter was; ``None``: as many as there are, or it is no number.
    """

    what: str = "rows"
    parameter: str = "rows"
    before: int = 0
    count: int | None = None
    asked: int | None = None

    def too_much(self, done: int, count: int, seconds: float) -> TooLarge:
        """The refusal of a work of which so much was done in so many processor seconds."""
        done, count = self.before + done, self.count or count
        most = f"{seconds:g} seconds of a processor, which is the most for one request"
        found = (
            f"{done} of the {count} {self.what} took"
            if done
            else f"Of the {count} {self.what} the first takes more than"
        )
        allowed = done if self.asked is None else done * self.asked // count
        given = f"; give {self.parameter} up to {allowed}" if self.asked is not None and allowed else ""
        return TooLarge(
            f"{found} {most}{given}", [Fault("too much work", parameter=self.parameter, allowed=allowed or None)]
        )


#: Of a request with rows.
ROWS = Amount()


class Turns:
    """Which answers are made, and which wait.

    Args:
        at_once: how many are made at a time.
        threads: for all that have begun.
    """

    def __init__(self, at_once: int, threads: Executor) -> None:
        self._free, self._threads = at_once, threads
        #: What each has had of a processor, its number, and how it begins, or goes on in its thread.
        self._waiting: list[tuple[float, int, Callable[[], None] | threading.Event]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def submit(self, work: LongWork, make: Callable[[], Made]) -> Future[Made]:
        """What ``make`` will return, in a thread, when its turn has come; see :meth:`LongWork.pause` for its errors."""
        made: Future[Made] = Future()
        begin = partial(work.run, make, made)
        with self._lock:
            if not self._free:
                self._wait(work.spent, begin)
                return made
            self._free -= 1
        self._threads.submit(self._serve, begin)
        return made

    def give_way(self, spent: float) -> None:
        """Wait, of who has had so many processor seconds, until no one who waits has had less."""
        with self._lock:
            if not self._waiting or self._waiting[0][0] > spent:
                return
            turn = threading.Event()
            self._wait(spent, turn)
            first = heapq.heappop(self._waiting)[2]
        if isinstance(first, threading.Event):
            first.set()
        else:
            self._threads.submit(self._serve, first)
        turn.wait()

    def _wait(self, spent: float, how: Callable[[], None] | threading.Event) -> None:
        heapq.heappush(self._waiting, (spent, next(self._numbers), how))

    def _serve(self, begin: Callable[[], None] | None) -> None:
        """Make an answer, and then those that have not begun, without another thread for each."""
        while begin is not None:
            begin()
            begin = self._next()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return None
            first = heapq.heappop(self._waiting)[2]
        if isinstance(first, threading.Event):
            first.set()
            return None
        return first


class LongWork:
    """The work of one answer; one thread at a time does it.

    Args:
        turns: of all answers.
        seconds: of a processor that it may take.

    Attributes:
        is_wanted: whether anybody waits for it; to be set from any thread.
        spent: seconds of a processor that it has had.
    """

    def __init__(self, turns: Turns, seconds: float) -> None:
        self.is_wanted, self.spent = True, 0.0
        self._turns, self._seconds, self._begun = turns, seconds, 0.0

    def run(self, make: Callable[[], Made], made: Future[Made]) -> None:
        """Do some of it, and tell what came of it."""
        if not made.set_running_or_notify_cancel():
            return
        mine, self._begun = _CURRENT.set(self), time.thread_time()
        try:
            found = make()
        except BaseException as error:
            made.set_exception(error)
        else:
            made.set_result(found)
        finally:
            _CURRENT.reset(mine)
            self._spend()

    def pause(self, done: int, count: int, amount: Amount) -> None:
        """Let others go on who have had less.

        Args:
            done: rows, or what there are else, that are done.
            count: how many there are.
            amount: what they are.

        Raises:
            Abandoned: nobody waits for it any more. TooLarge: it has taken too much.
        """
        self._spend()
        if self.spent > self._seconds:
            raise amount.too_much(done, count, self._seconds)
        if self.is_wanted:
            self._turns.give_way(self.spent)
            self._begun = time.thread_time()
        if not self.is_wanted:
            raise Abandoned

    def _spend(self) -> None:
        now = time.thread_time()
        self.spent, self._begun = self.spent + now - self._begun, now


_CURRENT: ContextVar[LongWork | None] = ContextVar("long_work", default=None)


def parts(rows: int, first: int, amount: Amount = ROWS) -> Iterator[slice]:
    """Rows in parts that take some tenths of a second of a processor; between them others may go on.

    Args:
        rows: how many.
        first: how many the first part has at most, at least 1.
        amount: what they are.

    Raises:
        Abandoned, TooLarge: see :meth:`LongWork.pause`; of rows that are part of a long work.
    """
    work, begin, count = _CURRENT.get(), 0, first
    while begin < rows:
        begun = time.thread_time()
        yield slice(begin, min(begin + count, rows))
        begin += count
        took = time.thread_time() - begun
        count = 2 * count if took < _SHORT else max(1, count // 2) if took > _LONG else count
        if work is not None and begin < rows:
            work.pause(begin, rows, amount)


def pause(done: int, count: int, amount: Amount = ROWS) -> None:
    """Between two rows, or what there are else, whatever they take: as between :func:`parts`."""
    work = _CURRENT.get()
    if work is not None:
        work.pause(done, count, amount)
