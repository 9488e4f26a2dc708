"""What clients do not take of their answers holds no more memory than is allowed."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import Receive, Scope, Send

from service.web import backlog as module
from service.web.backlog import Backlog
from service.web.offered import BACKLOG
from service.web.protocol import ProblemProtocol
from tests.service.serving import served_app
from tests.service.web.connections import Line, Written

MIB = 1 << 20


class Clock:
    """A loop of which nothing but the next look is wanted."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def call_later(self, seconds: float, call: Callable[..., None], *given: Any) -> Any:
        self.waiting.append(lambda: call(*given))
        return self.waiting[-1]

    def look(self) -> None:
        self.waiting.pop()()
        assert len(self.waiting) <= 1


def watched(most: int, *unsent: int) -> tuple[Backlog, Clock, list[Written]]:
    """So many connections that have not sent so much."""
    found, clock = Backlog(most), Clock()
    transports = [Written() for _ in unsent]
    for transport, size in zip(transports, unsent, strict=True):
        transport.unsent = size
        found.add(transport, clock)  # type: ignore[arg-type]  # all that it asks of a loop
    return found, clock, transports


def ended(transports: list[Written]) -> list[bool]:
    return [transport.aborted for transport in transports]


def test_the_slowest_are_broken_off_as_far_as_room_is_needed() -> None:
    _, clock, transports = watched(100, 40, 40, 40, 40)
    clock.look()
    assert ended(transports) == [False] * 4  # how fast they are is not known yet
    for transport, unsent in zip(transports, (1, 40, 39, 20), strict=True):
        transport.unsent = unsent
    clock.look()
    assert ended(transports) == [False, True, True, False]


def test_an_answer_holds_all_of_it_until_its_last_byte_is_taken() -> None:
    _, clock, transports = watched(100, 80, 80)
    clock.look()
    transports[0].unsent, transports[1].unsent = 2, 1
    clock.look()
    assert ended(transports) == [True, False]


def test_who_is_alone_or_within_the_bound_may_be_slow() -> None:
    for sizes in ((1000,), (50, 50)):
        _, clock, transports = watched(100, *sizes)
        for _ in range(5):
            clock.look()
        assert not any(ended(transports))


def test_nobody_is_looked_at_who_has_taken_all() -> None:
    found, clock, transports = watched(100, 80, 80)
    clock.look()
    found.discard(transports[0])
    found.discard(transports[0])
    clock.look()
    found.discard(transports[1])
    clock.look()
    assert not any(ended(transports))
    assert not clock.waiting
    found.add(transports[0], clock)  # type: ignore[arg-type]
    assert len(clock.waiting) == 1


GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("packets", [[GET % 1 + GET % 2 + GET % 3], [GET % 1, GET % 2, GET % 3]], ids=["one", "three"])
def test_nothing_more_is_made_for_who_does_not_take_what_is_there(packets: list[bytes]) -> None:
    async def run() -> None:
        line = Line()
        line.protocol.pause_writing()
        assert await line.say(*packets) == []
        assert line.asked == []
        line.protocol.resume_writing()
        await line.rest()
        answers = [call.partition(b"\r\n\r\n")[2].strip() for call in line.sent.calls]
        assert answers == [b"/1", b"/2", b"/3"]
        line.protocol.pause_writing()
        await line.say(GET % 4)
        line.lose()
        await line.rest()
        assert len(line.asked) == 3

    asyncio.run(run())


def test_clients_that_read_nothing_are_broken_off_and_who_reads_gets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real sockets: eight answers of 16 MB each, of which 20 MB may lie in memory."""
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.05)
    body, backlog = b"x" * (16 * MIB), Backlog(20 * MIB)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            scope["state"][BACKLOG] = backlog
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        asked.append(scope["path"])
        length = [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": body})

    asked: list[str] = []
    with served_app(app, "on", ProblemProtocol) as client:
        place = urlsplit(str(client.base_url))
        silent = [socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60) for _ in range(8)]
        for connection in silent:
            connection.sendall(GET % 1)
        while len(asked) < 8 or len(backlog._held) > 1:
            time.sleep(0.01)
        assert client.get("/1").content == body
        received = [sum(map(len, iter(lambda: connection.recv(MIB), b""))) for connection in silent]  # noqa: B023
        for connection in silent:
            connection.close()
    assert sum(size > len(body) for size in received) <= 1  # who was last of them, unless it gave way to the reader
    assert min(received) > 0
