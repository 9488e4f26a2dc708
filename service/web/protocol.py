"""uvicorn's HTTP, with a problem document for what its parser refuses, and answers that go out in one piece.

What the parser refuses never becomes a request: no middleware sees it, it has no path, and the connection ends with it.

Small predictions are answered here, without a task, an event and two messages of ASGI for each, which take longer than
the prediction: the app offers a function for it in its lifespan's state (:data:`AT_ONCE`). What that function leaves,
and all else, becomes a request of the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from service.errors import BadRequest
from service.problems import render
from service.web.observing import request_id_of, safe_headers

#: The name of an :class:`AtOnce` in the lifespan's state.
AT_ONCE = "rulewood.at_once"


class AtOnce(NamedTuple):
    """What an app offers to answer before ASGI.

    Attributes:
        end: the end of the targets of requests that it may answer.
        answer: from a request's target, headers (lower-case names) and whole body to the header lines and the body of
            an answer 200, or None where the app shall be asked. It does not wait and raises nothing.
    """

    end: bytes
    answer: Callable[[bytes, list[tuple[bytes, bytes]], bytes], tuple[bytes, bytes] | None]


#: Bodies beyond it, and those that do not tell their length, go to the app while they come.
_MAX_HELD = 150_000

#: Copying a body of fewer bytes is quicker than telling the system of two pieces.
_SMALL = 16_384
_CONTINUE = b"HTTP/1.1 100 "
_CHUNKED = b"transfer-encoding: chunked"


class ProblemProtocol(HttpToolsProtocol):
    """What listens on a connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._at_once: AtOnce | None = self.app_state.get(AT_ONCE)
        #: What has come of a body that may be answered at once; None where there is no such request.
        self._held: bytearray | None = None

    def on_headers_complete(self) -> None:
        """Begin to answer a request, unless all of it may be answered at once when it is there."""
        if self._may_wait_for_body():
            self._held = bytearray()
        else:
            self._begin_task()

    def _may_wait_for_body(self) -> bool:
        parser, cycle, at_once = self.parser, self.cycle, self._at_once
        return (
            at_once is not None
            and self.url.endswith(at_once.end)
            and parser.get_method() == b"POST"
            and 0 < _length(self.headers) <= _MAX_HELD
            and not self.expect_100_continue
            and (cycle is None or cycle.response_complete)  # else the answer before is still to come
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.flow.write_paused
        )

    def _begin_task(self) -> None:
        """Make it a request of the app, whose task runs once this has returned."""
        super().on_headers_complete()
        cycle = self.cycle
        # Of an answer to HEAD the head is all that is written.
        if cycle is not None and cycle.scope["method"] != "HEAD" and not isinstance(cycle.transport, JoinedWrites):
            cycle.transport = JoinedWrites(cycle.transport)

    def _release(self) -> None:
        """Give what was held to the app."""
        held, self._held = self._held, None
        if held is not None:
            self._begin_task()
            if held:
                super().on_body(bytes(held))

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held += body

    def on_message_complete(self) -> None:
        """Answer at once, or tell the app that all is there."""
        if self._held is not None and self._at_once is not None:
            answer = self._at_once.answer(self.url, self.headers, bytes(self._held))
            if answer is not None:
                self._held = None
                head, body = answer
                lines = [STATUS_LINE[200]]
                for name, value in self.server_state.default_headers:
                    lines += (name, b": ", value, b"\r\n")
                lines += (head, b"\r\n", body)
                self.transport.write(b"".join(lines))
                self.on_response_complete()
                return
            self._release()
        super().on_message_complete()

    def shutdown(self) -> None:
        """Begin to end: a request that has begun to come is still answered."""
        self._release()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and end the connection. The parser does not say what is wrong."""
        request_id = request_id_of([])
        rendered = render(BadRequest("What came is not a well-formed HTTP/1.1 request"), request_id)
        given = [(name.lower().encode(), value.encode()) for name, value in rendered.headers.items()]
        length = (b"content-length", b"%d" % len(rendered.body))
        headers = safe_headers(request_id, [*given, length, (b"connection", b"close")])
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in headers)]
        self.transport.write(b"\r\n".join([*lines, b"", rendered.body]))
        self.transport.close()


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """The length of a body that the headers tell; 0 where they do not."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)  # the parser has seen to it that it is a number
    return 0


class JoinedWrites(asyncio.Transport):
    """What one answer is written to: its head waits for a body of known length, and both go out in one call.

    uvloop sends at once whatever is written, so that each answer would take two calls of the system and two
    packets: a tenth of the time of a small prediction.

    Args:
        transport: of the connection.
    """

    __slots__ = ("_begun", "_head", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self._begun = False
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send the next part of the answer; the first is its head, before which the client may be told to go on."""
        if self._begun:
            if self._head:
                head, self._head = self._head, b""
                if len(data) < _SMALL:
                    self._transport.write(head + data)
                else:
                    self._transport.writelines((head, data))
            else:
                self._transport.write(data)
        elif data[: len(_CONTINUE)] == _CONTINUE:
            self._transport.write(data)
        elif _CHUNKED in data:  # its first piece may be long in coming
            self._begun = True
            self._transport.write(data)
        else:
            self._begun = True
            self._head = bytes(data)

    def close(self) -> None:
        """End the connection once all that was written is sent."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""
        self._transport.close()
