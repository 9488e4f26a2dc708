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
from contextvars import ContextVar
from typing import TypeVar

from service.errors import Fault, TooLarge

Made = TypeVar("Made")

#: Processor seconds of one part: more rows are taken at once below the first, fewer above the second.
_SHORT, _LONG = 0.1, 0.4


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Slots:
    """How many answers are made at a time.

    Args:
        count: so many.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[float, int, threading.Event]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    @property
    def is_wanted(self) -> bool:
        """Whether others wait."""
        return bool(self._waiting)

    def take(self, spent: float) -> None:
        """Wait until there is one, and for no one who has spent more than these processor seconds."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            heapq.heappush(self._waiting, (spent, next(self._numbers), turn))
        turn.wait()

    def give(self) -> None:
        """Give one back: to who waits, or to anybody."""
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].set()
            else:
                self._free += 1


class LongWork:
    """The work of one answer; one thread at a time does it.

    Args:
        slots: in which it is done.
        seconds: of a processor that it may take.

    Attributes:
        is_wanted: whether anybody waits for it; to be set from any thread.
    """

    def __init__(self, slots: Slots, seconds: float) -> None:
        self.is_wanted = True
        self._slots, self._seconds = slots, seconds
        self._spent = self._begun = 0.0
        self._has_slot = False

    def run(self, make: Callable[[], Made]) -> Made:
        """Do some of it, when its turn has come.

        Raises:
            Abandoned: nobody waits for it any more. TooLarge: it takes too much.
        """
        mine = _CURRENT.set(self)
        try:
            self._take()
            return make()
        finally:
            _CURRENT.reset(mine)
            self._give()

    def pause(self, done: int, rows: int) -> None:
        """Let others go on, if any have had less.

        Args:
            done: rows that have been answered.
            rows: how many there are.

        Raises:
            Abandoned: nobody waits for it any more. TooLarge: it has taken too much.
        """
        self._spend()
        if self._spent > self._seconds:
            raise TooLarge(
                f"To answer {done} of the {rows} rows took {self._seconds:g} seconds of a processor, which is the most "
                "for one request; ask for fewer rows at once",
                [Fault("too much work", parameter="rows", allowed=done)],
            )
        if self._slots.is_wanted:
            self._give()
            self._take()
        elif not self.is_wanted:
            raise Abandoned

    def _take(self) -> None:
        self._slots.take(self._spent)
        self._has_slot, self._begun = True, time.thread_time()
        if not self.is_wanted:
            raise Abandoned

    def _give(self) -> None:
        if self._has_slot:
            self._spend()
            self._has_slot = False
            self._slots.give()

    def _spend(self) -> None:
        now = time.thread_time()
        self._spent, self._begun = self._spent + now - self._begun, now


_CURRENT: ContextVar[LongWork | None] = ContextVar("long_work", default=None)


def parts(rows: int, first: int) -> Iterator[slice]:
    """Rows in parts that take some tenths of a second of a processor; between them others may go on.

    Args:
        rows: how many.
        first: how many the first part has at most, at least 1.

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
            work.pause(begin, rows)


def pause(done: int, rows: int) -> None:
    """Between two rows, whatever they take: as between :func:`parts`."""
    work = _CURRENT.get()
    if work is not None:
        work.pause(done, rows)
