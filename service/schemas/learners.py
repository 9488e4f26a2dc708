"""Wire types of the catalogue of learners."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from service.schemas.base import Answer


class Preset(Answer):
    """Parameters under a name that people know."""

    parameters: dict[str, Any]
    source: str = Field(description="where these choices come from")


class Learner(Answer):
    """A learner and what it can do."""

    name: str = Field(examples=["decision-tree-classifier"])
    summary: str
    task: str = Field(description="classification or regression")
    missing: bool = Field(description="whether it takes missing values, in training and in prediction")
    categories: bool = Field(description="whether it takes columns with levels")
    texts: bool = Field(description="whether it takes columns of texts of which any may come")
    sequences: bool = Field(description="whether it takes columns of sequences of numbers")
    steps: bool = Field(description="whether sequences can be fed to its models in pieces, see the steps route")
    intervals: bool = Field(description="whether its numbers may come with an interval, see `interval` of predictions")
    weights: bool = Field(description="whether rows may carry weights")
    supervised: bool = Field(description="whether it learns from a target; else a job names none")
    explanations: list[str] = Field(description="kinds of explanation it gives")
    exports: list[str] = Field(description="formats it can be exported to")
    parameters: dict[str, Any] = Field(description="JSON Schema (2020-12) of the object of its parameters")
    presets: dict[str, Preset] = Field(
        description="sets of parameters by name; a job takes one by the parameter `preset`, and other parameters "
        "override it"
    )


class LearnerList(Answer):
    """The whole catalogue."""

    items: list[Learner]
