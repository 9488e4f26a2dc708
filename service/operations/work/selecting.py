"""The job ``select``: candidates judged by folds, the best fitted and registered.

Parts: ``point-p-fold-f`` judges candidate p in fold f. With ``nested`` there is a search of its own in each outer
fold o, ``outer-o-point-p-fold-f``, whose winner ``outer-o`` judges on that fold's rows. ``fit`` fits the winner
of the search on all rows, or on all but those that were locked away, on which it is judged then.

Sizes are looked at some at a time, so that processes work beside each other; those behind the size at which
the training error had converged are passed over, as if they had been looked at one by one.

A candidate that cannot be learned with in some fold (training diverges, too few rows) has failed: its part tells why,
it is not chosen, and the job goes on with the others. One that fails only on all rows gives way to the next best.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from learners.base import Learner
from learners.errors import ParameterError
from learners.evaluation import FoldResult, Plan, evaluate_fold
from learners.evaluation.failing import Failed, Failure, refusals
from learners.evaluation.folds import Split
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Splits
from learners.table import Column
from learners.types import IntArray
from service.errors import Invalid
from service.operations.learning_data import LearningData
from service.operations.submission.selection import n_candidates, n_splits
from service.operations.work.evaluating import combine_parts, splits_of
from service.operations.work.fitting import fit, register, stored
from service.operations.work.kernels import kernels
from service.operations.work.part import (
    FIT,
    Kind,
    Part,
    Request,
    Result,
    Results,
    cells_to_learn,
    learners_at_work,
    make_learner,
)
from service.operations.work.refusing import naming_weights
from service.operations.work.searching import Done, Search, searches
from service.operations.work.training import target_of
from service.store.tables import Dataset, Job

_NAME = re.compile(r"(?:(?P<outer>outer-\d+)-?)?(?:point-(?P<point>\d+)-fold-(?P<fold>\d+))?")


def plan(request: Request, results: Results) -> list[str]:
    """All that is known so far, stage by stage; each stage follows from the results of those before it."""
    names = _stage(request, {})
    found = results()
    while names and all(name in found for name in names):
        stage = _stage(request, {name: found[name] for name in names})
        if not stage:
            break
        names += stage
    return names


def _stage(request: Request, done: Done) -> list[str]:
    stage = []
    for search in searches(request):
        wanted = search.wanted(done)
        if not wanted and search.conclusion not in done:
            wanted = [search.conclusion]
        stage += wanted
    return stage


def expected(request: Request) -> int:
    """Of sizes, as many as there may be."""
    outer = int(request["selection"].get("nested", 0))
    return n_candidates(request["selection"]) * n_splits(request["evaluation"]) * (outer + 1) + outer + 1


def run(part: Part) -> Result:
    """A fold of a candidate, an outer fold, or the fit."""
    data = part.data
    with kernels(
        part.options.get("compiled"), learners_at_work(part.request), cells_to_learn(part.request, data.table)
    ):
        match = _NAME.fullmatch(part.name)
        if part.name == FIT or match is None:
            return _fit(part, data)
        if match["point"] is None:
            return _outer(part, data, match["outer"])
        return _candidate(part, data, match["outer"] or "", int(match["point"]) - 1, int(match["fold"]) - 1)


def _candidate(part: Part, data: LearningData, outer: str, point: int, fold: int) -> Result:
    search = Search(part.request, outer)
    known = _known(part.request, data)
    if outer:
        known = known[_outer_splits(part.request, data.taken(known))[_number(outer)].train]
    own = data.taken(known)
    try:
        splits = splits_of(part.request["evaluation"], own, part.request["seed"])
    except ParameterError as error:
        within = f" within outer fold {_number(outer) + 1}" if outer else ""
        told = f"{error}; the search{within} knows {len(known)} rows"
        raise ParameterError(told, field=error.field) from None
    parameters = search.parameters(point)
    judged = own.judging(part.request["evaluation"], training=part.request["selection"]["method"] == "size")
    try:
        with refusals(fold + 1), naming_weights(part.request):
            result = _judged(part, own, parameters, splits[fold], judged, fold + 1)
    except Failed as failed:
        return {"fold": fold + 1, "parameters": parameters, "failure": failed.failure.to_json()}
    return {**_record(result, data, splits), "parameters": parameters}


def _outer(part: Part, data: LearningData, outer: str) -> Result:
    """The winner of an outer fold's search, judged on the rows that the search did not know."""
    search, done = Search(part.request, outer), part.found()
    own = data.taken(_known(part.request, data))
    splits = _outer_splits(part.request, own)
    number = _number(outer)
    judging = own.judging(part.request["evaluation"])

    def judged(parameters: dict[str, Any]) -> Result:
        with refusals(), naming_weights(part.request):
            result = _judged(part, own, parameters, splits[number], judging, number + 1)
        return {**_record(result, data, splits), "parameters": parameters}

    try:
        return search.settled(done, judged)[1]
    except Invalid as error:
        return {"fold": number + 1, "failure": Failure(error.detail, fold=number + 1).to_json()}


def _fit(part: Part, data: LearningData) -> Result:
    split = _locked(part.request, data)

    def fitted(parameters: dict[str, Any]) -> Result:
        with refusals(), naming_weights(part.request):
            return _fitted(part, data, split, parameters)

    unfit, result = Search(part.request).settled(part.found(), fitted)
    told = {str(point): failure.to_json() for point, failure in unfit.items()}
    return result | ({"unfit": told} if told else {})


