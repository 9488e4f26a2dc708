"""Answers that the protocol writes itself, as bytes: those made at once, and refusals of what became no request."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from service.errors import ServiceError
from service.problems import render
from service.web.observing import request_id_of, safe_headers
from service.web.request_head import Headers


def written_at_once(always: Headers, lines: bytes, body: bytes) -> bytes:
    """An answer 200.

    Args:
        always: the header fields of every answer.
        lines: of the others, as bytes.
        body: its body.
    """
    pieces = [STATUS_LINE[200]]
    for name, value in always:
        pieces += (name, b": ", value, b"\r\n")
    pieces += (lines, b"\r\n", body)
    return b"".join(pieces)


def written_refusal(always: Headers, error: ServiceError) -> bytes:
    """The answer after which the connection ends."""
    request_id = request_id_of([])
    rendered = render(error, request_id)
    given = [(name.lower().encode(), value.encode()) for name, value in rendered.headers.items()]
    length = (b"content-length", b"%d" % len(rendered.body))
    headers = safe_headers(request_id, [*given, length, (b"connection", b"close")])
    lines = [name + b": " + value for name, value in [*always, *headers]]
    return STATUS_LINE[rendered.status] + b"\r\n".join([*lines, b"", rendered.body])
