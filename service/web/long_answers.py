"""Threads for answers that may take long; see :mod:`service.operations.long_work`."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from service.operations.long_work import LongWork, Turns

Made = TypeVar("Made")

#: A second one goes on where the first waits for the disk or does without the interpreter's lock; many would stand in
#: each other's way, and in that of the event loop.
_AT_ONCE = max(2, min(4, os.cpu_count() or 1))


class LongAnswers:
    """The long answers of one process.

    Args:
        requests: most that wait or are made: as many as may be in flight, so that none waits for a thread.
        seconds: of a processor that one of them may take.
    """

    def __init__(self, requests: int, seconds: float) -> None:
        self._turns = Turns(_AT_ONCE, ThreadPoolExecutor(requests, thread_name_prefix="long-answer"))
        self._seconds = seconds

    async def make(self, receive: Receive, make: Callable[[], Made], seconds: float | None = None) -> Made:
        """What ``make`` returns, in a thread.

        Args:
            receive: of the request, whose body has come.
            make: makes the answer.
            seconds: of a processor; by default as many as any answer may take.

        Raises:
            ClientDisconnect: the caller went away; the work ends at its next pause.
            TooLarge: the work takes too much. Whatever ``make`` raises.
        """
        work = self._work(seconds)
        made = asyncio.wrap_future(self._turns.submit(work, make))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait((made, gone), return_when=asyncio.FIRST_COMPLETED)
            if made.done():
                return made.result()
            raise ClientDisconnect
        finally:
            gone.cancel()
            if not made.done():
                work.is_wanted = False
                made.cancel()

    async def stream(self, first: bytes, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The first piece of an answer and the others, each made in a thread when it is asked for, all as one work."""
        # It has no bound, for it is nobody's but the caller's who takes it, and could no longer be refused.
        work, ask = self._work(math.inf), partial(next, pieces, None)
        yield first
        try:
            while (piece := await asyncio.wrap_future(self._turns.submit(work, ask))) is not None:
                yield piece
        finally:
            work.is_wanted = False

    def _work(self, seconds: float | None) -> LongWork:
        return LongWork(self._turns, self._seconds if seconds is None else seconds)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
