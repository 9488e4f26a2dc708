"""How often a queue of workflows is looked at: at once when something was put into it or has ended here, else every
so often while there is work, and seldom when there is none any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: After so long without a job the queues are looked at seldom, and then every so often.
LINGER_SECONDS, IDLE_SECONDS = 5.0, 1.0
#: Between two looks: what the one took is counted as taken by the next.
LEAST_SECONDS = 0.005


class Pace(threading.Event):
    """What the thread that looks at a queue waits by, in place of the event that would stop it.

    While there is work it waits as long as its queue says, else longer, but no longer than until there is some or
    somebody rings. Nothing stops it: the process ends without it.

    Args:
        clock: seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last_work = clock()
        self._is_often = True
        self._bell = threading.Event()

    @property
    def is_often(self) -> bool:
        """Whether the queue is looked at often."""
        return self._is_often

    def tell(self, *, has_work: bool) -> None:
        """Say whether any job of the store is unfinished."""
        now = self._clock()
        if has_work:
            self._last_work = now
        was_often, self._is_often = self._is_often, now - self._last_work < LINGER_SECONDS
        if self._is_often and not was_often:
            self.ring()

    def ring(self) -> None:
        """Say that a look is worth while now: the queue has got something, or a place for it is free."""
        self._bell.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the next look; false, since it is not to be the last."""
        time.sleep(LEAST_SECONDS)
        self._bell.wait(timeout or 0.0 if self._is_often else IDLE_SECONDS)
        self._bell.clear()
        return False
