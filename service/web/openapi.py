"""The OpenAPI document: complete, with every error, and the pieces that routes declare it with."""

from __future__ import annotations

from typing import Any, TypeAlias

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.problems import MEDIA_TYPE
from service.schemas.base import Problem

_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_MEANINGS = {
    400: "The request is malformed: not JSON, a bad address or header",
    401: "A key is needed, or the key is not valid",
    403: "The key does not have the scope that this needs",
    404: "There is no such thing in this workspace",
    405: "The method is not allowed here; see `Allow`",
    406: "None of the formats asked for can be given",
    409: "The state of things forbids this; `errors` says why",
    413: "A limit on size is exceeded; the problem names it",
    415: "The media type or encoding is not supported",
    422: "The content is not valid: `errors` names each row, column or parameter, unknown query parameters too",
    429: "Too many requests are being answered; see `Retry-After`",
    503: "The store cannot be reached or is locked; see `Retry-After`",
    507: "There is no space left",
}
#: Errors that any route may answer with.
_ANYWHERE = (400, 401, 403, 422, 429, 503)
_RETRY_AFTER = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "integer"}}}
_LOCATION = {"Location": {"description": "address of what was made", "schema": {"type": "string"}}}

DESCRIPTION = """\
Models you can read, behind an HTTP API: upload a table, train and cross-validate in the background,
register versions, predict, and get the exact reason with every answer.

Every error is a problem document (RFC 9457) that names each bad row, column or parameter. JSON is strict
both ways: no `NaN`, no key twice; a missing value is `null`. Query parameters are strict too: an unknown one,
or one given twice, is refused (the health checks and the metrics take any). A model is addressed as `name`
(its latest version), `name:3` or `name@alias`."""

TAGS = [
    {"name": "datasets", "description": "Tables: uploaded, profiled, immutable."},
    {"name": "learners", "description": "What can be trained, and every parameter of it."},
    {"name": "jobs", "description": "Training and evaluation in the background."},
    {"name": "models", "description": "Registered versions, their aliases, lineage and schema."},
    {"name": "predictions", "description": "Answers, each with its reason."},
    {"name": "keys", "description": "Who may do what."},
    {"name": "operations", "description": "Health and measures of the service."},
]


Responses: TypeAlias = dict[int | str, dict[str, Any]]


def errors(*statuses: int) -> Responses:
    """The ``responses`` of a route: these errors and those that may come anywhere."""
    return {status: _error_response(status) for status in sorted({*statuses, *_ANYWHERE})}


def created(status: int = 201) -> Responses:
    """The ``responses`` entry of a route that answers with a ``Location``."""
    return {status: {"headers": _LOCATION}}


def content(description: str, media_type: str, schema: dict[str, Any]) -> Responses:
    """The ``responses`` entry of a route that answers with something else than JSON."""
    return {200: {"description": description, "content": {media_type: {"schema": schema}}}}


def _error_response(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _MEANINGS[status], "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}
    if status in (429, 503):
        response["headers"] = _RETRY_AFTER
    return response


def install_document(app: FastAPI) -> None:
    """Let ``app.openapi()`` make the document once and keep it."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _build(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, tags=TAGS, license_info=None
    )
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs", {}))
    schemas["Problem"] = problem | {"examples": [_PROBLEM_EXAMPLE]}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = _SECURITY_SCHEMES
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _complete(path, operation)
            _exclude_nul([operation.get("parameters", []), operation.get("requestBody", {})])
    for name, schema in schemas.items():
        if name != "Problem":
            _exclude_nul([schema])
    return made


def _exclude_nul(items: list[Any]) -> None:
    """Say of every text that it holds no NUL character, which no database text can hold either."""
    while items:
        item = items.pop()
        if isinstance(item, list):
            items.extend(item)
        elif isinstance(item, dict):
            if item.get("type") == "string" and not item.keys() & {"pattern", "enum", "const", "format"}:
                item["pattern"] = _NO_NUL
            if item.get("type") == "object" and item.get("additionalProperties"):
                item["propertyNames"] = {"pattern": _NO_NUL}
            items.extend(value for key, value in item.items() if key not in ("example", "examples", "default"))


_NO_NUL = r"^[^\x00]*$"


def _complete(path: str, operation: dict[str, Any]) -> None:
    """Tell which key an operation needs, and that its 422 is a problem document too."""
    responses = operation["responses"]
    if "422" in responses:
        responses["422"] = _error_response(422)
    if path.startswith("/api/") or path == "/metrics":
        operation["security"] = [{"bearer": []}, {"header": []}, {}]


_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer rk_...`"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "the same key, bare"},
}

_PROBLEM_EXAMPLE = {
    "type": "https://rulewood.dev/problems/invalid",
    "title": "The content is not valid",
    "status": 422,
    "detail": "Parameter max_depth must be a whole number >= 1",
    "request_id": "3f2b8c0d9e1a4b5c6d7e8f90",
    "errors": [
        {
            "message": "parameter max_depth must be a whole number >= 1; it is 0",
            "parameter": "max_depth",
            "allowed": "a whole number >= 1",
            "value": 0,
        }
    ],
    "errors_total": 1,
}
