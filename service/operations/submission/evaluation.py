"""How a request wants the learner to be judged: method, folds, fraction, groups, time, utilities."""

from __future__ import annotations

from typing import Any

from learners import catalog
from learners.decisions import utility_matrix
from learners.errors import ParameterError, quoted
from learners.table import Column, Kind
from service.operations.submission.asked import Asked, told_range

METHODS = ("k-fold", "hold-out", "leave-one-out", "none")
#: Methods whose splits are parts of their own.
SPLITTING = ("k-fold", "hold-out")
DEFAULT_FOLDS = 10
DEFAULT_FRACTION = 0.25
#: Most splits of one evaluation, repeats counted.
MAX_SPLITS = 1000
#: Parts of a leave-one-out: so often it tells what it has done.
_LEFT_OUT_PARTS = 50
#: By option, the methods that it belongs to.
_OWNERS = {
    "folds": ("k-fold",),
    "fraction": ("hold-out",),
    "stratified": ("k-fold", "hold-out"),
    "repeats": ("k-fold", "hold-out"),
    "groups": ("k-fold", "hold-out", "leave-one-out"),
    "time": ("k-fold", "hold-out"),
    "utility": ("k-fold", "hold-out", "leave-one-out"),
}
#: What has no effect where the order of time parts the rows.
_NOT_WITH_TIME = ("stratified", "repeats", "groups")


def evaluation(asked: Asked, *, needed: bool, methods: tuple[str, ...] = METHODS) -> dict[str, Any]:
    """The method with its numbers, defaults filled in.

    Args:
        needed: whether the job cannot do without.
        methods: those that it can use.
    """
    is_asked = needed or asked.request.get("evaluation") is not None
    given = dict(asked.request.get("evaluation") or {})
    allowed = [method for method in methods if method != "none" or not needed]
    method = given.get("method", "k-fold" if is_asked else "none")
    if method not in allowed:
        asked.refuse(
            f"the method is one of {', '.join(allowed)}; it is {quoted(method)}", "evaluation.method", allowed=allowed
        )
        return {"method": method}
    _refuse_idle(asked, given, method)
    _refuse_strata(asked, given)
    normal: dict[str, Any] = {"method": method}
    if method in _OWNERS["stratified"] and "time" not in given:
        normal["stratified"] = given.get("stratified", True)
    if method == "k-fold":
        normal["folds"] = _folds(asked, given)
    if method == "hold-out":
        normal["fraction"] = _fraction(asked, given.get("fraction", DEFAULT_FRACTION))
    if method == "leave-one-out":
        normal["parts"] = _left_out_parts(asked, given)
    if given.get("repeats", 1) != 1:
        normal["repeats"] = _repeats(asked, given["repeats"], normal.get("folds", 1))
    _part_by_columns(asked, given, normal)
    if given.get("utility") is not None:
        normal["utility"] = _utility(asked, given["utility"])
    return normal


def _refuse_idle(asked: Asked, given: dict[str, Any], method: str) -> None:
    """Refuse what has no effect beside the method or beside the order of time."""
    for name, owners in _OWNERS.items():
        if given.get(name) is not None and method not in owners:
            owner = " or ".join(owners)
            asked.refuse(
                f"{name} has no effect with the method {method}; it is of {owner}", f"evaluation.{name}", allowed=owner
            )
        elif given.get(name) is not None and given.get("time") is not None and name in _NOT_WITH_TIME:
            asked.refuse(
                f"{name} has no effect beside time, whose order parts the rows; give one of the two",
                f"evaluation.{name}",
            )


def _refuse_strata(asked: Asked, given: dict[str, Any]) -> None:
    """Refuse to keep the shares of classes where there are none."""
    if given.get("stratified") and asked.learner is not None and asked.learner.capabilities.task != "classification":
        asked.refuse(
            f"stratified has no effect on {asked.learner.name}, which learns no classes whose shares could be kept",
            "evaluation.stratified",
        )


def _folds(asked: Asked, given: dict[str, Any]) -> Any:
    folds = given.get("folds", DEFAULT_FOLDS)
    least = 1 if given.get("time") is not None else 2
    most = min(asked.usable_rows(), MAX_SPLITS)
    if _refuse_few_rows(asked, "k-fold"):
        return folds
    if isinstance(folds, bool) or not isinstance(folds, int) or not least <= folds <= most:
        counted = "the rows that have a target" if most < MAX_SPLITS else "the most that are carried out"
        allowed = f"{told_range(least, most)} ({counted})"
        asked.refuse(f"folds must be {allowed}; it is {quoted(folds)}", "evaluation.folds", allowed=allowed)
    return folds


