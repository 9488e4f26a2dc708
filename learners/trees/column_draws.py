"""Columns drawn at random for a node, as a random forest wants them (Breiman 2001).

Chance is a hash of the tree's seed, the node's number and the column's place: the same on any thread, in any
order of the work, compiled or not.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import Problem, Work
from learners.types import BoolArray, IntArray

#: Places in ``Problem.draw``: how many columns are drawn for a node, 0 for all; and the tree's seed, below 2^32.
N_DRAWN, SEED = range(2)
_MASK = 0xFFFFFFFF
#: Up to so many columns are sorted as they are drawn.
_FEW_DRAWN = 16


def draw_of(n_drawn: int | None, seed: int) -> IntArray:
    """The array ``Problem.draw``; None for all columns."""
    return np.array([n_drawn or 0, seed & _MASK], np.int64)


@lean_inner_kernel
def draws_columns(problem: Problem) -> bool:
    """Whether a node's test is looked for on some columns only."""
    return bool(problem.draw[N_DRAWN] > 0)


@lean_inner_kernel
def list_columns(problem: Problem, work: Work, active: BoolArray) -> np.int64:
    """Fill ``work.undrawn`` with the columns that may hold a test and have more than one value in the table.

    Every column is written and only the end moves on, as in :func:`list_looked`.
    """
    count = np.uint64(0)
    for column in range(np.uint64(active.shape[0])):
        varies = not problem.columns[column].is_coded or problem.columns[column].n_codes > 1
        work.undrawn[count] = column
        count += np.uint64(active[column]) & np.uint64(varies)
    return np.int64(count)


@lean_inner_kernel
def list_looked(work: Work, marked: BoolArray, first: int, last: int) -> np.int64:
    """Fill ``work.looked`` with the marked columns from ``first`` to ``last``; returns how many."""
    count = np.uint64(0)
    for column in range(np.uint64(first), np.uint64(last)):
        work.looked[count] = column
        count += np.uint64(marked[column])
    return np.int64(count)


@lean_inner_kernel
def draw_columns(
    problem: Problem, work: Work, node: int, left: np.int64, need: int | np.int64
) -> tuple[np.int64, np.int64]:
    """Fill ``work.looked``, ascending, with so many of the columns that are left in ``work.undrawn``, or with all.

    None is drawn twice, each as likely as the others. Returns how many are left and how many were drawn.
    """
    drawn = min(np.int64(need), left)
    by_marks = drawn > _FEW_DRAWN
    if by_marks:
        for column in range(work.drawn.shape[0]):
            work.drawn[column] = False
    chance = hashed(problem.draw[SEED] + node)
    for count in range(np.uint64(drawn)):
        place = np.uint64((hashed(chance + left) * left) >> 32)
        left -= 1
        column = work.undrawn[place]
        work.undrawn[place] = work.undrawn[np.uint64(left)]
        if by_marks:
            work.drawn[np.uint64(column)] = True
        else:
            insert(work, np.uint64(count), column)
    if by_marks:
        list_looked(work, work.drawn, 0, work.drawn.shape[0])
    return left, drawn


@lean_inner_kernel
def insert(work: Work, count: np.uint64, column: int | np.int64) -> None:
    """Put a column among the first ``count`` of ``work.looked``, which ascend."""
    one = np.uint64(1)
    place = np.uint64(count)
    while place > 0 and work.looked[place - one] > column:
        work.looked[place] = work.looked[place - one]
        place -= one
    work.looked[place] = column


@lean_inner_kernel
def hashed(number: int | np.int64) -> np.int64:
    """A 32-bit hash of a number, in 64 bits that never overflow."""
    x = np.int64(number) & _MASK
    x ^= x >> 16
    x = (x * 0x21F0AAAD) & _MASK
    x ^= x >> 15
    x = (x * 0x735A2D97) & _MASK
    return np.int64(x ^ (x >> 15))
