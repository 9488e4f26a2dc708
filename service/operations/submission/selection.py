"""What a job ``select`` is to look at: a grid or sizes, by which metric, nested or judged on locked rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from learners import catalog
from learners.base import Learner
from learners.errors import ParameterError, quoted
from learners.evaluation.choosing import check_metric, grid_points
from learners.evaluation.learning_curve import SHARES
from learners.params import PRESET
from service.operations.submission.asked import Asked
from service.operations.submission.inner import check_inner
from service.operations.submission.parameters import check_against_dataset, what_is_allowed

METHODS = ("grid", "size")
#: Most fits of one job.
MAX_FITS = 2000
DEFAULT_MOST, DEFAULT_PATIENCE, DEFAULT_TOLERANCE, DEFAULT_TEST = 50, 3, 0.01, 0.25
_OWN = {"grid": ("grid",), "size": ("size", "most", "patience", "tolerance")}


def selection(asked: Asked, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The selection with every default filled in.

    Args:
        evaluation: of each candidate, checked.
    """
    given = dict(asked.request.get("selection") or {})
    method = given.get("method", "grid")
    if method not in METHODS:
        asked.refuse(f"the method is one of {', '.join(METHODS)}", "selection.method", allowed=list(METHODS))
        return given
    for owner, names in _OWN.items():
        for name in names:
            if owner != method and given.get(name) is not None:
                asked.refuse(
                    f"{name} has no effect with the method {method}; it is of {owner}",
                    f"selection.{name}",
                    allowed=owner,
                )
    normal = {"method": method, "metric": _metric(asked, given, evaluation)}
    normal |= _grid(asked, given) if method == "grid" else _size(asked, given)
    test = given.get("test_fraction", DEFAULT_TEST if method == "size" and given.get("nested") is None else None)
    normal |= {"test_fraction": test} if test is not None else {}
    normal |= {"nested": given["nested"]} if given.get("nested") is not None else {}
    if test is not None and given.get("nested") is not None:
        asked.refuse("give either nested or test_fraction, not both", "selection.nested")
    check_inner(asked, normal, evaluation)
    _check_fits(asked, normal, evaluation)
    return normal


def _metric(asked: Asked, given: Mapping[str, Any], evaluation: Mapping[str, Any]) -> Any:
    if asked.learner is None:
        return given.get("metric")
    has_utility = "utility" in evaluation or bool((asked.request.get("parameters") or {}).get("utility"))
    try:
        return check_metric(given.get("metric"), asked.learner.capabilities.task, has_utility=has_utility)
    except ParameterError as error:
        asked.refuse(str(error), "selection.metric")
        return given.get("metric")


def _grid(asked: Asked, given: Mapping[str, Any]) -> dict[str, Any]:
    grid: Mapping[str, Any] = given.get("grid") or {}
    try:
        points = grid_points(grid)
    except ParameterError as error:
        asked.refuse(str(error), f"selection.{error.field}")
        return {"grid": dict(grid)}
    if asked.learner is not None and _check_names(asked, grid):
        fixed = asked.request.get("parameters") or {}
        for point in points[:MAX_FITS]:
            if not _check_point(asked, asked.learner.name, fixed, point):
                break
    return {"grid": {name: list(values) for name, values in grid.items()}}


def _check_names(asked: Asked, grid: Mapping[str, Any]) -> bool:
    """Whether every name is a parameter's and every value one that it may have."""
    if asked.learner is None:
        return False
    declared = {parameter.name: parameter for parameter in asked.learner.parameters()}
    before = len(asked.faults)
    for name, values in grid.items():
        place = f"selection.grid.{name}"[:200]
        is_preset = name == PRESET and bool(asked.learner.presets)
        if name not in declared and not is_preset:
            asked.refuse(f"{asked.learner.name} has no parameter {quoted(name)}", place, allowed=sorted(declared))
            continue
        if name in (asked.request.get("parameters") or {}):
            asked.refuse(f"{name} is given as a parameter already; leave it out of one of the two", place)
        if is_preset:
            _check_presets(asked, asked.learner, values, place)
            continue
        for value in values:
            try:
                declared[name].check(value)
            except ParameterError as error:
                inside = f"selection.grid.{error.field}"[:200]
                asked.refuse(str(error), inside, allowed=what_is_allowed(declared[name], error))
                continue
            if value is not None:
                check_against_dataset(asked, asked.learner, name, value, place)
    return len(asked.faults) == before


