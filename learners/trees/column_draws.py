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


def draw_of(n_drawn: int | None, seed: int) -> IntArray:
    """The array ``Problem.draw``; None for all columns."""
    return np.array([n_drawn or 0, seed & _MASK], np.int64)


@lean_inner_kernel
def draws_columns(problem: Problem) -> bool:
    """Whether a node's test is looked for on some columns only."""
    return bool(problem.draw[N_DRAWN] > 0)


@lean_inner_kernel
def draw_columns(problem: Problem, work: Work, node: int, active: BoolArray, turn: int) -> bool:
    """Fill ``work.looked`` with the columns drawn; false if there is none left.

    At first as many as are asked for; if none of them had a test one more on each turn, none twice.
    """
    left = 0
    for column in range(active.shape[0]):
        if turn == 0:
            work.tried[column] = False
        work.looked[column] = False
        if may_be_drawn(problem, work, active, column):
            left += 1
    need = problem.draw[N_DRAWN] if turn == 0 else np.int64(1)
    chance = hashed(hashed(problem.draw[SEED] + node) + turn)
    found = left > 0
    for column in range(active.shape[0]):
        if may_be_drawn(problem, work, active, column):
            # each of those left is as likely (selection sampling)
            if hashed(chance + column) * left < need * (np.int64(_MASK) + 1):
                work.looked[column] = True
                work.tried[column] = True
                need -= 1
            left -= 1
    return found


@lean_inner_kernel
def may_be_drawn(problem: Problem, work: Work, active: BoolArray, column: int) -> bool:
    """Whether a column may hold a test, has more than one value in the table, and was not drawn yet."""
    varies = not problem.columns[column].is_coded or problem.columns[column].n_codes > 1
    return bool(active[column] and varies and not work.tried[column])


@lean_inner_kernel
def hashed(number: int | np.int64) -> np.int64:
    """A 32-bit hash of a number, in 64 bits that never overflow."""
    x = np.int64(number) & _MASK
    x ^= x >> 16
    x = (x * 0x21F0AAAD) & _MASK
    x ^= x >> 15
    x = (x * 0x735A2D97) & _MASK
    return np.int64(x ^ (x >> 15))
