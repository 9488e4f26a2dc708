"""What all wire types share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

#: Stored texts: names, aliases, tags.
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
Timestamp = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-11-27T22:30:00.125Z"], description="UTC")
]


class RequestBody(BaseModel):
    """Base of bodies that callers send: nothing is converted and nothing unknown is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Answer(BaseModel):
    """Base of what is sent back."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


Item = TypeVar("Item")


class Page(Answer, Generic[Item]):
    """One page of a list, the newest first."""

    items: list[Item]
    next_cursor: str | None = Field(description="give it as `cursor` to get the next page; null on the last one")


class ProblemFault(Answer):
    """One bad thing in a request."""

    message: str = Field(description="what is wrong and what is allowed")
    row: int | None = Field(None, description="0-based position among the rows sent")
    line: int | None = Field(None, description="1-based line of an uploaded file")
    column: str | None = Field(None, description="column name")
    parameter: str | None = Field(None, description="parameter or field, as a dotted path")
    allowed: Any = Field(None, description="what is allowed: a range or a list, cut if it is long")
    value: Any = Field(None, description="the offending value, cut; absent in quiet mode")


class Problem(BaseModel):
    """An RFC 9457 problem document: the form of every error."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="a stable address that names the kind of error")
    title: str = Field(description="the kind of error in words")
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="what happened here")
    request_id: str = Field(description="the id under which the service's log knows the request")
    errors: list[ProblemFault] | None = Field(None, description="each bad row, column or parameter, at most 20")
    errors_total: int | None = Field(None, description="how many there were")


def timestamp(seconds: float) -> str:
    """RFC 3339 text of UTC seconds, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp_or_none(seconds: float | None) -> str | None:
    """The same, for a time that may not have come yet."""
    return None if seconds is None else timestamp(seconds)
