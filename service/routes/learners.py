"""The catalogue of learners."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from service.deps import Reader
from service.operations import learners as operations
from service.schemas.learners import Learner, LearnerList
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/learners", tags=["learners"])


@router.get(
    "", summary="List the learners", response_model=LearnerList, responses=errors(), operation_id="listLearners"
)
def list_learners(who: Reader) -> dict[str, Any]:
    """Every learner that can be trained, with the JSON Schema of its parameters."""
    return {"items": operations.catalogue()}


@router.get(
    "/{name}", summary="Get a learner", response_model=Learner, responses=errors(404), operation_id="getLearner"
)
def get_learner(
    who: Reader, name: Annotated[str, Path(max_length=100, examples=["decision-tree-classifier"])]
) -> dict[str, Any]:
    """One learner: what it can do, and every parameter with its type, default, range and meaning."""
    return operations.describe(name)
