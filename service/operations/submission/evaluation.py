"""How a request wants the learner to be judged: method, folds, fraction."""

from __future__ import annotations

from typing import Any

from learners.errors import quoted
from service.operations.submission.asked import Asked

METHODS = ("k-fold", "hold-out", "none")
DEFAULT_FOLDS = 10
DEFAULT_FRACTION = 0.25


def evaluation(asked: Asked) -> dict[str, Any]:
    """The method with its numbers, defaults filled in."""
    is_asked = asked.request.get("kind") == "cross-validate" or asked.request.get("evaluation") is not None
    given = dict(asked.request.get("evaluation") or {})
    method = given.get("method", "k-fold" if is_asked else "none")
    if method not in METHODS or (method == "none" and asked.request.get("kind") == "cross-validate"):
        allowed = [m for m in METHODS if m != "none" or asked.request.get("kind") != "cross-validate"]
        asked.refuse(f"the method is one of {', '.join(allowed)}", "evaluation.method", allowed=allowed)
    for name, owner in (("folds", "k-fold"), ("fraction", "hold-out"), ("stratified", "k-fold or hold-out")):
        if name in given and method in METHODS and method not in owner:
            asked.refuse(
                f"{name} has no effect with the method {method}; it is of {owner}", f"evaluation.{name}", allowed=owner
            )
    normal = {"method": method}
    if method != "none":
        normal["stratified"] = given.get("stratified", True)
    if method == "k-fold":
        normal["folds"] = _folds(asked, given.get("folds", DEFAULT_FOLDS))
    if method == "hold-out":
        normal["fraction"] = _fraction(asked, given.get("fraction", DEFAULT_FRACTION))
    return normal


def _folds(asked: Asked, folds: Any) -> Any:
    rows = asked.usable_rows()
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= rows:
        allowed = f"a whole number >= 2 and <= {rows} (the rows that have a target)"
        asked.refuse(f"folds must be {allowed}; it is {quoted(folds)}", "evaluation.folds", allowed=allowed)
    return folds


def _fraction(asked: Asked, fraction: Any) -> Any:
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
        asked.refuse("fraction must be > 0 and < 1", "evaluation.fraction", allowed="> 0 and < 1")
    if asked.usable_rows() < 2:
        asked.refuse("a hold-out needs at least 2 rows that have a target", "evaluation.method")
    return fraction
