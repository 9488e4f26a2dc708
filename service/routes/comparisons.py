"""Two versions of a model compared over HTTP."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from service.deps import ServicesHere, Trainer
from service.operations.comparison import Parts, Wanted, compare
from service.routes.models import Reference
from service.schemas.comparisons import Comparison
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["models"])


async def _wanted(
    ref: Reference,
    other: Annotated[
        str,
        Query(alias="with", max_length=260, description="the other version: what `after` is", examples=["credit:8"]),
    ],
    dataset: Annotated[
        str | None,
        Query(
            max_length=64, description="the rows that both answer; absent: those that the other version learned from"
        ),
    ] = None,
    first_row: Annotated[int, Query(ge=0, le=2**53, description="the first of the rows that are answered")] = 0,
    n_rows: Annotated[int, Query(ge=1, le=100_000, description="how many of its rows are answered")] = 100_000,
    listed: Annotated[int, Query(ge=0, le=10_000, description="most entries of each list; all are counted")] = 100,
) -> Wanted:
    return Wanted(ref, other, dataset, first_row, n_rows, listed)


@router.get(
    "/{ref}/comparison",
    summary="Compare two versions",
    response_model=Comparison,
    response_model_exclude_unset=True,
    responses=errors(404, 409, 413, 422),
    operation_id="compareVersions",
)
async def compare_versions(
    request: Request,
    services: ServicesHere,
    who: Trainer,
    wanted: Annotated[Wanted, Depends(_wanted)],
) -> dict[str, Any]:
    """What differs between `ref` (before) and `with` (after): parameters, metrics, rules, and whose answer changes.

    The answers to rows are told one by one, so a key needs the scope `train`, as for the rows themselves.
    Rules that say the same but for the numbers in their bounds count as moved, the nearest paired with each other.
    """
    parts = Parts(services.store, services.blobs, services.serving)
    return await services.long_answers.make(request.receive, partial(compare, parts, who.workspace, wanted))
