"""The job ``evaluate``: a version judged on a dataset, alone or against another version on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from learners._accel import uncompiled
from learners.base import Classifier
from learners.decisions import utility_matrix
from learners.errors import DataError, quoted
from learners.evaluation import FoldResult, RowResults, combine
from learners.evaluation.comparison import compare_rows
from learners.evaluation.curves import curves_json
from learners.evaluation.fold import answer, judge, own_utility
from learners.evaluation.intervals import effective_rows
from learners.table import Column, Series, Table
from learners.types import FloatArray, IntArray
from service.formats.table_file import open_table
from service.operations.learning_data import weights_of
from service.operations.served import ServedModel
from service.operations.serving import Serving
from service.operations.stored_rows import has_learned_from, strange_classes, truth_of
from service.operations.work.part import Kind, Part, Request, Result, Results
from service.store.tables import Job, ModelVersion

EVALUATE = "evaluate"
#: Classes that a warning names.
_SHOWN = 5


def plan(request: Request, results: Results) -> list[str]:
    """One part."""
    return [EVALUATE]


def loaded(part: Part, of: Mapping[str, Any]) -> ServedModel:
    """The model of a version.

    Raises:
        NotFound: it was deleted since.
    """
    return Serving(part.store, part.blobs).get(part.options["workspace"], f"{of['name']}:{of['version']}")


def run(part: Part) -> Result:
    """The metrics with intervals over rows, curves, and the comparison."""
    table = open_table(part.blobs.path(part.dataset.table_sha256))
    model = loaded(part, part.request["version"])
    target: Column = model.learner.target_
    truth = truth_of(table, target)
    weights = weights_of(table, part.request["weights"])
    counted = ~np.isnan(truth) if weights is None else ~np.isnan(truth) & (weights > 0)
    rows = np.flatnonzero(counted)
    if not len(rows):
        raise DataError(
            f"no row has a target {target.name!r} that the version knows and a weight above 0", field=target.name
        )
    own_weights = None if weights is None else weights[rows]
    part.progress(0.2, "answering")
    found = _answers(model, table, truth, rows)
    utility = utility_matrix(part.request["evaluation"].get("utility"), target)
    worth = utility if utility is not None else own_utility(model.learner, target)
    result = FoldResult(
        fold=1,
        n_train=1,
        n_test=len(rows),
        test_weight=float(len(rows)) if own_weights is None else float(own_weights.sum()),
        effective_rows=effective_rows(own_weights, len(rows)),
        **judge(found, target, own_weights, utility=worth),
    )
    record: Result = {
        "evaluation": combine([result], target, method=EVALUATE, warnings=_not_judged(table, truth, target, weights)),
        "dropped_rows": table.n_rows - len(rows),
        "learned_from": _learned_from(part),
    }
    if found.probabilities is not None:
        record["curves"] = curves_json(found.actual.astype(np.int64), found.probabilities, target.labels, own_weights)
    if part.request["against"] is not None:
        record["comparison"] = _compared(part, table, truth, rows, found, utility)
    return record


def _answers(model: ServedModel, table: Table, truth: FloatArray, rows: IntArray) -> RowResults:
    learner = model.learner
    with uncompiled():
        return answer(learner, learner.check_table(table.take(rows)), Series(learner.target_, truth[rows]), rows)


def _not_judged(table: Table, truth: FloatArray, target: Column, weights: FloatArray | None) -> list[str]:
    """A warning of the rows whose class the version does not know."""
    strange, names = strange_classes(table, truth, target)
    count = np.count_nonzero(strange if weights is None else strange & (weights > 0))
    if not count:
        return []
    shown = ", ".join(map(quoted, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    return [
        f"{count} rows have a {quoted(target.name)} that the version does not know ({shown}): no answer can be right "
        "there, and they count in no metric"
    ]


def _learned_from(part: Part) -> bool:
    with part.store.read() as session:
        lineage = session.get_one(ModelVersion, part.request["version"]["id"]).lineage
    return has_learned_from(lineage, part.dataset)


def _compared(
    part: Part, table: Table, truth: FloatArray, rows: IntArray, found: RowResults, utility: FloatArray | None
) -> Result:
    """The version less the other one on the rows that have a target which both know, weights left aside."""
    other = loaded(part, part.request["against"])
    theirs = truth_of(table, other.learner.target_)[rows]
    both = np.flatnonzero(~np.isnan(theirs))
    answered = _answers(other, table, truth_of(table, other.learner.target_), rows[both])
    mine = RowResults(found.rows[both], found.actual[both], found.predicted[both], _taken(found.probabilities, both))
    if isinstance(other.learner, Classifier) and mine.probabilities is not None:
        target: Column = loaded(part, part.request["version"]).learner.target_
        codes = _common_codes(other.learner.target_, target)
        size = max(len(target.levels), int(codes.max()) + 1)
        mine = replace(mine, probabilities=_placed(mine.probabilities, np.arange(len(target.levels)), size))
        answered = RowResults(
            answered.rows,
            mine.actual,
            codes[answered.predicted.astype(np.int64)].astype(np.float64),
            None if answered.probabilities is None else _placed(answered.probabilities, codes, size),
        )
        if utility is not None:  # a class that the version does not know is worth 0, as pairs that are not named
            utility = np.pad(utility, (0, size - len(utility)))
    against = part.request["against"]
    record = {"against": f"{against['name']}:{against['version']}", "rows": len(both)}
    return record | compare_rows(mine, answered, utility)


def _common_codes(theirs: Column, own: Column) -> IntArray:
    """The codes of another target's classes, those that the own one lacks behind its own."""
    codes = np.array([own.encode(label) for label in theirs.labels], dtype=np.int64)
    strange = codes < 0
    codes[strange] = len(own.levels) + np.arange(np.count_nonzero(strange))
    return codes


def _placed(probabilities: FloatArray, codes: IntArray, size: int) -> FloatArray:
    """Columns by their codes among ``size``; of other classes 0."""
    placed = np.zeros((len(probabilities), size))
    placed[:, codes] = probabilities
    return placed


def _taken(values: FloatArray | None, rows: IntArray) -> FloatArray | None:
    return None if values is None else values[rows]


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """What the part found."""
    of = job.request["version"]
    return {"version": f"{of['name']}:{of['version']}", **parts[EVALUATE]}


KIND = Kind(plan, run, finish)