def _check_presets(asked: Asked, learner: type[Learner], values: Sequence[Any], place: str) -> None:
    known = list(learner.presets)
    for value in values:
        if value not in known:
            asked.refuse(f"{learner.name} has no preset {quoted(value)}", place, allowed=known)


def _check_point(asked: Asked, learner: str, fixed: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    try:
        catalog.make(learner, {**fixed, **point})
    except ParameterError as error:
        asked.refuse(f"with {quoted(dict(point))}: {error}", f"selection.grid.{error.field}")
        return False
    return True


def _size(asked: Asked, given: Mapping[str, Any]) -> dict[str, Any]:
    most = given.get("most", DEFAULT_MOST)
    normal = {
        "size": given.get("size"),
        "first": 1,
        "most": most,
        "patience": given.get("patience", DEFAULT_PATIENCE),
        "tolerance": given.get("tolerance", DEFAULT_TOLERANCE),
    }
    if asked.learner is None:
        return normal
    sizes = {parameter.name: parameter for parameter in asked.learner.parameters() if parameter.is_size}
    if given.get("size") not in sizes:
        asked.refuse(
            f"size must be a parameter of {asked.learner.name} that says how large a hypothesis is; it is "
            f"{quoted(given.get('size'))}",
            "selection.size",
            allowed=sorted(sizes),
        )
        return normal
    normal["first"] = max(1, int(sizes[given["size"]].minimum or 0))
    largest = int(sizes[given["size"]].maximum or most)
    if "most" not in given:
        normal["most"] = most = min(most, largest)
    elif most > largest:
        asked.refuse(
            f"most must be <= {largest}, the largest {given['size']}", "selection.most", allowed=f"<= {largest}"
        )
    if most < normal["first"]:
        asked.refuse(f"most must be >= {normal['first']}", "selection.most", allowed=f">= {normal['first']}")
    fixed = asked.request.get("parameters") or {}
    if given["size"] in fixed:
        asked.refuse(f"{given['size']} is given as a parameter already", "selection.size")
    else:
        _check_size(asked, asked.learner.name, fixed, {given["size"]: normal["first"]})
    return normal


def _check_size(asked: Asked, learner: str, fixed: Mapping[str, Any], point: Mapping[str, Any]) -> None:
    try:
        catalog.make(learner, {**fixed, **point})
    except ParameterError as error:
        asked.refuse(str(error), "selection.size")


def _check_fits(asked: Asked, normal: Mapping[str, Any], evaluation: Mapping[str, Any]) -> None:
    """Refuse a search that would fit the learner too often."""
    outer = normal.get("nested", 0)
    count = n_candidates(normal) * n_splits(evaluation) * (outer + 1) + outer + 1
    if not asked.faults and count > MAX_FITS:
        asked.refuse(
            f"the selection asks for up to {count} fits; at most {MAX_FITS} are made by one job",
            "selection.grid" if normal["method"] == "grid" else "selection.most",
            allowed=f"candidates x splits x (nested + 1) <= {MAX_FITS}",
        )


def n_candidates(selection: Mapping[str, Any]) -> int:
    """How many candidates there may be."""
    if selection["method"] == "size":
        return max(0, int(selection["most"]) - int(selection["first"]) + 1)
    count = 1
    for values in selection["grid"].values():
        count *= len(values)
    return count


def n_splits(evaluation: Mapping[str, Any]) -> int:
    """How many splits an evaluation has."""
    return int(evaluation.get("folds", 1)) * int(evaluation.get("repeats", 1))


def shares(asked: Asked, evaluation: Mapping[str, Any]) -> list[float]:
    """The shares of a learning curve."""
    given: list[float] = list(asked.request.get("shares") or SHARES)
    if any(isinstance(share, bool) or not 0 < share <= 1 for share in given):
        asked.refuse("shares are numbers > 0 and <= 1", "shares", allowed="> 0 and <= 1")
    elif sorted(set(given)) != given:
        asked.refuse("shares ascend, each once", "shares")
    elif not asked.faults and len(given) * n_splits(evaluation) > MAX_FITS:
        asked.refuse(f"shares times splits are at most {MAX_FITS}", "shares")
    return given
