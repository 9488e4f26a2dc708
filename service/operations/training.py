"""What the jobs ``train`` and ``cross-validate`` do: their parts, and putting the parts together.

Parts are ``fold-1`` .. ``fold-k`` or ``hold-out``, and for a training ``fit``, which learns from all
rows. Each is a function of dataset and request alone, so a part that is run again finds the same.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from learners import catalog
from learners._accel import uncompiled
from learners.base import Learner, Progress
from learners.compilation import compile_default
from learners.errors import LearnerError
from learners.evaluation import FoldResult, combine, evaluate_fold
from learners.evaluation.crossval import plan_folds, plan_hold_out
from learners.rules.stability import digest_rules, rule_stability
from learners.table import Column, Table
from service import registry
from service.formats.table_file import column_record
from service.operations.learning_data import LearningData, prepare
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import Dataset, Job

FIT = "fit"
HOLD_OUT = "hold-out"
_FOLD = "fold-"
#: A tree of so many cells is grown in a few seconds by plain Python.
_FEW_CELLS = 30_000
#: After so long a large part compiles by itself; how often it looks before.
_COMPILER_SECONDS, _LOOK_SECONDS = 300.0, 0.2
#: Added to the priority number of the process that compiles.
_NICENESS = 5


def plan(request: Mapping[str, Any]) -> list[str]:
    """The names of a request's parts, in order."""
    evaluation = request["evaluation"]
    parts = []
    if evaluation["method"] == "k-fold":
        parts = [f"{_FOLD}{number}" for number in range(1, evaluation["folds"] + 1)]
    elif evaluation["method"] == "hold-out":
        parts = [HOLD_OUT]
    return [*parts, FIT] if request["kind"] == "train" else parts


def compile_ahead(done: Path) -> None:
    """Let numba compile the kernels of every learner's defaults into its cache, or load them from there.

    Args:
        done: a folder, in which a file with a learner's name tells that its kernels are there.
    """
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    for learner in catalog.LEARNERS:
        compile_default(learner)
        (done / learner.name).touch()


def warm(compiled: Path) -> None:
    """Load the kernels that are compiled already; called once in each new process."""
    for learner in catalog.LEARNERS:
        if (compiled / learner.name).exists():
            compile_default(learner)


