"""A model's tree over HTTP, as data and as a picture."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Body, Depends, Query, Request, Response

from service.deps import Predictor, Reader, ServicesHere
from service.operations.explanation.tree import tree_json
from service.operations.explanation.tree_picture import MOST_LEAVES, View, lit_picture, tree_picture
from service.operations.json_text import encode_json
from service.operations.rows import Options
from service.routes.models import Reference
from service.schemas.trees import LitRow, Tree
from service.web.openapi import errors
from service.web.strict_routes import make_router
from service.web.validation import refuse_without_effect

router = make_router(prefix="/api/v1/models", tags=["models"])


async def _view(
    node: Annotated[int, Query(ge=0, le=2**31, description="the node at the top")] = 0,
    max_depth: Annotated[
        int | None,
        Query(ge=0, le=1000, description="of the picture: deeper nodes are folded; absent: what a window shows"),
    ] = None,
    max_leaves: Annotated[
        int | None,
        Query(
            ge=1,
            le=MOST_LEAVES,
            description="of the picture: the lightest branches are folded beyond so many; absent: what a window shows",
        ),
    ] = None,
    layout: Annotated[
        Literal["wide", "narrow"],
        Query(description="of the picture: depths side by side, or a list that fits a phone"),
    ] = "wide",
) -> View:
    return View(node, max_depth, max_leaves, layout)


Viewed = Annotated[View, Depends(_view)]


@router.get(
    "/{ref}/tree",
    summary="Get the tree",
    response_class=Response,
    responses=errors(404, 409, 413, 422)
    | {
        200: {
            "model": Tree,
            "description": "The nodes, or a picture of them",
            "content": {"image/svg+xml": {"schema": {"type": "string"}}},
        }
    },
    operation_id="getTree",
)
async def get_tree(
    request: Request,
    services: ServicesHere,
    who: Reader,
    ref: Reference,
    view: Viewed,
    format: Annotated[  # noqa: A002 - the parameter's name on the wire
        Literal["json", "svg"], Query(description="nodes as data, or a picture")
    ] = "json",
    levels: Annotated[
        int | None, Query(ge=0, le=2**31, description="of JSON: so many levels beneath the node are given; absent: all")
    ] = None,
) -> Response:
    """Every node with its test, counts and class shares; or a picture that needs nothing else to be shown.

    At most 10,000 nodes are given at once: of a larger tree ask for some levels, and then for what lies beneath
    their nodes. In the picture, what is folded is a link to its own picture. Parameters of the other
    format are refused.
    """
    idle = ("max_depth", "max_leaves", "layout") if format == "json" else ("levels",)
    refuse_without_effect(request.query_params, idle, f"format={format}")

    def found() -> Response:
        model = services.serving.get(who.workspace, ref)
        if format == "json":
            return Response(encode_json(tree_json(model, view.node, levels)), media_type="application/json")
        return _svg(tree_picture(model, view))

    return await services.long_answers.make(request.receive, found)


@router.post(
    "/{ref}/tree",
    summary="Draw the tree with a row's way lit",
    response_class=Response,
    responses=errors(404, 409, 413, 415, 422)
    | {200: {"description": "The picture", "content": {"image/svg+xml": {"schema": {"type": "string"}}}}},
    operation_id="drawRow",
)
async def draw_row(
    request: Request,
    services: ServicesHere,
    who: Predictor,
    ref: Reference,
    view: Viewed,
    wanted: Annotated[LitRow, Body()],
) -> Response:
    """The picture with the nodes and branches that one row follows, and its own values in the boxes that ask for them.

    The row stands in the body, not in the address, so that it is in no log.
    """
    options = Options(unseen=wanted.unseen, missing=wanted.missing, strict=wanted.strict)

    def drawn() -> Response:
        return _svg(lit_picture(services.serving.get(who.workspace, ref), view, wanted.row, options))

    return await services.long_answers.make(request.receive, drawn)


def _svg(picture: str) -> Response:
    return Response(picture, media_type="image/svg+xml")