def _fitted(part: Part, data: LearningData, split: Split | None, parameters: dict[str, Any]) -> Result:
    if split is None:
        return {**fit(part, _make(part, parameters), data), "parameters": parameters}
    result = _judged(part, data, parameters, split, data.judging(part.request["evaluation"]), 1)
    if result.model is None:
        raise RuntimeError("a fold keeps its model")
    test = {**result.to_json(), "plan_warnings": [], "dropped_rows": data.dropped}
    return {**stored(part, result.model, data.taken(split.train)), "parameters": parameters, "test": test}


def _judged(
    part: Part, data: LearningData, parameters: Mapping[str, Any], split: Split, judging: Judging, fold: int
) -> FoldResult:
    return evaluate_fold(
        lambda: _make(part, parameters), data.table, data.target, split, judging, fold=fold, progress=part.progress
    )


def _make(part: Part, parameters: Mapping[str, Any]) -> Learner:
    return make_learner(part.request, parameters)


def _record(result: FoldResult, data: LearningData, splits: Splits) -> Result:
    return {**result.to_json(), "plan_warnings": list(splits.warnings), "dropped_rows": data.dropped}


def _number(outer: str) -> int:
    return int(outer.removeprefix("outer-")) - 1


def _locked(request: Request, data: LearningData) -> Split | None:
    """The rows that are locked away, and those that are not; None where none are."""
    fraction = request["selection"].get("test_fraction")
    if fraction is None:
        return None
    stratified = request["evaluation"].get("stratified", True)
    lock = Plan("hold-out", fraction=fraction, stratified=stratified)
    return _parted(data, lock, request["seed"], "test_fraction")[0]


def _known(request: Request, data: LearningData) -> IntArray:
    """The rows that searches may know."""
    split = _locked(request, data)
    return np.arange(len(data.target)) if split is None else split.train


def _outer_splits(request: Request, data: LearningData) -> Splits:
    stratified = request["evaluation"].get("stratified", True)
    outer = Plan("k-fold", folds=request["selection"]["nested"], stratified=stratified)
    return _parted(data, outer, request["seed"], "nested")


def _parted(data: LearningData, plan: Plan, seed: int, option: str) -> Splits:
    """The splits that an option of the selection asks for, by whose name what is wrong with them is told."""
    try:
        return plan.splits(data.target, seed, groups=data.groups, times=data.times)
    except ParameterError as error:
        told = str(error).replace(f"parameter {error.field}", f"parameter {option}", 1)
        raise ParameterError(told, field=f"selection.{option}") from None


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """What was looked at, what was chosen, how good it is on rows without a part in the choice, and the version."""
    request = job.request
    target = target_of(session.get_one(Dataset, request["dataset"]), request)
    search = Search(request)
    unfit = {int(point): Failure.from_json(told) for point, told in parts[FIT].get("unfit", {}).items()}
    chosen = search.chosen(parts, unfit)
    candidates = [_told(search, target, point, parts, unfit.get(point)) for point in range(search.counted(parts))]
    failed = sum("failure" in one for one in candidates)
    selection: Result = {
        "method": request["selection"]["method"],
        "metric": request["selection"]["metric"],
        "chosen": chosen,
        "parameters": search.parameters(chosen),
        "candidates": candidates,
        "failed": failed,
    }
    if request["selection"]["method"] == "size":
        selection["converged"] = search.converged_after(parts) is not None
    evaluation = _evaluation(request, target, parts)
    if evaluation is None:
        evaluation = {**_summary(search, target, chosen, parts), "chosen_among": len(candidates) - failed}
    result: Result = {"dropped_rows": parts[FIT]["dropped_rows"], "selection": selection, "evaluation": evaluation}
    result["training_notes"] = parts[FIT]["notes"]
    if request["model"] is not None:
        parameters = {**request["parameters"], **search.parameters(chosen)}
        result["model"] = register(session, job, parts[FIT], evaluation, parameters)
    return result


def _summary(search: Search, target: Column, point: int, parts: Mapping[str, Result]) -> dict[str, Any]:
    return combine_parts(search.request["evaluation"], target, [parts[name] for name in search.names(point + 1)])


def _told(search: Search, target: Column, point: int, parts: Mapping[str, Result], unfit: Failure | None) -> Result:
    failure = search.failure(parts, point)
    record: Result = {"parameters": search.parameters(point)}
    if failure is None:
        summary = _summary(search, target, point, parts)
        record |= {name: summary[name] for name in ("metrics", "training") if name in summary}
        of_plan = {text for name in search.names(point + 1) for text in parts[name]["plan_warnings"]}
        own = [text for text in summary["warnings"] if text not in of_plan]  # those of the plan are alike for all
        record |= {"warnings": own} if own else {}
    failure = failure or unfit
    return record | ({"failure": failure.to_json()} if failure else {})


def _evaluation(request: Request, target: Column, parts: Mapping[str, Result]) -> dict[str, Any] | None:
    """Of the winner on locked rows, or of the searching itself on outer folds; None where there is neither."""
    if "test" in parts[FIT]:
        return combine_parts({"method": "hold-out"}, target, [parts[FIT]["test"]])
    outer = [parts[search.outer] for search in searches(request) if search.outer]
    if not outer:
        return None
    failures = [f"outer fold {one['fold']} failed: {one['failure']['detail']}" for one in outer if "failure" in one]
    if len(failures) == len(outer):
        raise Invalid("; ".join(failures))
    found = combine_parts({"method": "k-fold"}, target, [one for one in outer if "failure" not in one])
    found["warnings"] += failures
    return found | {"nested": [one.get("parameters") for one in outer]}


KIND = Kind(plan, run, finish, expected)
