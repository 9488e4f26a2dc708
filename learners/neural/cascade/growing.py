"""A cascade while it grows: the units' values of all rows, the weights, and what quickprop remembers."""

from __future__ import annotations

import numpy as np

from learners.base import Progress
from learners.errors import ParameterError
from learners.neural.cascade.activation import ACTIVATIONS, unit_values
from learners.neural.cascade.candidates import train_candidates
from learners.neural.cascade.network import LARGEST_WEIGHT, Cascade, weighted
from learners.neural.cascade.outputs import LINEAR_SQUARED, train_outputs
from learners.neural.cascade.phase import (
    DIVERGED,
    EPOCH,
    FIGURE,
    FIRST,
    KIND,
    LEAST,
    LIMIT,
    MAX_EPOCHS,
    OFFSET,
    RATE,
    RUNNING,
    SOLVED,
    STATUS,
    STATUSES,
    TOLERANCE,
    WRONG,
)
from learners.neural.cascade.settings import PLACEMENTS, Settings
from learners.neural.cascade.stages import Candidate, Rows, Stage
from learners.neural.start import of_inputs
from learners.types import BoolArray, FloatArray

#: Multiplications between two calls of ``progress``: some hundredths of a second.
_WORK = 30_000_000
#: Residual errors below this are rounding; targets are of the size of 1.
_EXACT = 1e-12
#: Hidden units that there is room for at first.
_ROOM = 8


