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
#: A gap: its place among the pieces of a text, and the column whose value stands there.
_Gap: TypeAlias = tuple[int, int]
#: Fills gaps of a text with what a row says.
_Fill: TypeAlias = Callable[[list[bytes], Sequence[float]], None]
#: The pieces of a reason, of which the first and every other one are gaps; the gaps for values of single columns, and
#: what fills the others. The first gap is for what stands before the reason.
_Reason: TypeAlias = tuple[list[bytes], list[_Gap], _Fill | None]
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
        self._texts = _Texts()
        self._n_known = 0
        #: By leaf what tells its reasons apart, and by that the text, and what of a row stands in its gaps.
        self._known: dict[int, tuple[Callable[[Sequence[float]], Any], dict[Any, _Reason]]] = {}

    def added(self, members: bytes, leaf: int, cells: Sequence[float], explain: ExplainRow) -> bytes:
        """The members of an answer, and its reason as another one.

        Args:
            members: of the row's answer.
            leaf: where the row ended.
            cells: the row, none missing or unseen.
            explain: asks the learner for the reason of a row, if none like it is known.
        """
        levels, reasons = self._known.get(leaf) or self._of_leaf(leaf)
        told_by = levels(cells)
        pieces, gaps, fill = reasons.get(told_by) or self._learn(leaf, told_by, reasons, explain(cells))
        text, texts = pieces.copy(), self._texts
        text[0] = members
        for at, place in gaps:
            text[at] = texts[cells[place]]
        if fill is not None:
            fill(text, cells)
        return b"".join(text)

    def _of_leaf(self, leaf: int) -> tuple[Callable[[Sequence[float]], Any], dict[Any, _Reason]]:
        known = self._known[leaf] = (_cells_at(self._tested_levels(leaf)), {})
        return known

    def _other_gaps(self, leaf: int, gaps: list[_Gap]) -> _Fill | None:
        """What fills the gaps of a leaf's reason for what is not observed in a single column; None without any.

        Args:
            leaf: whose reason it is.
            gaps: where the observed values of its tests stand.
        """
        several = [(at, place) for at, place in gaps if place >= self._n_plain]

        def fill(text: list[bytes], cells: Sequence[float]) -> None:
            for at, place in several:
                text[at] = self._value(place, cells)

        return fill if several else None

    def _value(self, place: int, cells: Sequence[float]) -> bytes:
        """What a test of several columns compares, as JSON."""
        column = self._columns[place]
        if not isinstance(column, CombinedColumn):
            raise TypeError(f"{column.name} is one column")
        return encode_json(column.observed(cells))

    def _tested_levels(self, leaf: int) -> list[int]:
        tested = {int(self._nodes.feature[node]) for node, _ in path_to(self._nodes, leaf)}
        return sorted(place for place in tested if not self._columns[place].is_numeric)

    def _learn(self, leaf: int, told_by: Any, reasons: dict[Any, _Reason], explanation: Explanation) -> _Reason:
        if self._n_known >= _MAX_REASONS:
            self._known, self._n_known = {}, 0
        record: dict[str, Any] = explanation.to_json()
        (branch,) = record["branches"]
        if branch["leaf"] != leaf:
            raise AssertionError(f"the reason names leaf {branch['leaf']}, the answer came from {leaf}")
        tested = [int(self._nodes.feature[step["node"]]) for step in self._with_gap(branch)]
        self._mark(branch, _MARK)
        between = encode_json(record).split(_MARK_BYTES)
        between[0] = b',"explanation":' + between[0]
        pieces = [b""] * (2 * len(between))
        pieces[1::2] = between
        gaps = list(zip(range(2, len(pieces), 2), tested, strict=False))
        plain = [gap for gap in gaps if gap[1] < self._n_plain]
        self._n_known += 1
        found = reasons[told_by] = (pieces, plain, self._other_gaps(leaf, gaps))
        return found

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


class _Texts(dict[float, bytes]):
    """Numbers as texts, each kept for the next row that has it."""

    def __missing__(self, cell: float) -> bytes:
        if len(self) >= _MAX_TEXTS:
            self.clear()
        text = self[cell] = observed_text(cell)
        return text


def _cells_at(places: list[int]) -> Callable[[Sequence[float]], Any]:
    """What tells the cells at some places of a row from others."""
    return itemgetter(*places) if places else len  # the same of every row


def observed_text(cell: float) -> bytes:
    """A known number as JSON: what :meth:`learners.table.Column.decode` gives."""
    if cell % 1 == 0 and -EXACT_INTEGER < cell < EXACT_INTEGER:
        return b"%d" % int(cell)
    return encode_json(cell)
