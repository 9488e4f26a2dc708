"""A model's rules over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from service.deps import Reader, ServicesHere
from service.operations.json_text import encode_json
from service.operations.rules import SqlForm, rules_json, rules_text
from service.routes.models import Reference
from service.schemas.rules import Rules
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["models"])

_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "sql": "application/sql"}
_TEXT = {"schema": {"type": "string"}}


@router.get(
    "/{ref}/rules",
    summary="Get the rules",
    response_class=Response,
    responses=errors(404, 409, 422)
    | {
        200: {
            "model": Rules,
            "description": "One rule for each leaf",
            "content": dict.fromkeys(_MEDIA_TYPES.values(), _TEXT),
        }
    },
    operation_id="getRules",
)
def get_rules(
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    format: Annotated[  # noqa: A002 - the parameter's name on the wire
        Literal["json", "text", "markdown", "sql"], Query(description="how the rules are written")
    ] = "json",
    source: Annotated[
        str, Query(min_length=1, max_length=63, description="of SQL: the table that is read", examples=["rows"])
    ] = "rows",
    form: Annotated[
        SqlForm,
        Query(
            description="of SQL: a SELECT that answers every row as the tree does, or one CASE expression, "
            "NULL where a value that decides is missing or unseen"
        ),
    ] = "select",
) -> Response:
    """The tree as rules, one a leaf, with exact thresholds and with what becomes of missing values."""
    model = services.serving.get(who.workspace, ref)
    if format == "json":
        return Response(encode_json(rules_json(model)), media_type="application/json")
    return Response(rules_text(model, format, source, form), media_type=_MEDIA_TYPES[format])
