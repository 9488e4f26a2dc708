"""Sequences fed in pieces over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Request, Response

from service.deps import Predictor, ServicesHere
from service.operations.explanation.reasoning import Rows
from service.operations.json_text import encode_json
from service.operations.stepping import feed
from service.routes.models import Reference
from service.schemas.steps import Steps, StepsRequest
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["predictions"])

_EXAMPLE = {"row": {"bits": [0, 1, 1]}}


@router.post(
    "/{ref}/steps",
    summary="Feed steps",
    response_class=Response,
    responses=errors(404, 409, 413, 415, 422)
    | {200: {"model": Steps, "description": "One answer to each step, in order, and the state after the last"}},
    operation_id="feedSteps",
)
async def feed_steps(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    body: Annotated[StepsRequest, Body(openapi_examples={"bits": {"summary": "The first steps", "value": _EXAMPLE}})],
) -> Response:
    """Answer after each of the next steps of a sequence, as data come in.

    Of recurrent and time-delay networks. The row holds the next steps of its sequences and texts; the answer after
    each is that of the predictions route to the sequence so far, to the bit. The service keeps nothing: hand the
    `state` of an answer back with the steps that follow. It belongs to the version that made it, so name that
    (`name:3`) where an alias may move meanwhile (409).
    """

    def fed() -> bytes:
        model = services.serving.get(who.workspace, ref)
        services.metrics.add_rows(1)
        return encode_json(feed(model, Rows([body.row], body.unseen, body.strict), body.state))

    return Response(await services.long_answers.make(request.receive, fed), media_type="application/json")
