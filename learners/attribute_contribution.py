"""What one column adds to an answer, as linear models and networks tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from learners.conditions import name_text, scalar_text
from learners.errors import quoted
from learners.types import Value

#: What is known of a value.
State: TypeAlias = Literal["known", "missing", "unseen", "bounded"]


@dataclass(frozen=True)
class AttributeContribution:
    """What one column adds.

    Attributes:
        column: its name.
        observed: the row's value; ``None`` where missing or unseen.
        state: ``known``; ``missing``; ``unseen``, which a level is that did not occur in training; or ``bounded``:
            known, but what it adds lies beyond 1e300 and counts as that.
        amount: what is added.
        steps: of a sequence or text, as far as the model goes through it step by step, what each step adds.
    """

    column: str
    observed: Value | None
    state: State
    amount: float
    steps: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        record = {
            "column": self.column,
            "observed": self.observed,
            "state": self.state,
            "contribution": self.amount,
        }
        return record | ({"steps": list(self.steps)} if self.steps else {})

    def text(self) -> str:
        """``+0.5 (width = 3)``."""
        observed = self.observed
        known = quoted(list(observed)) if isinstance(observed, list | tuple) else scalar_text(observed)
        value = known if self.state in ("known", "bounded") else self.state
        value += ", bounded" if self.state == "bounded" else ""
        return f"{self.amount:+.6g} ({name_text(self.column)} = {value})"
