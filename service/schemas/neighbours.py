"""Wire types of the neighbours that voted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from service.schemas.base import Answer

_Label = StrictBool | StrictInt | StrictFloat | StrictStr


class ColumnShare(Answer):
    """What part of a distance lies in a column."""

    column: str
    share: float


class LabelShare(Answer):
    """What part of the votes a label has."""

    label: _Label
    share: float


class NeighbourReason(Answer):
    """A training row that voted."""

    row: int = Field(ge=0, description="its 0-based place among the training rows, those without a target left out")
    distance: float
    weight: float = Field(description="what of its training weight counted")
    vote: float = Field(
        description="its share in the answer; those of all neighbours sum to 1; of a local linear fit perhaps below 0"
    )
    answer: _Label = Field(description="its label or number")
    shares: list[ColumnShare] = Field(
        description="what part of the distance, raised to the metric's power, lies in each column; they sum to 1. "
        "Columns without a part are left out, so an exact match has none"
    )


class OmittedNeighbours(Answer):
    """Neighbours that are not told because they are many, the farthest ones, and what they vote for together."""

    neighbours: int
    vote: float
    distribution: list[LabelShare] | None = None
    value: float | None = Field(None, description="of a regression: the sum of votes times numbers")


class NeighbourInterval(Answer):
    """Where the answer may lie, told by the neighbours' spread."""

    low: float
    high: float
    level: float
    method: Literal["wilson", "student-t"] = Field(
        description="wilson: of the decided class's probability; student-t: of a further number like the neighbours'"
    )
