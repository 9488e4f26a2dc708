"""What a model's rules do on stored rows: support and confidence of each, and the rows of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from learners.base import Learner
from learners.errors import LearnerError, quoted
from learners.reasons.support import rows_of_rule, supports
from learners.rules.rule import RuleSet
from learners.table import UNSEEN, Column, Table
from learners.types import FloatArray, IntArray
from service.errors import Fault, Invalid, NotFound, TooLarge
from service.formats.table_file import open_table, rows
from service.operations import models as versions
from service.operations.positions import decode_position
from service.operations.rules import Paging, page_json, rules_of_model
from service.operations.served import ServedModel
from service.store import datasets
from service.store.blobs import Blobs
from service.store.session import Store

#: Most cells of a dataset that is read through for one request: some seconds of work.
MAX_CELLS = 100_000_000


@dataclass(frozen=True)
class Shelf:
    """Where datasets and versions lie."""

    store: Store
    blobs: Blobs


@dataclass(frozen=True)
class _Rows:
    """A dataset as a model sees it.

    Attributes:
        table: all of its rows and columns.
        truth: (n,), the target in the model's terms, NaN where it is not known.
        weights: (n,), 1 or what the training took; of the dataset that it learned from 0 where it did not.
        learned_from: whether the version was trained on this dataset.
    """

    dataset: str
    table: Table
    truth: FloatArray
    weights: FloatArray
    learned_from: bool

    def to_json(self) -> dict[str, Any]:
        return {"id": self.dataset, "rows": self.table.n_rows, "learned_from": self.learned_from}


def rules_on(shelf: Shelf, model: ServedModel, dataset_id: str, paging: Paging) -> dict[str, Any]:
    """A page of the rules with what each does on the rows of a dataset.

    Raises:
        NotFound: there is no such dataset. Conflict: the model has no rules, or the cursor is of another version.
        Invalid: the dataset does not fit the model. TooLarge: it has too many cells. BadRequest: a bad cursor.
    """
    first = decode_position(model.identity, paging.cursor)
    rules = rules_of_model(model)
    read = _read(shelf, model, dataset_id)
    try:
        found = supports(model.learner, rules, read.table, read.truth, read.weights)
    except LearnerError as error:
        raise _unfit(error) from None
    end = first + paging.limit
    page = replace(rules, rules=rules.rules[first:end]).to_json() | page_json(model, end, len(rules.rules))
    record = model.identity.to_json() | page | {"dataset": read.to_json()}
    for rule, support in zip(record["rules"], found[first:end], strict=True):
        rule["on_dataset"] = support.to_json()
    return record


def refuse_dataset(rule_format: str) -> NoReturn:
    """Raise :class:`Invalid`: figures of a dataset are given as JSON only."""
    message = f"figures on a dataset are given as JSON, not as {rule_format}"
    raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="dataset", allowed="format=json")])


def refuse_simplified() -> NoReturn:
    """Raise :class:`Invalid`: figures of a dataset belong to rules as they are."""
    message = "figures on a dataset are given for the rules as they are, not simplified"
    raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="simplify", allowed=[False])])


def rows_of(
    shelf: Shelf, model: ServedModel, rule_id: str, *, dataset_id: str | None, offset: int, limit: int
) -> dict[str, Any]:
    """Some of the rows that a rule answers.

    Args:
        shelf: where to look.
        model: whose rule.
        rule_id: as the rules have it.
        dataset_id: whose rows; None for those that the version learned from.
        offset, limit: which of the rule's rows are given.

    Raises:
        NotFound: there is no such rule or dataset. Conflict: the model has no rules.
        Invalid: the dataset does not fit the model. TooLarge: it has too many cells.
    """
    rules = rules_of_model(model)
    place = next((place for place, rule in enumerate(rules.rules) if rule.id == rule_id), None)
    if place is None:
        raise NotFound(
            f"{model.identity.name}:{model.identity.version} has no rule {quoted(rule_id)}; see its rules",
            [Fault("no such rule", parameter="rule_id", value=rule_id)],
        )
    read = _read(shelf, model, dataset_id)
    numbers, shares = _numbers(model.learner, rules, place, read)
    page = numbers[offset : offset + limit].tolist()
    values = {number: rows(read.table, number, 1)[0] for number in page}
    return {
        "model": model.identity.name,
        "version": model.identity.version,
        "rule": rules.rules[place].to_json(),
        "dataset": read.to_json(),
        "offset": offset,
        "total": len(numbers),
        "rows": [
            {"row": number, "share": share, "values": values[number]}
            for number, share in zip(page, shares[offset : offset + limit].tolist(), strict=True)
        ],
    }


def _numbers(learner: Learner, rules: RuleSet, place: int, read: _Rows) -> tuple[IntArray, FloatArray]:
    try:
        numbers, shares = rows_of_rule(learner, rules, place, read.table)
    except LearnerError as error:
        raise _unfit(error) from None
    counted = read.weights[numbers] > 0
    return numbers[counted], shares[counted]


def _unfit(error: LearnerError) -> Invalid:
    message = f"the dataset does not fit: {error}"
    return Invalid(message, [Fault(message, parameter="dataset", column=error.field)])


def _read(shelf: Shelf, model: ServedModel, dataset_id: str | None) -> _Rows:
    identity = model.identity
    lineage = versions.get_version(
        shelf.store, identity.workspace, f"{identity.name}:{identity.version}"
    ).version.lineage
    wanted = dataset_id or lineage["dataset"]
    with shelf.store.read() as session:
        dataset = datasets.get(session, identity.workspace, wanted)
        n_cells = dataset.n_rows * dataset.n_columns
        sha256 = dataset.table_sha256
    if n_cells > MAX_CELLS:
        raise TooLarge(
            f"The dataset has {n_cells} cells; at most {MAX_CELLS} are read through for one request",
            [Fault("too many cells", parameter="dataset", allowed=MAX_CELLS)],
        )
    table = open_table(shelf.blobs.path(sha256))
    target: Column = model.learner.target_
    truth = _truth(table, target)
    learned_from = wanted == lineage["dataset"]
    weights = _weights(table, lineage)
    if learned_from:
        weights = np.where(np.isnan(truth), 0.0, weights)
    return _Rows(wanted, table, truth, weights, learned_from)


def _truth(table: Table, target: Column) -> FloatArray:
    """The target by the model's codes; NaN where the rows do not have it, or in a way that the model does not know."""
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


def _weights(table: Table, lineage: Mapping[str, Any]) -> FloatArray:
    """The weights of the rows, if they have the column that the training took them from."""
    name = lineage.get("weights")
    if name is None or name not in table.names:
        return np.ones(table.n_rows)
    cells = table.column(name).cells
    return np.where(np.isfinite(cells) & (cells > 0), cells, 0.0)
