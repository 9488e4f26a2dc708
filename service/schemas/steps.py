"""Wire types of sequences that are fed in pieces."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from service.schemas.base import Answer, RequestBody
from service.schemas.predictions import Label, RowWarning

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_CELL = {"anyOf": [{"type": ["string", "number", "boolean", "null"]}, {"type": "array"}]}
#: Checked as every row is.
_Row = Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": _CELL})]
#: Checked against the model.
_State = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": ["object", "null"],
            "properties": {
                "model": {"type": "string"},
                "version": {"type": "integer", "minimum": 1},
                "steps": {"type": "integer", "minimum": 0},
                "window": {"type": "array", "items": _NUMBERS},
                "units": _NUMBERS,
                "columns": _NUMBERS,
            },
            "required": ["model", "version", "steps", "window", "units", "columns"],
            "additionalProperties": False,
        }
    ),
]


class StepsRequest(RequestBody):
    """The next piece of a row's sequences, and the state after the piece before."""

    row: _Row = Field(
        description="by column name: of sequences and texts the next steps, as many of each; other columns as "
        "ever, the same with each piece"
    )
    state: _State = Field(None, description="as it was handed back; absent or null at the beginning of a sequence")
    unseen: Literal["reject", "missing", "other"] = Field(
        "other", description="what becomes of a level that the model does not know; see the predictions"
    )
    strict: bool = Field(False, description="extra and absent columns are errors")


class StepAnswer(Answer):
    """The answer after one step: that to a row whose sequences end here."""

    step: int = Field(ge=0, description="counted from 0 at the beginning of the sequence")
    label: Label | None = Field(None, description="of a classifier, in its own type")
    probabilities: list[float] | None = Field(None, description="in the order of `classes`")
    value: float | None = Field(None, description="of a regression")


class SequenceState(Answer):
    """What the model remembers of the steps so far; nothing of it is kept by the service."""

    model: str
    version: int = Field(ge=1, description="the version that it belongs to")
    fingerprint: str = Field(description="tells the version from a deleted one of the same name and number")
    steps: int = Field(ge=0, description="how many there were")
    window: list[list[float]] = Field(
        description="of a time-delay network: the inputs of the last steps, the latest first"
    )
    units: list[float] = Field(description="of a recurrent network: the states of its hidden units")
    columns: list[float] = Field(
        description="what holds for all steps: which sequences and texts are known, and what the other columns enter as"
    )


class Steps(Answer):
    """The answers after each step, and the state after the last."""

    model: str
    version: int = Field(ge=1, description="the version that answered")
    task: Literal["classification", "regression"]
    classes: list[Label] | None = Field(None, description="the labels, in the order of all probabilities")
    steps: list[StepAnswer]
    state: SequenceState
    warnings: list[RowWarning] | None = None
    ignored_columns: list[str] | None = Field(None, description="sent, but none of the model's; at most 100 are named")
    ignored_columns_total: int | None = None
    absent_columns: list[str] | None = Field(None, description="the model's, but not sent; they count as missing")
    absent_columns_total: int | None = None
