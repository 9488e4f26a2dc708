"""Folds and hold-out that keep the rows of a group together: patients, customers, documents.

Groups are taken in random order and each goes where it keeps the parts nearest to their shares of
every class: to the part b for which ``sum over classes c of g_c (n_bc + g_c / 2) / (s_b N_c)`` is least,
with the group's rows g_c, those the part has already n_bc, its share s_b and all rows N_c. That is the
increase of ``sum n_bc^2 / (2 s_b N_c)``, which is least where every part has its share.
"""

from __future__ import annotations

import numpy as np

from learners.errors import ParameterError, quoted
from learners.evaluation.folds import Folds, Split, absent_classes, dealing_order, is_whole, rare_classes
from learners.types import Array, FloatArray, IntArray


def group_folds(
    groups: Array, folds: int, seed: int, codes: Array | None = None, labels: tuple[object, ...] = ()
) -> Folds:
    """k folds of whole groups; stratified, as far as groups allow it, where class codes are given.

    Args:
        groups: a number for each row's group, shape (n,).
        folds, seed, codes, labels: see :func:`~learners.evaluation.folds.k_fold`.

    Raises:
        ParameterError: there are fewer groups than folds.
    """
    number, count = _numbered(groups)
    if count < 2:
        raise ParameterError(f"folds of groups need at least 2 groups; there is {count}", field="groups")
    if not is_whole(folds) or not 2 <= folds <= count:
        raise ParameterError(
            f"parameter folds must be a whole number >= 2 and <= {count} (the number of groups); it is {quoted(folds)}",
            field="folds",
        )
    parts = _deal(number, count, np.full(folds, 1 / folds), seed, codes)
    return Folds(parts[number].astype(np.int32), int(folds), rare_classes(codes, int(folds), labels))


def group_hold_out(
    groups: Array, fraction: float, seed: int, codes: Array | None = None, labels: tuple[object, ...] = ()
) -> tuple[Split, tuple[str, ...]]:
    """One split of whole groups, of which those for the test hold about ``fraction`` of the rows; and its warnings.

    Raises:
        ParameterError: there is only one group, or the fraction is out of range.
    """
    number, count = _numbered(groups)
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise ParameterError(
            f"parameter fraction must be a number > 0 and < 1; it is {quoted(fraction)}", field="fraction"
        )
    if count < 2:
        raise ParameterError(f"a hold-out of groups needs at least 2 groups; there is {count}", field="groups")
    tested = _deal(number, count, np.array([fraction, 1 - fraction]), seed, codes)[number] == 0
    return Split(np.flatnonzero(~tested), np.flatnonzero(tested)), absent_classes(codes, tested, labels)


def leave_groups_out(groups: Array) -> Folds:
    """Each group in turn is tested."""
    number, count = _numbered(groups)
    if count < 2:
        raise ParameterError(f"leaving out a group needs at least 2 groups; there is {count}", field="groups")
    return Folds(number.astype(np.int32), count)


def _numbered(groups: Array) -> tuple[IntArray, int]:
    """The rows' groups as 0 .. G-1, and G."""
    distinct, number = np.unique(groups, return_inverse=True)
    return number, len(distinct)


def _deal(number: IntArray, count: int, shares: FloatArray, seed: int, codes: Array | None) -> IntArray:
    """The part of each group, shape (G,); no part stays empty."""
    classes = np.zeros(len(number), dtype=np.int64) if codes is None else np.unique(codes, return_inverse=True)[1]
    n_classes = int(classes.max()) + 1
    cells = np.bincount(number * n_classes + classes, minlength=count * n_classes).reshape(count, n_classes)
    scaled = cells / cells.sum(axis=0)
    filled = np.zeros((len(shares), n_classes))
    empty = np.ones(len(shares), dtype=bool)
    part = np.empty(count, dtype=np.int64)
    for place, group in enumerate(dealing_order(count, seed, None).tolist()):
        cost = ((filled + cells[group] / 2) @ scaled[group]) / shares
        if empty.sum() == count - place:
            cost[~empty] = np.inf
        chosen = part[group] = int(np.argmin(cost))
        filled[chosen] += cells[group]
        empty[chosen] = False
    return part
