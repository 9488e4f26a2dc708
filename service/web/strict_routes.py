"""FastAPI bent to the service's rules: strict JSON bodies, strict queries and one form for every error."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from service import strict_json
from service.errors import BadRequest, Fault, NotFound, ServiceError, UnsupportedMediaType
from service.operations.answering import IN_THREAD
from service.operations.media_types import media_type_of, require_utf8
from service.problems import InternalError, MethodNotAllowed, Rendered, render
from service.store.failures import is_no_space, storage_full
from service.web.validation import check_headers, check_query, header_names, query_names, refusal

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class StrictRequest(Request):
    """A request whose JSON is read by :mod:`service.strict_json`.

    A number that no double holds in one of the rows of its ``spared`` members spoils that row alone: what is wrong
    with it is left for the route in ``state.bad_numbers``.
    """

    spared: Sequence[str] = ()

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body, depth = await self.body(), self.app.state.settings.limits.json_depth
            decode = partial(_decode, body, depth, self.spared)
            read = decode() if len(body) < IN_THREAD else await run_in_threadpool(decode)
            self._json, self.state.bad_numbers = read
        return self._json


def _decode(body: bytes, depth: int, spared: Sequence[str]) -> tuple[Any, dict[int, list[Fault]]]:
    return strict_json.decode_sparing(body, depth, spared) if spared else (strict_json.decode(body, depth), {})


class StrictRoute(APIRoute):
    """A route that reads strict JSON, takes the query parameters it declares, each once, and no others.

    It lets the service's errors through FastAPI's body handling.
    """

    #: Whether query parameters that are not declared are passed over.
    any_query = False

    def get_route_handler(self) -> Handler:
        original = super().get_route_handler()
        body_type = None if self.body_field is None else self.body_field.field_info.annotation
        in_query = None if self.any_query else query_names(self.dependant)
        in_headers = header_names(self.dependant)
        scopes = [scope for used in self.dependant.dependencies for scope in used.own_oauth_scopes or ()]

        async def handle(request: Request) -> Response:
            if scopes:  # before the form of the request is looked at; FastAPI would ask last
                request.state.principal.require(*scopes)
            if in_query is not None and request.scope["query_string"]:
                check_query(request.query_params, in_query)
            if in_headers:
                check_headers(request.headers, in_headers)
            if body_type is not None:
                _require_json(request)
            try:
                strict = StrictRequest(request.scope, request.receive)
                strict.spared = getattr(body_type, "spared", ())
                return await original(strict)
            except RequestValidationError as error:
                raise refusal(error.errors(), body_type) from None
            except HTTPException as error:  # FastAPI wraps whatever the reading of a body raises
                if isinstance(error.__cause__, ServiceError):
                    raise error.__cause__ from None
                raise

        return handle


def _require_json(request: Request) -> None:
    header = request.headers.get("content-type", "")
    media_type = media_type_of(header)
    if media_type != "application/json":
        raise UnsupportedMediaType(
            f"The body must be sent as application/json, not as {strict_json.quoted(media_type or 'nothing')}",
            [Fault("Content-Type not supported", parameter="Content-Type", allowed=["application/json"])],
        )
    require_utf8(header)


class ProbeRoute(StrictRoute):
    """A route that load balancers and scrapers call, which may add query parameters of their own."""

    any_query = True


def make_probe_router(**settings: Any) -> APIRouter:
    """A router whose routes are strict but for unknown query parameters."""
    return APIRouter(route_class=ProbeRoute, **settings)


def make_router(**settings: Any) -> APIRouter:
    """A router whose routes are strict."""
    return APIRouter(route_class=StrictRoute, **settings)


def install_error_handlers(app: FastAPI) -> None:
    """Make every error of the app a problem document."""
    app.add_exception_handler(ServiceError, _answer_service_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(OSError, _answer_disk_error)
    app.add_exception_handler(ClientDisconnect, _answer_to_nobody)
    app.add_exception_handler(Exception, _answer_defect)


async def _answer_to_nobody(request: Request, error: Exception) -> Response:
    """Who went away hears nothing of it; it is counted and logged as a request that was at fault."""
    return respond(request, BadRequest("The caller went away before all of the request had come"))


def respond(request: Request, error: ServiceError) -> Response:
    """The problem document of an error as a response."""
    minimal = request.app.state.settings.error_detail == "minimal"
    return to_response(render(error, request.state.request_id, minimal=minimal))


def to_response(rendered: Rendered) -> Response:
    """A ready answer as Starlette wants it."""
    return Response(rendered.body, rendered.status, rendered.headers)


async def _answer_defect(request: Request, error: Exception) -> Response:
    """Starlette raises the error again after this answer, and :mod:`service.web.observing` logs it."""
    return respond(request, InternalError.of_request(request.state.request_id))


async def _answer_service_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)  # noqa: S101 - registered for this class only
    return respond(request, error)


async def _answer_disk_error(request: Request, error: Exception) -> Response:
    """Whatever wrote to the disk, here or in the reading process: that there is no space is no defect."""
    if is_no_space(error):
        return respond(request, storage_full())
    raise error


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if error.status_code == 404:
        return respond(request, NotFound(f"There is no {strict_json.quoted(request.url.path)}"))
    if error.status_code == 405:
        return respond(request, _method_error(request))
    if error.status_code < 500:
        return respond(request, BadRequest(str(error.detail)))
    return respond(request, InternalError(str(error.detail)))


def _method_error(request: Request) -> MethodNotAllowed:
    allowed = allowed_methods(request.app, request.url.path)
    return MethodNotAllowed(
        f"{request.method[:20]} is not allowed on this path; what is: {', '.join(allowed)}",
        headers={"Allow": ", ".join(allowed)},
    )


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Every method that some route of this path takes; Starlette tells only those of the first."""
    methods: set[str] = set()
    for template, operations in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{[^/]+\}", "[^/]+", template), path):
            methods.update(name.upper() for name in operations if name.upper() in _METHODS)
    methods = methods or {"GET"}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
