"""What one fold found: small as JSON for the record of a job, with its rows as arrays beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from learners.base import Learner, ModelState
from learners.types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RowResults:
    """The answers for the tested rows, in the order of ``rows``.

    Attributes:
        rows: int64 (m,), indices of the tested rows in the whole table.
        actual, predicted: float64 (m,), class codes or numbers.
        probabilities: float64 (m, K), columns in schema order; ``None`` for regression.
    """

    rows: IntArray
    actual: FloatArray
    predicted: FloatArray
    probabilities: FloatArray | None = None

    def to_arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {"rows": self.rows, "actual": self.actual, "predicted": self.predicted}
        return arrays if self.probabilities is None else arrays | {"probabilities": self.probabilities}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> RowResults:
        return cls(arrays["rows"], arrays["actual"], arrays["predicted"], arrays.get("probabilities"))


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Metrics of a learner that was fitted on one part of the rows and judged on another.

    Attributes:
        fold: its number, from 1.
        n_train, n_test: rows in the two parts.
        test_weight, effective_rows: the weight of the tested rows, and how many rows of equal
            weight they are worth.
        metrics: scalar metrics by name; ``None`` where undefined.
        confusion: weight by actual (down) and predicted class (across), in schema order; ``None``
            for regression.
        reliability: see :func:`learners.evaluation.calibration.reliability`; ``None`` for regression.
        intervals: by metric, as JSON, of those that are means over the tested rows; see
            :mod:`learners.evaluation.over_rows`. Empty for weighted rows.
        warnings: classes that did not occur in the training part, and what the model itself warns of.
        training: the same metrics on the rows that were learned from, where that was asked for.
        rows: the answers row by row; not part of the JSON.
        model: the fitted learner, e.g. to keep its rules; not part of what is stored.
    """

    fold: int
    n_train: int
    n_test: int
    test_weight: float
    effective_rows: float
    metrics: dict[str, float | None]
    confusion: list[list[float]] | None = None
    reliability: list[list[float]] | None = None
    intervals: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    training: dict[str, float | None] | None = None
    warnings: tuple[str, ...] = ()
    rows: RowResults | None = field(default=None, repr=False)
    model: Learner | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        """JSON without NaN; all but the rows and the model."""
        training = {} if self.training is None else {"training": self.training}
        return training | {
            "fold": self.fold,
            "n_train": self.n_train,
            "n_test": self.n_test,
            "test_weight": self.test_weight,
            "effective_rows": self.effective_rows,
            "metrics": self.metrics,
            "confusion": self.confusion,
            "reliability": self.reliability,
            "intervals": self.intervals,
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any], rows: RowResults | None = None) -> FoldResult:
        """The inverse of :meth:`to_json`; further entries, which a job may add, are left out."""
        names = [one.name for one in fields(cls) if one.name not in ("warnings", "rows", "model")]
        own = {name: record[name] for name in names if name in record}
        return cls(**own, warnings=tuple(record["warnings"]), rows=rows)

    def to_state(self) -> ModelState:
        """The result with its rows, for :func:`learners.persist.dump`."""
        return ModelState(self.to_json(), {} if self.rows is None else self.rows.to_arrays())

    @classmethod
    def from_state(cls, state: ModelState) -> FoldResult:
        return cls.from_json(state.header, RowResults.from_arrays(state.arrays) if state.arrays else None)
