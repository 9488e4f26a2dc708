"""The outermost layer of a request: its id, its log line, its measure, safe headers, and the last catch.

Pure ASGI. Whatever is raised beneath becomes a problem document here if no handler has made one of
it, so that no request ends with a bare 500 or a stack trace.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ServiceError, Unavailable
from service.logs import logger
from service.problems import InternalError, Rendered, render

#: Called once a request with its route's path, the status and the seconds it took.
Observe = Callable[[str, int, float], None]

#: New ids are unique, not secret: the process's random part and a number. A look-up of entropy takes longer.
_PROCESS = secrets.token_hex(8)
_numbers = count()
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

#: Sent with every answer. Nothing here is meant to be framed, sniffed or to load foreign content.
SAFE_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_API_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_NO_STORE = (b"cache-control", b"no-store")


def request_id_of(headers: list[tuple[bytes, bytes]]) -> str:
    """The caller's ``X-Request-ID`` if it is harmless (letters, digits, ``._-``, at most 64), else a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return value.decode("ascii")
    return f"{_PROCESS}{next(_numbers):08x}"


def safe_headers(request_id: str, present: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with the request id and those of :data:`SAFE_HEADERS` added."""
    names = {name.lower() for name, _ in present}
    added = [(b"x-request-id", request_id.encode()), *SAFE_HEADERS, _API_POLICY, _NO_STORE]
    return [*present, *(header for header in added if header[0] not in names)]


async def send_rendered(send: Send, rendered: Rendered) -> None:
    """Send a ready response."""
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in rendered.headers.items()]
    headers.append((b"content-length", str(len(rendered.body)).encode()))
    await send({"type": "http.response.start", "status": rendered.status, "headers": headers})
    await send({"type": "http.response.body", "body": rendered.body})


class Observer:
    """ASGI middleware: see the module.

    Args:
        app: what lies beneath.
        minimal: whether error messages leave values of the data out.
        observe: told of each finished request.
    """

    def __init__(self, app: ASGIApp, *, minimal: bool, observe: Observe) -> None:
        self.app = app
        self.minimal = minimal
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Exchange(self, scope, send).run(receive)


class _Exchange:
    """One request and its answer."""

    def __init__(self, observer: Observer, scope: Scope, send: Send) -> None:
        self.observer = observer
        self.scope = scope
        self.raw_send = send
        self.request_id = request_id_of(scope["headers"])
        self.status = 0
        scope.setdefault("state", {})["request_id"] = self.request_id

    async def run(self, receive: Receive) -> None:
        begun = time.perf_counter()
        try:
            await self.observer.app(self.scope, receive, self.send)
        except ServiceError as error:
            await self.refuse(error)
        except asyncio.CancelledError:  # the process ends, and waits no longer for what is being answered
            await self.refuse(Unavailable("The service ended before this was answered; ask again"))
        except Exception:
            logger.exception("unhandled", extra={"fields": {"request_id": self.request_id}})
            await self.refuse(InternalError.of_request(self.request_id))
        finally:
            self.finish(time.perf_counter() - begun)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = safe_headers(self.request_id, list(message.get("headers", [])))
        await self.raw_send(message)

    async def refuse(self, error: ServiceError) -> None:
        if not self.status:  # once an answer has begun it can only be broken off, which the server does
            await send_rendered(self.send, render(error, self.request_id, minimal=self.observer.minimal))

    def finish(self, seconds: float) -> None:
        route = getattr(self.scope.get("route"), "path", None) or "unmatched"
        self.observer.observe(route, self.status, seconds)
        if logger.isEnabledFor(logging.INFO):
            fields: dict[str, Any] = {
                "request_id": self.request_id,
                "method": self.scope["method"],
                "path": self.scope["path"][:200],
                "status": self.status,
                "milliseconds": round(seconds * 1000, 2),
            }
            logger.info("request", extra={"fields": fields})
