"""Wire types of models, versions and aliases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.base import Answer, RequestBody, ShortText, Timestamp


class ModelVersion(Answer):
    """An immutable version with its lineage."""

    object: Literal["model-version"] = "model-version"
    model: str
    version: int = Field(ge=1)
    aliases: list[str]
    learner: str
    task: str
    parameters: dict[str, Any]
    lineage: dict[str, Any] = Field(
        description="dataset and its hash, job, seed, library version; what training chose and warns of"
    )
    metrics: dict[str, Any] = Field(description="of the evaluation, with intervals; empty if there was none")
    model_sha256: str = Field(description="content hash of the model file")
    notes: str
    archived_at: Timestamp | None
    created_at: Timestamp
    links: dict[str, str]


class Model(Answer):
    """A name with its versions and aliases."""

    object: Literal["model"] = "model"
    name: str
    notes: str
    tags: list[str]
    aliases: dict[str, int] = Field(description="version by alias")
    latest: int | None = Field(description="the highest version that is not archived: what the bare name means")
    created_at: Timestamp
    links: dict[str, str]


class ModelChanges(RequestBody):
    """What may be changed of a model; absent fields stay."""

    notes: Annotated[str, Field(max_length=10_000)] | None = None
    tags: Annotated[list[ShortText], Field(max_length=50)] | None = None


class AliasTarget(RequestBody):
    """The version an alias shall mean."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class Alias(Answer):
    """An alias as it stands."""

    model: str
    alias: str
    version: int


class InputSchema(Answer):
    """What a version wants to be given."""

    model: str
    version: int
    inputs: list[dict[str, Any]] = Field(description="name, kind, levels or range, and whether it may be missing")
    target: dict[str, Any]
    missing_tokens: list[str] = Field(description="texts that stand for a missing value, besides null")
    numbers: dict[str, str | None] = Field(
        description="how texts write numbers: the `decimal` mark, and the one between `thousands`, if any"
    )
    example: dict[str, Any] = Field(description="a row that can be sent as it is")
    json_schema: dict[str, Any] = Field(description="JSON Schema (2020-12) of one row")
