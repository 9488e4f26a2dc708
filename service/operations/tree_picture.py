"""A model's tree as a picture: whole or beneath a node, wide or narrow, with the way of a row lit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from learners.explanation import PathExplanation
from learners.trees.model_tree.fitted import FittedModelTree
from service.operations.policies import under_policies
from service.operations.predict import refuse_if_all_bad
from service.operations.rows import Options, encode_records
from service.operations.served import ServedModel
from service.operations.tree import check_node, tree_of
from service.reports.tree_layout import Extent
from service.reports.tree_svg import Picture, tree_svg
from service.reports.tree_texts import Lit

Layout = Literal["wide", "narrow"]


@dataclass(frozen=True)
class View:
    """What a caller wants to see.

    Attributes:
        node: the node at the top.
        max_depth, max_leaves: what is beyond them is folded, and the picture says how much.
        layout: depths side by side, or an indented list that fits a phone.
    """

    node: int = 0
    max_depth: int = 12
    max_leaves: int = 60
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
        sizes = {"max_depth": view.max_depth, "max_leaves": view.max_leaves, "layout": view.layout}
        return "?" + urlencode({"format": "svg", "node": node} | sizes)

    extent = Extent(view.node, view.max_depth, view.max_leaves, frozenset(lit.shares))
    title = f"{model.identity.name}:{model.identity.version}"
    return tree_svg(
        Picture(
            title,
            nodes,
            learner.tested_columns_,
            learner.target_,
            extent,
            utility=learner.utility_,
            function=learner.function if isinstance(learner, FittedModelTree) else None,
            narrow=view.layout == "narrow",
            lit=lit,
            link=address if linked else None,
        )
    )
