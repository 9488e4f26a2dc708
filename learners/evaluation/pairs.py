"""Several learners that were judged on the same rows, compared in pairs: only by tests that hold for how they were.

Folds that are drawn at random, two or more, are tested by the corrected resampled t-test. One part (a hold-out, or
leave-one-out, whose answers are judged together) has one value of each metric; those that are means over rows are
tested over the rows. Folds in the order of time have no test of their metrics: each learns from what the one before it
tested. McNemar's test takes rows that were answered once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.evaluation.comparison import compare_losses, corrected_t, holm, mcnemar_of
from learners.evaluation.metrics import BY_TASK, finite
from learners.evaluation.plan import Plan
from learners.evaluation.results import FoldResult
from learners.types import FloatArray

#: What a record of a test has beside its difference where there is none.
_NO_TEST: dict[str, Any] = dict.fromkeys(
    ("standard_error", "interval", "p_value", "count", "test", "degrees_of_freedom", "test_share")
)
_NO_MCNEMAR: dict[str, Any] = dict.fromkeys(("rows", "only_first_right", "only_second_right", "p_value"))


@dataclass(frozen=True, eq=False)
class Judged:
    """How one learner was judged.

    Attributes:
        folds: what each fold found; their rows are not needed.
        losses: of :func:`~learners.evaluation.comparison.row_losses`, in the order of the rows; ``None`` where rows
            were not answered once.
    """

    folds: Sequence[FoldResult]
    losses: Mapping[str, FloatArray] | None = None


@dataclass(frozen=True)
class Terms:
    """How all of them were judged.

    Attributes:
        plan: by which rows were parted.
        ordered: in the order of time.
        grouped: by groups.
        weighted: whether rows have weights.
        has_utility: whether one matrix of utilities judged the decisions of all.
    """

    plan: Plan
    ordered: bool = False
    grouped: bool = False
    weighted: bool = False
    has_utility: bool = False

    @property
    def answers_once(self) -> bool:
        """Whether no row is answered twice."""
        return self.plan.repeats == 1

    def notes(self) -> list[str]:
        """What tests over rows take for granted here."""
        found = []
        if self.ordered or self.grouped:
            what = "follow each other in time" if self.ordered else "are of one group"
            found.append(f"tests over rows take them as independent of each other, also where they {what}")
        if self.weighted:
            found.append("McNemar's test counts rows of a weight above 0, whatever it is")
        return found


def pairs_of(count: int, reference: int | None, most: int) -> list[tuple[int, int]]:
    """Which learners are compared, by their places: (one, the one it is compared against).

    Args:
        reference: against which all others are; ``None``: all pairs of at most ``most`` learners, else against the
            first.
    """
    if reference is None and count <= most:
        return [(one, against) for against in range(count) for one in range(against + 1, count)]
    against = reference or 0
    return [(one, against) for one in range(count) if one != against]


def compare_pairs(
    judged: Sequence[Judged | None], names: Sequence[str], pairs: Sequence[tuple[int, int]], terms: Terms
) -> list[dict[str, Any]]:
    """Each pair's differences and tests; plain JSON.

    Args:
        judged: each learner; ``None`` for one that could not be judged.
        names: of the learners.
        pairs: of :func:`pairs_of`.

    Returns:
        ``learner`` and ``against``; by metric in ``metrics`` the mean ``difference`` (learner less against), the
        test as :class:`~learners.evaluation.comparison.Paired` has it, ``adjusted_p_value`` by Holm over all pairs
        that were tested in this metric, and in ``untested`` why there is no test; in ``mcnemar`` the ``rows``, those
        that only the first (``learner``) or the second (``against``) answers right, and the same of its p value.
    """
    found = [
        {"learner": names[one], "against": names[against], **_compared(judged[one], judged[against], terms)}
        for one, against in pairs
    ]
    metrics = dict.fromkeys(name for one in found for name in one["metrics"])
    for name in metrics:
        _adjust([one["metrics"][name] for one in found if name in one["metrics"]])
    _adjust([one["mcnemar"] for one in found])
    return found


def _adjust(tests: Sequence[dict[str, Any]]) -> None:
    for test, adjusted in zip(tests, holm([one["p_value"] for one in tests]), strict=True):
        test["adjusted_p_value"] = adjusted


def _compared(first: Judged | None, second: Judged | None, terms: Terms) -> dict[str, Any]:
    if first is None or second is None:
        why = "a learner of the two could not be learned with in every fold"
        return {"metrics": {}, "mcnemar": _NO_MCNEMAR | {"untested": why}, "notes": []}
    common = [name for name in first.folds[0].metrics if name in second.folds[0].metrics]
    metrics = {name: _metric(name, first, second, terms) for name in common}
    by_rows = any(one["test"] == "paired-t" for one in metrics.values())
    mcnemar = _mcnemar(first, second, terms)
    notes = terms.notes() if by_rows or mcnemar["untested"] is None else []
    return {"metrics": metrics, "mcnemar": mcnemar, "notes": notes}


def _metric(name: str, first: Judged, second: Judged, terms: Terms) -> dict[str, Any]:
    values = [
        [fold.metrics.get(name) for fold in sorted(one.folds, key=lambda fold: fold.fold)] for one in (first, second)
    ]
    pairs = [(one, other) for one, other in zip(*values, strict=True) if one is not None and other is not None]
    if len(pairs) < len(values[0]):
        return _untested(None, f"{name} is undefined in {len(values[0]) - len(pairs)} of {len(values[0])} folds")
    mine, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    difference = finite(float(np.mean(np.array(mine) - np.array(theirs))))
    if name == "mean_utility" and not terms.has_utility:
        return _untested(difference, "the learners' own utilities need not be alike; give evaluation.utility")
    if len(pairs) == 1:
        return _over_rows(name, difference, first, second, terms)
    if terms.ordered:
        why = "folds in the order of time are not drawn at random: each learns from what the one before it tested"
        return _untested(difference, why)
    share = float(np.mean([fold.n_test / fold.n_train for fold in first.folds]))
    return corrected_t(mine, theirs, share).to_json() | {"untested": None}


def _untested(difference: float | None, why: str) -> dict[str, Any]:
    return {"difference": difference, **_NO_TEST, "untested": why}


def _over_rows(name: str, difference: float | None, first: Judged, second: Judged, terms: Terms) -> dict[str, Any]:
    """The test of one part's only value, over its rows."""
    mine, theirs = (_of_rows(name, one) for one in (first, second))
    if mine is None or theirs is None:
        return _untested(difference, f"there is one value, and {name} is no mean over rows, which could be tested")
    if terms.weighted:
        return _untested(difference, "there is one value, and rows of unlike weight are not tested")
    if len(mine) < 2:
        return _untested(difference, "there is one row, and a test needs two")
    found = compare_losses(mine, theirs)
    return _untested(difference, "a loss is beyond the largest number") if found is None else found | {"untested": None}


def _of_rows(name: str, judged: Judged) -> FloatArray | None:
    losses = judged.losses or {}
    return 1 - losses["error"] if name == "accuracy" and "error" in losses else losses.get(name)


def _mcnemar(first: Judged, second: Judged, terms: Terms) -> dict[str, Any]:
    if not set(first.folds[0].metrics) <= set(BY_TASK["classification"]):
        return _NO_MCNEMAR | {"untested": "McNemar's test counts right answers; the learners answer numbers"}
    if first.losses is None or second.losses is None:
        return _NO_MCNEMAR | {
            "untested": "McNemar's test takes rows that were answered once; repeats answer them again"
        }
    wrong, also = first.losses["error"], second.losses["error"]
    return {"rows": len(wrong), **mcnemar_of(wrong, also).to_json(), "untested": None}
