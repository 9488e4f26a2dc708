"""Fitting the model that is kept, and registering it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from learners import catalog
from learners.base import Learner
from learners.errors import numbered_by
from learners.table import Column, Table
from service import registry
from service.formats.table_file import column_record
from service.operations.learning_data import LearningData
from service.operations.work.part import Part, Result
from service.store.tables import Dataset, Job


def fit(part: Part, model: Learner, data: LearningData) -> Result:
    """Fit and store a model; the hash of the stored bytes and what the model says of itself."""
    with numbered_by(data.rows):
        model.fit(data.table, data.target, data.weights, progress=part.progress)
    return stored(part, model, data)


def stored(part: Part, model: Learner, data: LearningData) -> Result:
    """The same of a model that is fitted on these data already."""
    content = catalog.dump_model(model)
    return {
        "blob_sha256": part.blobs.put_bytes(content),
        "size": len(content),
        "rows": data.table.n_rows,
        "dropped_rows": data.dropped,
        "schema": model_schema(data, part.dataset.options),
        "notes": model.training_notes(),
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


def register(
    session: Session,
    job: Job,
    fit: Mapping[str, Any],
    evaluation: dict[str, Any] | None,
    parameters: Mapping[str, Any] | None = None,
) -> Result:
    """Register the fitted model as the next version of the name that the request gives.

    Args:
        fit: the result of :func:`fit`.
        evaluation: what is known of its answers to rows it has not seen.
        parameters: with which it was made; None for the request's.
    """
    request = job.request
    wanted = request["model"]
    dataset = session.get_one(Dataset, request["dataset"])
    chosen = dict(request["parameters"] if parameters is None else parameters)
    version = registry.register(
        session,
        job.workspace,
        wanted["name"],
        job_id=job.id,
        blob_sha256=fit["blob_sha256"],
        learner=request["learner"],
        task=catalog.get(request["learner"]).capabilities.task,
        parameters=chosen,
        schema=fit["schema"],
        lineage=_lineage(job, dataset, fit, chosen),
        metrics=evaluation or {},
        dataset_id=dataset.id,
        notes=wanted["notes"],
        tags=wanted["tags"],
        aliases=wanted["aliases"],
        submitted_at=job.created_at,
    )
    return {"name": wanted["name"], "version": version.version, "id": version.id, "sha256": fit["blob_sha256"]}


def _lineage(job: Job, dataset: Dataset, fit: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    request = job.request
    return {
        "dataset": dataset.id,
        "dataset_sha256": dataset.raw_sha256,
        "table_sha256": dataset.table_sha256,
        "rows": fit["rows"],
        "dropped_rows": fit["dropped_rows"],
        "training_notes": fit["notes"],
        "target": request["target"],
        "features": request["features"],
        "weights": request["weights"],
        "learner": request["learner"],
        "parameters": dict(parameters),
        "seed": request["seed"],
        "evaluation": request["evaluation"],
        "library_version": version("rulewood"),
        "job": job.id,
    }
