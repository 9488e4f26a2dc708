"""Fitted learners of any kind as the members of an ensemble, and which kinds these may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from learners.base import Classifier, Learner, ModelState
from learners.ensembles.members import one_hot
from learners.linear import LinearRegressor, LogisticClassifier
from learners.neighbors.classifier import NearestNeighborsClassifier
from learners.neighbors.local_linear import LocalLinearRegressor
from learners.neighbors.regressor import NearestNeighborsRegressor
from learners.neural import (
    CascadeCorrelationClassifier,
    CascadeCorrelationRegressor,
    GrowingNetworkClassifier,
    GrowingNetworkRegressor,
    NeuralNetworkClassifier,
    NeuralNetworkRegressor,
)
from learners.rules.classifier import RuleSetClassifier
from learners.table import Column, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor
from learners.types import Array, FloatArray, IntArray

#: What takes weights and learns from rows of numbers and levels: all of the catalogue but ensembles, and networks that
#: go through sequences step by step.
CLASSIFIERS: tuple[type[Learner], ...] = (
    DecisionTreeClassifier,
    RuleSetClassifier,
    NearestNeighborsClassifier,
    LogisticClassifier,
    NeuralNetworkClassifier,
    CascadeCorrelationClassifier,
    GrowingNetworkClassifier,
)
REGRESSORS: tuple[type[Learner], ...] = (
    DecisionTreeRegressor,
    ModelTreeRegressor,
    NearestNeighborsRegressor,
    LocalLinearRegressor,
    LinearRegressor,
    NeuralNetworkRegressor,
    CascadeCorrelationRegressor,
    GrowingNetworkRegressor,
)
_BY_NAME = {learner.name: learner for learner in (*CLASSIFIERS, *REGRESSORS)}
#: Where a model's header has those of its members.
HEADERS = "members"


@dataclass(frozen=True, eq=False)
class MemberLearners:
    """M learners over the same columns, with the answers of :class:`~learners.ensembles.members.MemberTrees`.

    Attributes:
        learners: fitted.
        columns: what they learned from.
        regression: whether they answer numbers.
    """

    learners: tuple[Learner, ...]
    columns: tuple[Column, ...]
    regression: bool

    def __len__(self) -> int:
        return len(self.learners)

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        return 1 if self.regression else len(cast("Classifier", self.learners[0]).classes_)

    def answers(self, cells: FloatArray, weights: FloatArray, *, hard: bool, threads: int = 1) -> FloatArray:
        """The members' answers times their weights, added up in the members' order.

        Args:
            cells: shape (d, n).
            weights: shape (M,).
            hard: whether a member votes for its likeliest class alone, in place of its class shares.
            threads: has no effect.

        Returns:
            Shape (n, K), or (n, 1) of numbers.
        """
        table = self._table(cells)
        sums = np.zeros((table.n_rows, self.n_values))
        base = sums
        for place, (learner, weight) in enumerate(zip(self.learners, weights.tolist(), strict=True)):
            found = _asked(learner, table, hard=hard)
            if place == 0 and self.regression:
                base = found  # so the mean of equal numbers is exactly that
            sums += (found - base) * weight if self.regression else found * weight
        return sums + base if self.regression else sums

    def each(self, cells: FloatArray, *, hard: bool) -> FloatArray:
        """What each member answers to each row, shape (M, n, K)."""
        table = self._table(cells)
        return np.array([_asked(learner, table, hard=hard) for learner in self.learners])

    def of_member(self, member: int, cells: FloatArray, rows: IntArray) -> FloatArray:
        """What one member answers to some rows, shape (m, K)."""
        return _asked(self.learners[member], self._table(cells[:, rows]), hard=False)

    def looked_at(self, member: int) -> IntArray:
        """The columns that may matter to a member: all."""
        return np.arange(len(self.columns))

    def _table(self, cells: FloatArray) -> Table:
        return Table(self.columns, cells.T)

    @property
    def unpacked_bytes(self) -> int:
        """Memory that answering takes beside the stored arrays, about."""
        return sum(learner.unpacked_bytes for learner in self.learners)

    def importances(self, weights: FloatArray) -> FloatArray | None:
        """The members' mean of each column's share of the decrease, shape (d,); ``None`` of what decreases nothing."""
        shares = [getattr(learner, "feature_importances_", None) for learner in self.learners]
        if any(share is None for share in shares):
            return None
        mean: FloatArray = weights @ np.array(shares)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def add_to(self, state: ModelState) -> None:
        """Put the members into the state of their ensemble; what its header says they do not say again."""
        states = [learner.get_state() for learner in self.learners]
        state.header[HEADERS] = [
            {name: value for name, value in own.header.items() if state.header.get(name) != value} for own in states
        ]
        state.arrays |= {
            f"{place}/{name}": array for place, own in enumerate(states) for name, array in own.arrays.items()
        }

    @classmethod
    def of_state(cls, state: ModelState, columns: tuple[Column, ...], *, regression: bool) -> MemberLearners:
        """The inverse of :meth:`add_to`."""
        by_member: list[dict[str, Array]] = [{} for _ in state.header[HEADERS]]
        for name, array in state.arrays.items():
            place, is_members, own = name.partition("/")
            if is_members:
                by_member[int(place)][own] = array
        made = [
            _BY_NAME[header["learner"]].from_state(ModelState(state.header | header, arrays))
            for header, arrays in zip(state.header[HEADERS], by_member, strict=True)
        ]
        return cls(tuple(made), columns, regression)


def warnings_of(learners: Sequence[Learner]) -> list[str]:
    """What members warn of, each sentence once, with the first member that does and how many more do."""
    found: dict[str, list[int]] = {}
    for member, learner in enumerate(learners):
        for warning in learner.training_notes().get("warnings", []):
            found.setdefault(str(warning), []).append(member)
    told = []
    for warning, members in found.items():
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        told.append(f"member {members[0] + 1}{more}: {warning}")
    return told


def _asked(learner: Learner, table: Table, *, hard: bool) -> FloatArray:
    answers: Any = (
        learner.predict_proba(table)
        if isinstance(learner, Classifier)
        else np.asarray(learner.predict(table), dtype=np.float64)[:, None]
    )
    return one_hot(answers) if hard else np.asarray(answers)
