"""What makes one row through a tree cheap: the answer and the reason of a leaf, written once.

A row without missing or unseen values ends in one leaf. Its answer depends on nothing else, and its
reason on nothing but the leaf and the row's own values, so both are made once by the learner itself
and kept: the answer as it is, the reason as the text between the observed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learners.explanation import Explanation
from learners.table import Column
from learners.trees.nodes import LEAF, THRESHOLD, Nodes
from service.operations.json_text import encode_json

#: Trees beyond this are not copied into lists; their rows go the general way.
MAX_NODES = 200_000
#: Leaves whose reasons are kept; past it the memory starts anew.
_MAX_REASONS = 5_000
_MARK = "\x00observed\x00"
_MARK_BYTES = encode_json(_MARK)


class Descent:
    """Finds the leaf of one row. Lists, because for a handful of tests they are faster than any call.

    Args:
        nodes: the tree.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._test: list[int] = nodes.test.tolist()
        self._feature: list[int] = nodes.feature.tolist()
        self._threshold: list[float] = nodes.threshold.tolist()
        self._first_child: list[int] = nodes.first_child.tolist()
        self._other: list[int] = nodes.other_branch.tolist()
        self._levels: dict[int, dict[int, int]] = {}
        self._nodes = nodes

    def leaf(self, cells: Sequence[float]) -> int:
        """The leaf in which a row ends; -1 if a value decides nothing (missing or unseen)."""
        test, feature, threshold, first_child = self._test, self._feature, self._threshold, self._first_child
        node = 0
        while (kind := test[node]) != LEAF:
            value = cells[feature[node]]
            if value != value:  # noqa: PLR0124 - NaN: missing
                return -1
            if kind == THRESHOLD:
                node = first_child[node] + (value > threshold[node])
            else:
                branch = self._branches(node).get(int(value), self._other[node])
                if branch < 0:
                    return -1
                node = first_child[node] + branch
        return node

    def _branches(self, node: int) -> dict[int, int]:
        branches = self._levels.get(node)
        if branches is None:
            codes, followed = self._nodes.levels_of(node)
            branches = self._levels[node] = dict(zip(codes.tolist(), followed.tolist(), strict=True))
        return branches


class Reasons:
    """The reasons of leaves as text with gaps for the observed values.

    Args:
        columns: the model's columns.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._places = {column.name: place for place, column in enumerate(columns)}
        self._known: dict[int, tuple[list[bytes], list[int]]] = {}

    def get(self, leaf: int, cells: Sequence[float]) -> bytes | None:
        """The reason of a row that ended in a leaf, if the leaf's is known."""
        known = self._known.get(leaf)
        return None if known is None else self._fill(known, cells)

    def _fill(self, known: tuple[list[bytes], list[int]], cells: Sequence[float]) -> bytes:
        texts, places = known
        pieces = [texts[0]]
        for text, place in zip(texts[1:], places, strict=True):
            pieces += (encode_json(self._columns[place].decode(cells[place])), text)
        return b"".join(pieces)

    def learn(self, leaf: int, cells: Sequence[float], explanation: Explanation) -> bytes:
        """Keep the learner's reason of one row as that of its leaf."""
        if len(self._known) >= _MAX_REASONS:
            self._known = {}
        record: dict[str, Any] = explanation.to_json()
        (branch,) = record["branches"]
        if branch["leaf"] != leaf:
            raise AssertionError(f"the reason names leaf {branch['leaf']}, the answer came from {leaf}")
        places = [self._places[step["condition"]["column"]] for step in branch["steps"]]
        for step in branch["steps"]:
            step["observed"] = _MARK
        known = self._known[leaf] = (encode_json(record).split(_MARK_BYTES), places)
        return self._fill(known, cells)