def _fraction(asked: Asked, fraction: Any) -> Any:
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        asked.refuse("fraction must be > 0 and < 1", "evaluation.fraction", allowed="> 0 and < 1")
    _refuse_few_rows(asked, "a hold-out")
    return fraction


def _refuse_few_rows(asked: Asked, method: str) -> bool:
    """Refuse to part fewer than two rows; whether that was so."""
    count = asked.usable_rows()
    if count < 2:
        asked.refuse(f"{method} needs at least 2 rows that have a target; there is {count}", "evaluation.method")
    return count < 2


def _left_out_parts(asked: Asked, given: dict[str, Any]) -> int:
    _refuse_few_rows(asked, "leave-one-out")
    if given.get("groups") is None and _has_fast_path(asked):
        return 1
    return max(1, min(asked.usable_rows(), _LEFT_OUT_PARTS))


def _has_fast_path(asked: Asked) -> bool:
    """Whether the learner knows, by its parameters, what it would answer to each row without that row."""
    if asked.learner is None:
        return False
    try:
        made = catalog.make(asked.learner.name, dict(asked.request.get("parameters") or {}))
    except ParameterError:
        return False  # which is told where parameters are checked
    return bool(getattr(made, "leaves_one_out", False))


def _repeats(asked: Asked, repeats: Any, folds: Any) -> Any:
    most = max(1, MAX_SPLITS // max(folds, 1)) if isinstance(folds, int) else MAX_SPLITS
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= most:
        allowed = f"{told_range(1, most)} (folds times repeats are at most {MAX_SPLITS})"
        asked.refuse(f"repeats must be {allowed}; it is {quoted(repeats)}", "evaluation.repeats", allowed=allowed)
    return repeats


def _part_by_columns(asked: Asked, given: dict[str, Any], normal: dict[str, Any]) -> None:
    """Add the columns by which rows are parted, if they part them in so many."""
    for name, kinds in (("groups", None), ("time", (Kind.NUMERIC, Kind.ORDINAL))):
        if given.get(name) is not None:
            normal[name] = _parting_column(asked, given[name], name, kinds)
            if not any(fault.parameter in (f"evaluation.{name}", "evaluation.folds") for fault in asked.faults):
                _refuse_few_values(asked, normal, name)


def _parting_column(asked: Asked, name: Any, option: str, kinds: tuple[Kind, ...] | None) -> Any:
    """The column by which rows are parted: of a kind that fits, without a missing value."""
    parameter = f"evaluation.{option}"
    if not asked.is_column(name, parameter):
        return name
    record = asked.columns[name]
    if name == asked.request.get("target"):
        asked.refuse(f"the target cannot be the {option}", parameter, column=name)
    if kinds is not None and record["kind"] not in kinds:
        allowed = [str(kind) for kind in kinds]
        asked.refuse(
            f"the column {quoted(name)} is {record['kind']}; {option} is {' or '.join(allowed)}",
            parameter,
            column=name,
            allowed=allowed,
        )
    elif record.get("missing"):
        asked.refuse_missing(f"the column {quoted(name)} is", f"by {option} every row needs a value", parameter, name)
    return name


def _refuse_few_values(asked: Asked, normal: dict[str, Any], option: str) -> None:
    """Refuse more folds than the column has groups, or than its times leave, in rows without a target too."""
    distinct, folds = asked.profile(normal[option]).get("distinct"), normal.get("folds")
    if distinct is None:
        return
    if distinct < 2:
        what = "groups" if option == "groups" else "different times"
        column = normal[option]
        asked.refuse(
            f"at least 2 {what} are needed; the column {quoted(column)} has {distinct}",
            f"evaluation.{option}",
            column=column,
        )
    elif isinstance(folds, int):
        least, most = (2, distinct) if option == "groups" else (1, distinct - 1)
        if most < folds:
            what = "the number of groups" if option == "groups" else "one less than the different times"
            allowed = f"{told_range(least, most)} ({what})"
            asked.refuse(f"folds must be {allowed}; it is {folds}", "evaluation.folds", allowed=allowed)


def _utility(asked: Asked, utility: Any) -> Any:
    """Utilities by decided and true class, by which decisions are judged."""
    record = asked.columns.get(str(asked.request.get("target")))
    if record is None:
        return utility
    if not record.get("levels"):
        asked.refuse("utilities judge decisions among classes; the target has none", "evaluation.utility")
        return utility
    try:
        utility_matrix(utility, Column.from_json(record), "evaluation.utility")
    except ParameterError as error:
        asked.refuse(str(error), "evaluation.utility")
    return utility
