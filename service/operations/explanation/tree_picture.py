"""A model's tree as a picture: whole or beneath a node, wide or narrow, with the way of a row lit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np

from learners.explanation import PathExplanation
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.nodes import Nodes
from service.operations.explanation.tree import check_node, tree_of
from service.operations.policies import under_policies
from service.operations.predict import refuse_if_all_bad
from service.operations.rows import Options, encode_records
from service.operations.served import ServedModel
from service.reports.tree_layout import Extent
from service.reports.tree_svg import Picture, tree_svg
from service.reports.tree_texts import Lit

Layout = Literal["wide", "narrow"]

#: Depth and leaves of a picture that fills a window of 1600 x 900 pixels; and of a list that is soon scrolled through.
_SIZES: dict[Layout, tuple[int, int]] = {"wide": (4, 12), "narrow": (8, 20)}
#: Most leaves of a picture, and most that the further ways of a row that is divided make of one unasked.
MOST_LEAVES, _MOST_UNASKED = 2000, 200


@dataclass(frozen=True)
class View:
    """What a caller wants to see.

    Attributes:
        node: the node at the top.
        max_depth, max_leaves: what is beyond them is folded, and the picture says how much. ``None``: about what a
            window shows at once, the branches of the top node at least, and all of a row's way; of a row that is
            divided its likeliest way, and of the others as many as there is room for, the likeliest first.
        layout: depths side by side, or an indented list that fits a phone.
    """

    node: int = 0
    max_depth: int | None = None
    max_leaves: int | None = None
    layout: Layout = "wide"


def tree_picture(model: ServedModel, view: View) -> str:
    """The tree as SVG; folded branches are links to their own pictures.

    Raises:
        Conflict: the model is no tree.
        Invalid: it has no such node.
    """
    return _drawn(model, view, Lit(), linked=True)


def lit_picture(model: ServedModel, view: View, row: dict[str, Any], options: Options) -> str:
    """The same with the way of one row lit; the branches that it follows are opened first.

    Raises:
        Conflict: the model is no tree.
        Invalid: it has no such node, the row cannot be answered, or missing values cannot be treated as asked.
    """
    tree_of(model)
    model = under_policies(model, options)
    encoded = encode_records([row], model.inputs, options)
    refuse_if_all_bad(encoded)
    (reason,) = model.explanations(encoded.values)
    if not isinstance(reason, PathExplanation):
        raise TypeError(f"a tree explained by {type(reason).__name__}")
    return _drawn(model, view, Lit.of(reason), linked=False)


def _drawn(model: ServedModel, view: View, lit: Lit, *, linked: bool) -> str:
    learner = tree_of(model)
    nodes = learner.tree_
    check_node(nodes, view.node)

    def address(node: int) -> str:
        return "?" + urlencode({"format": "svg", "node": node} | _sizes_of_link(view, nodes, node))

    title = f"{model.identity.name}:{model.identity.version}"
    return tree_svg(
        Picture(
            title,
            nodes,
            learner.tested_columns_,
            learner.target_,
            _extent(view, nodes, lit),
            utility=learner.utility_,
            function=learner.function if isinstance(learner, FittedModelTree) else None,
            narrow=view.layout == "narrow",
            lit=lit,
            link=address if linked else None,
        )
    )


def _sizes_of_link(view: View, nodes: Nodes, node: int) -> dict[str, int | str]:
    """The sizes that were asked for, but such as open the node: a picture of one folded box would lead nowhere."""
    sizes: dict[str, int | str] = {}
    if view.max_depth is not None:
        sizes["max_depth"] = max(1, view.max_depth)
    if view.max_leaves is not None:
        sizes["max_leaves"] = min(MOST_LEAVES, max(view.max_leaves, int(nodes.n_children[node])))
    return sizes | {"layout": view.layout}


def _extent(view: View, nodes: Nodes, lit: Lit) -> Extent:
    """What of the tree is shown."""
    depth, leaves = _SIZES[view.layout]
    leaves = max(leaves, min(MOST_LEAVES, int(nodes.n_children[view.node])))
    likeliest = _likeliest_way(nodes, lit, view.node)
    if lit.shares:
        lit_nodes = list(lit.shares)
        depth = max(depth, int(nodes.depth[lit_nodes].max() - nodes.depth[view.node]))
        leaves = max(leaves, min(_MOST_UNASKED, _leaves_of_way(nodes, lit_nodes)))
        leaves = max(leaves, min(MOST_LEAVES, _leaves_of_way(nodes, likeliest)))
    return Extent(
        view.node,
        depth if view.max_depth is None else view.max_depth,
        leaves if view.max_leaves is None else view.max_leaves,
        {**lit.shares, **dict.fromkeys(likeliest, 2.0)},  # no share is so large
    )


def _likeliest_way(nodes: Nodes, lit: Lit, top: int) -> list[int]:
    """The nodes from one down to the leaf beneath it to which the largest share of the row comes."""
    way: list[int] = []
    for leaf in sorted((node for node in lit.shares if not nodes.n_children[node]), key=lambda node: -lit.shares[node]):
        way = [leaf]
        while way[-1] > top:  # a node comes after its parent
            way.append(int(nodes.parent[way[-1]]))
        if way[-1] == top:
            return way
    return []


def _leaves_of_way(nodes: Nodes, way: Sequence[int]) -> int:
    """How many leaves a picture has that opens these nodes."""
    return 1 + int(np.maximum(nodes.n_children[way] - 1, 0).sum())
