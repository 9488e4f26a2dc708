"""What makes one row through a tree cheap: the answer and the reason of a leaf, written once.

A row without missing or unseen values ends in one leaf. Its answer depends on nothing else, and its
reason on nothing but the leaf and the row's own values, so both are made once by the learner itself
and kept: the answer as it is, the reason as the text between the observed values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from learners.explanation import Explanation
from learners.table import EXACT_INTEGER, Column
from learners.trees.combined.column import CombinedColumn
from learners.trees.nodes import Nodes
from learners.trees.paths import path_to
from service.operations.json_text import encode_json

#: The reason of a row's answer.
ExplainRow: TypeAlias = Callable[[Sequence[float]], Explanation]

#: Trees beyond this are not copied into lists; their rows go the general way.
MAX_NODES = 200_000
#: Leaves whose reasons are kept; past it the memory starts anew.
_MAX_REASONS = 5_000
#: Numbers whose texts are kept.
_MAX_TEXTS = 10_000
_MARK = "\x00observed\x00"
_MARK_BYTES = encode_json(_MARK)


class Reasons:
    """The reasons of leaves as text with gaps for the observed numbers.

    How a test on levels is worded may depend on the row's level, so the reasons of a leaf are told
    apart by the row's levels in the columns that its path tests so.

    Args:
        nodes: the tree.
        columns: what it tests (:attr:`~learners.trees.estimator.FittedTree.tested_columns_`).
    """

    def __init__(self, nodes: Nodes, columns: Sequence[Column]) -> None:
        self._nodes = nodes
        self._columns = columns
        self._n_plain = sum(not isinstance(column, CombinedColumn) for column in columns)
        self._levels_on_path: dict[int, Callable[[Sequence[float]], Any]] = {}
        self._texts: dict[float, bytes] = {}
        #: By leaf and levels the text, a gap after every other piece, and the columns whose values go into the gaps.
        self._known: dict[tuple[int, Any], tuple[list[bytes], list[int]]] = {}

    def get(self, leaf: int, cells: Sequence[float], explain: ExplainRow) -> bytes:
        """The reason of a row that ended in a leaf.

        Args:
            leaf: where the row ended.
            cells: the row, none missing or unseen.
            explain: asks the learner for the reason of a row, if none like it is known.
        """
        levels = self._levels_on_path.get(leaf)
        if levels is None:
            levels = self._levels_on_path[leaf] = _cells_at(self._tested_levels(leaf))
        key = (leaf, levels(cells))
        pieces, gaps = self._known.get(key) or self._learn(key, explain(cells))
        text = pieces.copy()
        text[1::2] = self._fill(leaf, gaps, cells)
        return b"".join(text)

    def _fill(self, leaf: int, gaps: list[int], cells: Sequence[float]) -> list[bytes]:
        """What stands in the gaps of a leaf's reason."""
        known, n_plain, filled = self._texts, self._n_plain, []
        for place in gaps:  # for a few gaps quicker than a list comprehension
            if place < n_plain:
                cell = cells[place]
                filled.append(known.get(cell) or self._write(cell))
            else:
                filled.append(self._value(place, cells))
        return filled

    def _value(self, place: int, cells: Sequence[float]) -> bytes:
        """What a test of several columns compares, as JSON."""
        column = self._columns[place]
        if not isinstance(column, CombinedColumn):
            raise TypeError(f"{column.name} is one column")
        return encode_json(column.observed(cells))

    def _write(self, cell: float) -> bytes:
        """A number as text, kept for the next row that has it."""
        if len(self._texts) >= _MAX_TEXTS:
            self._texts = {}
        text = self._texts[cell] = observed_text(cell)
        return text

    def _tested_levels(self, leaf: int) -> list[int]:
        tested = {int(self._nodes.feature[node]) for node, _ in path_to(self._nodes, leaf)}
        return sorted(place for place in tested if not self._columns[place].is_numeric)

    def _learn(self, key: tuple[int, Any], explanation: Explanation) -> tuple[list[bytes], list[int]]:
        if len(self._known) >= _MAX_REASONS:
            self._known, self._levels_on_path = {}, {}
        record: dict[str, Any] = explanation.to_json()
        (branch,) = record["branches"]
        if branch["leaf"] != key[0]:
            raise AssertionError(f"the reason names leaf {branch['leaf']}, the answer came from {key[0]}")
        gaps = [int(self._nodes.feature[step["node"]]) for step in self._with_gap(branch)]
        self._mark(branch, _MARK)
        between = encode_json(record).split(_MARK_BYTES)
        pieces = [b""] * (2 * len(between) - 1)
        pieces[::2] = between
        known = self._known[key] = (pieces, gaps)
        return known

    def _with_gap(self, branch: dict[str, Any]) -> list[dict[str, Any]]:
        """The steps that test a number, or several columns; a level is told by the key."""
        features = [int(self._nodes.feature[step["node"]]) for step in branch["steps"]]
        return [
            step
            for step, place in zip(branch["steps"], features, strict=True)
            if place >= self._n_plain or self._columns[place].is_numeric
        ]

    def _mark(self, branch: dict[str, Any], mark: str) -> None:
        """Put the mark where a gap shall be."""
        for step in self._with_gap(branch):
            step["observed"] = mark


def _cells_at(places: list[int]) -> Callable[[Sequence[float]], Any]:
    """What tells the cells at some places of a row from others."""
    return itemgetter(*places) if places else len  # the same of every row


def observed_text(cell: float) -> bytes:
    """A known number as JSON: what :meth:`learners.table.Column.decode` gives."""
    if cell % 1 == 0 and -EXACT_INTEGER < cell < EXACT_INTEGER:
        return b"%d" % int(cell)
    return encode_json(cell)
