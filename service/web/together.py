"""What has come whole in one turn of the event loop, answered in passes: all are answered, then all are sent."""

from __future__ import annotations

import asyncio
from typing import Protocol

#: Answers that are made before the first of them is sent: enough for the passes, and few to hold in memory.
_IN_A_PASS = 64
#: Turns of the loop in a row with one request each, after which requests are answered as they come; and how many of
#: them before it is looked again whether others come with them.
_TURNS_ALONE, _ANSWERS_ALONE = 8, 512


class Whole(Protocol):
    """A connection with a request of which all is there.

    Attributes:
        loop: in which it is served.
    """

    loop: asyncio.AbstractEventLoop

    def make_answer(self) -> bytes | None:
        """The answer; None where there is no such request any more, or somebody else answers it."""

    def send_answer(self, answer: bytes) -> None:
        """Send what was made."""


class Together:
    """Requests of many connections, step by step rather than one by one.

    From the socket to the answer and back a request goes through more code than the processor's nearest memory holds.
    So the same step for one connection after the other takes half of the time of all steps for each in turn. One
    that comes alone gains nothing and would wait a turn of the loop, so where none come together none waits.
    """

    def __init__(self) -> None:
        self._waiting: list[Whole] = []
        self._turns_alone = 0
        #: Requests still to be answered as they come.
        self._at_once = 0

    def takes(self, connection: Whole) -> bool:
        """Whether it will be answered once the loop has read what has come on the others; else it shall be now."""
        if self._at_once:
            self._at_once -= 1
            return False
        if not self._waiting:
            connection.loop.call_soon(self._answer_waiting)
        self._waiting.append(connection)
        return True

    def _answer_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._turns_alone = self._turns_alone + 1 if len(waiting) == 1 else 0
        if self._turns_alone == _TURNS_ALONE:
            self._turns_alone, self._at_once = 0, _ANSWERS_ALONE
        for begin in range(0, len(waiting), _IN_A_PASS):
            connections = waiting[begin : begin + _IN_A_PASS]
            answers = [connection.make_answer() for connection in connections]
            for connection, answer in zip(connections, answers, strict=True):
                if answer is not None:
                    connection.send_answer(answer)
