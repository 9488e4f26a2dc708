"""Counterfactuals, questions and importances over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Body, Depends, Query, Request, Response

from service.deps import Predictor, Reader, ServicesHere
from service.errors import Fault, Invalid
from service.fault_json import describer
from service.operations.explanation.counterfactuals import Wanted, find_counterfactuals, scales_of
from service.operations.explanation.importances import Shuffled, importances, shuffled_importances
from service.operations.explanation.questions import ask_next
from service.operations.explanation.reasoning import Rows
from service.operations.json_text import encode_json
from service.operations.policies import under_policies
from service.operations.rows import Options
from service.operations.stored_rows import Shelf
from service.routes.models import Reference
from service.schemas.reasons import CounterfactualRequest, Counterfactuals, Importances, QuestionRequest, Questions
from service.web.openapi import errors
from service.web.strict_routes import make_router
from service.web.validation import refuse_without_effect

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
async def find(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    body: Annotated[
        CounterfactualRequest,
        Body(openapi_examples={"play": {"summary": "What it would take", "value": _COUNTERFACTUAL_EXAMPLE}}),
    ],
) -> Response:
    """Find, for each row, the nearest changes that lead to the wanted answer, and why the row does not have it.

    Exact among all leaves of a tree, its tests of several values included, or all rules of an ordered rule set and
    what earlier ones leave them: fewest (or cheapest) changed columns first, then least distance; `fixed`,
    `directions`, `costs` and `allowed` are kept, and labels are decided by `decision`.
    New values are just beyond the thresholds that they pass, and every changed row was answered by the model itself.
    A missing value stays missing where the answer is the wanted one all the same; choosing one counts as a change.
    At most 100 rows, fewer of very large models. Each row is searched within a bound of its own, and all rows together
    within one of some tens of seconds, of which no row can take the part of another, and what easy rows leave goes to
    the hard ones alike, wherever they stand: where too much is left to look at, the best that was found has
    `exact: false`; if there is none, the row is `unfinished`, and says which bound.
    """
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
    describe = describer(minimal=services.settings.error_detail == "minimal")
    rows = Rows(body.rows, body.unseen, body.strict, request.state.bad_numbers)

    def found() -> bytes:
        model = under_policies(services.serving.get(who.workspace, ref), Options(decision=body.decision))
        services.metrics.add_rows(len(body.rows))
        return encode_json(find_counterfactuals(model, rows, wanted, scales_of(services.store, model), describe))

    return Response(await services.long_answers.make(request.receive, found), media_type="application/json")


@router.post(
    "/{ref}/question",
    summary="Ask what to ask next",
    response_class=Response,
    responses=errors(404, 409, 413, 415, 422)
    | {200: {"model": Questions, "description": "What to ask next of each row, in order"}},
    operation_id="askNext",
)
async def question(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    body: Annotated[
        QuestionRequest, Body(openapi_examples={"play": {"summary": "Partly known", "value": _QUESTION_EXAMPLE}})
    ],
) -> Response:
    """Tell, for partly filled rows, the answer now, what is still possible, and what is best asked next.

    Columns without a value are ranked by the expected gain of knowing them, in bits or in utility, divided by
    their costs; labels are decided by `decision`. Absent columns count as unknown.
    At most 100 rows, fewer of very large trees.
    """
    describe = describer(minimal=services.settings.error_detail == "minimal")
    rows = Rows(body.rows, body.unseen, body.strict, request.state.bad_numbers)

    def asked() -> bytes:
        model = under_policies(services.serving.get(who.workspace, ref), Options(decision=body.decision))
        services.metrics.add_rows(len(body.rows))
        return encode_json(ask_next(model, rows, body.costs, body.utility, describe))

    return Response(await services.long_answers.make(request.receive, asked), media_type="application/json")


async def _shuffled(
    request: Request,
    kind: Annotated[
        Literal["impurity", "permutation"],
        Query(
            description="each column's share of what a tree's tests decrease of the impurity in the training rows; or "
            "how much worse the model answers the rows of a dataset when the column's values are shuffled among them"
        ),
    ] = "impurity",
    dataset: Annotated[
        str | None, Query(max_length=64, description="of permutation: whose rows; best one that is held out")
    ] = None,
    metric: Annotated[
        str | None,
        Query(max_length=64, description="of permutation: what becomes worse; default `accuracy`, or `r2` of numbers"),
    ] = None,
    repeats: Annotated[int, Query(ge=1, le=100, description="of permutation: shuffles of each column")] = 5,
    seed: Annotated[int, Query(ge=0, le=2**53 - 1, description="of permutation: same seed, same result")] = 0,
    n_rows: Annotated[
        int | None, Query(ge=1, le=2**53, description="of permutation: at most so many rows, drawn by the seed")
    ] = None,
) -> Shuffled | None:
    if kind == "impurity":
        refuse_without_effect(request.query_params, ("dataset", "metric", "repeats", "seed", "n_rows"), "kind=impurity")
        return None
    if dataset is None:
        message = "kind=permutation is measured on the rows of a dataset; give its id"
        raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="dataset")])
    return Shuffled(dataset, metric, repeats, seed, n_rows)


@router.get(
    "/{ref}/importances",
    summary="Get the importances of the columns",
    response_class=Response,
    responses=errors(404, 409, 413, 422)
    | {200: {"model": Importances, "description": "The columns in the model's order"}},
    operation_id="getImportances",
)
async def get_importances(
    request: Request,
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    shuffled: Annotated[Shuffled | None, Depends(_shuffled)],
) -> Response:
    """Give how much each column matters.

    By `impurity`, of trees: the column's share of what the tests decrease in the training rows. By `permutation`, of
    any model: how much worse a metric becomes on the rows of a dataset when the column's values are shuffled among
    them, with the standard error of the mean over the repeats; on the training rows also what the model has learned
    by heart. At most 4,000,000 answers (rows x columns x repeats) of a tree, 100,000 of a rule set, some seconds.
    """

    def found() -> bytes:
        model = services.serving.get(who.workspace, ref)
        if shuffled is None:
            return encode_json(importances(model))
        return encode_json(shuffled_importances(Shelf(services.store, services.blobs), model, shuffled))

    return Response(await services.long_answers.make(request.receive, found), media_type="application/json")
