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

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from service.errors import BadRequest, RequestTimeout, ServiceError
from service.problems import render
from service.web.observing import request_id_of, safe_headers

#: The name of an :class:`AtOnce` in the lifespan's state.
AT_ONCE = "rulewood.at_once"


class AtOnce(NamedTuple):
    """What an app offers to answer before ASGI. Its functions do not wait and raise nothing.

    Attributes:
        admit: from a request's target and headers (lower-case names) to what ``answer`` is to know of them; None where
            the app shall be asked, without waiting for the body.
        answer: from that, the headers and the whole body to the header lines and the body of an answer 200, or None
            where the app shall be asked.
    """

    admit: Callable[[bytes, list[tuple[bytes, bytes]]], Any]
    answer: Callable[[Any, list[tuple[bytes, bytes]], bytes], tuple[bytes, bytes] | None]


#: Bodies beyond it, and those that do not tell their length, go to the app while they come.
_MAX_HELD = 150_000
#: Seconds without a byte of a request that has begun after which it is given up; and so many once the process ends.
STALLED_SECONDS, _STALLED_AT_END_SECONDS = 60.0, 5.0

#: Copying a body of fewer bytes is quicker than telling the system of two pieces.
_SMALL = 16_384
_CONTINUE = b"HTTP/1.1 100 "
_CHUNKED = b"transfer-encoding: chunked"


class ProblemProtocol(HttpToolsProtocol):
    """What listens on a connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._at_once: AtOnce | None = self.app_state.get(AT_ONCE)
        self._admitted: Any = None
        #: What has come of a body that may be answered at once; None where there is no such request.
        self._held: bytearray | None = None
        self._is_open = self._has_head = self._asks_upgrade = self._is_broken = False
        self._stalled_seconds = STALLED_SECONDS
        self._stalled: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Take what has come; a request that does not go on is given up."""
        self._unset_keepalive_if_required()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self._is_broken:
            return
        while data:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as asked:
                data = self._begin_again(data[asked.args[0] :])
            except httptools.HttpParserError:
                self._refuse_rest()
                return
        if self._is_open and self.parser is not None:
            self._wait_for_more()

    def _begin_again(self, rest: bytes) -> bytes:
        """A request that asks for another protocol, without that wish: its body follows as if it had not been asked.

        The parser would take the body for the other protocol, which nothing here speaks (RFC 9110, section 7.8).
        """
        if not self._asks_upgrade:  # CONNECT, which has no body
            return rest
        self._asks_upgrade = False
        method, version = self.parser.get_method(), self.parser.get_http_version()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version.encode())]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return b"\r\n".join([*lines, b"", rest])

    def _refuse_rest(self) -> None:
        """End a connection on which no HTTP came, after the answer to a request that was whole."""
        self.logger.debug("no HTTP")
        self._is_broken = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body and self._held is None:
            cycle.keep_alive = False  # the head of its answer will say so, if it is still to come
        else:
            self.send_400_response("")

    def _wait_for_more(self) -> None:
        self._stalled = self.loop.call_later(self._stalled_seconds, self._give_up)

    def _give_up(self) -> None:
        """Refuse a request that has begun and does not go on."""
        self._stalled = None
        if self.transport.is_closing():
            return
        cycle = self.cycle
        waits_for_app = self.flow.read_paused or (
            cycle is not None and not cycle.response_complete and not (self._has_head and self._held is None)
        )
        if waits_for_app:  # no byte comes because none is taken, or an answer before is still to come
            self._wait_for_more()
        elif self._held is not None or not self._has_head or (cycle is not None and not cycle.response_started):
            self._held = None
            detail = f"The rest of the request did not come within {self._stalled_seconds:g} seconds"
            self._refuse(RequestTimeout(detail), b"HTTP/1.1 408 Request Timeout")
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what was waited for."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to read a request; the connection is no longer idle, whatever was answered of the same packet."""
        self._unset_keepalive_if_required()
        self._is_open, self._has_head = True, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer a request, unless all of it may be answered at once when it is there."""
        self._has_head = True
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._asks_upgrade = True
        elif self._may_wait_for_body():
            self._held = bytearray()
        else:
            self._begin_task()

    def _may_wait_for_body(self) -> bool:
        parser, cycle, at_once = self.parser, self.cycle, self._at_once
        if not (
            at_once is not None
            and parser.get_method() == b"POST"
            and 0 < _length(self.headers) <= _MAX_HELD
            and not self.expect_100_continue
            and (cycle is None or cycle.response_complete)  # else the answer before is still to come
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not self.flow.write_paused
        ):
            return False
        self._admitted = at_once.admit(self.url, self.headers)
        return self._admitted is not None

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
        if self._asks_upgrade:
            return
        self._is_open = False
        if self._held is not None and self._at_once is not None:
            answer = self._at_once.answer(self._admitted, self.headers, bytes(self._held))
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
        """Begin to end: a request that has begun to come is still answered, if it goes on soon."""
        self._release()
        self._stalled_seconds = _STALLED_AT_END_SECONDS
        if self._stalled is not None:
            self._stalled.cancel()
            self._wait_for_more()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and end the connection. The parser does not say what is wrong."""
        self._refuse(BadRequest("What came is not a well-formed HTTP/1.1 request"), b"HTTP/1.1 400 Bad Request")

    def _refuse(self, error: ServiceError, status: bytes) -> None:
        """Answer what became no request of the app, and end the connection."""
        request_id = request_id_of([])
        rendered = render(error, request_id)
        given = [(name.lower().encode(), value.encode()) for name, value in rendered.headers.items()]
        length = (b"content-length", b"%d" % len(rendered.body))
        headers = safe_headers(request_id, [*given, length, (b"connection", b"close")])
        lines = [
            status,
            *(name + b": " + value for name, value in self.server_state.default_headers),
            *(name + b": " + value for name, value in headers),
        ]
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
