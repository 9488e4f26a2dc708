"""uvicorn's HTTP, with a problem document for what its parser refuses, and answers that go out in one piece.

What the parser refuses never becomes a request: no middleware sees it, it has no path, and the connection ends with it.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.errors import BadRequest
from service.problems import render
from service.web.observing import request_id_of, safe_headers

#: Copying a body of fewer bytes is quicker than telling the system of two pieces.
_SMALL = 16_384
_CONTINUE = b"HTTP/1.1 100 "
_CHUNKED = b"transfer-encoding: chunked"


class ProblemProtocol(HttpToolsProtocol):
    """What listens on a connection."""

    def on_headers_complete(self) -> None:
        """Begin to answer a request; its task runs once this has returned."""
        super().on_headers_complete()
        cycle = self.cycle
        # Of an answer to HEAD the head is all that is written.
        if cycle is not None and cycle.scope["method"] != "HEAD" and not isinstance(cycle.transport, JoinedWrites):
            cycle.transport = JoinedWrites(cycle.transport)

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
