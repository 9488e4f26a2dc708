"""Wire types of the votes of ensembles."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from service.schemas.base import Answer
from service.schemas.neighbours import LabelShare

_Value = StrictBool | StrictInt | StrictFloat | StrictStr


class ColumnVotes(Answer):
    """What the boosted trees of one test on one column vote for."""

    column: str | None = Field(description="null of members without a test")
    observed: _Value | None = Field(
        description="the row's value, of an unseen level as it was sent; null where missing"
    )
    state: Literal["known", "missing", "unseen"]
    members: int = Field(description="how many of them test the column")
    votes: list[LabelShare] = Field(description="of all votes; over all columns they add up to the probabilities")
    margin: float = Field(description="what they add to the margin")


class MemberVote(Answer):
    """One member's part in the answer."""

    member: int = Field(ge=0)
    weight: float = Field(description="its share of all members' weight; they sum to 1")
    leaf: int | None = Field(
        description="node of its own tree, of a divided row the one with the largest share; null of other learners"
    )
    label: _Value | None = None
    distribution: list[LabelShare] | None = Field(None, description="of members that do not vote for one class alone")
    value: float | None = Field(None, description="of a regression")
