"""Answers that are made and not taken yet lie in memory: a bound on what they hold together.

A client that reads nothing of an answer is broken off after a minute (:mod:`service.web.protocol`), and until then
nothing more is made for it. A few dozen of them could hold gigabytes within that minute, so where what they hold is
more than a bound, those of them that would take longest to the end are broken off at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from service.logs import logger
from service.settings import Limits

#: Seconds between two looks at who takes how much: nobody is broken off sooner.
_LOOK_SECONDS = 2.0


@dataclass
class _Held:
    """What an answer holds in memory until its last byte is taken, and what was not taken at the last look."""

    size: int
    unsent: int | None = None


class Backlog:
    """The connections of a process whose clients do not take their answers as they come.

    Args:
        most: bytes that these answers may hold together; a single one may hold more.
    """

    def __init__(self, most: int = Limits().unsent_bytes) -> None:
        self._most = most
        self._held: dict[asyncio.Transport, _Held] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a connection that cannot send all that was written."""
        self._held[transport] = _Held(transport.get_write_buffer_size())
        if self._timer is None:
            self._timer = loop.call_later(_LOOK_SECONDS, self.look, loop)

    def discard(self, transport: asyncio.Transport) -> None:
        """Leave a connection alone that has sent nearly all, or is no more."""
        self._held.pop(transport, None)

    def look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Break off whoever is slowest while too much is held."""
        rests: list[tuple[float, asyncio.Transport]] = []
        for transport, held in self._held.items():
            unsent = transport.get_write_buffer_size()
            held.size = max(held.size, unsent)
            if held.unsent is not None:
                rests.append((unsent / max(held.unsent - unsent, 1), transport))
            held.unsent = unsent
        over = sum(held.size for held in self._held.values()) - self._most
        for _, transport in sorted(rests, key=lambda one: -one[0]):
            if over <= 0 or len(self._held) == 1:
                break
            held = self._held.pop(transport)
            over -= held.size
            logger.warning("broken off", extra={"fields": {"unsent": held.unsent, "why": "an answer was not taken"}})
            transport.abort()
        self._timer = loop.call_later(_LOOK_SECONDS, self.look, loop) if self._held else None
