"""What a model in memory has written already, so that ten thousand rows of a dozen leaves cost a dozen encodings."""

from __future__ import annotations

import numpy as np

from learners.types import IntArray


class KnownLeaves:
    """What was written of leaves, by leaf; None of the others. Threads may share it.

    Args:
        n_nodes: number of nodes of the tree.
    """

    def __init__(self, n_nodes: int) -> None:
        self.texts = np.full(n_nodes, None, dtype=object)
        self._is_there = np.zeros(n_nodes, dtype=np.bool_)

    def add(self, leaf: int, text: bytes) -> None:
        self.texts[leaf] = text
        self._is_there[leaf] = True  # last, for another thread may be reading

    def take(self, nodes: IntArray) -> tuple[list[bytes], IntArray]:
        """The texts of some nodes, and the places of those that have none."""
        new = np.flatnonzero(~self._is_there.take(nodes))
        texts: list[bytes] = self.texts.take(nodes).tolist()
        return texts, new


class KnownAnswers:
    """Answers that have been written, as fragments; a new one takes its place when they are too many.

    Args:
        n_nodes: number of nodes of a tree, whose leaves have an answer each; 0 for other models.
    """

    def __init__(self, n_nodes: int) -> None:
        self.by_numbers: dict[bytes, bytes] = {}
        self.leaves = KnownLeaves(n_nodes)
        #: By the classes of a row's neighbours, where these alone decide.
        self.by_neighbours: dict[bytes, bytes] = {}
        #: What follows the row's number in a line of CSV, by delimiter, then by the answer's fragment; and by leaf.
        self.lines: dict[str, dict[bytes, bytes]] = {}
        self.leaf_lines: dict[str, KnownLeaves] = {}
        self.n_bytes = 0

    def add(self, numbers: bytes, fragment: bytes) -> None:
        self.by_numbers[numbers] = fragment
        self.n_bytes += len(numbers) + len(fragment)
