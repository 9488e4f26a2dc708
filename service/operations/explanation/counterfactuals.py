"""The nearest rows with a wanted answer, and why a row does not have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

from learners.errors import ParameterError, quoted
from learners.reasons.counterfactuals import Search, counterfactuals, why_not
from learners.reasons.records import Counterfactual, Ways
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.targets import answers_of, target_of
from learners.reasons.wanted.wishes import Range, Wishes
from learners.reasons.work import Work
from learners.table import Column, Table
from service.errors import Fault, Invalid
from service.operations import models as versions
from service.operations.explanation.reasoning import Describe, Rows, reason_about
from service.operations.long_work import pause
from service.operations.served import ServedModel
from service.store.session import Store

_BOUNDS = {"minimum", "maximum"}


@dataclass(frozen=True)
class Wanted:
    """What is wanted and allowed, as it stands in a request; see :class:`learners.reasons.wanted.wishes.Wishes`.

    Attributes:
        answer: a label, or an object with ``minimum`` and ``maximum``.
        allowed: by column, such an object or a list of levels.
    """

    answer: Any
    fixed: Sequence[str] = ()
    directions: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    allowed: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    diverse: bool = False
    order: Literal["changes", "distance"] = "changes"


def find_counterfactuals(
    model: ServedModel, sent: Rows, wanted: Wanted, scales: Scales, describe: Describe
) -> dict[str, Any]:
    """For each row its nearest counterfactuals and why it is not answered as wanted.

    Raises:
        Invalid: an option does not fit the model, or every row is bad. Conflict: the model is neither a rule set nor a
            tree whose leaves have one answer each. TooLarge: too many rows.
    """

    _refuse_fixed(wanted)

    def reason(table: Table) -> list[dict[str, Any]]:
        columns = model.learner.columns_
        wishes = Wishes.of(
            columns,
            fixed=wanted.fixed,
            directions=wanted.directions,
            costs=wanted.costs,
            allowed={name: _range(name, value) for name, value in wanted.allowed.items()},
        )
        answer = _answer(wanted.answer, model.identity.task)
        search = Search(wishes, wanted.count, wanted.diverse, wanted.order)
        tells_why = wishes.is_free and wanted.order == "changes"
        work = Work(table.n_rows if tells_why else 2 * table.n_rows, pause=pause)
        found = counterfactuals(model.learner, table, answer, search, scales, work)
        if tells_why:
            free = [ways[0] if ways else None for ways in found]
        else:
            free = why_not(model.learner, table, answer, scales, work)
        reached = target_of(model.learner, answer).holds(answers_of(model.learner, table))
        return [_record(*one) for one in zip(reached.tolist(), found, free, strict=True)]

    return reason_about(model, sent, describe, reason, wanted.count + 1)


def _refuse_fixed(wanted: Wanted) -> None:
    """Refuse what is said of columns that stay as they are, which would have no effect."""
    said = {"directions": wanted.directions, "costs": wanted.costs, "allowed": wanted.allowed}
    faults = [
        Fault(f"{name} is fixed, so {parameter} have no effect on it", parameter=f"{parameter}.{name}", column=name)
        for parameter, by_column in said.items()
        for name in by_column
        if name in set(wanted.fixed)
    ]
    if faults:
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)


def _record(reached: bool, found: Ways, nearest: Counterfactual | None) -> dict[str, Any]:
    status = "already" if reached else "found" if found else "unfinished" if found.unfinished else "unreachable"
    record = {"status": status, "counterfactuals": [one.to_json() for one in found], "why_not": _why_not(nearest)}
    return record | ({"unfinished": found.unfinished} if status == "unfinished" else {})


def _why_not(nearest: Counterfactual | None) -> dict[str, Any] | None:
    if nearest is None:
        return None
    unmet = [asked.to_json() for asked in nearest.asked if asked.state != "met"]
    return nearest.place() | {"conditions": unmet, "changes": [change.to_json() for change in nearest.changes]}


def _answer(wanted: Any, task: str) -> Any:
    if task == "regression" and isinstance(wanted, dict):
        return _bounds("wanted", wanted)
    return wanted


def _range(name: str, value: Any) -> Range:
    if isinstance(value, dict):
        return _bounds(f"allowed.{name}", value)
    if not isinstance(value, list):
        raise ParameterError(
            f"what is allowed of column {quoted(name)} is an object with minimum and maximum, or a list of levels, "
            f"not {quoted(value)}",
            field=f"allowed.{name}",
        )
    return value


def _bounds(parameter: str, value: dict[str, Any]) -> tuple[Any, Any]:
    if not value or value.keys() - _BOUNDS:
        raise ParameterError(f"{parameter} is an object with minimum, maximum or both", field=parameter)
    return value.get("minimum"), value.get("maximum")


_scales: WeakKeyDictionary[ServedModel, Scales] = WeakKeyDictionary()


def scales_of(store: Store, model: ServedModel) -> Scales:
    """What a step counts on each column: the ranges of the training rows, which are kept with the version."""
    found = _scales.get(model)
    if found is None:
        identity = model.identity
        detail = versions.get_version(store, identity.workspace, f"{identity.name}:{identity.version}")
        by_name = {one["name"]: one for one in detail.version.schema["inputs"]}
        columns: Sequence[Column] = model.learner.columns_
        found = _scales[model] = Scales.of_records(columns, [by_name.get(column.name, {}) for column in columns])
    return found
