"""Judging a learner on rows that it does not see, a split a part; of leave-one-out, many splits a part.

Names of parts: ``fold-1`` .. ``fold-k`` (repeats go on counting), ``hold-out`` (``hold-out-1`` .. where it is
repeated), and of leave-one-out ``rows-1`` .. ``rows-m``, whose answers ``judge`` puts together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from learners import persist
from learners.base import Learner, ModelState
from learners.errors import LearnerError, ParameterError
from learners.evaluation import FoldResult, Plan, RowResults, combine, evaluate_fold
from learners.evaluation.leaving_out import answers_left_out, joined, judge_left_out
from learners.evaluation.plan import Splits
from learners.rules.stability import digest_rules, rule_stability
from learners.table import Column
from service.operations.learning_data import LearningData
from service.operations.work.part import Part, Request, Result, make_learner

HOLD_OUT = "hold-out"
JUDGE = "judge"
_FOLD, _ROWS = "fold-", "rows-"


def plan_of(evaluation: Mapping[str, Any]) -> Plan:
    """The plan of an evaluation, as a checked request has it."""
    names = ("method", "folds", "fraction", "repeats", "stratified")
    return Plan(**{name: evaluation[name] for name in names if name in evaluation})


def names(evaluation: Mapping[str, Any]) -> list[str]:
    """The parts of an evaluation; of leave-one-out without the one that puts them together."""
    method, repeats = evaluation["method"], evaluation.get("repeats", 1)
    if method == "k-fold":
        return [f"{_FOLD}{number}" for number in range(1, evaluation["folds"] * repeats + 1)]
    if method == "hold-out":
        return [HOLD_OUT] if repeats == 1 else [f"{HOLD_OUT}-{number}" for number in range(1, repeats + 1)]
    if method == "leave-one-out":
        return [f"{_ROWS}{number}" for number in range(1, evaluation["parts"] + 1)]
    return []


def evaluate(part: Part) -> Result:
    """Carry out one part."""
    data, evaluation = part.data, part.request["evaluation"]
    splits = splits_of(evaluation, data, part.request["seed"])
    if part.name == JUDGE:
        return _judged(part, data, splits)
    if part.name.startswith(_ROWS):
        return _left_out(part, data, splits)
    number = fold_of(part.name) - 1
    result = evaluate_fold(
        lambda: make_learner(part.request),
        data.table,
        data.target,
        splits[number],
        data.judging(evaluation),
        fold=number + 1,
        progress=part.progress,
    )
    kept = _kept(part, result.rows) if result.rows is not None and keeps_answers(part.request) else {}
    return {**result.to_json(), "rules": _rules(result.model), **told(data, splits), **kept}


def fold_of(name: str) -> int:
    """The number of a part's fold, from 1."""
    return 1 if name == HOLD_OUT else int(name.rsplit("-", 1)[1])


def keeps_answers(request: Request) -> bool:
    """Whether later parts need the answers of the folds."""
    is_compared = request["kind"] == "compare" and request["evaluation"].get("repeats", 1) == 1
    return is_compared or "output" in request


def _kept(part: Part, found: RowResults) -> Result:
    """Where the answers are stored for later parts."""
    return {"blob_sha256": part.blobs.put_bytes(persist.dump(ModelState({}, found.to_arrays())))}


def answers_of(part: Part, results: Iterable[Result], target: Column) -> RowResults:
    """The answers that some parts have kept, by row."""
    read = [persist.load_file(part.blobs.path(result["blob_sha256"])).arrays for result in results]
    return joined([RowResults.from_arrays(one) for one in read], None if target.is_numeric else len(target.levels))


def splits_of(evaluation: Mapping[str, Any], data: LearningData, seed: int) -> Splits:
    """How the rows are parted.

    Raises:
        ParameterError: they cannot be so; only the rows tell, e.g. how many groups there are.
    """
    try:
        return data.splits(plan_of(evaluation), seed)
    except ParameterError as error:
        raise ParameterError(str(error), field=f"evaluation.{error.field}") from None


def told(data: LearningData, splits: Splits) -> Result:
    """What a part tells of all rows and of how they are parted."""
    return {"plan_warnings": list(splits.warnings), "dropped_rows": data.dropped}


def _rules(model: Learner | None) -> dict[str, Any] | None:
    """What is kept of a fold's rules; None for a learner without any."""
    try:
        return None if model is None else digest_rules(model)
    except LearnerError:
        return None


def _left_out(part: Part, data: LearningData, splits: Splits) -> Result:
    """The answers to every m-th row, stored until they are judged together with the others."""
    step = part.request["evaluation"]["parts"]
    found = answers_left_out(
        lambda: make_learner(part.request),
        data.table,
        data.target,
        splits,
        data.judging(part.request["evaluation"]),
        part=(int(part.name.removeprefix(_ROWS)) - 1, step),
        progress=part.progress,
    )
    return {**_kept(part, found), "n_test": len(found.rows), **told(data, splits)}


def _judged(part: Part, data: LearningData, splits: Splits) -> Result:
    kept = [result for name, result in part.found().items() if name.startswith(_ROWS)]
    result = judge_left_out(
        lambda: make_learner(part.request),
        answers_of(part, kept, data.target.column),
        data.target,
        data.judging(part.request["evaluation"]),
        n_splits=len(splits),
    )
    return {**result.to_json(), **told(data, splits)}


def judged(evaluation: Mapping[str, Any], parts: Mapping[str, Result]) -> list[Result]:
    """The records of an evaluation's folds; of leave-one-out that of all answers together."""
    return [parts[name] for name in ([JUDGE] if evaluation["method"] == "leave-one-out" else names(evaluation))]


def summarise(request: Request, target: Column, parts: Mapping[str, Result]) -> dict[str, Any] | None:
    """The summary of an evaluation from the results of its parts; None where there is none."""
    evaluation = request["evaluation"]
    folds = judged(evaluation, parts)
    if not folds:
        return None
    summary = combine_parts(evaluation, target, folds)
    digests = [fold["rules"] for fold in folds if fold.get("rules")]
    return summary | ({"stability": rule_stability(digests)} if len(digests) == len(folds) > 1 else {})


def fold_results(folds: Sequence[Result]) -> list[FoldResult]:
    """What the library tells of folds, from their records."""
    return [FoldResult.from_json(fold) for fold in folds]


def combine_parts(evaluation: Mapping[str, Any], target: Column, folds: Sequence[Result]) -> dict[str, Any]:
    """The summary of the folds' records."""
    return combine(
        fold_results(folds),
        target,
        warnings=folds[0]["plan_warnings"],
        method=evaluation["method"],
        repeats=evaluation.get("repeats", 1),
    )
