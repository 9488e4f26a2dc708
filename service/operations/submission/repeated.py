"""What jobs ask for that learn again and again from other rows: samples of a fold, and blocks before blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learners.errors import quoted
from learners.evaluation.decomposition import ROUNDS
from learners.evaluation.description import FIRST_BLOCK, n_blocks
from service.operations.submission.asked import Asked, told_range
from service.operations.submission.selection import MAX_FITS, n_splits


def rounds(asked: Asked, evaluation: Mapping[str, Any]) -> Any:
    """How many samples of each fold a job ``bias-variance`` draws."""
    if not asked.is_supervised:
        asked.refuse(
            f"{asked.request.get('learner')} answers no target, of which a loss could be taken apart", "learner"
        )
    if "utility" in evaluation:
        asked.refuse("utility has no effect on bias and variance, which are of the 0/1 loss", "evaluation.utility")
    given = asked.request.get("rounds")
    count = ROUNDS if given is None else given
    most = MAX_FITS // n_splits(evaluation)
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= most:
        allowed = f"{told_range(2, most)} (rounds times splits are at most {MAX_FITS})"
        asked.refuse(f"rounds must be {allowed}; it is {quoted(count)}", "rounds", allowed=allowed)
    return count


def blocks(asked: Asked) -> int:
    """How many blocks a job ``description-length`` learns for."""
    if asked.learner is not None and asked.learner.capabilities.task != "classification":
        asked.refuse(
            f"description lengths are of classes; {asked.learner.name} learns none", "learner", allowed="classifiers"
        )
    count = n_blocks(asked.usable_rows())
    if count < 1 and not asked.faults:
        asked.refuse(
            f"a description length needs more than {FIRST_BLOCK} rows that have a target; there are "
            f"{asked.usable_rows()}",
            "dataset",
        )
    return count
