"""How often the queues of workflows are looked at: often while there is work, seldom when there is none any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: After so long without a job the queues are looked at seldom, and then every so often.
LINGER_SECONDS, IDLE_SECONDS = 5.0, 1.0


class Pace(threading.Event):
    """What the threads that look at the queues wait by, in place of the event that would stop them.

    While there is work they wait as long as their queue says, else longer, but no longer than until there is
    some. Nothing stops them: the process ends without them.

    Args:
        clock: seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last_work = clock()
        self._often = threading.Event()
        self._often.set()

    @property
    def is_often(self) -> bool:
        """Whether the queues are looked at often."""
        return self._often.is_set()

    def tell(self, *, has_work: bool) -> None:
        """Say whether any job of the store is unfinished."""
        now = self._clock()
        if has_work:
            self._last_work = now
        if now - self._last_work < LINGER_SECONDS:
            self._often.set()
        else:
            self._often.clear()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the next look; false, since it is not to be the last."""
        if self._often.is_set():
            time.sleep(timeout or 0.0)
        else:
            self._often.wait(IDLE_SECONDS)
        return False
