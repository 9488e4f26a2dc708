"""The job ``learning-curve``: ``share-i-fold-f`` learns from the i-th share of fold f's training rows."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from sqlalchemy.orm import Session

from learners.evaluation import evaluate_fold
from learners.evaluation.failing import AllFailed, Failed, refusals
from learners.evaluation.learning_curve import check_some_learned, partial_split
from learners.table import Column
from service.operations.submission.selection import n_splits
from service.operations.work.evaluating import combine_parts, splits_of
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
from service.operations.work.refusing import naming_weights, nothing_learned
from service.operations.work.training import target_of
from service.store.tables import Dataset, Job

_NAME = re.compile(r"share-(\d+)-fold-(\d+)")


def _names(request: Request, share: int) -> list[str]:
    return [f"share-{share}-fold-{fold}" for fold in range(1, n_splits(request["evaluation"]) + 1)]


def plan(request: Request, results: Results) -> list[str]:
    """Every share in every fold, the smallest shares first."""
    return [name for share in range(1, len(request["shares"]) + 1) for name in _names(request, share)]


def run(part: Part) -> Result:
    """One share in one fold, judged on the fold's rows and on those it learned from."""
    data, request = part.data, part.request
    share, fold = (int(number) for number in _NAME.fullmatch(part.name).groups())  # type: ignore[union-attr]
    splits = splits_of(request["evaluation"], data, request["seed"])
    split = partial_split(splits[fold - 1], request["shares"][share - 1], data.target, request["seed"], data.times)
    told: Result = {
        "share": request["shares"][share - 1],
        "plan_warnings": list(splits.warnings),
        "dropped_rows": data.dropped,
    }
    cells = cells_to_learn(request, data.table)
    try:
        ready = kernels(part.options.get("compiled"), learners_at_work(request), cells)
        with ready, refusals(fold), naming_weights(request):
            result = evaluate_fold(
                lambda: make_learner(request),
                data.table,
                data.target,
                split,
                data.judging(request["evaluation"], training=True),
                fold=fold,
                progress=part.progress,
            )
    except Failed as failed:
        return {"fold": fold, "n_train": len(split.train), "failure": failed.failure.to_json(), **told}
    return {**result.to_json(), **told}


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """The evaluation by share; of a share that cannot be learned from, why.

    Raises:
        Invalid: none can be; each reason is named.
    """
    request = job.request
    target = target_of(session.get_one(Dataset, request["dataset"]), request)
    points = [_point(request, target, number, parts) for number in range(1, len(request["shares"]) + 1)]
    try:
        check_some_learned(points)
    except AllFailed as error:
        raise nothing_learned(error) from None
    return {"dropped_rows": next(iter(parts.values()))["dropped_rows"], "curve": points}


def _point(request: Request, target: Column, number: int, parts: Mapping[str, Result]) -> Result:
    folds = [parts[name] for name in _names(request, number)]
    point: Result = {
        "share": request["shares"][number - 1],
        "train_rows": float(np.mean([fold["n_train"] for fold in folds])),
    }
    failed = [fold for fold in folds if "failure" in fold]
    if failed:
        return point | {"failure": failed[0]["failure"]}
    summary = combine_parts(request["evaluation"], target, folds)
    return point | {name: summary[name] for name in ("metrics", "training", "warnings")}


KIND = Kind(plan, run, finish)
