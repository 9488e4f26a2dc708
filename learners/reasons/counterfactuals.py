"""The nearest rows with another answer, found exactly: of trees of boxes, of trees that test several values, of rules.

"Nearest" is first the number of changed columns (or, with costs, their sum), then the sum of the scaled distances: of a
number its change divided by the column's width (:mod:`learners.reasons.wanted.scales`), of an ordinal level the steps
divided by the greatest number of steps, of anything else 1.

A missing value that decides has to be chosen, which counts as a change. A row may also leave some or all of the missing
values missing, whatever else it changes: it still is divided among several leaves and counts if their mean is the
wanted answer (:mod:`learners.reasons.divided`). So the search is exact among all rows: what is told is ``exact`` unless
the bound of that search was met. Each row has a bound of its own, and all rows of a request have one together, of which
each has its part, wherever it stands (:mod:`learners.reasons.work`).

Every row that is given was answered by the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.base import Learner
from learners.errors import ParameterError, quoted
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import Counterfactual, Ways
from learners.reasons.regions.boxes import boxes_of, check_leaves
from learners.reasons.searches.box_search import BoxSeeker
from learners.reasons.searches.combined_search import CombinedSeeker
from learners.reasons.searches.rule_search import RuleSeeker
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.targets import Target, answers_of, target_of
from learners.reasons.wanted.wishes import Wishes
from learners.reasons.work import Work
from learners.rules.fitted import FittedRules
from learners.trees.estimator import FittedTree


@dataclass(frozen=True)
class Search:
    """What is looked for besides the wanted answer.

    Attributes:
        wishes: what may be changed and at what price; None for anything at cost 1.
        count: how many counterfactuals, the nearest first: at most one of each leaf, or of each rule. A row that
            is divided among leaves counts as one of the leaf that takes most of it.
        diverse: let no two of them change the same set of columns.
        order: ``changes`` compares costs first, then distances; ``distance`` compares distances, each
            times its column's cost, first, then costs.
    """

    wishes: Wishes | None = None
    count: int = 1
    diverse: bool = False
    order: Literal["changes", "distance"] = "changes"


def counterfactuals(
    learner: Learner,
    X: Any,
    wanted: Any,
    search: Search | None = None,
    scales: Scales | None = None,
    work: Work | None = None,
) -> list[Ways]:
    """For each row the nearest rows that have the wanted answer; none where it has it already, or none can be reached.

    A row for which too much would have to be looked at is given the best that was found, with ``exact`` False; if
    there was none, its ``unfinished`` tells what.

    Args:
        learner: a fitted tree (with tests of several values by :mod:`learners.reasons.searches.combined_search`), or an
            ordered rule set (:mod:`learners.reasons.searches.rule_search`).
        X: rows as for ``predict``.
        wanted: a class label; or of a regression (least, greatest), either of them None for no bound.
        search: see :class:`Search`.
        scales: of the model's columns; by default from the model's thresholds.
        work: what the searches of all rows may take together; several calls may share one. By default of this call's.

    Raises:
        LearnerError: the learner is neither. ParameterError: it has no such class, the range is empty, ``count`` is
            less than 1.
    """
    search = search or Search()
    if search.count < 1:
        raise ParameterError(f"count must be a whole number >= 1, not {quoted(search.count)}", field="count")
    if search.order not in ("changes", "distance"):
        raise ParameterError(f"order is 'changes' or 'distance', not {quoted(search.order)}", field="order")
    table = learner.check_table(X)
    work = work or Work(table.n_rows)
    seeker, target = _seeker(learner, wanted, search, scales, work)
    reached = target.holds(answers_of(learner, table))

    def find(place: int) -> Ways:
        return Ways() if reached[place] else seeker.find(np.array(table.values[place]))

    return work.share(table.n_rows, find, _is_whole)


def _is_whole(found: Ways) -> bool:
    """Whether nothing was left to look at."""
    return found.unfinished is None and all(one.exact for one in found)


def _seeker(
    learner: Learner, wanted: Any, search: Search, scales: Scales | None, work: Work
) -> tuple[BoxSeeker | RuleSeeker | CombinedSeeker, Target]:
    if isinstance(learner, FittedRules):
        learner.check_fitted()
        target = target_of(learner, wanted)
        steps = _steps(learner, search, scales or Scales.of_rules(learner.ordered_rules_, learner.columns_))
        return RuleSeeker(learner, target, steps, count=search.count, diverse=search.diverse, work=work), target
    check_leaves(learner)
    assert isinstance(learner, FittedTree)  # noqa: S101 - it is checked
    target = target_of(learner, wanted)
    if len(learner.tree_.combined):
        steps = _steps(learner, search, scales or Scales.of_combined(learner.tree_, learner.columns_))
        return CombinedSeeker(learner, target, steps, count=search.count, diverse=search.diverse, work=work), target
    boxes = boxes_of(learner)
    steps = _steps(learner, search, scales or Scales.of_boxes(boxes))
    return BoxSeeker(learner, boxes, target, steps, count=search.count, diverse=search.diverse, work=work), target


def _steps(learner: Learner, search: Search, scales: Scales) -> RegionSteps:
    wishes = search.wishes or Wishes.of(learner.columns_)
    return RegionSteps(learner.columns_, wishes, scales, by_distance=search.order == "distance")


def why_not(
    learner: Learner, X: Any, wanted: Any, scales: Scales | None = None, work: Work | None = None
) -> list[Counterfactual | None]:
    """For each row the nearest way to the wanted answer with everything free: its unmet conditions say why not.

    None where the row has the answer already, or no leaf has it. See :func:`counterfactuals`.
    """
    return [found[0] if found else None for found in counterfactuals(learner, X, wanted, None, scales, work)]
