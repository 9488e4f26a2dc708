"""Wire types of the health checks."""

from __future__ import annotations

from pydantic import Field

from service.schemas.base import Answer


class Live(Answer):
    """The process answers."""

    status: str = Field(examples=["live"])
    version: str


class Ready(Answer):
    """The store can be reached and has the right tables."""

    status: str = Field(examples=["ready"])
    store: str = Field(description="sqlite or postgresql")
    workers: int = Field(description="training workers with a live heartbeat; with none jobs wait in the queue")
