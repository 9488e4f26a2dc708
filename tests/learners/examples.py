"""The smallest learners that keep the whole contract: they answer alike for every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.base import (
    Capabilities,
    Classifier,
    ModelState,
    Regressor,
    check_training,
    check_weights,
    no_progress,
)
from learners.errors import DataError
from learners.explanation import Branch, Explanation, PathExplanation, labelled
from learners.params import integer, learner, real
from learners.table import Column, Table


@learner
class Majority(Classifier):
    """Answers with the class shares of the training rows, drawn a little towards equal shares."""

    name = "majority"
    summary = "Class shares of the training rows."
    capabilities = Capabilities(task="classification", missing=True, categories=True, explanations=("path",))

    smoothing: float = real(0.0, "Rows added to each class.", minimum=0.0)
    seed: int = integer(0, "Not used.", minimum=0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Majority:
        self.check_params()
        table, target = check_training(X, y, classification=True)
        weights = check_weights(sample_weight, table.n_rows)
        progress(0.5, "counting")
        counts = np.bincount(target.codes, weights=weights, minlength=len(target.column.levels)) + self.smoothing
        progress(1.0, "done")
        self._remember_columns(X, table)
        self.target_ = target.column
        self.classes_ = np.array(target.column.labels)
        self.shares_ = counts / counts.sum()
        self.rows_ = int((weights > 0).sum())
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        rows = self.check_table(X).n_rows
        return np.tile(self.shares_, (rows, 1))

    def explain(self, X: Any) -> list[Explanation]:
        rows = self.check_table(X).n_rows
        shares = labelled(self.target_.labels, self.shares_.tolist())
        return [PathExplanation((Branch(0, 1.0, (), self.rows_, float(self.rows_), shares),))] * rows

    def get_state(self) -> ModelState:
        self.check_fitted()
        header = {
            "learner": self.name,
            "params": self.get_params(),
            "columns": [column.to_json() for column in self.columns_],
            "target": self.target_.to_json(),
            "rows": self.rows_,
        }
        return ModelState(header, {"shares": self.shares_})

    @classmethod
    def from_state(cls, state: ModelState) -> Majority:
        made = cls.from_params(state.header["params"])
        made.columns_ = tuple(Column.from_json(record) for record in state.header["columns"])
        made.n_features_in_ = len(made.columns_)
        made.target_ = Column.from_json(state.header["target"])
        made.classes_ = np.array(made.target_.labels)
        made.rows_ = state.header["rows"]
        made.shares_ = state.arrays["shares"]
        return made


class Narrow(Majority):
    """A majority that takes numbers only: nothing missing, no levels, no weights."""

    name = "narrow"
    capabilities = Capabilities(task="classification", weights=False, explanations=("path",))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Narrow:
        if sample_weight is not None:
            raise DataError("this learner takes no weights", field="sample_weight")
        self._refuse_gaps(check_training(X, y, classification=True)[0])
        super().fit(X, y, progress=progress)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        self._refuse_gaps(self.check_table(X))
        return super().predict_proba(X)

    @staticmethod
    def _refuse_gaps(table: Table) -> None:
        for index, column in enumerate(table.columns):
            if not column.is_numeric or np.isnan(table.values[:, index]).any():
                raise DataError(f"column {column.name!r} must be numbers without gaps", field=column.name)


@learner
class Mean(Regressor):
    """Answers with the mean of the training rows."""

    name = "mean"
    summary = "Mean of the training rows."
    capabilities = Capabilities(task="regression", missing=True, categories=True, explanations=("path",))

    shrinkage: float = real(0.0, "Share by which the answer is drawn to 0.", minimum=0.0, maximum=1.0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = no_progress) -> Mean:
        self.check_params()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        shares = weights / weights.sum()
        progress(1.0, "done")
        self._remember_columns(X, table)
        self.target_ = target.column
        self.mean_ = (1 - self.shrinkage) * float(shares @ target.cells)
        self.rows_ = int((weights > 0).sum())
        return self

    def predict(self, X: Any) -> np.ndarray:
        rows = self.check_table(X).n_rows
        return np.full(rows, self.mean_)

    def explain(self, X: Any) -> list[Explanation]:
        rows = self.check_table(X).n_rows
        return [PathExplanation((Branch(0, 1.0, (), self.rows_, float(self.rows_), value=self.mean_),))] * rows

    def get_state(self) -> ModelState:
        self.check_fitted()
        header = {
            "learner": self.name,
            "params": self.get_params(),
            "columns": [column.to_json() for column in self.columns_],
            "target": self.target_.to_json(),
            "rows": self.rows_,
        }
        return ModelState(header, {"mean": np.array([self.mean_])})

    @classmethod
    def from_state(cls, state: ModelState) -> Mean:
        made = cls.from_params(state.header["params"])
        made.columns_ = tuple(Column.from_json(record) for record in state.header["columns"])
        made.n_features_in_ = len(made.columns_)
        made.target_ = Column.from_json(state.header["target"])
        made.mean_ = float(state.arrays["mean"][0])
        made.rows_ = state.header["rows"]
        return made
