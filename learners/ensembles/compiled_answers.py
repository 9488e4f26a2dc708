"""The answers of many members to many rows by machine code: all members in one call for each block of rows.

Most of the time goes into steps from node to node. Of rows that miss nothing a step is one comparison and one look into
a set of codes, both of which say nothing where the node has the other; each cell has been turned before into what both
of them ask for. Rows with gaps walk as :mod:`learners.trees.compiled_walk` leads them, and are divided at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from learners._accel import has_compiler, lean_inner_kernel, lean_kernel, runs_compiled
from learners.base import Progress, no_progress
from learners.ensembles.growing import for_each
from learners.table import Column
from learners.trees.compiled_walk import LANES, WalkedRows, bit_of, divide_row, walk_lanes, walked
from learners.trees.division_room import DivisionRoom, division_room
from learners.trees.nodes import Nodes
from learners.trees.problem import Records, records
from learners.trees.traverse import PackedTree, tests_by_kind
from learners.trees.walked_nodes import END, NodeArrays, WalkedNodes, lay_nodes, node_records
from learners.types import FloatArray, IntArray

#: A cell that is not missing, and the bit that stands for it where it is a code.
_CELL = np.dtype([("value", "<f8"), ("bit", "<u8")], align=True)
#: Cells of rows that are answered together; in small blocks members' nodes would be fetched from memory too often.
_CELLS_AT_ONCE = 1 << 18
#: Fewer rows a call would cost more calls than they save.
_FEWEST_ROWS = 256
#: What is kept of each row that walks beside others: its number, where its cells begin, and its node.
_ROW, _AT, _NODE = range(3)


class Voters(NamedTuple):
    """Members: their roots and weights, shape (M,), and what each node answers, shape (N, K)."""

    roots: IntArray
    weights: FloatArray
    answers: FloatArray


class AddingRoom(NamedTuple):
    """What answers to a block of rows are added up in.

    Attributes:
        sums: of the answers times the weights, shape (n, K).
        base: gets the first member's answers, which are taken off from all, shape (n, K); of classes it has no rows.
        asked: ``_CELL`` (m d,), the cells of rows that miss nothing.
        lanes: int64 (3, ``LANES``), the rows that walk side by side.
        nodes: where each row with gaps is.
        answer: to one of these, shape (K,).
        division: see there.
    """

    sums: FloatArray
    base: FloatArray
    asked: Records
    lanes: IntArray
    nodes: IntArray
    answer: FloatArray
    division: DivisionRoom


class CompiledAnswers:
    """Members laid out for machine code.

    Args:
        nodes, roots: the members' nodes, and the first of each.
        columns: what they test.
        packed: lays them out for walking; called if a test is neither a threshold nor a small set of codes.
        answers: of each node, shape (N, K).
        regression: whether sums are added up as differences to the first member's answers.
        threads: on which nodes are laid out.
    """

    def __init__(
        self,
        nodes: Nodes,
        roots: IntArray,
        columns: Sequence[Column],
        packed: Callable[[], PackedTree],
        answers: FloatArray,
        *,
        regression: bool,
        threads: int,
    ) -> None:
        own = {name: getattr(nodes, name) for name in NodeArrays._fields if name != "test"}
        arrays, laid = NodeArrays(test=tests_by_kind(nodes, columns), **own), node_records(nodes.n_nodes)
        bounds = np.linspace(0, nodes.n_nodes, threads + 1).astype(int).tolist()

        def lay(part: int, _: Progress) -> bool:
            return bool(lay_nodes(arrays, laid, bounds[part], bounds[part + 1]))

        self._has_rare = any(for_each(lay, threads, threads, no_progress, "laying out nodes"))
        rare = packed() if self._has_rare else None
        links = np.empty((0, 8), np.int32) if rare is None else rare.links
        splits, levels = (np.empty((0, 3)), np.empty((0, 2), np.int32)) if rare is None else (rare.splits, rare.levels)
        self._nodes = WalkedNodes(laid, nodes.fraction, links, splits, levels)
        self._roots, self._answers, self._regression = roots.astype(np.int64), answers, regression

    @staticmethod
    def runs() -> bool:
        """Whether there is a compiler."""
        return has_compiler() and runs_compiled(add_answers)

    @staticmethod
    def rows_at_once(n_columns: int) -> int:
        """How many rows are best answered together."""
        return max(_CELLS_AT_ONCE // n_columns, _FEWEST_ROWS)

    def added(self, cells: FloatArray, weights: FloatArray) -> FloatArray:
        """The members' answers times their weights, added up in their order.

        Args:
            cells: shape (d, n), in one piece, by column or by row.
            weights: shape (M,).

        Returns:
            Shape (n, K).
        """
        n_columns, n_rows = cells.shape
        asks_tree = np.isnan(cells).any(axis=0) if not self._has_rare else np.ones(n_rows, np.bool_)
        whole, others = np.flatnonzero(~asks_tree), np.flatnonzero(asks_tree)
        n_values = self._answers.shape[1]
        room = AddingRoom(
            sums=np.zeros((n_rows, n_values)),
            base=np.zeros((n_rows if self._regression else 0, n_values)),
            asked=records(len(whole) * n_columns, _CELL),
            lanes=np.zeros((3, LANES), np.int64),
            nodes=np.zeros(len(others), np.int64),
            answer=np.zeros(n_values),
            division=division_room(len(self._nodes.records)),
        )
        voters, rows = Voters(self._roots, weights, self._answers), walked(cells, np.arange(n_rows))
        add_answers(self._nodes, voters, rows, whole, others, n_columns, room)
        return room.sums + room.base if self._regression else room.sums


@lean_kernel
def add_answers(
    tree: WalkedNodes,
    voters: Voters,
    rows: WalkedRows,
    whole: IntArray,
    others: IntArray,
    n_columns: int,
    room: AddingRoom,
) -> None:
    """Add what each member answers, times its weight.

    Args:
        whole: rows that miss nothing, of members whose nodes are all ``PLAIN``.
        others: the other rows.
    """
    ask_cells(rows, whole, n_columns, room.asked)
    for member in range(voters.roots.shape[0]):
        add_whole(tree, voters, member, whole, n_columns, room)
        for own in range(others.shape[0]):
            room.nodes[own] = voters.roots[member]
        walk_lanes(tree, rows, others, room.nodes, room.lanes[_ROW])
        for own in range(others.shape[0]):
            node = room.nodes[own]
            found = room.answer
            if tree.records[node].kind == END:
                found = voters.answers[node]
            else:
                divide_row(tree, rows.starts[others[own]], node, rows, voters.answers, room.division, found)
            add_answer(found, others[own], member, voters.weights[member], room)


@lean_inner_kernel
def ask_cells(rows: WalkedRows, whole: IntArray, n_columns: int, asked: Records) -> None:
    """Turn the cells of rows that miss nothing into what nodes ask for."""
    place = np.uint64(0)
    for own in range(whole.shape[0]):
        start = rows.starts[whole[own]]
        for column in range(n_columns):
            value = rows.cells[np.uint64(start + np.int64(column) * rows.by_column)]
            asked[place].value = value
            asked[place].bit = bit_of(value)
            place += np.uint64(1)


@lean_inner_kernel
def add_whole(
    tree: WalkedNodes, voters: Voters, member: int, whole: IntArray, n_columns: int, room: AddingRoom
) -> None:
    """One member's answers to rows that miss nothing: while one waits for the memory, others are moved."""
    asked = room.asked
    lanes = room.lanes
    root = voters.roots[member]
    weight = voters.weights[member]
    n_rows = np.uint64(whole.shape[0])
    count = np.uint64(min(LANES, whole.shape[0]))
    for first in range(count):
        lanes[_ROW, first] = whole[first]
        lanes[_AT, first] = np.int64(first) * n_columns
        lanes[_NODE, first] = root
    following = count
    while count > 0:
        lane = np.uint64(0)
        while lane < count:
            node = np.uint64(lanes[_NODE, lane])
            record = tree.records[node]
            cell = asked[np.uint64(lanes[_AT, lane] + np.int64(record.column))]
            goes_right = np.uint64(cell.value > record.threshold) | np.uint64((record.codes & cell.bit) != 0)
            after = np.uint64(np.uint64(record.first) + goes_right)
            lanes[_NODE, lane] = np.int64(after)
            if after != node:
                lane += np.uint64(1)
                continue
            add_answer(voters.answers[node], lanes[_ROW, lane], member, weight, room)
            if following < n_rows:
                lanes[_ROW, lane] = whole[following]
                lanes[_AT, lane] = np.int64(following) * n_columns
                lanes[_NODE, lane] = root
                following += np.uint64(1)
                lane += np.uint64(1)
            else:
                count -= np.uint64(1)
                for kept in range(lanes.shape[0]):
                    lanes[kept, lane] = lanes[kept, count]


@lean_inner_kernel
def add_answer(found: FloatArray, one: int | np.int64, member: int, weight: float, room: AddingRoom) -> None:
    """Add what a member answers to a row."""
    place = np.uint64(one)
    sums = room.sums
    base = room.base
    if base.shape[0] == 0:
        for k in range(found.shape[0]):
            sums[place, k] += found[k] * weight
        return
    for k in range(found.shape[0]):
        if member == 0:
            base[place, k] = found[k]
        sums[place, k] += (found[k] - base[place, k]) * weight