def run_part(arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Compute one part; runs in a process of the pool.

    Args:
        arguments: ``store`` (URL), ``cache`` (folder), ``cache_bytes``, ``request`` and ``part``; perhaps
            ``compiled``, the folder of :func:`compile_ahead`.
        progress: told how far the part is.

    Returns:
        A fold's result, or of ``fit`` the hash of the stored model and what it says of itself.
    """
    request, part = arguments["request"], arguments["part"]
    store, blobs = _opened(arguments["store"], arguments["cache"], arguments["cache_bytes"])
    with store.read() as session:
        dataset = session.get_one(Dataset, request["dataset"])
    data = prepare(blobs.path(dataset.table_sha256), request)
    with _kernels(arguments.get("compiled"), request["learner"], data.table, progress):
        if part == FIT:
            return _fit(request, data, dataset, blobs, progress)
        return _evaluate(request, part, data, progress)


def _kernels(compiled: str | None, learner: str, table: Table, progress: Progress) -> AbstractContextManager[None]:
    """How kernels are run: those of a small part as plain Python, as long as they are being compiled.

    The first training on a machine so takes some seconds instead of the compiler's time; the model is
    the same to the bit. A large part waits for the compiler rather than do its work a second time.
    """
    if compiled is None:
        return contextlib.nullcontext()
    flag = Path(compiled) / learner
    if not flag.exists() and table.n_rows * table.n_columns <= _FEW_CELLS:
        return uncompiled()
    give_up_at = time.monotonic() + _COMPILER_SECONDS
    while not flag.exists() and flag.parent.exists() and time.monotonic() < give_up_at:
        progress(0.0, "waiting for the compiler, once on a machine")
        time.sleep(_LOOK_SECONDS)
    return contextlib.nullcontext()


@lru_cache(maxsize=1)
def _opened(url: str, cache: str, cache_bytes: int) -> tuple[Store, Blobs]:
    """One store for the life of the process."""
    store = Store(url)
    return store, Blobs(store, Path(cache), cache_bytes)


def make_learner(request: Mapping[str, Any]) -> Learner:
    """The unfitted learner; one with a ``seed`` of its own gets the job's unless it was given."""
    parameters = dict(request["parameters"])
    if "seed" in {parameter.name for parameter in catalog.get(request["learner"]).parameters()}:
        parameters.setdefault("seed", request["seed"])
    return catalog.make(request["learner"], parameters)


def _evaluate(request: Mapping[str, Any], part: str, data: LearningData, progress: Progress) -> dict[str, Any]:
    evaluation, seed = request["evaluation"], request["seed"]
    if part == HOLD_OUT:
        number = 1
        split, warnings = plan_hold_out(data.target, evaluation["fraction"], seed, stratified=evaluation["stratified"])
    else:
        number = int(part.removeprefix(_FOLD))
        folds = plan_folds(data.target, evaluation["folds"], seed, stratified=evaluation["stratified"])
        split, warnings = folds[number - 1], folds.warnings
    result = evaluate_fold(
        lambda: make_learner(request),
        data.table,
        data.target,
        split.train,
        split.test,
        data.weights,
        fold=number,
        progress=progress,
    )
    return {
        **result.to_json(),
        "rules": _rules(result.model),
        "plan_warnings": list(warnings),
        "dropped_rows": data.dropped,
    }


def _rules(model: Learner | None) -> dict[str, Any] | None:
    """What is kept of a fold's rules; None for a learner without any."""
    try:
        return None if model is None else digest_rules(model)
    except LearnerError:
        return None


def _fit(
    request: Mapping[str, Any], data: LearningData, dataset: Dataset, blobs: Blobs, progress: Progress
) -> dict[str, Any]:
    model = make_learner(request)
    model.fit(data.table, data.target, data.weights, progress=progress)
    content = catalog.dump_model(model)
    return {
        "blob_sha256": blobs.put_bytes(content),
        "size": len(content),
        "rows": data.table.n_rows,
        "dropped_rows": data.dropped,
        "schema": model_schema(data, dataset.options),
    }


def model_schema(data: LearningData, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a model takes and gives: typed inputs with levels or ranges, target, an example row, and how texts are read.

    Args:
        data: the rows of training.
        options: with which their data set was read.
    """
    table = data.table
    return {
        "inputs": [_input(column, table.values[:, index]) for index, column in enumerate(table.columns)],
        "target": data.target.column.to_json(),
        "missing_tokens": list(options.get("missing_tokens", [])),
        "numbers": {name: options[name] for name in ("decimal", "thousands") if name in options},
        "example": _example(table),
    }


def _input(column: Column, cells: Any) -> dict[str, Any]:
    record = {**column_record(column), "missing": int(np.isnan(cells).sum())}
    if column.is_numeric and record["missing"] < len(cells):
        record["minimum"], record["maximum"] = float(np.nanmin(cells)), float(np.nanmax(cells))
        known = cells[~np.isnan(cells)]
        record["integral"] = bool((known == np.floor(known)).all())
    return record


def _example(table: Table) -> dict[str, Any]:
    """The first row without a missing value, else the first row."""
    complete = np.flatnonzero(~np.isnan(table.values[:1000]).any(axis=1))
    row = int(complete[0]) if len(complete) else 0
    return {column.name: column.decode(float(table.values[row, i])) for i, column in enumerate(table.columns)}


def finish(session: Session, job: Job, parts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The job's result from its parts; of a training also the new version, all in the session's transaction."""
    request = job.request
    names = plan(request)
    absent = [name for name in names if name not in parts]
    if absent:
        raise RuntimeError(f"the parts {absent} of {job.id} have no result")
    dataset = session.get_one(Dataset, request["dataset"])
    result: dict[str, Any] = {"dropped_rows": parts[names[0]]["dropped_rows"]}
    evaluation = _combine(request, dataset, [parts[name] for name in names if name != FIT])
    if evaluation is not None:
        result["evaluation"] = evaluation
    if request["model"] is not None:
        result["model"] = _register(session, job, dataset, parts[FIT], evaluation)
    return result


def _combine(request: Mapping[str, Any], dataset: Dataset, folds: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not folds:
        return None
    target = next(Column.from_json(column) for column in dataset.columns if column["name"] == request["target"])
    own = {"plan_warnings", "dropped_rows", "rules"}
    results = [FoldResult.from_json({name: v for name, v in fold.items() if name not in own}) for fold in folds]
    summary = combine(results, target, warnings=folds[0]["plan_warnings"])
    digests = [fold["rules"] for fold in folds if fold.get("rules")]
    return summary | ({"stability": rule_stability(digests)} if len(digests) == len(folds) > 1 else {})


def _register(
    session: Session, job: Job, dataset: Dataset, fit: Mapping[str, Any], evaluation: dict[str, Any] | None
) -> dict[str, Any]:
    request = job.request
    wanted = request["model"]
    version = registry.register(
        session,
        job.workspace,
        wanted["name"],
        job_id=job.id,
        blob_sha256=fit["blob_sha256"],
        learner=request["learner"],
        task=catalog.get(request["learner"]).capabilities.task,
        parameters=request["parameters"],
        schema=fit["schema"],
        lineage=_lineage(job, dataset, fit),
        metrics=evaluation or {},
        dataset_id=dataset.id,
        notes=wanted["notes"],
        tags=wanted["tags"],
        aliases=wanted["aliases"],
        submitted_at=job.created_at,
    )
    return {"name": wanted["name"], "version": version.version, "id": version.id, "sha256": fit["blob_sha256"]}


def _lineage(job: Job, dataset: Dataset, fit: Mapping[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    request = job.request
    return {
        "dataset": dataset.id,
        "dataset_sha256": dataset.raw_sha256,
        "table_sha256": dataset.table_sha256,
        "rows": fit["rows"],
        "dropped_rows": fit["dropped_rows"],
        "target": request["target"],
        "features": request["features"],
        "weights": request["weights"],
        "learner": request["learner"],
        "parameters": request["parameters"],
        "seed": request["seed"],
        "evaluation": request["evaluation"],
        "library_version": version("rulewood"),
        "job": job.id,
    }
