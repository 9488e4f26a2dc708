"""What raising a branch would come to, for :mod:`~learners.trees.pruning.raising`; nothing is changed.

To estimate a raised branch, only the rows of the other branches have to run down it. With them run the rows of which
a tested value is missing, wherever they are, since the branches' shares change with the rows; all others stay. A chain
of levels divides such a row among all its leaves, so these run only where it is not decided without them: a leaf is
estimated to make no fewer errors when it gets more rows, so the estimates without them are a bound. Where estimates
come so near to each other that rounding could decide, or most rows would run anyway, all rows of the node run.
"""

from __future__ import annotations

import numpy as np

from learners._accel import inner_kernel
from learners.trees.branching import TEST
from learners.trees.nodes import LEAF
from learners.trees.pruning.error_based import SLACK, SMALL
from learners.trees.pruning.raising_rows import Data, Entries, How, Pool, State, Tree, children_of, collected, descend

#: Estimates of a branch are compared anew with all rows where they are nearer than this share of the errors.
DOUBT = 1e-9
#: From this confidence on, no leaf is estimated to make fewer errors when it gets more rows. Below it, the straight
#: line between no error and one may fall: one error is reckoned by the normal approximation, none exactly.
LEAST_CONFIDENCE = 1e-3


@inner_kernel
def errors_of_branch(
    tree: Tree,
    data: Data,
    node: int,
    heaviest: int,
    pool: Pool,
    state: State,
    how: How,
    others: tuple[float, float],
) -> float:
    """The estimated errors of the heaviest branch with all rows of the node; where well above the others, less exact.

    ``how.adding``: no row may be divided. ``others``: the errors as a leaf and as a tree.
    """
    if how.adding or (data.apart and state.base_weight[node] >= 0.5 * tree.weight[node]):
        errors, sure = _by_those_that_move(tree, data, node, heaviest, pool, state, how, others)
        if sure:
            return errors
    entries = collected(tree, pool, node, -1, state, False)
    whole = How(False, False, False, how.confidence, how.quantile, max(others[0], others[1]) + 1.0)
    return descend(tree, data, heaviest, entries, pool, state, whole)


@inner_kernel
def _by_those_that_move(
    tree: Tree,
    data: Data,
    node: int,
    heaviest: int,
    pool: Pool,
    state: State,
    how: How,
    others: tuple[float, float],
) -> tuple[float, bool]:
    """The same with no more rows than need to run, and whether rounding cannot matter to what is decided by it."""
    as_leaf, as_tree = others
    doubt = DOUBT * (1.0 + as_leaf + as_tree)
    trial = How(False, True, False, how.confidence, how.quantile, np.inf)
    if not how.adding and how.confidence >= LEAST_CONFIDENCE:
        beside = _undivided_beside(tree, data, pool, node, heaviest)
        least = descend(tree, data, heaviest, beside, pool, _without_divided(state), trial)
        if least - SLACK - SMALL - doubt > as_tree:
            return least, True  # not raised; and a leaf that is to be compared with it is no worse than the tree
    entries = collected(tree, pool, node, heaviest, state, False)
    errors = descend(tree, data, heaviest, entries, pool, state, trial)
    nearest = min(abs(errors + SLACK + SMALL - as_leaf), abs(errors - SLACK - SMALL - as_tree))
    return errors, how.adding or nearest > doubt


@inner_kernel
def _undivided_beside(tree: Tree, data: Data, pool: Pool, node: int, branch: int) -> Entries:
    """The rows in the leaves below a node and not below one of its branches, without those that may be divided."""
    found = Entries([0][:0], [0.0][:0])
    stack = [node]
    while len(stack) > 0:
        here = stack.pop()
        if tree.links[here, TEST] != LEAF:
            for child in children_of(tree, here):
                if child != branch:
                    stack.append(child)
            continue
        entry = pool.head[here]
        while entry >= 0:
            if not data.divided[pool.row[entry]]:
                found.row.append(pool.row[entry])
                found.weight.append(pool.weight[entry])
            entry = pool.following[entry]
    return found


@inner_kernel
def _without_divided(state: State) -> State:
    """The state as it is without the rows that may be divided."""
    return State(
        state.least,
        state.least,
        state.stale,
        state.changed,
        state.has_divided,
        state.base_weight,
        state.base_value,
        state.sums,
    )
