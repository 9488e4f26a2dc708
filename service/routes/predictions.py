"""Predictions and explanations over HTTP. Plain requests are answered before this by :mod:`service.front`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from service.deps import Predictor, ServicesHere
from service.fault_json import describer
from service.operations.answering import MEDIA_TYPES, Call, answer, format_of, format_wanted
from service.operations.decision import parse_decision
from service.operations.predict import Bounds, Form
from service.operations.rows import Options
from service.routes.models import Reference
from service.schemas.predictions import Explanations, Matrix, NamedRows, Predictions
from service.services import Services
from service.web.openapi import Responses, errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["predictions"])

Explain = Annotated[bool, Query(description="add the exact reason to each answer")]


Interval = Annotated[bool, Query(description="add to each number where a further one like it should lie")]


async def _policies(
    services: ServicesHere,
    unseen: Annotated[
        Literal["reject", "missing", "other"], Query(description="what becomes of a level that the model does not know")
    ] = "other",
    missing: Annotated[
        Literal["as-model", "fractional", "most-likely", "reject"],
        Query(description="what becomes of a missing value"),
    ] = "as-model",
    strict: Annotated[bool, Query(description="whether extra and absent columns are errors")] = False,
    decision: Annotated[
        str | None,
        Query(
            max_length=8000,
            description="by what labels are decided, as a JSON object; see `decision` in a JSON body",
            examples=['{"threshold":{"class":"yes","at":0.7}}'],
        ),
    ] = None,
) -> Options:
    decided = None if decision is None else parse_decision(decision, services.settings.limits.json_depth)
    return Options(unseen=unseen, missing=missing, strict=strict, decision=decided)


Policies = Annotated[Options, Depends(_policies)]

_NAMED_EXAMPLE = {"rows": [{"outlook": "sunny", "humidity": 70}, {"outlook": "rainy", "humidity": None}]}
_MATRIX_EXAMPLE = {"columns": ["outlook", "humidity"], "data": [["sunny", 70], ["rainy", None]]}
_DECISION_EXAMPLE = {
    "rows": [{"outlook": "sunny", "humidity": None}],
    "decision": {"costs": {"yes": {"no": 10}, "no": {"yes": 1}}},
    "missing": "most-likely",
}
_CSV_EXAMPLE = "outlook,humidity\nsunny,70\nrainy,\n"


def _request_body(*, may_explain: bool) -> dict[str, Any]:
    """The request's body for the OpenAPI document: a body is read by hand, in any of its formats."""
    matrix = _MATRIX_EXAMPLE | ({"explain": True} if may_explain else {})
    text = {"type": "string"}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [_inlined(form, may_explain=may_explain) for form in (NamedRows, Matrix)]},
                    "examples": {
                        "rows": {"summary": "Rows by column name", "value": _NAMED_EXAMPLE},
                        "decision": {"summary": "By costs: yes from 10/11 on", "value": _DECISION_EXAMPLE},
                        "matrix": {"summary": "Names once, rows as arrays", "value": matrix},
                    },
                },
                "text/csv": {"schema": text, "example": _CSV_EXAMPLE},
                "text/tab-separated-values": {"schema": text},
                MEDIA_TYPES["arrow"]: {"schema": {"type": "string", "format": "binary"}},
                "application/x-ndjson": {"schema": text, "example": '{"outlook": "sunny", "humidity": 70}\n'},
            },
        }
    }


def _inlined(model: type[NamedRows] | type[Matrix], *, may_explain: bool) -> dict[str, Any]:
    schema = model.model_json_schema()
    if not may_explain:  # all answers are explained, and reasons tell intervals
        del schema["properties"]["explain"], schema["properties"]["interval"]
    return schema


def _answers(model: type[Predictions] | type[Explanations]) -> Responses:
    text = {"schema": {"type": "string"}}
    kinds = {media_type: text for media_type in MEDIA_TYPES.values() if media_type != "application/json"}
    return {200: {"model": model, "description": "One answer to each row, in order", "content": kinds}}


@router.post(
    "/{ref}/predictions",
    summary="Predict",
    response_class=Response,
    responses=_answers(Predictions) | errors(404, 406, 413, 415, 422),
    operation_id="predict",
    openapi_extra=_request_body(may_explain=True),
)
async def predict(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    policies: Policies,
    explain: Explain = False,
    interval: Interval = False,
) -> Response:
    """Answer each row with a label and its probabilities, or a value, and name the version that answered.

    Options stand in the query or, stronger, in a JSON body. A bad row gets an error of its own and fails no
    other; a JSON request of nothing but bad rows is refused. CSV, NDJSON and Arrow streams come back as they
    came, unless `Accept` names another format.

    With a `decision` the answer tells it, and rows whose label the model by itself would not have given tell that
    one as `model_label`. CSV and Arrow have a column for each.

    With `interval` each number tells where a further one like it should lie, as the reason does: `interval`, in CSV
    and Arrow the columns `low`, `high` and `level`, empty where nothing tells it. Learners that have it say
    `intervals` in `GET /learners`; of others it is refused.

    Labels in CSV are as they are, those too that a spreadsheet would take for formulas (`=`, `+`, `-`, `@` at
    the beginning): import such columns as text, or take JSON.
    """
    options = replace(policies, explain=explain, interval=interval)
    return await _respond(request, services, who.workspace, ref, options, "predictions")


@router.post(
    "/{ref}/explanations",
    summary="Explain",
    response_class=Response,
    responses=_answers(Explanations) | errors(404, 406, 413, 415, 422),
    operation_id="explain",
    openapi_extra=_request_body(may_explain=False),
)
async def explain_rows(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    policies: Policies,
) -> Response:
    """Give the exact reason of each row's answer, made by the traversal that made the answer.

    Of a tree: the tests on the way with the observed values; where a value is missing, every branch that was
    followed with its weight. Texts in CSV are as they are, those too that a spreadsheet would take for formulas.
    """
    return await _respond(request, services, who.workspace, ref, replace(policies, explain=True), "explanations")


async def _respond(
    request: Request, services: Services, workspace: str, ref: str, options: Options, form: Form
) -> Response:
    sent = format_of(request.headers.get("content-type"))
    wanted = format_wanted(",".join(request.headers.getlist("accept")), sent)
    model = services.serving.known(workspace, ref)
    if model is None:
        model = await run_in_threadpool(services.serving.get, workspace, ref)
    body = await request.body()
    limits = services.settings.limits
    make = partial(
        answer,
        model,
        body,
        Call(sent, wanted, options, form),
        Bounds(limits.batch_rows, limits.json_depth, limits.explained_tests),
        describer(minimal=services.settings.error_detail == "minimal"),
        services.metrics.add_rows,
    )
    # whatever is quick has been answered by the front
    reply = await services.long_answers.make(request.receive, make)
    if isinstance(reply.body, bytes):
        return Response(reply.body, media_type=reply.media_type)
    # the first rows are answered before the head is sent: until then it may be a refusal, and the caller be gone
    first = await services.long_answers.make(request.receive, partial(_first_rows, reply.body))
    pieces = services.long_answers.stream(first, reply.body)
    return StreamingResponse(pieces, media_type=reply.media_type)


def _first_rows(pieces: Iterator[bytes]) -> bytes:
    """What comes before the rows, and the first of them."""
    return b"".join(islice(pieces, 2))