class Growing:
    """A network without hidden units, to begin with; see :func:`learners.neural.cascade.growth.grow`."""

    def __init__(self, rows: Rows, kind: int, settings: Settings, rng: np.random.Generator, progress: Progress) -> None:
        self._rows, self._kind, self._settings, self._rng, self._progress = rows, kind, settings, rng, progress
        n_rows, n_inputs = rows.inputs.shape
        n_outputs = rows.targets.shape[1]
        self._values = np.ones((n_rows, 1 + n_inputs + _ROOM))
        self._values[:, 1 : 1 + n_inputs] = rows.inputs
        self.weights = self._random((n_outputs, 1 + n_inputs))
        self._memory = np.zeros((4, *self.weights.shape))
        self._errors = np.zeros((n_rows, n_outputs))
        self._hidden: list[FloatArray] = []
        self._kinds: list[int] = []
        self._layers: list[int] = []

    @property
    def is_exact(self) -> bool:
        """Whether there is no residual error for candidates to go by."""
        return bool(np.abs(self._errors).max() < _EXACT)

    def network(self, weights: FloatArray | None = None) -> Cascade:
        """The network as it is, or as it was with fewer units, when its outputs' weights were these."""
        found = self.weights.copy() if weights is None else weights
        n_units = found.shape[1]
        n_hidden = n_units - 1 - self._rows.inputs.shape[1]
        hidden = np.zeros((n_hidden, n_units))
        for place, own in enumerate(self._hidden[:n_hidden]):
            hidden[place, : len(own)] = own
        layers = np.array(self._layers[:n_hidden], dtype=np.int64)
        return Cascade(hidden, np.array(self._kinds[:n_hidden], dtype=np.int64), layers, found)

    def train_outputs(self, newest: Candidate | None) -> Stage:
        """The output phase; ``newest`` is the last unit that was added."""
        chosen = self._settings.outputs
        phase = chosen.started(quits=chosen.patience, limit=self._at_once(self.weights.size))
        phase[KIND], phase[OFFSET], phase[TOLERANCE] = self._kind, self._settings.offset, self._settings.tolerance
        if self._kind == LINEAR_SQUARED:
            phase[RATE] /= self.weights.shape[1]  # a linear output's curvature grows with its inputs, unbounded
        while phase[STATUS] == RUNNING:
            self._tell("output weights", phase)
            self._present(phase)
        self._check(phase, self.weights, "output weights", "output_rate")
        if not self._hidden and phase[FIGURE] > phase[FIRST] and phase[LEAST] >= phase[FIRST]:
            self._refuse(phase, "output weights", "output_rate")  # it only became worse
        end = STATUSES[int(phase[STATUS])]
        if phase[STATUS] != SOLVED and phase[FIGURE] > phase[LEAST]:
            self._return_to_best(phase)
        epochs, wrong, first, loss = int(phase[EPOCH]), int(phase[WRONG]), float(phase[FIRST]), float(phase[FIGURE])
        return Stage(len(self._hidden), max(self._layers, default=0), newest, epochs, end, wrong, first, loss)

    def add_unit(self) -> Candidate:
        """The candidate phase, and its best candidate as a new unit."""
        pool, chosen = self._settings.pool, self._settings.candidates
        kinds, siblings = self._settings.candidate_kinds(), self._settings.are_siblings(len(self._hidden))
        n_outputs, n_units = self.weights.shape
        memory = np.zeros((4, n_units, pool))
        memory[3] = self._connections(siblings)
        weights = self._random((n_units, pool)) * memory[3]
        scores = np.zeros((2 + n_outputs, pool))
        competing = siblings.any() and not siblings.all()
        scores[1] = np.where(~siblings & competing, self._settings.descendant_factor, 1.0)
        phase = chosen.started(quits=chosen.max_epochs, limit=self._at_once(weights.size))
        phase[RATE] /= n_units  # the more inputs, the smaller each one's step
        errors, room = self._centred_errors(), np.zeros((2, len(self._values), pool))
        while phase[STATUS] == RUNNING:
            self._tell("candidates", phase)
            train_candidates(self._values, errors, kinds, weights, memory, room, scores, phase)
        self._check(phase, weights, "candidates", "candidate_rate")
        best = int(np.argmax(scores[0] * scores[1]))
        kind, is_sibling = int(kinds[best]), bool(siblings[best])
        self._install(weights[:, best], kind, is_sibling, -scores[2:, best])
        end, score = STATUSES[int(phase[STATUS])], float(scores[0, best])
        return Candidate(ACTIVATIONS[kind], PLACEMENTS[int(is_sibling)], score, int(phase[EPOCH]), end)

    def _random(self, shape: tuple[int, int]) -> FloatArray:
        span = self._settings.weight_range
        return _single(self._rng.uniform(-span, span, shape))

    def _connections(self, siblings: BoolArray) -> FloatArray:
        """Whether a unit leads to a candidate, 1 or 0, shape (U, C): a sibling sees nothing of its layer."""
        made = np.ones((self.weights.shape[1], len(siblings)))
        newest = np.array(self._layers, dtype=np.int64) == max(self._layers, default=0)
        made[len(made) - len(newest) :] = np.where(newest[:, None] & siblings, 0.0, 1.0)
        return made

    def _centred_errors(self) -> FloatArray:
        """Errors times shares, centred by output, over their mean square: so products with values are covariances."""
        shares = self._rows.shares[:, None]
        largest = np.abs(self._errors).max()
        scaled = self._errors / largest
        square = float((shares * scaled**2).sum()) * largest
        return np.ascontiguousarray(shares * (scaled - (shares * scaled).sum(axis=0)) / square)

    def _present(self, phase: FloatArray) -> None:
        rows = self._rows
        train_outputs(self._values, rows.targets, rows.shares, self.weights, self._memory, self._errors, phase)

    def _return_to_best(self, phase: FloatArray) -> None:
        """Take the weights of the phase's least loss; quickprop may have overshot, and would go on from there."""
        self.weights[:] = self._memory[3]
        self._memory[:] = 0.0
        phase[STATUS], phase[MAX_EPOCHS], phase[LIMIT] = RUNNING, 0, 1
        phase[EPOCH] += 1
        self._present(phase)

    def _install(self, weights: FloatArray, kind: int, is_sibling: bool, into_outputs: FloatArray) -> None:
        """Freeze a candidate's input weights; its first weights to the outputs have the covariances' signs at least.

        These grow beyond all bounds as the errors vanish, so they stay in the range of first weights.
        """
        n_units, span = self.weights.shape[1], self._settings.weight_range
        if n_units == self._values.shape[1]:
            self._values = np.concatenate([self._values, np.ones_like(self._values)], axis=1)
        self._values[:, n_units] = unit_values(kind, weighted(weights, self._values.T))
        self._hidden.append(weights.copy())
        self._kinds.append(kind)
        self._layers.append(max(self._layers, default=0) + (0 if is_sibling else 1))
        self.weights = np.ascontiguousarray(
            np.column_stack([self.weights, _single(np.clip(into_outputs, -span, span))])
        )
        memory = np.zeros((4, *self.weights.shape))
        memory[:, :, :n_units] = self._memory
        self._memory = memory

    def _at_once(self, n_weights: int) -> int:
        """Epochs between two calls of ``progress``."""
        return max(1, _WORK // (len(self._values) * n_weights))

    def _tell(self, what: str, phase: FloatArray) -> None:
        within = 0.5 * float(phase[EPOCH] / max(phase[MAX_EPOCHS], 1.0))
        done = (len(self._hidden) + within) / (self._settings.max_hidden + 1)
        self._progress(min(done, 1.0), f"{len(self._hidden)} hidden units, {what}, epoch {int(phase[EPOCH])}")

    def _check(self, phase: FloatArray, weights: FloatArray, what: str, rate: str) -> None:
        if phase[STATUS] == DIVERGED or not np.abs(weights).max() < LARGEST_WEIGHT:
            self._refuse(phase, what, rate)

    def _refuse(self, phase: FloatArray, what: str, rate: str) -> None:
        advice, field = of_inputs(f"lower {rate}", rate, float(np.abs(self._rows.inputs).max()), self._settings.given)
        raise ParameterError(
            f"training diverged at epoch {int(phase[EPOCH])} of the {what} with {len(self._hidden)} hidden units: "
            f"{advice}",
            field=field,
        )


def _single(numbers: FloatArray) -> FloatArray:
    """Numbers to 24 bits, which weights have from the first on; see :mod:`learners.neural.cascade.quickprop`."""
    return numbers.astype(np.float32).astype(np.float64)
