"""uvicorn's HTTP, with a problem document for what its parser refuses.

Such a request never becomes one: no middleware sees it, it has no path, and the connection ends with it.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.errors import BadRequest
from service.problems import render
from service.web.observing import request_id_of, safe_headers


class ProblemProtocol(HttpToolsProtocol):
    """What listens on a connection."""

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
