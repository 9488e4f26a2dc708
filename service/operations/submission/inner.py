"""Which part of the rows the searches of a job ``select`` know, and whether it can be parted once more.

With ``test_fraction`` a search knows what is not locked away, with ``nested`` what an outer fold learns from. How much
that is at most follows from the dataset's record; what fails even then is refused. What only the rows can tell (large
groups, rows of a group that all lack a target) fails the job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learners.evaluation.folds import n_held_out
from service.operations.submission.asked import Asked, told_range


@dataclass(frozen=True)
class Units:
    """What is never parted further: rows, groups, or rows of the same time.

    Attributes:
        count: how many there are at most.
        parted_by: ``rows``, ``groups`` or ``time``.
        is_each_a_row: whether no two rows share one.
    """

    count: int
    parted_by: str
    is_each_a_row: bool = True

    @property
    def words(self) -> str:
        return {"rows": "rows that have a target", "groups": "groups", "time": "different times"}[self.parted_by]

    @property
    def n_untested(self) -> int:
        """How many no fold tests: by time there is one before the first."""
        return int(self.parted_by == "time")


def known_in_fold(units: Units, folds: int) -> int:
    """How many units the outer fold that learns from fewest learns from at most."""
    if units.parted_by != "time":
        return units.count - math.ceil(units.count / folds)
    most = units.count - folds
    return min(most, max(1, _nearest(units.count / (folds + 1)))) if units.is_each_a_row else most


def known_beside(units: Units, fraction: float) -> int:
    """How many units are left at most where a fraction of the rows is locked away."""
    if units.parted_by == "rows":
        return units.count - n_held_out(units.count, fraction)
    if units.parted_by == "time" and units.is_each_a_row:
        return min(units.count - 1, max(1, _nearest(units.count * (1 - fraction))))
    return units.count - 1


def _nearest(number: float) -> int:
    """The nearest whole number, of two the lower."""
    return math.ceil(number - 0.5)


def check_inner(asked: Asked, selection: Mapping[str, Any], evaluation: Mapping[str, Any]) -> None:
    """Refuse more outer folds than there are units, and folds that what a search knows cannot have.

    Args:
        selection: with its defaults.
        evaluation: of each candidate, checked.
    """
    units = _units(asked, evaluation)
    nested, fraction = selection.get("nested"), selection.get("test_fraction")
    doubted = ("target", "evaluation", "selection.nested", "selection.test_fraction")
    if units is None or any(str(fault.parameter).startswith(doubted) for fault in asked.faults):
        return
    if nested is not None:
        most = units.count - units.n_untested
        if most < 2:
            asked.refuse(
                f"outer folds need at least {2 + units.n_untested} {units.words}; there are {units.count}",
                "selection.nested",
            )
            return
        if nested > most:
            counted = f"one less than the {units.words}" if units.n_untested else f"the {units.words}"
            allowed = f"{told_range(2, most)} ({counted})"
            asked.refuse(f"nested must be {allowed}; it is {nested}", "selection.nested", allowed=allowed)
            return
        _check_known(asked, units, known_in_fold(units, nested), f"in {nested} outer folds", evaluation, "nested")
    elif fraction is not None:
        known = known_beside(units, fraction)
        _check_known(asked, units, known, "beside what is locked away", evaluation, "test_fraction")


def _check_known(
    asked: Asked, units: Units, known: int, where: str, evaluation: Mapping[str, Any], option: str
) -> None:
    """Refuse folds, or what leaves too little for any."""
    folds = evaluation.get("folds")
    needed = 2 if folds is None else folds + units.n_untested
    if known >= needed:
        return
    told = f"a search {where} knows at most {known} of the {units.count} {units.words}"
    if folds is None or known < 2:
        asked.refuse(f"{told}, which cannot be parted into {needed}", f"selection.{option}")
        return
    allowed = told_range(2 - units.n_untested, known - units.n_untested)
    asked.refuse(f"folds must be {allowed}; it is {folds}: {told}", "evaluation.folds", allowed=allowed)


def _units(asked: Asked, evaluation: Mapping[str, Any]) -> Units | None:
    """What is parted; None if that is not known."""
    n_rows = asked.usable_rows()
    for name in ("groups", "time"):
        if evaluation.get(name) is not None:
            distinct = asked.profile(evaluation[name]).get("distinct")
            if distinct is None:
                return None
            return Units(min(distinct, n_rows), name, distinct == asked.dataset.n_rows)
    return Units(n_rows, "rows")
