"""The job ``bias-variance``: ``fold-f`` takes the loss apart by bootstrap samples of fold f's training rows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from learners.evaluation.decomposition import combined, decompose, of_fold
from service.operations.submission.selection import n_splits
from service.operations.work.evaluating import splits_of
from service.operations.work.kernels import kernels
from service.operations.work.part import (
    Kind,
    Part,
    Request,
    Result,
    Results,
    cells_to_learn,
    learners_at_work,
    make_learner,
)
from service.store.tables import Job

_FOLD = "fold-"


def plan(request: Request, results: Results) -> list[str]:
    """Every fold."""
    return [f"{_FOLD}{number}" for number in range(1, n_splits(request["evaluation"]) + 1)]


def run(part: Part) -> Result:
    """One fold: all its samples, and what their answers to the tested rows differ by."""
    data, request = part.data, part.request
    fold = int(part.name.removeprefix(_FOLD))
    splits, judging = splits_of(request["evaluation"], data, request["seed"]), data.judging(request["evaluation"])
    with kernels(part.options.get("compiled"), learners_at_work(request), cells_to_learn(request, data.table)):
        found = decompose(
            lambda: make_learner(request),
            data.table,
            data.target,
            splits[fold - 1],
            request["rounds"],
            (request["seed"], fold),
            judging=judging,
            progress=part.progress,
        )
    return {
        **of_fold(found, splits[fold - 1], fold, judging),
        "plan_warnings": list(splits.warnings),
        "dropped_rows": data.dropped,
    }


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """The parts of the loss in each fold and in all."""
    folds = [dict(parts[name]) for name in plan(job.request, lambda: parts)]
    told = [(fold.pop("plan_warnings"), fold.pop("dropped_rows")) for fold in folds]
    warnings, dropped = told[0]
    return {"dropped_rows": dropped, "decomposition": combined(folds), "warnings": warnings}


KIND = Kind(plan, run, finish)
