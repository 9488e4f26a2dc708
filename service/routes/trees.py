"""A model's tree over HTTP, as data and as a picture."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from service.deps import Reader, ServicesHere
from service.operations.json_text import encode_json
from service.operations.tree import tree_json, tree_picture
from service.routes.models import Reference
from service.schemas.trees import Tree
from service.web.openapi import errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/models", tags=["models"])


@router.get(
    "/{ref}/tree",
    summary="Get the tree",
    response_class=Response,
    responses=errors(404, 409, 422)
    | {
        200: {
            "model": Tree,
            "description": "The nodes, or a picture of them",
            "content": {"image/svg+xml": {"schema": {"type": "string"}}},
        }
    },
    operation_id="getTree",
)
def get_tree(
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    format: Annotated[  # noqa: A002 - the parameter's name on the wire
        Literal["json", "svg"], Query(description="nodes as data, or a picture")
    ] = "json",
    max_depth: Annotated[int, Query(ge=0, le=1000, description="of the picture: deeper nodes are folded")] = 12,
    max_leaves: Annotated[
        int, Query(ge=1, le=2000, description="of the picture: the lightest branches are folded beyond so many")
    ] = 60,
) -> Response:
    """Every node with its test, counts and class shares; or a picture that needs nothing else to be shown."""
    model = services.serving.get(who.workspace, ref)
    if format == "json":
        return Response(encode_json(tree_json(model)), media_type="application/json")
    picture = tree_picture(model, max_depth=max_depth, max_leaves=max_leaves)
    return Response(picture, media_type="image/svg+xml")
