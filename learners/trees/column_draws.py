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
def list_columns(problem: Problem, work: Work, active: BoolArray) -> int:
    """Fill ``work.undrawn`` with the columns that may hold a test and have more than one value in the table."""
    count = 0
    for column in range(active.shape[0]):
        varies = not problem.columns[column].is_coded or problem.columns[column].n_codes > 1
        if active[column] and varies:
            work.undrawn[count] = column
            count += 1
    return count


@lean_inner_kernel
def draw_columns(problem: Problem, work: Work, node: int, left: int, need: int | np.int64) -> int:
    """Mark in ``work.looked`` so many of the columns that are left in ``work.undrawn``, or all; returns what is left.

    None is drawn twice, each as likely as the others.
    """
    for column in range(work.looked.shape[0]):
        work.looked[column] = False
    chance = hashed(problem.draw[SEED] + node)
    for _ in range(min(need, left)):
        place = (hashed(chance + left) * left) >> 32
        left -= 1
        work.looked[work.undrawn[place]] = True
        work.undrawn[place] = work.undrawn[left]
    return left


@lean_inner_kernel
def hashed(number: int | np.int64) -> np.int64:
    """A 32-bit hash of a number, in 64 bits that never overflow."""
    x = np.int64(number) & _MASK
    x ^= x >> 16
    x = (x * 0x21F0AAAD) & _MASK
    x ^= x >> 15
    x = (x * 0x735A2D97) & _MASK
    return np.int64(x ^ (x >> 15))
