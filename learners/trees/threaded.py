"""Growing on several threads: the tree is the same to the bit as on one.

Nodes with many rows are split one after the other, their columns shared among the threads. What is
left are subtrees of few rows; each is copied out and grown by one thread, and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.trees.growth import Growth
from learners.trees.pricing import with_paid
from learners.trees.problem import N_LEVELS, N_NODES, Grown, Problem, Work
from learners.trees.room import enlarged, new_work
from learners.trees.setup import Prepared
from learners.trees.steps import divide, move, open_root, pick, search
from learners.types import BoolArray, IntArray

#: A node is split by all threads together while it has more than 1/12 of a thread's share of rows,
#: and more than so many rows.
_SHARE = 12
_FEWEST_ROWS = 4096
#: Seconds between two looks at whether the work was cancelled.
_TICK = 0.1


@dataclass(frozen=True)
class _Subtree:
    node: int
    active: BoolArray


class _Stopped(Exception):
    """The growing of another part failed or was cancelled."""


def grow_threaded(growth: Growth, threads: int, progress: Progress) -> None:
    """Grow depth first to the end on several threads."""
    with ThreadPoolExecutor(threads) as pool:
        team = _Team(growth, pool, threads)
        subtrees = team.split_large_nodes(progress)
        subtrees.sort(key=lambda one: -int(growth.grown.nodes[one.node]["count"]))
        parts = _grown_apart(growth, subtrees, pool, progress)
    _put_back(growth, parts)


class _Team:
    """Threads that share the columns of one node; each has scratch memory of its own."""

    def __init__(self, growth: Growth, pool: ThreadPoolExecutor, threads: int) -> None:
        self.growth = growth
        self.pool = pool
        self.threads = threads
        self.limit = max(growth.prepared.n_rows // (_SHARE * threads), _FEWEST_ROWS)
        self.works = self._new_works()

    def _new_works(self) -> list[Work]:
        growth = self.growth
        shared = growth.work
        others = [
            new_work(growth.problem, growth.rules)._replace(
                branch=shared.branch, new_id=shared.new_id, columns=shared.columns, branches=shared.branches
            )
            for _ in range(self.threads - 1)
        ]
        return [shared, *others]

    def _share_columns(self, task: Callable[[Work, int, int], None]) -> None:
        """Run ``task(work, first, last)`` over all columns, a block to each thread."""
        columns = len(self.growth.problem.columns)
        bounds = [columns * i // self.threads for i in range(self.threads + 1)]
        futures = [self.pool.submit(task, work, bounds[i], bounds[i + 1]) for i, work in enumerate(self.works)]
        for future in futures:
            future.result()

    def split_large_nodes(self, progress: Progress) -> list[_Subtree]:
        """Split while a node is large; returns the nodes that remain."""
        growth = self.growth
        waiting = [_Subtree(0, np.ones(len(growth.problem.columns), np.bool_))]
        small: list[_Subtree] = []
        if not open_root(growth):
            return small
        while waiting:
            one = waiting.pop()
            if growth.grown.nodes[one.node]["count"] <= self.limit:
                small.append(one)
                continue
            if self._split(one):
                node = growth.grown.nodes[one.node]
                for child in range(node.first_child, node.first_child + node.n_children):
                    if growth.grown.nodes[child].alive:
                        waiting.append(_Subtree(child, one.active.copy()))
            progress(0.0, f"{int(growth.counters[N_NODES])} nodes")
        return small

    def _split(self, one: _Subtree) -> bool:
        """Split one node, columns shared among the threads; whether it had a test."""
        growth, node, active = self.growth, one.node, one.active

        def look(work: Work, first: int, last: int) -> None:
            search(growth, work, node, active, first, last)

        self._share_columns(look)
        column = pick(growth, node)
        if column < 0:
            return False
        found = growth.work.columns[column].copy()
        while True:
            growth.work.columns[column] = found
            made = divide(growth, node, column)
            if made is not None:
                break
            growth.make_space()
            self.works = self._new_works()

        def move_some(work: Work, first: int, last: int) -> None:
            move(growth, work, node, active, first, last, made)

        self._share_columns(move_some)
        return True


def _grown_apart(
    growth: Growth, subtrees: list[_Subtree], pool: ThreadPoolExecutor, progress: Progress
) -> list[tuple[int, Grown, IntArray]]:
    """Grow each subtree on one thread: its node, its tree and its counters."""
    stopped = False

    def check(share: float, message: str) -> None:
        if stopped:
            raise _Stopped

    def grow_one(one: _Subtree) -> tuple[int, Grown, IntArray]:
        check(0.0, "")
        part = _copied_out(growth, one)
        part.run(check)
        return one.node, part.grown, part.counters

    futures = [pool.submit(grow_one, one) for one in subtrees]
    try:
        for finished_rows in _finished_rows(growth, subtrees, futures):
            progress(min(finished_rows / growth.prepared.n_rows, 1.0), "growing subtrees")
    except BaseException:
        stopped = True
        raise
    return [future.result() for future in futures]


def _finished_rows(
    growth: Growth, subtrees: list[_Subtree], futures: list[Future[tuple[int, Grown, IntArray]]]
) -> Iterator[int]:
    """Number of rows in finished subtrees, again and again until all are finished."""
    rows = [int(growth.grown.nodes[one.node]["count"]) for one in subtrees]
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        yield sum(count for count, future in zip(rows, futures, strict=True) if future.done())


def _copied_out(growth: Growth, one: _Subtree) -> Growth:
    """A growth of its own for the rows of one node."""
    problem, node = growth.problem, growth.grown.nodes[one.node]
    start, count = int(node.start), int(node["count"])
    span = slice(start, start + count)
    room = count if growth.rules.unit else count + count // 4 + 64
    keys = np.empty((problem.keys.shape[0], room), np.int64)
    for column in np.flatnonzero(one.active & ~problem.columns.is_coded):
        keys[column, :count] = problem.keys[column, span] - (start << problem.layout.label_bits)
    row = np.zeros(room, np.int32)
    row[:count] = problem.row[span]
    numbers = np.zeros((3, room if problem.numbers.shape[1] > 1 else 1))
    if numbers.shape[1] > 1:
        numbers[:, :count] = problem.numbers[:, span]
    extras = with_paid(problem.extras, growth.grown, one.node)
    local: Problem = problem._replace(keys=keys, row=row, numbers=numbers, extras=extras)
    part = Growth(Prepared(local, growth.rules, count))
    part.grown.nodes[0].depth = node.depth
    part.grown.active[0] = one.active
    return part


def _put_back(growth: Growth, parts: list[tuple[int, Grown, IntArray]]) -> None:
    """Append the subtrees' nodes; each subtree's root takes the place of its node."""
    n_nodes, n_levels = int(growth.counters[N_NODES]), int(growth.counters[N_LEVELS])
    more_nodes = sum(int(counters[N_NODES]) - 1 for _, _, counters in parts)
    more_levels = sum(int(counters[N_LEVELS]) for _, _, counters in parts)
    growth.grown = enlarged(growth.grown, n_nodes + more_nodes, n_levels + more_levels, len(growth.grown.stack))
    for node, part, counters in parts:
        count, levels = int(counters[N_NODES]), int(counters[N_LEVELS])
        nodes = part.nodes[:count].copy()
        shift = n_nodes - 1  # the part's node i > 0 becomes node i + shift
        nodes.first_child[nodes.first_child >= 0] += shift
        nodes.level_start += n_levels
        inner = nodes.parent[1:] > 0
        nodes.parent[1:][inner] += shift
        nodes.parent[1:][~inner] = node
        nodes[0].parent = growth.grown.nodes[node].parent
        nodes[0].fraction = growth.grown.nodes[node].fraction
        places = np.concatenate(([node], np.arange(n_nodes, n_nodes + count - 1)))
        growth.grown.nodes[places] = nodes
        growth.grown.value[places] = part.value[:count]
        growth.grown.levels[n_levels : n_levels + levels] = part.levels[:levels]
        n_nodes += count - 1
        n_levels += levels
    growth.counters[N_NODES] = n_nodes
    growth.counters[N_LEVELS] = n_levels
