"""Two versions compared: what their evaluations say, which rules changed, whose answer changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learners.base import Classifier, Learner
from learners.errors import LearnerError
from learners.evaluation.comparison import corrected_t
from learners.evaluation.metrics import mean_absolute_error, root_mean_squared_error
from learners.rules import rules_of
from learners.rules.compare import Move, compare_rules
from learners.rules.rule import Rule
from learners.table import Series, Table
from learners.types import Array
from service.errors import Conflict, Fault, Invalid, NotFound
from service.formats.table_file import open_table
from service.operations import models as versions
from service.operations.long_work import Amount, parts, pause
from service.operations.same_target import what_differs
from service.operations.served import ServedModel
from service.operations.serving import Serving
from service.operations.stored_rows import has_learned_from
from service.store import datasets as datasets_table
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import Dataset, ModelVersion

#: Between rules of either version.
_pause_among_rules = partial(pause, amount=Amount("rules", "with"))
#: Most cells of all rows that are answered: 400 MB.
_MAX_CELLS = 50_000_000


@dataclass(frozen=True)
class Parts:
    """What a comparison is made with."""

    store: Store
    blobs: Blobs
    serving: Serving


@dataclass(frozen=True)
class Wanted:
    """What is to be compared.

    Attributes:
        before, after: references to two versions.
        dataset: id of the rows that both answer; ``None`` for those from which ``after`` learned.
        first_row, n_rows: which of its rows are answered.
        listed: at most so many rules of each list, and so many rows, are given; all are counted.
    """

    before: str
    after: str
    dataset: str | None = None
    first_row: int = 0
    n_rows: int = 100_000
    listed: int = 100


def compare(shelf: Parts, workspace: str, wanted: Wanted) -> dict[str, Any]:
    """The comparison as JSON.

    Raises:
        NotFound: there is no such version or dataset.
        Conflict: the versions are of different tasks or targets, or have no class in common.
        Invalid: the dataset lacks a column that a version needs.
    """
    details = [versions.get_version(shelf.store, workspace, ref) for ref in (wanted.before, wanted.after)]
    before, after = (shelf.serving.get(workspace, f"{one.name}:{one.version.version}") for one in details)
    why = what_differs(*((model.identity.task, model.learner.target_) for model in (before, after)))
    if why is not None:
        raise Conflict(why, [Fault(why, parameter="with", column=after.learner.target_.name)])
    old, new = (one.version for one in details)
    return {
        "before": {"model": details[0].name, "version": old.version},
        "after": {"model": details[1].name, "version": new.version},
        "parameters": _changed(*_learned_by(before.learner, after.learner)),
        "lineage": _changed(
            old.lineage, new.lineage, ("dataset", "dataset_sha256", "rows", "target", "features", "seed")
        ),
        "metrics": _metrics(old.metrics, new.metrics, _share_of_same_folds(old, new)),
        "rules": _rules(before.learner, after.learner, wanted.listed),
        "rows": _rows(shelf, workspace, wanted, (before, after), (old.lineage, new.lineage)),
    }


def _learned_by(before: Learner, after: Learner) -> tuple[dict[str, Any], dict[str, Any]]:
    """The learners and what they learned by, choices of presets and defaults included.

    A parameter that only one of two learners has is left out where it is at its default.
    """
    old, new = before.get_params(), after.get_params()
    return (
        {"learner": before.name}
        | {name: old[name] for name in old if name in new or old[name] != _default(before, name)},
        {"learner": after.name}
        | {name: new[name] for name in new if name in old or new[name] != _default(after, name)},
    )


def _default(learner: Learner, name: str) -> Any:
    return next(parameter.default for parameter in learner.parameters() if parameter.name == name)


def _changed(
    before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, ...] | None = None
) -> dict[str, dict[str, Any]]:
    """The entries that differ; one that is absent is null."""
    return {
        name: {"before": before.get(name), "after": after.get(name)}
        for name in (names or sorted({*before, *after}))
        if before.get(name) != after.get(name)
    }


#: What makes folds the same.
_FOLDS_BY = ("table_sha256", "rows", "target", "weights", "seed", "evaluation")


def _share_of_same_folds(before: ModelVersion, after: ModelVersion) -> float | None:
    """n_test / n_train of the folds in which both were judged; None if they were judged in others, or in one."""
    if any(before.lineage.get(name) != after.lineage.get(name) for name in _FOLDS_BY):
        return None
    evaluation = after.lineage["evaluation"]
    judged = [one.metrics for one in (before, after)]
    is_other = any("nested" in one or one.get("method") != evaluation["method"] for one in judged)
    if is_other or "time" in evaluation:
        return None
    if evaluation["method"] == "k-fold":
        return 1 / (float(evaluation["folds"]) - 1)
    return float(evaluation["fraction"] / (1 - evaluation["fraction"])) if evaluation["method"] == "hold-out" else None


def _metrics(before: Mapping[str, Any], after: Mapping[str, Any], share: float | None) -> dict[str, Any]:
    """What either evaluation found, side by side, the difference of the means and how sure it is."""
    old, new = before.get("metrics", {}), after.get("metrics", {})
    found = {}
    for name in sorted({*old, *new}):
        pair = {"before": old.get(name), "after": new.get(name)}
        gap = _gap(old.get(name), new.get(name))
        found[name] = pair | {"difference": gap, "paired": _paired(old.get(name), new.get(name), share)}
    return found


def _paired(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, share: float | None
) -> dict[str, Any] | None:
    """Whether the metric differs by more than folds do; None where that cannot be told."""
    if before is None or after is None or share is None:
        return None
    values = before.get("values", []), after.get("values", [])
    if len(values[0]) != len(values[1]) or len(values[0]) < 2 or None in (*values[0], *values[1]):
        return None
    return corrected_t(values[1], values[0], share).to_json()


def _gap(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> float | None:
    """By how much the mean is greater after; None where either is unknown."""
    means = [one and one["mean"] for one in (before, after)]
    return None if None in means else float(means[1]) - float(means[0])  # type: ignore[arg-type]


def _rules(before: Learner, after: Learner, listed: int) -> dict[str, Any] | None:
    """Rules added, removed and moved; null where either has none."""
    try:
        difference = compare_rules(rules_of(before), rules_of(after), _pause_among_rules)
    except LearnerError:
        return None
    record: dict[str, Any] = {"same_total": len(difference.same)}
    changed: dict[str, Sequence[Rule | Move]] = {
        "added": difference.added,
        "removed": difference.removed,
        "moved": difference.moved,
    }
    for name, found in changed.items():
        record[f"{name}_total"] = len(found)
        record[name] = [one.to_json() for one in found[:listed]]
    return record


def _rows(
    shelf: Parts,
    workspace: str,
    wanted: Wanted,
    models: tuple[ServedModel, ServedModel],
    lineages: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> dict[str, Any] | None:
    """Whose answer changes; null where no dataset was named and that of ``after`` is gone or does not fit."""
    try:
        dataset = _dataset(shelf.store, workspace, wanted.dataset or lineages[1]["dataset"])
        table = open_table(shelf.blobs.path(dataset.table_sha256))
        rows = _part(table, wanted)
        answers = _answers(models, rows)
    except (NotFound, Invalid):
        if wanted.dataset is not None:
            raise
        return None
    found = {
        "dataset": dataset.id,
        "first_row": wanted.first_row,
        "compared": rows.n_rows,
        "total": table.n_rows,
        "learned_from": [
            name
            for name, lineage in zip(("before", "after"), lineages, strict=True)
            if has_learned_from(lineage, dataset)
        ],
    }
    return found | _difference(answers, _truth(rows, models[1].learner), wanted)


def _part(table: Table, wanted: Wanted) -> Table:
    """The rows to be answered: those wanted, as far as there are so many and they fit into memory."""
    n_rows = max(1, min(wanted.n_rows, _MAX_CELLS // max(1, table.n_columns)))
    return Table(table.columns, table.values[wanted.first_row : wanted.first_row + n_rows])


def _dataset(store: Store, workspace: str, dataset_id: str) -> Dataset:
    with store.read() as session:
        return datasets_table.get(session, workspace, dataset_id)


def _answers(models: tuple[ServedModel, ServedModel], rows: Table) -> tuple[Array, Array]:
    """What either answers to the rows; labels as they are.

    Raises:
        Invalid: the rows lack a column that one needs.
    """
    first = min(model.rows_at_once for model in models)
    found: tuple[list[Array], list[Array]] = [], []
    try:
        tables = [model.learner.check_table(rows) for model in models]
        for some in parts(rows.n_rows, first, Amount(parameter="n_rows")):
            for model, table, answers in zip(models, tables, found, strict=True):
                part = Table(table.columns, np.asfortranarray(table.values[some]))
                answers.append(np.asarray(model.learner.predict(part), _dtype(model.learner)))
    except LearnerError as error:
        message = f"the dataset does not fit: {error}"
        raise Invalid(message, [Fault(message, parameter="dataset")]) from None
    whole = [np.concatenate(answers) if answers else np.empty(0) for answers in found]
    return whole[0].astype(_dtype(models[0].learner)), whole[1].astype(_dtype(models[1].learner))


def _dtype(learner: Learner) -> Any:
    return object if isinstance(learner, Classifier) else np.float64


def _truth(rows: Table, learner: Learner) -> Series | None:
    """The target of the rows, if they have it in a form that fits."""
    target = learner.target_
    if target.name not in rows.names:
        return None
    series = rows.column(target.name)
    if series.column.is_numeric != target.is_numeric:
        return None
    return series


def _difference(answers: tuple[Array, Array], truth: Series | None, wanted: Wanted) -> dict[str, Any]:
    before, after = answers
    numeric = before.dtype == np.float64
    changed = np.flatnonzero(before != after)
    # Of numbers those that changed most come first.
    order = changed[np.argsort(-np.abs(before[changed] - after[changed]), kind="stable")] if numeric else changed
    record: dict[str, Any] = {"changed_total": len(changed)}
    record["changed"] = [
        {"row": wanted.first_row + int(row), "before": _plain(before[row]), "after": _plain(after[row])}
        for row in order[: wanted.listed]
    ]
    if numeric:
        return record | _against_numbers(before, after, truth)
    pairs = Counter(zip(before[changed].tolist(), after[changed].tolist(), strict=True))
    record["changes"] = [
        {"before": old, "after": new, "rows": count} for (old, new), count in pairs.most_common(wanted.listed)
    ]
    return record | _against_labels(before, after, truth)


def _against_labels(before: Array, after: Array, truth: Series | None) -> dict[str, Any]:
    """How the answers agree with the target where it is known."""
    if truth is None:
        return {"target": None}
    known = np.flatnonzero(~np.isnan(truth.cells) & (truth.cells >= 0))
    labels = np.array([*truth.column.labels, None], dtype=object)[truth.cells[known].astype(np.int64)]
    old, new = before[known] == labels, after[known] == labels
    return {
        "target": {
            "rows": len(known),
            "both_right": int(np.count_nonzero(old & new)),
            "only_before_right": int(np.count_nonzero(old & ~new)),
            "only_after_right": int(np.count_nonzero(~old & new)),
            "both_wrong": int(np.count_nonzero(~old & ~new)),
        }
    }


def _against_numbers(before: Array, after: Array, truth: Series | None) -> dict[str, Any]:
    if truth is None:
        return {"target": None}
    known = np.flatnonzero(~np.isnan(truth.cells))
    actual = truth.cells[known]
    found: dict[str, Any] = {"rows": len(known)}
    for name, answers in (("before", before), ("after", after)):
        found[name] = {
            "mean_absolute_error": mean_absolute_error(actual, answers[known]),
            "root_mean_squared_error": root_mean_squared_error(actual, answers[known]),
        }
    return {"target": found}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
