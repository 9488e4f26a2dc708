"""Counterfactuals, questions and importances over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from service.deps import Predictor, Reader, ServicesHere
from service.operations.counterfactuals import Wanted, find_counterfactuals, scales_of
from service.operations.importances import importances
from service.operations.json_text import encode_json
from service.operations.questions import ask_next
from service.operations.reasoning import Rows
from service.problems import describer
from service.routes.models import Reference
from service.schemas.reasons import CounterfactualRequest, Counterfactuals, Importances, QuestionRequest, Questions
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["predictions"])

_COUNTERFACTUAL_EXAMPLE = {
    "rows": [{"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}],
    "wanted": "yes",
    "fixed": ["outlook"],
    "directions": {"humidity": "down"},
    "costs": {"temperature": 5},
    "allowed": {"humidity": {"minimum": 60}},
    "count": 3,
}
_QUESTION_EXAMPLE = {"rows": [{"outlook": "sunny", "humidity": None}], "costs": {"humidity": 2}}


@router.post(
    "/{ref}/counterfactuals",
    summary="Find counterfactuals",
    response_class=Response,
    responses=errors(404, 409, 413, 415, 422)
    | {200: {"model": Counterfactuals, "description": "The nearest changes of each row, in order"}},
    operation_id="findCounterfactuals",
)
def find(
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    body: Annotated[
        CounterfactualRequest,
        Body(openapi_examples={"play": {"summary": "What it would take", "value": _COUNTERFACTUAL_EXAMPLE}}),
    ],
) -> Response:
    """Find, for each row, the nearest changes that lead to the wanted answer, and why the row does not have it.

    Exact among all leaves of a tree: fewest (or cheapest) changed columns first, then least distance; `fixed`,
    `directions`, `costs` and `allowed` are kept. New values are just beyond the thresholds that they pass, and
    every changed row was answered by the model itself. A missing value stays missing where the answer is the
    wanted one all the same; choosing one counts as a change. At most 100 rows, fewer of very large trees.
    """
    model = services.serving.get(who.workspace, ref)
    wanted = Wanted(
        body.wanted,
        body.fixed,
        body.directions,
        body.costs,
        body.allowed,
        body.count,
        body.diverse,
        body.order,
    )
    services.metrics.add_rows(len(body.rows))
    describe = describer(minimal=services.settings.error_detail == "minimal")
    rows = Rows(body.rows, body.unseen, body.strict)
    found = find_counterfactuals(model, rows, wanted, scales_of(services.store, model), describe)
    return Response(encode_json(found), media_type="application/json")


@router.post(
    "/{ref}/question",
    summary="Ask what to ask next",
    response_class=Response,
    responses=errors(404, 409, 413, 415, 422)
    | {200: {"model": Questions, "description": "What to ask next of each row, in order"}},
    operation_id="askNext",
)
def question(
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    body: Annotated[
        QuestionRequest, Body(openapi_examples={"play": {"summary": "Partly known", "value": _QUESTION_EXAMPLE}})
    ],
) -> Response:
    """Tell, for partly filled rows, the answer now, what is still possible, and what is best asked next.

    Columns without a value are ranked by the expected gain of knowing them, in bits or in utility, divided by
    their costs. Absent columns count as unknown. At most 100 rows, fewer of very large trees.
    """
    model = services.serving.get(who.workspace, ref)
    services.metrics.add_rows(len(body.rows))
    describe = describer(minimal=services.settings.error_detail == "minimal")
    rows = Rows(body.rows, body.unseen, body.strict)
    found = ask_next(model, rows, body.costs, body.utility, describe)
    return Response(encode_json(found), media_type="application/json")


@router.get(
    "/{ref}/importances",
    summary="Get the importances of the columns",
    response_class=Response,
    responses=errors(404, 409) | {200: {"model": Importances, "description": "The columns in the model's order"}},
    operation_id="getImportances",
)
def get_importances(services: ServicesHere, who: Reader, ref: Reference) -> Response:
    """Give each column's share of what the tree's tests decrease of the impurity in the training rows."""
    found = importances(services.serving.get(who.workspace, ref))
    return Response(encode_json(found), media_type="application/json")
