"""What a fitted network answers, tells and stores, however it was learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import isnan
from typing import Any, ClassVar, Self

import numpy as np

from learners.attribute_contribution import AttributeContribution, State
from learners.base import Learner, ModelState
from learners.explanation import Explanation
from learners.linear_function import LARGEST
from learners.neural.attributing import MOST_PARTS, NODES, Attributions, integrate
from learners.neural.examples import ConstantNetwork, Network
from learners.neural.explanation import AttributedScore, AttributionExplanation
from learners.neural.inputs import AnyInputs, Inputs
from learners.neural.targets import AnyTarget, ClassTarget, NumberTarget
from learners.table import UNSEEN, Table
from learners.types import Array, FloatArray, IntArray, Scalar

#: So many numbers of rows are explained at once, each at some twenty points.
_AT_ONCE = 50_000
#: So many numbers the amounts of all parts of these may be, if each way is parted as far as it may be.
_HELD = 20_000_000
#: Products that the reason of one score of a row may take, a second or two of the processor, and the parts of its way
#: that are always looked at.
_WORK, LEAST_PARTS = 600_000_000, 60
#: So many steps of the history are told of at most.
_TOLD = 200


class FittedNetwork(Learner):
    """A model that answers by a network.

    Fitted attributes:
        inputs_: how rows become numbers.
        outputs_: what output units stand for, and answers from their scores.
        network_: what was learned.
        history_: how learning went, columns of one length by name, each float64 (E,).
        notes_: what learning found, plain JSON.
        warnings_: sentences on what was done otherwise than asked.
        augment_: a caller's own function that makes other training inputs of the same targets, or ``None``.
    """

    learns_uncompiled: ClassVar[bool] = False
    inputs_type: ClassVar[type[AnyInputs]] = Inputs
    network_type: ClassVar[type[Network]]
    own_functions: ClassVar[tuple[str, ...]] = ("augment_",)
    augment_: Callable[[FloatArray, np.random.Generator], FloatArray] | None = None

    inputs_: AnyInputs
    outputs_: AnyTarget
    network_: Network
    history_: dict[str, FloatArray]
    notes_: dict[str, Any]
    warnings_: tuple[str, ...]

    def _scores(self, table: Table) -> FloatArray:
        """The scores of rows of the model's columns, shape (n, O)."""
        if not table.n_rows:
            return np.empty((0, self.outputs_.n_outputs))
        return self.network_.scores(self.inputs_.batch(table))

    @property
    def reason_size(self) -> int:
        """How many contributions the reason of a row tells at most."""
        return len(self.columns_) * self.outputs_.n_outputs

    def explain(self, X: Any) -> list[Explanation]:
        """What each column adds to the scores, by integrated gradients; see :mod:`learners.neural.attributing`."""
        table = self.check_table(X)
        flats = self.inputs_.flats(table) if table.n_rows else []
        widths = np.array([len(flat) for flat in flats], dtype=np.int64)
        found: dict[int, Explanation] = {}
        for width in np.unique(widths).tolist():
            alike = np.flatnonzero(widths == width)
            at_once = max(1, min(_AT_ONCE, _HELD // self._most_parts(width)) // max(width, 1))
            for first in range(0, len(alike), at_once):
                rows = alike[first : first + at_once]
                reasons = self._explained(table, rows, np.array([flats[row] for row in rows]))
                found |= dict(zip(rows.tolist(), reasons, strict=True))
        return [found[row] for row in range(table.n_rows)]

    def _explained(self, table: Table, rows: IntArray, flats: FloatArray) -> list[AttributionExplanation]:
        """The reasons of some rows of a table, which are of one width as flat rows (m, W)."""
        baseline, owners = self.inputs_.baseline(flats.shape[1]), self.inputs_.owners(flats.shape[1])
        used = np.unique(owners)
        place_of = np.searchsorted(used, owners)
        values = [self._observed(table, row, used.tolist()) for row in rows.tolist()]
        by_row: list[list[AttributedScore]] = [[] for _ in rows]
        for unit, label in enumerate(self._unit_labels()):
            found = self._attributed(baseline, flats, unit)
            # number by number: a matrix product's order of addition depends on how many rows it is given
            sums = [np.bincount(place_of, amounts, len(used)).tolist() for amounts in found.amounts]
            for place, score in enumerate(found.scores.tolist()):
                amounts = zip(values[place], sums[place], self._by_step(used, found.amounts[place]), strict=True)
                parts = tuple(AttributeContribution(*value, amount, steps) for value, amount, steps in amounts)
                total = sum(sums[place], start=found.baseline)
                complete = bool(found.complete[place])
                by_row[place].append(AttributedScore(label, found.baseline, parts, score - total, complete))
        return [self._reason(tuple(scores)) for scores in by_row]

    def _by_step(self, used: IntArray, amounts: FloatArray) -> list[tuple[float, ...]]:
        """Of some columns what each step adds; empty of one that has no steps.

        Args:
            used: indices of columns.
            amounts: of the numbers of a row, shape (W,).
        """
        return [()] * len(used)

    @property
    def n_weights(self) -> int:
        """How many numbers the network is made of."""
        return sum(array.size for array in self.network_.to_state()[1].values())

    def _most_parts(self, width: int) -> int:
        """Parts of the way to a row of so many numbers that are looked at; see :func:`integrate`.

        Rectified units bend the way at many points, so of large networks the work is bounded, and the gap is told.
        """
        return min(MOST_PARTS, max(LEAST_PARTS, _WORK // (NODES * max(1, self.n_weights))))

    def _reason(self, scores: tuple[AttributedScore, ...]) -> AttributionExplanation:
        outputs = self.outputs_
        if isinstance(outputs, ClassTarget):
            return AttributionExplanation(scores, outputs.link, self.target_.labels, outputs.present)
        return AttributionExplanation(scores, "identity")

    def _attributed(self, baseline: FloatArray, flats: FloatArray, unit: int) -> Attributions:
        """What the numbers of some rows add to a score; of a number in its own unit."""
        network, points = self.network_, self.inputs_.points
        if isinstance(network, ConstantNetwork):
            score = float(network.values[unit])
            n_rows = len(flats)
            found = Attributions(np.zeros_like(flats), score, np.full(n_rows, score), np.ones(n_rows, np.bool_))
        else:
            found = integrate(
                lambda flats: network.scores(points(flats))[:, unit],
                lambda flats: network.input_gradients(points(flats), unit),
                baseline,
                flats,
                self._most_parts(flats.shape[1]),
            )
        if not isinstance(self.outputs_, NumberTarget):
            return found
        return _in_own_unit(found, self.outputs_)

    def _unit_labels(self) -> list[Scalar | None]:
        """The class that each output unit stands for; ``None`` of a number."""
        if not isinstance(self.outputs_, ClassTarget):
            return [None]
        present = self.outputs_.present
        return [self.target_.labels[code] for code in (present[1:] if len(present) == 2 else present)]

    def _observed(self, table: Table, row: int, used: list[int]) -> list[tuple[str, Any, State]]:
        """Name, value and state of some columns in a row."""
        found: list[tuple[str, Any, State]] = []
        for index in used:
            column, cell = table.columns[index], float(table.values[row, index])
            state: State = "known"
            if isnan(cell):
                state = "missing"
            elif (not column.is_numeric and cell == UNSEEN) or not self.inputs_.knows(index, cell, column):
                state = "unseen"
            found.append((column.name, column.decode(cell), state))
        return found

    def training_notes(self) -> dict[str, Any]:
        """What learning found; its ``history``, of a long one steps at equal distances; ``warnings``."""
        notes = dict(self.notes_)
        if self.history_:
            notes["history"] = self._told_history()
        return notes | ({"warnings": list(self.warnings_)} if self.warnings_ else {})

    def _told_history(self) -> list[dict[str, float]]:
        names = list(self.history_)
        steps = len(self.history_[names[0]])
        told = np.unique(np.linspace(0, steps - 1, min(steps, _TOLD)).round().astype(np.int64))
        columns = [_plain_numbers(self.history_[name][told]) for name in names]
        return [dict(zip(names, record, strict=True)) for record in zip(*columns, strict=True)]

    def get_state(self) -> ModelState:
        header = self._header()  # first, so that an unfitted learner says so
        own, arrays = self.network_.to_state()
        header |= {"constant": isinstance(self.network_, ConstantNetwork), "network": own}
        header |= {"notes": self.notes_, "warnings": list(self.warnings_), "history": list(self.history_)}
        if isinstance(self.outputs_, ClassTarget):
            header["link"] = self.outputs_.link
        stored: dict[str, Array] = {f"network_{name}": array for name, array in arrays.items()}
        stored |= {f"history_{name}": array for name, array in self.history_.items()}
        return ModelState(header, stored | self.inputs_.to_arrays() | self.outputs_.to_arrays())

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        header, arrays = state.header, state.arrays
        own = {name.removeprefix("network_"): one for name, one in arrays.items() if name.startswith("network_")}
        kind: type[Network] = ConstantNetwork if header["constant"] else cls.network_type
        made.network_ = kind.from_state(header["network"], own)
        made.inputs_ = cls.inputs_type.from_arrays(arrays, made.columns_)
        made.history_ = {name: arrays[f"history_{name}"] for name in header["history"]}
        made.notes_, made.warnings_ = dict(header["notes"]), tuple(header["warnings"])
        made.outputs_ = cls._outputs(state, made)
        return made

    @classmethod
    @abstractmethod
    def _outputs(cls, state: ModelState, made: Self) -> AnyTarget:
        """What output units stand for, of a stored model that knows its target."""


def _in_own_unit(found: Attributions, target: NumberTarget) -> Attributions:
    """What was added to a score, as added to the number; in proportion where that is held at its bounds."""
    ends = target.answers(np.append(found.baseline, found.scores)[:, None])
    moved = found.scores - found.baseline
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        held = np.abs(target.offset + target.unit * np.append(found.baseline, found.scores)) > LARGEST
        unit = np.where((held[0] | held[1:]) & (moved != 0), (ends[1:] - ends[0]) / moved, target.unit)
        amounts = found.amounts * unit[:, None]
    most = np.finfo(np.float64).max / (4 * max(amounts.shape[1], 1))  # so that sums are finite too
    complete = found.complete & (np.abs(amounts) <= most).all(axis=1)
    return Attributions(np.clip(amounts, -most, most), float(ends[0]), ends[1:], complete)


def _plain_numbers(values: FloatArray) -> list[float]:
    """For JSON: whole numbers without a fraction."""
    return [int(value) if value == np.floor(value) and abs(value) < 2**53 else value for value in values.tolist()]
