"""What makes one row through a tree cheap: the answer and the reason of a leaf, written once.

A row without missing or unseen values ends in one leaf. Its answer depends on nothing else, and its
reason on nothing but the leaf and the row's own values, so both are made once by the learner itself
and kept: the answer as it is, the reason as the text between the observed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learners._accel import interpreted
from learners.explanation import Explanation
from learners.table import Column
from learners.trees.nodes import THRESHOLD, Nodes
from learners.trees.traverse import branch_of, pack
from service.operations.json_text import encode_json

#: Trees beyond this are not copied into lists; their rows go the general way.
MAX_NODES = 200_000
#: Leaves whose reasons are kept; past it the memory starts anew.
_MAX_REASONS = 5_000
_MARK = "\x00observed\x00"
_MARK_BYTES = encode_json(_MARK)


class Descent:
    """Finds the leaf of one row. Lists, because for a handful of tests they are faster than any call.

    Where a code goes is asked of the traversal itself, :func:`learners.trees.traverse.branch_of`, once;
    of the numeric test only its comparison stands here again.

    Args:
        nodes: the tree.
        columns: the model's columns.
    """

    def __init__(self, nodes: Nodes, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._feature: list[int] = nodes.feature.tolist()
        self._threshold: list[float] = nodes.threshold.tolist()
        self._first_child: list[int] = nodes.first_child.tolist()
        self._is_threshold: list[bool] = [
            test == THRESHOLD and columns[feature].is_numeric
            for test, feature in zip(nodes.test.tolist(), self._feature, strict=True)
        ]
        self._branches: dict[int, list[int]] = {}
        self._tree = pack(nodes, columns, regression=True)

    def leaf(self, cells: Sequence[float]) -> int:
        """The leaf in which a row ends; -1 if a level decides nothing. No cell may be missing."""
        feature, threshold, first_child = self._feature, self._threshold, self._first_child
        is_threshold = self._is_threshold
        node = 0
        while (column := feature[node]) >= 0:
            if is_threshold[node]:
                node = first_child[node] + (cells[column] > threshold[node])
            else:
                branches = self._branches.get(node) or self._branches_of(node)
                branch = branches[int(cells[column])]
                if branch < 0:
                    return -1
                node = first_child[node] + branch
        return node

    def _branches_of(self, node: int) -> list[int]:
        """The branch of each code of the tested column."""
        tree, ask = self._tree, interpreted(branch_of)
        codes = range(len(self._columns[self._feature[node]].levels))
        found = self._branches[node] = [
            int(ask(tree.links, tree.splits, tree.levels, node, float(code))) for code in codes
        ]
        return found


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
