"""Memory to grow in: what each thread works with, and the tree so far, which is enlarged when it is full."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.trees.problem import (
    BRANCH,
    COLUMN_BEST,
    COMBINATIONS_A_ROW,
    COMBINATIONS_AT_ONCE,
    COUNTED,
    GROUP,
    LEVEL,
    NODE,
    NOTED_BITS,
    Grown,
    Problem,
    Records,
    Rules,
    Work,
    record_type,
    records,
)


def new_work(problem: Problem, rules: Rules) -> Work:
    """Scratch memory for a problem."""
    capacity = problem.row.shape[0]
    plain = problem.columns.view(np.ndarray)  # whose fields are read in a tenth of the time
    n_codes = plain["n_codes"]
    codes = int(n_codes.max(initial=0))
    levels = int(n_codes[plain["n_levels"] > 0].max(initial=1))
    label_bits = problem.layout.label_bits
    combinations = (codes + 1) << label_bits
    coded = n_codes[plain["is_coded"]].astype(np.int64)
    together = max(combinations, min(int(((coded + 1) << label_bits).sum()), COMBINATIONS_AT_ONCE))
    branches = 2 * levels + 2  # intervals without rows may lie between those with rows
    weighted = 1 if rules.unit else capacity
    return Work(
        branch=np.zeros(capacity, np.int32),
        new_id=np.zeros(capacity, np.int32),
        keys=np.zeros(capacity, np.int64),
        spare_numbers=np.zeros(weighted),
        absent=np.zeros(weighted, np.int32),
        sums=np.zeros((4, rules.n_stats)),
        groups=records(codes + 1, GROUP),
        group_stats=np.zeros((max(codes + 1, branches), rules.n_stats)),
        counts=np.zeros(together if rules.unit else 1, np.int32),
        weights=np.zeros((2, 1 if rules.unit else together)),
        listed=records(len(problem.columns), COUNTED),
        noted=np.zeros(len(problem.columns) + together // NOTED_BITS + 1, np.int64),
        code_branch=np.zeros(codes + 1, np.int32),
        branch_stats=np.zeros((branches, rules.n_stats)),
        packed=np.zeros((2, min(capacity, combinations // COMBINATIONS_A_ROW + 1)), np.int64),
        columns=records(len(problem.columns), COLUMN_BEST),
        looked=np.zeros(len(problem.columns), np.int64),
        keyed=np.flatnonzero(~plain["is_coded"]),
        filled=np.full(3, -1),
        drawn=np.zeros(len(problem.columns), np.bool_),
        undrawn=np.zeros(len(problem.columns), np.int64),
        branches=records(branches, BRANCH),
        cursor=np.zeros(branches, np.int64),
        empty=_with_root(_room_for(1)),
    )


def _empty_node() -> Records:
    empty = np.zeros(1, NODE)
    empty["threshold"], empty["upper"], empty["fraction"] = np.nan, np.nan, 1.0
    for name in ("feature", "first_child", "parent", "other_branch", "missing_branch"):
        empty[name] = -1
    return empty


_EMPTY_NODE = _empty_node()


def _room_for(nodes: int) -> Records:
    """Room for so many nodes."""
    return np.empty(nodes, record_type(NODE)).view(np.recarray)


def _with_root(nodes: Records) -> Records:
    """The same with an empty root; other nodes are emptied when they are made, so that room costs no memory."""
    nodes.view(np.ndarray)[:1] = _EMPTY_NODE
    return nodes


def new_grown(nodes: int, levels: int, stack: int, columns: int, n_values: int) -> Grown:
    """An empty tree with room for so many nodes, level entries and waiting nodes."""
    return Grown(
        nodes=_with_root(_room_for(nodes)),
        value=np.empty((nodes, n_values)),
        levels=records(levels, LEVEL),
        stack=np.zeros(stack, np.int32),
        active=np.ones((stack, columns), np.bool_),
    )


def emptied(grown: Grown) -> Grown:
    """The same room for another tree over as many columns; what is in it is of no use any more."""
    _with_root(grown.nodes)
    grown.stack[0] = 0  # the root
    grown.active[0] = True
    return grown


def enlarged(grown: Grown, nodes: int, levels: int, stack: int) -> Grown:
    """The tree with at least so much room; what must grow grows at least by half, the rest is left where it is."""
    columns, n_values = grown.active.shape[1], grown.value.shape[1]
    if nodes > len(grown.nodes):
        room = _more(len(grown.nodes), nodes)
        grown = grown._replace(
            nodes=_with_room(grown.nodes, _room_for(room)),
            value=_with_room(grown.value, np.empty((room, n_values))),
        )
    if levels > len(grown.levels):
        room = _more(len(grown.levels), levels)
        grown = grown._replace(levels=_with_room(grown.levels, records(room, LEVEL)))
    if stack > len(grown.stack):
        room = _more(len(grown.stack), stack)
        grown = grown._replace(
            stack=_with_room(grown.stack, np.zeros(room, np.int32)),
            active=_with_room(grown.active, np.ones((room, columns), np.bool_)),
        )
    return grown


def _more(have: int, need: int) -> int:
    return max(have + have // 2, need)


def _with_room(old: Any, larger: Any) -> Any:
    """The larger array, which begins with what the old one holds."""
    larger[: len(old)] = old
    return larger
