"""Wire types of datasets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.base import Answer, RequestBody, ShortText, Timestamp

ColumnKind = Literal["numeric", "nominal", "ordinal", "boolean", "text", "sequence", "excluded"]


class DatasetColumn(BaseModel):
    """A column as it was understood, and why."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: ColumnKind
    levels: list[str] | None = Field(None, description="of a column with levels, in their order")
    level_type: str | None = Field(None, description="the type in which levels come back: text, number or boolean")
    n_values: int | None = Field(
        None, description="of a column of texts or sequences, how many different ones there are"
    )


class Dataset(Answer):
    """An immutable table."""

    id: str = Field(examples=["ds_0a1b2c3d4e5f6g7h8i9j0k1l2m"])
    name: str
    parent_id: str | None = Field(description="the dataset of which it is a revision")
    format: str
    options: dict[str, Any] = Field(description="how the file was read")
    n_rows: int
    n_columns: int
    columns: list[DatasetColumn]
    warnings: list[str] = Field(description="whatever was decided that the caller might not expect")
    sha256: str = Field(description="hash of the upload as it came")
    created_at: Timestamp
    links: dict[str, str]


class DatasetRows(Answer):
    """Some rows, in their order; a missing value is null."""

    dataset: str
    offset: int
    n_rows: int = Field(description="rows of the whole dataset")
    rows: list[dict[str, Any]]


class DatasetProfile(Answer):
    """What each column holds."""

    dataset: str
    n_rows: int
    target: str | None
    columns: list[dict[str, Any]]


class Windows(RequestBody):
    """A column to add: the steps before each row, as a sequence.

    Rows that have too few are left out; the others come in the order of time.
    """

    columns: Annotated[list[str], Field(min_length=1, max_length=10_000)] = Field(
        description="numeric columns, whose numbers make a step"
    )
    length: int = Field(ge=1, le=10_000, description="steps of a window")
    name: ShortText = Field("past", description="of the new column")
    time: str | None = Field(None, description="numeric column that orders the rows; null: they are in order")
    groups: str | None = Field(None, description="column that tells which series a row is of; null: there is one")
    gap: Annotated[float, Field(gt=0)] | None = Field(
        None, description="largest difference of times between neighbours; null: 1.5 times the median one"
    )


class Revision(RequestBody):
    """What shall be read differently; absent fields stay as they were."""

    name: ShortText | None = None
    kinds: dict[str, ColumnKind] | None = Field(
        None, description="kind by column name; merged into what was given before"
    )
    orders: dict[str, Annotated[list[str | bool | int | float], Field(max_length=100_000)]] | None = Field(
        None, description="levels of an ordinal column from low to high, or of a boolean one as (false, true)"
    )
    missing_tokens: Annotated[list[str], Field(max_length=1000)] | None = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: Annotated[str, Field(max_length=40)] | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Annotated[str, Field(max_length=1)] | None = None
    header: bool | None = None
    target: str | None = None
    windows: Windows | None = None
