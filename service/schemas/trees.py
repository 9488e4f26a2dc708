"""Wire types of a model's tree."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Answer
from service.schemas.linear import LinearFunction
from service.schemas.predictions import Cell, Condition, Label, RowOptions, Share


class MissingShare(Answer):
    """Where a missing value goes."""

    child: int
    share: float


class Node(Answer):
    """One node. Ids are those of explanations, rules and the picture."""

    id: int
    parent: int | None
    depth: int
    condition: Condition | None = Field(None, description="what the parent's test asks of this branch")
    rows: int
    weight: float
    impurity: float
    label: Label | None = Field(None, description="the likeliest class")
    distribution: list[Share] | None = None
    value: float | None = Field(None, description="of a regression: the mean")
    variance: float | None = None
    linear: LinearFunction | None = Field(None, description="of a leaf of a model tree: what it answers")
    column: str | None = Field(
        None, description="the column that is tested; absent in a leaf and where several values are tested at once"
    )
    test: Condition | None = Field(None, description="of several values at once: what the first branch satisfies")
    threshold: Label | None = None
    gain: float | None = None
    missing: list[MissingShare] | None = None
    children: list[int] = Field(description="ids, given or not; empty in a leaf")


class Tree(Answer):
    """A tree, or a part of it, as a flat list of nodes; the first is the one at the top."""

    model: str
    version: int
    task: Literal["classification", "regression"]
    classes: list[Label] | None = None
    columns: list[dict[str, Any]]
    target: dict[str, Any]
    n_nodes: int = Field(description="of the whole tree, as `n_leaves` and `depth` are")
    n_leaves: int
    depth: int
    nodes: list[Node]


class LitRow(RowOptions):
    """One row whose way through the tree is to be shown."""

    row: dict[str, Cell] = Field(
        description="values by column name, as for a prediction", examples=[{"outlook": "sunny", "humidity": 70}]
    )
