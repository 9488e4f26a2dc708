"""A linear model's coefficients over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Response

from service.deps import Reader, ServicesHere
from service.operations.explanation.coefficients import coefficients_json, formula_text, sql_text
from service.operations.json_text import encode_json
from service.routes.models import Reference
from service.schemas.contributions import Coefficients
from service.web.openapi import errors
from service.web.strict_routes import make_router
from service.web.validation import refuse_without_effect

router = make_router(prefix="/api/v1/models", tags=["models"])

CoefficientsFormat = Literal["json", "text", "sql"]
Level = Annotated[float, Query(gt=0, lt=1, description="of JSON: level of the confidence intervals")]

Source = Annotated[
    str, Query(min_length=1, max_length=63, description="of SQL: the table that is read", examples=["rows"])
]


async def _format(
    request: Request,
    format: Annotated[  # noqa: A002 - on the wire
        CoefficientsFormat,
        Query(description="all that is known of the coefficients, the formula alone, or a SELECT that evaluates it"),
    ] = "json",
) -> CoefficientsFormat:
    if format != "json":
        refuse_without_effect(request.query_params, ("level",), f"format={format}")
    if format != "sql":
        refuse_without_effect(request.query_params, ("source",), f"format={format}")
    return format


@router.get(
    "/{ref}/coefficients",
    summary="Get the coefficients",
    response_class=Response,
    responses=errors(404, 409, 413, 422)
    | {
        200: {
            "model": Coefficients,
            "description": "The coefficients of a linear model",
            "content": {
                "text/plain": {"schema": {"type": "string"}},
                "application/sql": {"schema": {"type": "string"}},
            },
        }
    },
    operation_id="getCoefficients",
)
async def get_coefficients(
    request: Request,
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    wanted: Annotated[CoefficientsFormat, Depends(_format)],
    level: Level = 0.95,
    source: Source = "rows",
) -> Response:
    """Give the coefficients of a linear model in the units of the data.

    With standard errors, t, p and confidence intervals where such are known: not of a lasso or an elastic net, nor of
    what collinear columns leave open. Levels are told by indicators against a reference level; where numbers have
    powers, these are of the centred and scaled number. Where strength of the penalty or degree were chosen, with all
    that was tried. As SQL the answer of a regression or, of a classifier, the score of each class, evaluated by SQLite
    and PostgreSQL as by the model; a number whose powers are beyond what they can reckon with makes a row's answer
    NULL.
    """

    def found() -> Response:
        model = services.serving.get(who.workspace, ref)
        if wanted == "text":
            return Response(formula_text(model), media_type="text/plain; charset=utf-8")
        if wanted == "sql":
            return Response(sql_text(model, source), media_type="application/sql")
        return Response(encode_json(coefficients_json(model, level)), media_type="application/json")

    return await services.long_answers.make(request.receive, found)
