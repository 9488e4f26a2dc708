"""Stored rows as a model sees them: what routes about a model and a dataset begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.errors import LearnerError, quoted
from learners.neural.autoencoder.estimator import RECONSTRUCTION_ERROR
from learners.table import UNSEEN, Column, Table
from learners.types import BoolArray, FloatArray
from service.errors import Fault, Invalid, TooLarge
from service.formats.table_file import open_table
from service.operations import models as versions
from service.operations.served import ServedModel
from service.store import datasets
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import Dataset

#: Most cells of a dataset that is read through for one request: some seconds of work.
MAX_CELLS = 100_000_000


@dataclass(frozen=True)
class Shelf:
    """Where datasets and versions lie."""

    store: Store
    blobs: Blobs


@dataclass(frozen=True)
class StoredRows:
    """A dataset as a model sees it.

    Attributes:
        table: all of its rows and columns.
        truth: (n,), the target in the model's terms, NaN where it is not known.
        weights: (n,), 1 or what the training took; of the dataset that it learned from 0 where it did not.
        learned_from: whether the version was trained on these rows; see :func:`has_learned_from`.
    """

    dataset: str
    table: Table
    truth: FloatArray
    weights: FloatArray
    learned_from: bool

    def to_json(self) -> dict[str, Any]:
        return {"id": self.dataset, "rows": self.table.n_rows, "learned_from": self.learned_from}


def unfit(error: LearnerError) -> Invalid:
    """What the library refuses of a dataset as a refusal of the request."""
    message = f"the dataset does not fit: {error}"
    return Invalid(message, [Fault(message, parameter="dataset", column=error.field)])


def read_stored(shelf: Shelf, model: ServedModel, dataset_id: str | None) -> StoredRows:
    """The rows of a dataset; without an id of that which the version learned from.

    Raises:
        NotFound: there is no such dataset. TooLarge: it has too many cells.
        Invalid: its target is of another kind than the model's.
    """
    identity = model.identity
    lineage = versions.get_version(
        shelf.store, identity.workspace, f"{identity.name}:{identity.version}"
    ).version.lineage
    wanted = dataset_id or lineage["dataset"]
    with shelf.store.read() as session:
        dataset = datasets.get(session, identity.workspace, wanted)
        n_cells = dataset.n_rows * dataset.n_columns
        sha256 = dataset.table_sha256
        learned_from = has_learned_from(lineage, dataset)
    if n_cells > MAX_CELLS:
        raise TooLarge(
            f"The dataset has {n_cells} cells; at most {MAX_CELLS} are read through for one request",
            [Fault("too many cells", parameter="dataset", allowed=MAX_CELLS)],
        )
    table = open_table(shelf.blobs.path(sha256))
    target: Column = model.learner.target_
    truth = truth_of(table, target)
    weights = _weights(table, lineage)
    if learned_from:
        weights = np.where(np.isnan(truth), 0.0, weights)
    return StoredRows(wanted, table, truth, weights, learned_from)


def has_learned_from(lineage: Mapping[str, Any], dataset: Dataset) -> bool:
    """Whether a version of this lineage was trained on the rows of a dataset: then its figures there are too good.

    The rows are the same in the dataset itself, in another upload of the file or of its table, and in every revision,
    whose columns are read otherwise but whose file is the same.
    """
    return bool(lineage["table_sha256"] == dataset.table_sha256 or lineage["dataset_sha256"] == dataset.raw_sha256)


def truth_of(table: Table, target: Column) -> FloatArray:
    """The target by the model's codes; NaN where the rows do not have it, or in a way that the model does not know."""
    if target == RECONSTRUCTION_ERROR:
        return np.zeros(table.n_rows)  # of a learner without a target: what it should answer
    if target.name not in table.names:
        return np.full(table.n_rows, np.nan)
    series = table.column(target.name)
    if series.column.is_numeric != target.is_numeric:
        message = f"the target {quoted(target.name)} is {target.kind} in the model and {series.column.kind} here"
        raise Invalid(f"The dataset does not fit: {message}", [Fault(message, parameter="dataset", column=target.name)])
    if target.is_numeric:
        return series.cells
    mapping = np.array([target.encode(label) for label in series.column.labels] + [np.nan])
    mapping[mapping == UNSEEN] = np.nan
    codes = np.where(np.isnan(series.cells), -1, series.cells).astype(np.int64)
    return np.asarray(mapping[codes], dtype=np.float64)


def strange_classes(table: Table, truth: FloatArray, target: Column) -> tuple[BoolArray, list[str]]:
    """Which rows are of a class that the model does not know, shape (n,), and what these classes are called.

    Args:
        truth: of :func:`truth_of`.
    """
    if target.is_numeric or target.name not in table.names:
        return np.zeros(table.n_rows, np.bool_), []
    series = table.column(target.name)
    strange = np.isnan(truth) & ~np.isnan(series.cells)
    return strange, [series.column.levels[code] for code in np.unique(series.cells[strange]).astype(np.int64)]


def _weights(table: Table, lineage: Mapping[str, Any]) -> FloatArray:
    """The weights of the rows, if they have the column that the training took them from."""
    name = lineage.get("weights")
    if name is None or name not in table.names:
        return np.ones(table.n_rows)
    cells = table.column(name).cells
    return np.where(np.isfinite(cells) & (cells > 0), cells, 0.0)
