"""What a request must pass before anything reads it: requests in flight, size, encoding, a sane address.

Pure ASGI, beneath :mod:`service.web.observing`, which turns what is raised here into problem documents.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import BadRequest, Fault, TooLarge, TooManyRequests, UnsupportedMediaType
from service.settings import Limits

_UPLOADS = re.compile(r"/api/v1/datasets/?")
#: Answered even when the service is busy: an orchestrator must be able to tell busy from dead.
_ALWAYS = "/health/"


class InFlight:
    """How many requests this process is answering, and how many it may; shared by every door."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0

    def enter(self) -> None:
        """Count one more.

        Raises:
            TooManyRequests: as many as allowed are being answered already.
        """
        if self.count >= self.limit:
            raise TooManyRequests(
                f"{self.limit} requests are being answered, which is the limit of one process; try again shortly",
                [Fault("too many requests in flight", allowed=self.limit)],
                headers={"Retry-After": "1"},
            )
        self.count += 1

    def leave(self) -> None:
        """Count one less."""
        self.count -= 1


class Gate:
    """ASGI middleware: see the module."""

    def __init__(self, app: ASGIApp, limits: Limits, in_flight: InFlight) -> None:
        self.app = app
        self.limits = limits
        self.in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_ALWAYS):
            await self.app(scope, receive, send)
            return
        self.in_flight.enter()
        try:
            refuse_bad_address(scope)
            limit = self._body_limit(scope)
            _check_headers(scope, limit)
            await self.app(scope, _Counted(receive, limit), send)
        finally:
            self.in_flight.leave()

    def _body_limit(self, scope: Scope) -> int:
        upload = scope["method"] == "POST" and _UPLOADS.fullmatch(scope["path"])
        return self.limits.upload_bytes if upload else self.limits.body_bytes


def refuse_bad_address(scope: Scope) -> None:
    """Raise :class:`BadRequest` for a path or query with NUL or bytes that are no UTF-8."""
    raw = scope.get("raw_path", b"") + b"?" + scope["query_string"]
    if b"%" not in raw and raw.isascii():
        return
    plain = unquote_to_bytes(raw)
    if b"\x00" in plain:
        raise BadRequest("The address holds the character NUL (%00)")
    try:
        plain.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The address is not UTF-8 in percent encoding") from None


def _check_headers(scope: Scope, limit: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.strip().isdigit() or len(value) > 18 or int(value) > limit):
            raise too_large(limit)
        if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "A body with a Content-Encoding is not read here; send it as it is",
                [Fault("Content-Encoding is not supported", parameter="Content-Encoding", allowed=["identity"])],
            )


def too_large(limit: int) -> TooLarge:
    """The error of a body over its limit."""
    return TooLarge(
        f"The body is larger than {limit} bytes, which is the most that is read here",
        [Fault("body too large", allowed=limit)],
    )


class _Counted:
    """``receive`` that raises once more bytes have come than allowed: a stream need not tell its length."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._seen = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._limit:
            raise too_large(self._limit)
        return message
