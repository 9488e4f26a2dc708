"""Wire types of API keys."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from service.schemas.base import Answer, RequestBody, ShortText, Timestamp

Scope = Literal["predict", "train", "admin"]
_SCOPES = "`predict` asks models, `train` sees rows and learns, `admin` holds the others"


class KeyRequest(RequestBody):
    """What a new key may do."""

    name: ShortText = Field(description="for people: what the key is for", examples=["loan desk"])
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3, description=_SCOPES)]


class Key(Answer):
    """A key without its secret."""

    id: str = Field(examples=["key_3k0v9d6zq1u5w8e2r7t4y0pasd"])
    name: str
    scopes: list[Scope]
    created_at: Timestamp
    revoked_at: Timestamp | None


class NewKey(Key):
    """A key just made."""

    key: str = Field(description="the key itself; it is shown this once")


class KeyList(Answer):
    """All keys of the workspace, revoked ones too."""

    items: list[Key]
