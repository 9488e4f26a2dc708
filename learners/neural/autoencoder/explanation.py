"""What an autoencoder makes of a row: its code, and by how much each column comes back changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.attribute_contribution import State
from learners.conditions import name_text, scalar_text
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class ReconstructedColumn:
    """One column of a row and of its reconstruction.

    Attributes:
        column: its name.
        observed: the row's value; ``None`` where missing or unseen.
        state: ``known``; ``missing``; or ``unseen``, which a level is that did not occur in training.
        reconstructed: the value that comes back; ``None`` of a column of which training knew no value.
        error: the squares of what its inputs differ by, divided by the number of all inputs.
    """

    column: str
    observed: Scalar | None
    state: State
    reconstructed: Scalar | None
    error: float

    def to_json(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "observed": self.observed,
            "state": self.state,
            "reconstructed": self.reconstructed,
            "error": self.error,
        }

    def text(self) -> str:
        """``0.25 (width = 3, back 4.5)``."""
        value = self.state if self.state != "known" else scalar_text(self.observed)
        back = "missing" if self.reconstructed is None else scalar_text(self.reconstructed)
        return f"{self.error:.6g} ({name_text(self.column)} = {value}, back {back})"


@dataclass(frozen=True)
class ReconstructionExplanation:
    """The code of a row, and the errors of its columns, which added up are the answer.

    Attributes:
        code: what the units of the middle layer say.
        columns: in the model's order.
    """

    code: tuple[float, ...]
    columns: tuple[ReconstructedColumn, ...]
    kind: Literal["reconstruction"] = "reconstruction"

    @property
    def n_tests(self) -> int:
        """Numbers of the code and columns: the explanation's length."""
        return len(self.code) + len(self.columns)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "code": list(self.code), "reconstructed": [one.to_json() for one in self.columns]}

    def text(self) -> str:
        """The code, and the columns with the largest errors first."""
        ordered = sorted(self.columns, key=lambda one: -one.error)
        code = ", ".join(f"{number:.6g}" for number in self.code)
        return f"code ({code}); errors " + " + ".join(one.text() for one in ordered)

    def replayed(self) -> FloatArray:
        """The row's reconstruction error, shape ()."""
        return np.array(sum(one.error for one in self.columns))
