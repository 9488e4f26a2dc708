"""The fast door: answers plain prediction requests before FastAPI's router is asked.

The router alone takes longer than a prediction. So this ASGI wrapper looks at
``POST /api/v1/models/{ref}/predictions`` first and answers it if everything about it is plain: JSON,
CSV or Arrow without a query, a valid key, a model that there is, rows without a fault. Whatever is not plain goes on to
the app, body included, and is answered by the route, which calls the same functions. So every error,
every option and every other format has one place, and both doors give the same bytes.

What takes microseconds, a small body for a model in memory, is answered even before ASGI where the server can
(:meth:`Front.at_once`, called by :mod:`service.web.at_once`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ServiceError
from service.fault_json import describer
from service.logs import logger
from service.operations.answering import IN_THREAD, answer_arrow, answer_csv, answer_fast, answer_large
from service.operations.predict import Bounds, Describe
from service.operations.served import ServedModel
from service.services import Services
from service.web.backlog import Backlog
from service.web.observing import request_id_of, safe_headers
from service.web.offered import AT_ONCE, BACKLOG, LIMITS, AtOnce
from service.web.together import Together

PREFIX, SUFFIX = "/api/v1/models/", "/predictions"
#: The route's template, under which its requests are counted.
ROUTE = PREFIX + "{ref}" + SUFFIX
#: A function that answers a body: its bytes and number of rows, or None where it is not plain.
Answer = Callable[[ServedModel, bytes, Bounds, Describe], tuple[bytes, int] | None]
Headers = list[tuple[bytes, bytes]]
#: The workspace, the model's reference and the format of a request.
Asked = tuple[str, str, bytes]
#: Processor seconds after which a plain request is left to the route.
_TRIED_SECONDS = 2.0
_JSON, _CSV, _ARROW = b"application/json", b"text/csv", b"application/vnd.apache.arrow.stream"
_FORMATS = {_JSON: _JSON, _CSV: _CSV, _ARROW: _ARROW}
#: What may stand after a media type here; all else is the route's to judge.
_PARAMETERS = (b"", b"charset=utf-8", b'charset="utf-8"', b"charset=us-ascii")
#: What answers small bodies on the event loop.
_ON_LOOP: dict[bytes, Answer] = {_JSON: answer_fast, _CSV: answer_csv}


class Front:
    """ASGI wrapper; see the module.

    Args:
        app: everything else.
        services: the parts of this process.
    """

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self.app = app
        self.services = services
        limits = services.settings.limits
        self.max_bytes = limits.body_bytes
        self.bounds = Bounds(limits.batch_rows, limits.json_depth, limits.explained_tests)
        self.describe = describer(minimal=services.settings.error_detail == "minimal")
        types = {_JSON: _JSON, _CSV: _CSV + b"; charset=utf-8", _ARROW: _ARROW}
        self.headers = {sent: _answer_headers(content_type) for sent, content_type in types.items()}
        #: The same as lines, after which the length and the request's id are written.
        self.lines = {
            sent: b"".join(b"%b: %b\r\n" % header for header in headers) + b"content-length: %d\r\nx-request-id: %b\r\n"
            for sent, headers in self.headers.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            begun = time.perf_counter()
            asked = None if scope["query_string"] else self._asked(scope["path"], scope["headers"])
            if asked is not None:
                workspace, reference, media_type = asked
                model = self.services.serving.known(workspace, reference) or await self._load(workspace, reference)
                if model is not None:
                    await self._answer(model, media_type, begun, scope, receive, send)
                    return
        elif scope["type"] == "lifespan" and "state" in scope:
            scope["state"][AT_ONCE] = AtOnce(self.admit, self.at_once, Together())
            scope["state"][LIMITS] = self.services.settings.limits
            scope["state"][BACKLOG] = Backlog(self.services.settings.limits.unsent_bytes)
        await self.app(scope, receive, send)

    def admit(self, target: bytes, headers: Headers) -> Asked | None:
        """What is asked by a request that may be answered before ASGI (:class:`~service.web.offered.AtOnce`).

        Args:
            target: of the request: its path, and a query.
            headers: raw, with lower-case names.

        Returns:
            None where the app shall be asked: no prediction, no valid key, a model that is not in memory.
        """
        if b"%" in target or b"?" in target:
            return None
        asked = self._asked(target.decode("latin-1"), headers)
        if asked is None or asked[2] == _ARROW or self.services.serving.known(*asked[:2]) is None:
            return None
        return asked

    def at_once(self, asked: Asked, headers: Headers, body: bytes) -> tuple[bytes, bytes] | None:
        """Answer a small plain request of which all is there.

        Args:
            asked: what was admitted.
            headers: raw, with lower-case names.
            body: all of it.

        Returns:
            The lines of the answer's header fields, but for those of every answer, and its body; None where the request
            is not plain, its model no longer in memory, or the answer would keep others waiting.
        """
        if len(body) >= IN_THREAD:
            return None
        begun = time.perf_counter()
        workspace, reference, media_type = asked
        model = self.services.serving.known(workspace, reference)
        answered = None if model is None else self._try(_ON_LOOP[media_type], model, body)
        if answered is None:
            return None
        answer, n_rows = answered
        request_id = request_id_of(headers)
        self._told(request_id, reference)
        self._count(n_rows, begun)
        return self.lines[media_type] % (len(answer), request_id.encode()), answer

    async def _load(self, workspace: str, reference: str) -> ServedModel | None:
        """A model that is not in memory yet; None if it cannot be had, which the route shall tell."""
        try:
            return await asyncio.to_thread(self.services.serving.get, workspace, reference)
        except ServiceError:
            return None

    def _asked(self, path: str, headers: Headers) -> Asked | None:
        """The workspace, the model's reference and the format of a request that may be answered here."""
        if not (path.endswith(SUFFIX) and path.startswith(PREFIX)):
            return None
        services = self.services
        media_type = _plain_format(headers, self.max_bytes)
        if media_type is None or services.in_flight.count >= services.in_flight.limit:
            return None
        try:
            principal = services.keyring.authorise(headers, "predict")
        except ServiceError:
            return None
        return principal.workspace, path[len(PREFIX) : -len(SUFFIX)], media_type

    async def _answer(
        self, model: ServedModel, media_type: bytes, begun: float, scope: Scope, receive: Receive, send: Send
    ) -> None:
        in_flight = self.services.in_flight
        in_flight.enter()
        try:
            message = await receive()
            messages = None
            if message.get("more_body", False) or message["type"] != "http.request":
                messages = await self._rest(message, receive)
                body = b"".join(part.get("body", b"") for part in messages)
            else:
                body = message["body"]
            if messages and messages[-1].get("more_body"):
                answered = None
            elif len(body) < IN_THREAD and media_type != _ARROW:
                answered = self._try(_ON_LOOP[media_type], model, body)
            else:
                answer = {_JSON: answer_large, _CSV: answer_csv, _ARROW: answer_arrow}[media_type]
                answered = await self._try_beside(receive, partial(self._try, answer, model, body))
            if answered is not None:
                await self._send(scope, media_type, answered[0], send)
        except asyncio.CancelledError:
            await self.app(scope, _cancelled, send)  # which tells of it
            return
        finally:
            in_flight.leave()
        if answered is None:
            await self.app(scope, _Replay(messages or [message], receive), send)
            return
        self._count(answered[1], begun)

    def _count(self, n_rows: int, begun: float) -> None:
        metrics = self.services.metrics
        metrics.add_rows(n_rows)
        metrics.observe(ROUTE, 200, time.perf_counter() - begun)

    async def _rest(self, message: Message, receive: Receive) -> list[Message]:
        """All messages of a body, or as many as exceed the limit, which then is the app's to tell."""
        messages = [message]
        size = len(message.get("body", b""))
        while message.get("more_body", False) and size <= self.max_bytes:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
        return messages

    async def _try_beside(
        self, receive: Receive, attempt: Callable[[], tuple[bytes, int] | None]
    ) -> tuple[bytes, int] | None:
        """The same in a thread; None too where the caller has gone away, or it takes long."""
        try:
            return await self.services.long_answers.make(receive, attempt, _TRIED_SECONDS)
        except ClientDisconnect:
            return None

    def _try(self, answer: Answer, model: ServedModel, body: bytes) -> tuple[bytes, int] | None:
        """The answer and its number of rows; None for whatever is not plain, which the app shall look at."""
        try:
            return answer(model, body, self.bounds, self.describe)
        except Exception:
            logger.debug("left to the route", exc_info=True)
            return None

    async def _send(self, scope: Scope, media_type: bytes, answer: bytes, send: Send) -> None:
        request_id = request_id_of(scope["headers"])
        length = (b"content-length", b"%d" % len(answer))
        headers = [*self.headers[media_type], length, (b"x-request-id", request_id.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
        self._told(request_id, scope["path"][len(PREFIX) : -len(SUFFIX)])

    @staticmethod
    def _told(request_id: str, reference: str) -> None:
        if logger.isEnabledFor(logging.DEBUG):  # a line for each would cost more than the prediction
            path = PREFIX + reference + SUFFIX
            logger.debug("prediction", extra={"fields": {"request_id": request_id, "path": path}})


def _answer_headers(content_type: bytes) -> list[tuple[bytes, bytes]]:
    """Those of every answer, without its id and length."""
    headers = safe_headers("", [(b"content-type", content_type)])
    return [header for header in headers if header[0] != b"x-request-id"]


def _plain_format(headers: list[tuple[bytes, bytes]], max_bytes: int) -> bytes | None:
    """The media type of a request whose headers ask for its own format, JSON, CSV or Arrow, and nothing else."""
    media_type, accept, is_typed = None, b"*/*", False
    for name, value in headers:
        if name == b"content-type":
            if is_typed:
                return None  # which of two holds is the route's to say
            is_typed = True
            media_type = _FORMATS.get(value) or _with_parameters(value)
        elif name == b"accept":
            accept = value if accept == b"*/*" else b""  # several are the route's to weigh
        elif name == b"content-length":
            if not value.isdigit() or len(value) > 18 or int(value) > max_bytes:
                return None
        elif name in (b"content-encoding", b"expect"):
            return None
    return media_type if accept in (b"*/*", media_type) else None


def _with_parameters(content_type: bytes) -> bytes | None:
    """The format of a media type in any case, if its parameters change nothing."""
    media_type, _, parameters = content_type.lower().partition(b";")
    return _FORMATS.get(media_type.strip()) if parameters.strip() in _PARAMETERS else None


async def _cancelled() -> Message:
    raise asyncio.CancelledError


class _Replay:
    """``receive`` that gives once more what has been read already."""

    def __init__(self, messages: list[Message], receive: Receive) -> None:
        self._messages = messages
        self._receive = receive

    async def __call__(self) -> Message:
        return self._messages.pop(0) if self._messages else await self._receive()
