"""The job ``compare``: several learners judged on the same folds, and in pairs.

The parts of each learner are those of a cross-validation with ``learner-1-`` .. before them; ``compare`` compares what
they found. A learner that cannot be learned with in some fold has failed: its part tells why, and the job goes on
with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from learners.decisions import utility_matrix
from learners.evaluation import RowResults
from learners.evaluation.comparison import row_losses
from learners.evaluation.failing import AllFailed, Failed, refusals, told
from learners.evaluation.pairs import Judged, Terms, compare_pairs, pairs_of
from learners.table import Column
from service.operations.learning_data import LearningData
from service.operations.submission.contenders import MOST_IN_ALL_PAIRS
from service.operations.work import answers, evaluating
from service.operations.work.contender import Contender, contenders
from service.operations.work.kernels import kernels
from service.operations.work.part import (
    Kind,
    Part,
    Request,
    Result,
    Results,
    cells_to_learn,
    learners_at_work,
)
from service.operations.work.refusing import naming_weights, nothing_learned
from service.operations.work.training import target_of
from service.store.tables import Dataset, Job

COMPARE = "compare"


def plan(request: Request, results: Results) -> list[str]:
    """What judges each learner; then what puts leave-one-out together; then the answers and the comparison."""
    all_of_them = contenders(request)
    names = [name for one in all_of_them for name in one.parts]
    done = results()
    if not set(names) <= set(done):
        return names
    learned = [one for one in all_of_them if one.failure(done) is None]
    judges = [name for one in learned for name in one.judge]
    if not learned or not set(judges) <= set(done):
        return [*names, *judges]
    return [*names, *judges, *(piece.name for piece in answers.pieces(learned, done)), COMPARE]


def expected(request: Request) -> int:
    """Of each learner also what puts its parts together and what writes its answers."""
    count = sum(len(one.parts) + len(one.judge) + ("output" in request) for one in contenders(request))
    return count + 1


def run(part: Part) -> Result:
    """A fold of a learner, some of its answers, or the comparison."""
    all_of_them = contenders(part.request)
    if part.name == COMPARE or answers.is_piece(part.name):
        done = part.found()
        if part.name == COMPARE:
            return _compared(part, all_of_them, done)
        return answers.write(part, [one for one in all_of_them if one.failure(done) is None], done)
    place = next(place for place, one in enumerate(all_of_them) if part.name.startswith(one.prefix))
    return _judged(all_of_them[place].own(part), place)


def _judged(part: Part, place: int) -> Result:
    data, request = part.data, part.request
    splits = evaluating.splits_of(request["evaluation"], data, request["seed"])
    is_fold = request["evaluation"]["method"] != "leave-one-out"
    ready = kernels(part.options.get("compiled"), learners_at_work(request), cells_to_learn(request, data.table))
    try:
        with ready, refusals(evaluating.fold_of(part.name) if is_fold else None), naming_weights(request):
            return evaluating.evaluate(part)
    except Failed as failed:
        failure = failed.failure
        if failure.parameter is not None:
            failure = replace(failure, parameter=f"learners.{place}.parameters.{failure.parameter}")
        return {"failure": failure.to_json(), **evaluating.told(data, splits)}


def _compared(part: Part, all_of_them: list[Contender], done: Mapping[str, Result]) -> Result:
    request = part.request
    data = all_of_them[0].own(part).data
    evaluation = request["evaluation"]
    terms = Terms(
        evaluating.plan_of(evaluation),
        ordered="time" in evaluation,
        grouped="groups" in evaluation,
        weighted=data.weights is not None,
        has_utility="utility" in evaluation,
    )
    names = [str(one.name) for one in all_of_them]
    reference = None if request["reference"] is None else names.index(request["reference"])
    judged = [None if one.failure(done) else _of(one, part, data, terms, done) for one in all_of_them]
    pairs = pairs_of(len(names), reference, MOST_IN_ALL_PAIRS)
    return {"comparisons": compare_pairs(judged, names, pairs, terms)}


def _of(one: Contender, part: Part, data: LearningData, terms: Terms, done: Mapping[str, Result]) -> Judged:
    found = one.found(done)
    folds = evaluating.fold_results(evaluating.judged(one.request["evaluation"], found))
    if not terms.answers_once:
        return Judged(folds)
    target = data.target.column
    rows = _counted(evaluating.answers_of(part, [done[name] for name in one.parts], target), data)
    return Judged(folds, row_losses(rows, utility_matrix(one.request["evaluation"].get("utility"), target)))


def _counted(found: RowResults, data: LearningData) -> RowResults:
    """The answers to rows of a weight above 0."""
    if data.weights is None:
        return found
    counted = np.flatnonzero(data.weights[found.rows] > 0)
    shares = None if found.probabilities is None else found.probabilities[counted]
    return RowResults(found.rows[counted], found.actual[counted], found.predicted[counted], shares)


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """Each learner's summary, or why it failed, and the comparison of each pair.

    Raises:
        Invalid: all failed; each reason is named.
    """
    request = job.request
    target = target_of(session.get_one(Dataset, request["dataset"]), request)
    all_of_them = contenders(request)
    failures = [(place, failure) for place, one in enumerate(all_of_them) if (failure := one.failure(parts))]
    if len(failures) == len(all_of_them):
        of = [({"learner": place, "name": all_of_them[place].name}, failure) for place, failure in failures]
        raise nothing_learned(AllFailed(f"none of the {len(of)} learners can be learned with: {told(of)}", of))
    return {
        "dropped_rows": next(iter(parts.values()))["dropped_rows"],
        "learners": [_told(one, target, parts) for one in all_of_them],
        "reference": request["reference"],
        "adjustment": "holm",
        **parts[COMPARE],
        **answers.told(request, parts),
    }


def _told(one: Contender, target: Column, parts: Mapping[str, Result]) -> Result:
    record: Result = {"name": one.name, "learner": one.request["learner"], "parameters": one.request["parameters"]}
    failure = one.failure(parts)
    if failure is not None:
        return record | {"failure": failure.to_json()}
    return record | {"evaluation": evaluating.summarise(one.request, target, one.found(parts))}


KIND = Kind(plan, run, finish, expected)
