"""Wire types of the linear functions in a model tree's leaves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from service.schemas.base import Answer

_Value = StrictBool | StrictInt | StrictFloat | StrictStr


class LinearTerm(Answer):
    """A coefficient times a column's number, or times 1 or 0 by whether the level is one of `values`."""

    column: str
    coefficient: float
    default: float = Field(description="what a value that is not known counts as: the mean in training")
    values: list[_Value] | None = Field(None, description="the levels for which the variable is 1")


class LinearFunction(Answer):
    """Intercept and terms, in the order in which they are added."""

    intercept: float
    terms: list[LinearTerm]
    text: str


class Contribution(LinearTerm):
    """A term with what it adds for one row."""

    observed: _Value | None = Field(
        description="the row's value, of an unseen level as it was sent; null where missing"
    )
    state: Literal["known", "missing", "unseen", "bounded"] = Field(
        description="what adds more than 1e300 counts as 1e300 and is `bounded`"
    )
    value: float = Field(description="what the variable is for the row")
    contribution: float = Field(description="coefficient times value, at most 1e300 in magnitude")


class LinearReason(Answer):
    """The intercept and the contributions; added in their order they are the branch's value to the bit."""

    intercept: float
    terms: list[Contribution]
    text: str
