"""The leaves that one divided row reaches, and their order: the heaviest first, as they are added up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel
from learners.types import FloatArray, IntArray


class DivisionRoom(NamedTuple):
    """Room for the nodes that one row gets to, and for its shares; arrays of as many as there are nodes."""

    waiting: IntArray
    waiting_shares: FloatArray
    leaves: IntArray
    shares: FloatArray


def division_room(n_nodes: int) -> DivisionRoom:
    """Room for rows that are divided among so many nodes; only what is used takes memory."""
    return DivisionRoom(np.empty(n_nodes, np.int64), np.empty(n_nodes), np.empty(n_nodes, np.int64), np.empty(n_nodes))


@lean_inner_kernel
def sort_leaves(room: DivisionRoom, count: int) -> None:
    """Put the largest share first, of equal ones the lowest leaf: a heap with the entry that comes last on top."""
    for root in range(count // 2 - 1, -1, -1):
        sink(room, root, count)
    for end in range(count - 1, 0, -1):
        swap(room, 0, end)
        sink(room, 0, end)


@lean_inner_kernel
def sink(room: DivisionRoom, root: int, end: int) -> None:
    """Let an entry of the heap sink below those that come after it."""
    at = root
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and comes_before(room, child, child + 1):
            child += 1
        if not comes_before(room, at, child):
            return
        swap(room, at, child)
        at = child
        child = 2 * at + 1


@lean_inner_kernel
def comes_before(room: DivisionRoom, one: int, other: int) -> bool:
    """Whether an entry comes before another."""
    if room.shares[one] != room.shares[other]:
        return bool(room.shares[one] > room.shares[other])
    return bool(room.leaves[one] < room.leaves[other])


@lean_inner_kernel
def swap(room: DivisionRoom, one: int, other: int) -> None:
    """Change places."""
    leaf = room.leaves[one]
    share = room.shares[one]
    room.leaves[one] = room.leaves[other]
    room.shares[one] = room.shares[other]
    room.leaves[other] = leaf
    room.shares[other] = share
