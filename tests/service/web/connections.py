"""Connections to the protocol: with a real socket, and with one that keeps what is sent."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from service.settings import Limits
from service.web.offered import AT_ONCE, LIMITS, AtOnce
from service.web.protocol import ProblemProtocol
from service.web.together import Together
from tests.service.running import Api


def exchange(api: Api, sent: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to some bytes, and what the server sent in all until it closed the connection."""
    place = urlsplit(api.address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.sendall(sent)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))

    class Received:
        def makefile(self, mode: str) -> io.BytesIO:
            return io.BytesIO(received)

    answer = http.client.HTTPResponse(Received())  # type: ignore[arg-type]  # all that it asks of a socket
    answer.begin()
    return answer, answer.read()


class Written(asyncio.Transport):
    """A transport that keeps what is sent in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []
        self.closed = self.ended = self.aborted = False
        self.unsent = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.calls.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def write_eof(self) -> None:
        self.ended = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.aborted = self.closed = True

    def pause_reading(self) -> None:
        """All of it is there already."""

    def resume_reading(self) -> None:
        """As before."""

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def come(self, data: bytes) -> None:
        """Give what has come to the protocol, or read it into its buffers."""
        while data:
            if isinstance(self.protocol, asyncio.BufferedProtocol):
                room = memoryview(self.protocol.get_buffer(-1))
                count = min(len(room), len(data))
                assert count, "no room"
                room[:count] = data[:count]
                self.protocol.buffer_updated(count)
                data = data[count:]
            else:
                assert isinstance(self.protocol, asyncio.Protocol)
                self.protocol.data_received(data)
                return


POST = b"POST /at-once HTTP/1.1\r\nHost: x\r\n"


class Line:
    """A connection to a protocol whose bodies ``now`` are answered at once; the app answers each with what it got."""

    def __init__(self, *, offered: bool = True, limits: Limits | None = None) -> None:
        config = Config(self._app, ws="none", lifespan="off", log_config=None, interface="asgi3", proxy_headers=False)
        config.server_header = config.date_header = False
        config.load()
        self.tried: list[bytes] = []
        self.sent = Written()
        state: dict[str, Any] = {AT_ONCE: AtOnce(self._admit, self._at_once, Together())} if offered else {}
        if limits is not None:
            state[LIMITS] = limits
        self.protocol = ProblemProtocol(config, ServerState(), state, asyncio.get_running_loop())
        self.sent.set_protocol(self.protocol)
        self.protocol.connection_made(self.sent)
        self.may_end = asyncio.Event()
        self.may_end.set()
        #: Requests of the app; those of them whose client went away before all of them had come.
        self.asked: list[list[tuple[bytes, bytes]]] = []
        self.gone = 0

    def _admit(self, target: bytes, headers: list[tuple[bytes, bytes]]) -> str | None:
        assert headers[0] == (b"host", b"x")
        return "admitted" if target == b"/at-once" else None

    def _at_once(self, admitted: str, headers: list[tuple[bytes, bytes]], body: bytes) -> tuple[bytes, bytes] | None:
        assert (admitted, headers[0]) == ("admitted", (b"host", b"x"))
        self.tried.append(body)
        return (b"content-length: 4\r\nby: hand\r\n", b"done") if body == b"now" else None

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["headers"])
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                return
            body += message["body"]
            more = message["more_body"]
        await self.may_end.wait()
        answer = scope["path"].encode() + b" " + body[:20]
        length = [(b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": answer})

    async def say(self, *pieces: bytes) -> list[bytes]:
        """Send some pieces; the bodies of the answers since."""
        self.sent.calls.clear()
        for piece in pieces:
            self.sent.come(piece)
            await self.rest()
        return [answer.partition(b"\r\n\r\n")[2] for answer in self.sent.calls]

    async def rest(self) -> None:
        """Let the app do what there is to do."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def refusal(self, *pieces: bytes) -> dict[str, Any]:
        """Send some pieces, of which the last is refused; the problem document, once the connection has ended."""
        await self.say(*pieces)
        head, _, body = self.sent.calls[-1].partition(b"\r\n\r\n")
        document: dict[str, Any] = json.loads(body)
        assert head.startswith(b"HTTP/1.1 %d " % document["status"])
        assert b"connection: close" in head.split(b"\r\n")
        assert b"content-type: application/problem+json" in head.split(b"\r\n")
        assert self.sent.ended
        return document

    def run_out(self) -> None:
        """Let the time for the request that has begun be over."""
        assert self.protocol._stalled is not None
        self.protocol._stalled.cancel()
        self.protocol._give_up()

    def look(self) -> None:
        """Let the time to look whether the connection is idle be there."""
        assert self.protocol.timeout_keep_alive_task is not None
        self.protocol.timeout_keep_alive_task.cancel()
        self.protocol.timeout_keep_alive_handler()

    def lose(self) -> None:
        """Let the client be gone."""
        self.protocol.connection_lost(None)


def with_length(body: bytes, more: bytes = b"") -> bytes:
    return POST + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


#: Whole requests: answered at once, later, and come in many pieces; the head of one whose body comes in chunks.
NOW, LATER, LARGE = with_length(b"now"), with_length(b"later"), with_length(b"x" * 200_000)
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
