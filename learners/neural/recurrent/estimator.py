"""What recurrent and time-delay networks share: parameters, and learning from sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from learners.base import Progress
from learners.errors import DataError, ParameterError, quoted
from learners.neural.attributing import MOST_PARTS, NODES
from learners.neural.examples import Examples, Learned, Part
from learners.neural.inputs import AnyInputs, expected_inputs
from learners.neural.outcome import columns, notes, verdict
from learners.neural.recurrent.inputs import StepInputs, longest
from learners.neural.recurrent.learning import Errors, learn
from learners.neural.recurrent.network import RecurrentNetwork
from learners.neural.recurrent.parameters import StepwiseParameters
from learners.neural.recurrent.sharing import Sharing
from learners.neural.recurrent.state import State, columns_before, steps_before
from learners.neural.recurrent.structure import Structure
from learners.neural.recurrent.teaching import NEXT, Following, Lesson, check_following, following, lesson
from learners.neural.targets import ClassTarget, Link, NumberTarget
from learners.neural.training import Options
from learners.params import learner
from learners.table import Column, Kind, Series, Table
from learners.types import FloatArray, IntArray

#: Work on the reason of a row, in steps of a small network, and the least parts of its way that may be; weights
#: that take as long as what any step takes, and steps that are as long as it to lay out.
_WORK, _LEAST_PARTS, _WEIGHTS, _LAID_OUT = 160_000, 60, 600, 30
#: Most weights: 80 MB, and as much again for each vector of an optimiser.
MOST_WEIGHTS = 10_000_000


@learner
class StepwiseEstimator(StepwiseParameters):
    """Base of the networks that go through a row's sequences and texts step by step."""

    opened: ClassVar[frozenset[Kind]] = frozenset({Kind.SEQUENCE, Kind.TEXT})
    inputs_type = StepInputs
    network_type = RecurrentNetwork
    is_recurrent: ClassVar[bool]

    def check_columns(self, columns: Sequence[Column], target: Column | None) -> None:
        opened = [column for column in columns if column.is_open]
        if not opened:
            raise DataError(
                f"{self.name} goes through sequences or texts step by step, and no column is of kind sequence or text; "
                "without steps take neural-network-classifier or neural-network-regressor"
            )
        if self.taught == NEXT and target is not None:
            check_following(columns, target)
        n_outputs = 1 if target is None or target.is_numeric or len(target.levels) < 3 else len(target.levels)
        plain = [column for column in columns if not column.is_open]
        self._check_size(self._structure(len(opened) + expected_inputs(plain), n_outputs, "identity", 1))

    def _structure(self, n_inputs: int, n_outputs: int, link: Link, delays: int) -> Structure:
        hidden = self._hidden(delays)
        return Structure(n_inputs, hidden, n_outputs, self.activation, link, self.is_recurrent, bool(self.shortcuts))

    def _hidden(self, delays: int) -> tuple[int, ...]:
        """Units of each hidden layer, where so many steps are seen together."""
        return tuple(map(int, self.hidden_units))

    def _most_delays(self) -> int:
        """How many steps the inputs of one step are, where sequences are so long."""
        return 1

    def _piece(self) -> int:
        """Steps through which errors are carried back; 0 for all."""
        return 0

    def _untaught(self) -> tuple[str, ...]:
        """Warnings of parameters that have no effect on these rows."""
        return ()

    def _sharing(self, structure: Structure) -> Sharing | None:
        """Weights that are one."""
        return None

    def _fit_inputs(self, table: Table, weights: FloatArray) -> AnyInputs:
        return StepInputs.fit(table, weights, scaling=self.scaling, gaps=bool(self.missing_indicators))

    def _fit_rows(
        self,
        X: Any,
        table: Table,
        target: Series,
        weights: FloatArray,
        outputs: NumberTarget | ClassTarget,
        progress: Progress,
    ) -> None:
        self._longest = longest(table)
        self._delays = min(self._most_delays(), self._longest)  # nothing is learned of steps that no row has
        self._answers: FloatArray | None = None
        if self.taught == NEXT:  # what follows any step is an answer, not only what follows the last
            found = following(table, target, self._delays)
            outputs = _refitted(outputs, found, weights)
            self._answers = outputs.coded(found.cells)
        super()._fit_rows(X, table, target, weights, outputs, progress)
        if not any(column.is_open for column in table.columns):
            self.warnings_ = (*self.warnings_, "no column is of sequences or texts: each row was learned as one step")
        self.columns_ = tuple(map(_forgetting, self.columns_))
        del self._answers

    def _parted(self, part: Part, link: Link, inputs: AnyInputs, codes: FloatArray | None = None) -> Examples:
        answering = replace(part, rows=replace(part.rows, answers=self._answers))
        return super()._parted(answering, link, inputs, codes)

    def feed(self, X: Any, state: Mapping[str, Any] | None = None) -> tuple[FloatArray, dict[str, Any]]:
        """Answer after each step of a piece of one row's sequences and texts, which others may follow.

        The answers are those to rows with the sequences as long as they are by then, to the bit. Nothing is kept
        here: who feeds a sequence in pieces hands the state on from each to the next. Columns without steps hold for
        the whole sequence, so each piece has the same.

        Args:
            X: a table of one row, as for ``predict``.
            state: after the piece before; ``None`` at the beginning.

        Returns:
            Class probabilities after each of the T steps of the piece, shape (T, K), or numbers, shape (T,); and the
            state after the last as plain JSON.

        Raises:
            DataError: there is not one row, or a column without steps is not as in the piece before; names it.
            StateError: the state is none of this model's.
        """
        table = self.check_table(X)
        if table.n_rows != 1:
            raise DataError(f"steps are fed of one row at a time; there are {table.n_rows}")
        inputs, network = cast("StepInputs", self.inputs_), self.network_
        steps, held = inputs.batch(table).values, inputs.held(table)
        if state is not None:
            self._check_held(table, held, columns_before(state, len(held)))
        if isinstance(network, RecurrentNetwork):
            found, after = network.feed(steps, network.start() if state is None else network.read_state(state))
        else:
            found = np.tile(network.scores(steps[:1]), (len(steps), 1))
            after = State((0 if state is None else steps_before(state)) + len(steps))
        return self.outputs_.answers(found), replace(after, columns=held).to_json()

    def _check_held(self, table: Table, held: FloatArray, before: FloatArray) -> None:
        """Refuse a piece whose columns without steps are not those of the pieces before."""
        changed = np.flatnonzero(held != before)
        if not len(changed):
            return
        index = int(cast("StepInputs", self.inputs_).held_owners()[changed[0]])
        name, here = self.columns_[index].name, table.values[0, index]
        if self.columns_[index].is_open:
            states = ("missing", "known") if np.isnan(here) else ("known", "missing")
            message = f"column {quoted(name)} is {states[0]} here and was {states[1]} in the steps before"
        else:
            missing = " (it is missing here)" if np.isnan(here) else ""
            message = f"column {quoted(name)} is not as it was in the steps before{missing}"
        raise DataError(f"{message}; give it alike with each piece of a sequence", field=name)

    @property
    def n_weights(self) -> int:
        """P, the number of weights; 0 of a constant answer."""
        return len(self.network_.theta) if isinstance(self.network_, RecurrentNetwork) else 0

    @property
    def known_symbols(self) -> dict[str, frozenset[str]]:
        """By column of texts the symbols that training knew."""
        inputs = cast("StepInputs", self.inputs_)
        return {
            column.name: inputs.symbols(index) for index, column in enumerate(self.columns_) if column.kind is Kind.TEXT
        }

    def count_steps(self, X: Any) -> int:
        """How many steps the rows have together.

        Raises:
            SchemaError: sequences of a row differ in length.
        """
        return len(self.inputs_.batch(self.check_table(X)).values)

    def reason_work(self, steps: int) -> float:
        """The most that the reason of a row of so many steps takes, in steps of a small network there and back."""
        return self.outputs_.n_outputs * self._parts(steps) * NODES * self._point_work(steps)

    def _parts(self, steps: int) -> int:
        affordable = int(_WORK / (NODES * self.outputs_.n_outputs * self._point_work(steps)))
        return min(MOST_PARTS, max(_LEAST_PARTS, affordable))

    def _point_work(self, steps: int) -> float:
        """What one point of the way takes."""
        weights, steps = 1.0 + self.n_weights / _WEIGHTS, max(steps, 1)
        return steps * weights if self.is_recurrent else steps / _LAID_OUT + weights

    def _most_parts(self, width: int) -> int:
        return self._parts(width // self.inputs_.n_inputs)

    def _by_step(self, used: IntArray, amounts: FloatArray) -> list[tuple[float, ...]]:
        by_step = amounts.reshape(-1, self.inputs_.n_inputs)
        owner = self.inputs_.owners(self.inputs_.n_inputs)
        return [
            tuple(by_step[:, owner == index].sum(axis=1).tolist()) if self.columns_[index].is_open else ()
            for index in used.tolist()
        ]

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        structure = self._structure(examples.n_inputs * self._delays, examples.n_outputs, examples.link, self._delays)
        self._check_size(structure)
        validation = None if examples.validation is None else self._lesson(examples.validation)
        sharing = self._sharing(structure)
        clip = None if self.clip is None else float(self.clip)
        errors = Errors(self._piece(), clip, float(self.decay), sharing)
        rng, options = np.random.default_rng(examples.seed), self._options()
        trained = learn(
            structure,
            self._delays,
            self._lesson(examples.training),
            validation,
            errors,
            options,
            rng,
            progress,
        )
        n_weights = structure.n_weights if sharing is None else sharing.n_free
        history, error = trained.history, trained.error
        warnings = (*verdict(trained.start, error, float(history.errors[0]), options.remedy), *self._untaught())
        network = RecurrentNetwork(structure, trained.theta, self._delays)
        return Learned(network, columns(history), notes(n_weights, history, trained.stopped, error), warnings)

    def _options(self) -> Options:
        return Options(
            optimizer=self.optimizer,
            rate=None if self.rate is None else float(self.rate),
            momentum=float(self.momentum) if self.optimizer == "sgd" else None,
            batch=None if self.batch is None else int(self.batch),
            epochs=int(self.epochs),
            given=self._given(None),
            patience=None if self.patience is None else int(self.patience),
        )

    def _lesson(self, part: Part) -> Lesson:
        return lesson(part.rows, part.targets, part.weights, self.taught, self._delays)

    def _check_size(self, structure: Structure) -> None:
        if structure.n_weights > MOST_WEIGHTS:
            raise ParameterError(
                f"{structure.inputs} inputs and hidden_units = {quoted(list(self.hidden_units))} make "
                f"{structure.n_weights} weights; at most {MOST_WEIGHTS} are learned",
                field="hidden_units",
            )


def _refitted(outputs: NumberTarget | ClassTarget, found: Following, weights: FloatArray) -> NumberTarget | ClassTarget:
    """Outputs for all values that follow any step of some rows."""
    taught = ~np.isnan(found.cells)
    cells, by_step = found.cells[taught], np.repeat(weights, found.lengths)[taught]
    if isinstance(outputs, NumberTarget):
        return NumberTarget.fit(cells, by_step)
    return ClassTarget.fit(cells, by_step, outputs.n_classes, "softmax")


def _forgetting(column: Column) -> Column:
    """An open column that knows no more of the training rows than how many numbers a step has."""
    return replace(column, levels=column.levels[: column.kind is Kind.SEQUENCE]) if column.is_open else column
