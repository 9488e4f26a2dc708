"""A model in memory, ready to answer: its inputs, its answers as JSON fragments, its reasons.

Fragments are made once for each distinct answer and kept, so that ten thousand rows that fall into a
dozen leaves cost a dozen encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from learners._accel import uncompiled
from learners.base import Classifier, Learner, Regressor
from learners.explanation import Bounds, Explanation
from learners.linear.fitted import FittedLinear
from learners.neighbors.estimator import NeighborsEstimator
from learners.neural.fitted import FittedNetwork
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.table import Column, Table
from learners.trees.descent import Descent
from learners.trees.estimator import TreeEstimator
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.traverse import PackedTree
from learners.types import FloatArray
from service.formats.written_numbers import PLAIN, NumberSyntax
from service.operations.codec import RowCodec, to_matrix
from service.operations.decision import Decision
from service.operations.identity import Identity
from service.operations.json_text import encode_json
from service.operations.known_answers import KnownAnswers, KnownLeaves
from service.operations.long_work import parts, pause
from service.operations.quickness import QUICK_STEPS, row_steps
from service.operations.rows import Inputs
from service.operations.served_linear import LinearDescent
from service.operations.served_neighbours import NeighboursOfOne, neighbours_of_one
from service.operations.served_tree import MAX_NODES, Reasons
from service.operations.step_limits import most_steps

#: Bytes of answers that are kept as fragments; past it the memory starts anew.
_MAX_KEPT_BYTES = 16 << 20
#: Reasons of at most so many tests together are written on the event loop: some 10 ms.
_SHORT_TESTS = 1_000
_EXPLAINED_AT_ONCE = 32
#: Up to so many rows are added up faster one by one than as arrays.
_FEW_ROWS = 4
#: Rows that are looked for one by one among training rows, and cells of training rows gone through, on the event loop.
_FEW_ASKED, _QUICK_CELLS = 16, 2_000_000
#: Steps of the first part of a long answer: at most some tenths of a second.
_STEPS_AT_ONCE = 250_000


class ServedModel:
    """One version of a model. Threads may share it.

    Args:
        learner: fitted.
        identity: which version it is; its classes are filled in here.
        missing_tokens: texts that stood for a missing value in the training data.
        numbers: how texts wrote numbers there.
        size: bytes of the model, for the memory's bound.
    """

    def __init__(
        self,
        learner: Learner,
        identity: Identity,
        missing_tokens: Sequence[str] = ("",),
        numbers: NumberSyntax = PLAIN,
        *,
        size: int = 0,
    ) -> None:
        self.learner = learner
        self.size = size
        self.used = 0
        tokens = frozenset(missing_tokens)
        symbols = learner.known_symbols if isinstance(learner, StepwiseEstimator) else {}
        missing = learner.capabilities.missing
        self.inputs = Inputs(learner.columns_, missing, tokens, numbers, most_steps(learner), symbols)
        labels = learner.target_.labels if isinstance(learner, Classifier) else ()
        self.identity = replace(identity, classes=labels)
        #: The answer's JSON up to, without, its list of predictions.
        self.head = encode_json(self.identity.to_json())[:-1]
        self.codec = RowCodec(self.inputs)
        #: Whether answers come again: those of a linear function or a network do not, so they are not kept.
        self._keeps = not isinstance(learner, FittedModelTree | FittedLinear | FittedNetwork)
        tree = learner if isinstance(learner, TreeEstimator) and self._keeps else None
        self._tree: PackedTree | None = None if tree is None else tree.packed_tree_
        self._n_nodes = len(self._tree.answers) if self._tree is not None else 0
        self._known = KnownAnswers(self._n_nodes)
        self._descent: Descent | None = None
        self._linear: LinearDescent | None = None
        if isinstance(learner, FittedModelTree) and learner.tree_.n_nodes <= MAX_NODES:
            self._linear = LinearDescent(learner)
        elif tree is not None and self._n_nodes <= MAX_NODES:
            self._descent = Descent(tree.packed_tree_, tree.tested_columns_)
            self._reasons = Reasons(tree.tree_, tree.tested_columns_)
        self._neighbours = neighbours_of_one(learner)
        #: Most tests on one path, and on all the paths that a row may follow together.
        self._depth, self._total_depth = _depths(learner)
        #: By what a request wants labels decided, and the model that decides by itself.
        self.decision: Decision | None = None
        self._by_itself: Classifier | None = None

    def deciding_by(self, decision: Decision) -> ServedModel:
        """The same model, whose labels are decided otherwise; where its own label is another, answers say which."""
        if not isinstance(self.learner, Classifier):
            raise TypeError(f"{self.learner.name} decides nothing")
        made = copy(self)
        made.learner = self.learner.deciding_by(decision.utility)
        made.head = encode_json(self.identity.to_json() | {"decision": decision.told})[:-1]
        made.decision, made._by_itself = decision, self.learner
        made._known = KnownAnswers(self._n_nodes)
        return made

    def answering_with(self, learner: Learner) -> ServedModel:
        """The same version with a learner in place of its own that differs in nothing but how it answers."""
        return ServedModel(learner, self.identity, tuple(self.inputs.missing_tokens), self.inputs.numbers)

    def answers(self, values: FloatArray, columns: tuple[Column, ...] | None = None) -> list[bytes]:
        """The members of each row's answer as JSON without braces.

        Args:
            values: shape (n, d), row-major or column-major, coded as in :mod:`learners.table`.
            columns: by which they are coded, if not by the model's.
        """
        if not len(values):
            return []
        if self._tree is None:
            return self._by_numbers(values, columns)
        nodes, undecided = self._tree.descended(values.T)
        known = self._known
        answers, new = known.leaves.take(nodes)
        for row, members in zip(undecided.tolist(), self._by_numbers(values[undecided]), strict=True):
            answers[row] = members
        for row in np.setdiff1d(new, undecided, assume_unique=True).tolist():
            leaf = int(nodes[row])
            answers[row] = known.leaves.texts[leaf] or self._learn_leaf(known, leaf, values[row].tolist())
        return answers

    def lines(
        self,
        values: FloatArray,
        columns: tuple[Column, ...] | None,
        delimiter: str,
        write: Callable[[bytes], bytes],
    ) -> list[bytes]:
        """What follows the row's number in the line of CSV that tells each row's answer.

        Args:
            values, columns: as for :meth:`answers`.
            delimiter: between the cells.
            write: makes it of the answer's members.
        """
        known = self._known
        if self._tree is None:
            return self._lines(self.answers(values, columns), known.lines.setdefault(delimiter, {}), write)
        kept = known.leaf_lines.setdefault(delimiter, KnownLeaves(self._n_nodes))
        nodes, undecided = self._tree.descended(values.T)
        lines, new = kept.take(nodes)
        if len(new):
            lines = self._lines(self.answers(values, columns), {}, write)
            for row in np.setdiff1d(new, undecided, assume_unique=True).tolist():
                kept.add(int(nodes[row]), lines[row])
        return lines

    def _lines(self, answers: list[bytes], known: dict[bytes, bytes], write: Callable[[bytes], bytes]) -> list[bytes]:
        lines = known if self._keeps else {}
        for members in set(answers).difference(lines):
            lines[members] = write(members)
        return list(map(lines.__getitem__, answers))

    def _by_numbers(self, values: FloatArray, columns: tuple[Column, ...] | None = None) -> list[bytes]:
        """The same from what the learner answers to each row."""
        if not len(values):
            return []
        numbers = np.ascontiguousarray(self.numbers(Table(columns or self.inputs.columns, values)))
        if not self._keeps:
            return self._written(numbers)
        keys: list[bytes] = numbers.view(f"V{numbers.shape[1] * 8}").ravel().tolist()
        known = self._known.by_numbers
        fragments = [known.get(key) for key in keys]
        return [
            known.get(keys[row]) or self._remember(keys[row], numbers[row].tolist()) if fragment is None else fragment
            for row, fragment in enumerate(fragments)
        ]

    def answer_plain(self, rows: Sequence[Sequence[float]], *, explain: bool) -> list[bytes] | None:
        """The same for rows of cells of which none is missing or unseen; None if any row's way is not plain.

        With ``explain`` the members include the reason.
        """
        if isinstance(self.learner, FittedLinear) and len(rows) <= _FEW_ROWS:
            long = explain and len(rows) * self._depth > _SHORT_TESTS
            return None if long else self._sums_plain(self.learner, rows, explain=explain)
        if self._linear is not None:
            long = explain and len(rows) * self._depth > _SHORT_TESTS
            return None if long else self._linear_plain(self._linear, rows, explain=explain)
        if self._neighbours is not None:
            return None if len(rows) > _FEW_ASKED else self._neighbours_plain(self._neighbours, rows, explain=explain)
        descent = self._descent
        if descent is None or (explain and len(rows) * self._depth > _SHORT_TESTS):
            return None
        found = []
        known = self._known
        for cells in rows:
            leaf = descent.leaf(cells)
            if leaf < 0:
                return None
            members = known.leaves.texts[leaf] or self._learn_leaf(known, leaf, cells)
            if explain:
                members = self._reasons.added(members, leaf, cells, self._explained)
            found.append(members)
        return found

    def _linear_plain(
        self, linear: LinearDescent, rows: Sequence[Sequence[float]], *, explain: bool
    ) -> list[bytes] | None:
        found = []
        for cells in rows:
            leaf = linear.leaf(cells)
            if leaf < 0:
                return None
            value = linear.function(leaf).value(cells)
            members = b'"value":' + encode_json(value)
            if explain:
                members = linear.explained(members, leaf, cells, self._explained)
            found.append(members)
        return found

    def _sums_plain(self, learner: FittedLinear, rows: Sequence[Sequence[float]], *, explain: bool) -> list[bytes]:
        found = self._written(learner.answer_plainly(rows))
        if not explain:
            return found
        reasons = (encode_json(learner.explain_plainly(cells).to_json()) for cells in rows)
        return [b"".join((members, b',"explanation":', reason)) for members, reason in zip(found, reasons, strict=True)]

    def _neighbours_plain(
        self, neighbours: NeighboursOfOne, rows: Sequence[Sequence[float]], *, explain: bool
    ) -> list[bytes] | None:
        if explain:
            return self._neighbours_told(neighbours, rows)
        answers = []
        known = self._known.by_neighbours
        for cells in rows:
            members = neighbours.members(cells, known, self._write)
            if members is None:
                return None
            answers.append(members)
        return answers

    def _neighbours_told(self, neighbours: NeighboursOfOne, rows: Sequence[Sequence[float]]) -> list[bytes] | None:
        if len(rows) * neighbours.most_told > _SHORT_TESTS:
            return None
        answers = []
        for cells in rows:
            found = neighbours.reason(cells, self._write)
            if found is None:
                return None
            members, reason = found
            answers.append(b"".join((members, b',"explanation":', encode_json(reason.to_json()))))
        return answers

    @property
    def gains_by_machine_code(self) -> bool:
        """Whether its rows would be answered sooner by machine code (:mod:`service.operations.machine_code`)."""
        return self._neighbours is not None and self._neighbours.gains_by_machine_code

    def take_up_machine_code(self) -> None:
        """Answer by machine code, which is loaded."""
        if self._neighbours is not None:
            self._neighbours.take_up_machine_code()

    def answers_quickly(self, n_rows: int, *, complete: bool) -> bool:
        """Whether so many rows may be answered on the event loop; ``complete`` where no value of theirs is missing."""
        learner = self.learner
        if not isinstance(learner, NeighborsEstimator):
            return n_rows * (self._steps if complete else self._most_steps) <= QUICK_STEPS
        few = _FEW_ASKED if self._neighbours is not None and self._neighbours.is_quick else 0
        return n_rows <= few or n_rows * learner.index_.points.size <= _QUICK_CELLS

    @cached_property
    def _steps(self) -> float:
        return row_steps(self.learner, complete=True)

    @cached_property
    def _most_steps(self) -> float:
        return row_steps(self.learner, complete=False)

    @property
    def rows_at_once(self) -> int:
        """How many rows of the worst kind are answered before others may go on."""
        learner = self.learner
        steps = learner.index_.points.size if isinstance(learner, NeighborsEstimator) else self._most_steps
        return max(1, int(_STEPS_AT_ONCE / steps))

    def _learn_leaf(self, known: KnownAnswers, leaf: int, cells: Sequence[float]) -> bytes:
        (fragment,) = self._by_numbers(to_matrix([cells], len(cells)))
        known.leaves.add(leaf, fragment)
        return fragment

    def _explained(self, cells: Sequence[float]) -> Explanation:
        return next(self.explanations(to_matrix([cells], len(cells))))

    def explains_quickly(self, n_rows: int) -> bool:
        """Whether the reasons of so many rows, whatever is missing in them, may be written on the event loop."""
        return not isinstance(self.learner, FittedNetwork) and n_rows * self._total_depth <= _SHORT_TESTS

    def explanations(self, values: FloatArray, columns: tuple[Column, ...] | None = None) -> Iterator[Explanation]:
        """The reason of each row's answer, made a few rows at a time."""
        for first in range(0, len(values), _EXPLAINED_AT_ONCE):
            pause(first, len(values))
            rows = Table(columns or self.inputs.columns, np.asfortranarray(values[first : first + _EXPLAINED_AT_ONCE]))
            with uncompiled():
                explanations = self.learner.explain(rows)
            yield from explanations

    def intervals(self, values: FloatArray, columns: tuple[Column, ...] | None = None) -> Iterator[Bounds | None]:
        """Where a further number at each row should lie; of a learner that tells it."""
        if not isinstance(self.learner, Regressor):
            raise TypeError(f"{self.learner.name} tells no intervals")
        for rows in parts(len(values), _EXPLAINED_AT_ONCE):
            with uncompiled():
                asked = Table(columns or self.inputs.columns, np.asfortranarray(values[rows]))
                found = self.learner.predict_intervals(asked)
            yield from found

    def numbers(self, table: Table) -> FloatArray:
        """What an answer is made of: class probabilities, shape (n, K), or values, shape (n, 1)."""
        if table.n_rows <= self.rows_at_once:
            return self._answered(table)
        some = (np.asfortranarray(table.values[rows]) for rows in parts(table.n_rows, self.rows_at_once))
        return np.concatenate([self._answered(Table(table.columns, values)) for values in some])

    def _answered(self, table: Table) -> FloatArray:
        with uncompiled():
            if isinstance(self.learner, Classifier):
                return self.learner.predict_proba(table)
            return np.asarray(self.learner.predict(table), dtype=np.float64).reshape(-1, 1)

    def _written(self, numbers: FloatArray) -> list[bytes]:
        """The members of the answers of some rows, which are not kept."""
        self._check_finite(numbers)
        if not isinstance(self.learner, Classifier):
            return [b'"value":' + text for text in encode_json(numbers[:, 0].tolist())[1:-1].split(b",")]
        decided = zip(self.decided(numbers), numbers.tolist(), strict=True)
        return [encode_json(told | {"probabilities": shares})[1:-1] for told, shares in decided]

    def _remember(self, key: bytes, numbers: list[float]) -> bytes:
        fragment = self._write(numbers)
        if self._known.n_bytes > _MAX_KEPT_BYTES:
            self._known = KnownAnswers(self._n_nodes)
        self._known.add(key, fragment)
        return fragment

    def _write(self, numbers: list[float]) -> bytes:
        """The members of the answer of one row."""
        self._check_finite(numbers)
        told = {"value": numbers[0]}
        if isinstance(self.learner, Classifier):
            told = self.decided(np.array([numbers]))[0] | {"probabilities": numbers}
        return encode_json(told)[1:-1]

    def decided(self, shares: FloatArray) -> list[dict[str, Any]]:
        """The label of each row of class probabilities, shape (n, K); where the model's own is another, that too."""
        if not isinstance(self.learner, Classifier):
            raise TypeError(f"{self.learner.name} decides nothing")
        classes, codes = self.identity.classes, self.learner.decide(shares).tolist()
        own = codes if self._by_itself is None else self._by_itself.decide(shares).tolist()
        return [
            {"label": classes[code]} | ({} if code == its else {"model_label": classes[its]})
            for code, its in zip(codes, own, strict=True)
        ]

    def _check_finite(self, numbers: FloatArray | list[float]) -> None:
        finite = all(map(isfinite, numbers)) if isinstance(numbers, list) else np.isfinite(numbers).all()
        if not finite:
            raise FloatingPointError(f"{self.identity.name}:{self.identity.version} answered {numbers}")


def _depths(learner: Learner) -> tuple[int, int]:
    if isinstance(learner, FittedLinear):
        length = len(learner.functions_.parts) * len(learner.functions_.intercepts)
        return length, length
    if not isinstance(learner, TreeEstimator):
        return _SHORT_TESTS + 1, _SHORT_TESTS + 1
    terms = len(learner.linear_.variable) if isinstance(learner, FittedModelTree) else 0
    return learner.tree_.greatest_depth, learner.tree_.total_depth + terms
