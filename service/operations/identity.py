"""Which version of a model answers, as every answer tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from learners.types import Scalar


@dataclass(frozen=True)
class Identity:
    """Which version answers, and what its answers are.

    Attributes:
        fingerprint: tells it from a deleted version of the same name and number: the beginning of its file's sha256.
    """

    workspace: str
    name: str
    version: int
    task: str
    fingerprint: str = ""
    classes: tuple[Scalar, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The members with which every answer begins."""
        record: dict[str, Any] = {"model": self.name, "version": self.version, "task": self.task}
        return record | ({"classes": list(self.classes)} if self.task == "classification" else {})
