"""By what a caller wants labels decided: utilities, costs, or a threshold between two classes.

It stands in a request as an object with one member. ``utility`` and ``costs`` say of a decided and a true
class what the decision is worth or costs, by their labels (pairs that are not named have 0) or as rows of
numbers in the order of the model's classes. ``threshold`` says from which probability on, that included, one of
two classes is decided. All come down to expected utility, and ties to the one rule of :mod:`learners.decisions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.decisions import (
    check_choice,
    check_utility,
    class_code,
    plain_utility,
    threshold_utility,
    utility_matrix,
)
from learners.errors import ParameterError, quoted
from learners.table import Column
from learners.types import FloatArray
from service import strict_json
from service.errors import Fault, Invalid, ServiceError
from service.operations.json_text import encode_json

PARAMETER = "decision"
FORMS = ("utility", "costs", "threshold")
_THRESHOLD = ("class", "at")
_LONGEST_BRIEF = 300


@dataclass(frozen=True)
class Decision:
    """By what labels are decided.

    Attributes:
        utility: shape (K, K), a row for each class that may be decided.
        told: the same as answers tell it: as it was asked for, with the classes' own labels.
    """

    utility: FloatArray
    told: dict[str, Any]

    @property
    def brief(self) -> str:
        """The same as text for every line of an answer in lines: JSON, of many classes a few words."""
        text = encode_json(self.told).decode()
        return text if len(text) <= _LONGEST_BRIEF else f"{next(iter(self.told))} of {len(self.utility)} classes"


def parse_decision(text: str, max_depth: int) -> Any:
    """The object that a query parameter holds as JSON.

    Raises:
        Invalid: it is no JSON.
    """
    try:
        return strict_json.decode(text.encode(), max_depth, "the parameter decision")
    except ServiceError as error:
        raise _refusal(error.detail, PARAMETER, "a JSON object") from None


def read_decision(sent: Any, target: Column) -> Decision:
    """Check what a request says of the decision against a model's target.

    Raises:
        Invalid: it has not exactly one of the forms, the model is a regression, a class is none of the model's, a
            number is not finite or too large, or nothing is decided by it.
    """
    if target.is_numeric:
        raise _refusal("decisions are between classes; the model is a regression", PARAMETER)
    if not isinstance(sent, dict) or len(sent) != 1 or next(iter(sent)) not in FORMS:
        said = f"decision is an object with one of {', '.join(FORMS)}"
        raise _refusal(said, PARAMETER, list(FORMS))
    form, value = next(iter(sent.items()))
    parameter = f"{PARAMETER}.{form}"
    try:
        if form == "threshold":
            return _by_threshold(value, target, parameter)
        return _by_utility(value, target, form, parameter)
    except ParameterError as error:
        allowed = list(target.labels[:20]) if "no class" in str(error) else None
        raise _refusal(str(error), error.field or parameter, allowed) from None


def _by_threshold(value: Any, target: Column, parameter: str) -> Decision:
    if not isinstance(value, dict) or sorted(value) != sorted(_THRESHOLD):
        raise _refusal(f"{parameter} is an object with class and at", parameter, list(_THRESHOLD))
    if len(target.levels) != 2:
        message = f"a threshold lies between two classes; the model has {len(target.levels)}, so give utility or costs"
        raise _refusal(message, parameter)
    at = value["at"]
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= 1:
        message = f"{parameter}.at must be a number >= 0 and <= 1; it is {quoted(at)}"
        raise _refusal(message, f"{parameter}.at", "numbers >= 0 and <= 1")
    code = class_code(_label(value["class"], parameter), target, parameter)
    return Decision(threshold_utility(code, float(at)), {"threshold": {"class": target.labels[code], "at": at}})


def _by_utility(value: Any, target: Column, form: str, parameter: str) -> Decision:
    told: Any = value
    if isinstance(value, list):
        matrix = _from_rows(value, target, parameter)
    elif isinstance(value, dict):
        matrix, told = _from_names(value, target, parameter)
    else:
        said = f"{parameter} is an object of objects of numbers by class, or an array of arrays in the order of classes"
        raise _refusal(said, parameter)
    return Decision(-matrix if form == "costs" else matrix, {form: told})


def _from_names(named: dict[str, Any], target: Column, parameter: str) -> tuple[FloatArray, dict[str, Any]]:
    for decided, row in named.items():
        if not isinstance(row, dict):
            raise _refusal(f"{parameter}.{decided} must be an object of numbers by class", f"{parameter}.{decided}")
        for true, number in row.items():
            _check_number(number, f"{parameter}.{decided}.{true}")
    matrix = utility_matrix(named, target, parameter)
    assert matrix is not None  # noqa: S101 - it is for a mapping
    return matrix, plain_utility(named, target)


def _from_rows(rows: list[Any], target: Column, parameter: str) -> FloatArray:
    n_classes = len(target.levels)
    if len(rows) != n_classes or not all(isinstance(row, list) and len(row) == n_classes for row in rows):
        message = f"{parameter} as arrays has {n_classes} rows of {n_classes} numbers, in the order of the classes"
        raise _refusal(message, parameter, list(target.labels[:20]))
    for decided, row in enumerate(rows):
        for true, number in enumerate(row):
            _check_number(number, f"{parameter}.{decided}.{true}")
            check_utility(number, parameter)
    matrix = np.array(rows, dtype=np.float64)
    check_choice(matrix, parameter)
    return matrix


def _check_number(number: Any, place: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise _refusal(f"{place} must be a number; it is {quoted(number)}", place)


def _label(value: Any, parameter: str) -> Any:
    if not isinstance(value, str | int | float):
        raise _refusal(f"{parameter}.class must be a class, not {quoted(value)}", f"{parameter}.class")
    return value


def _refusal(message: str, parameter: str, allowed: Any = None) -> Invalid:
    fault = Fault(message, parameter=parameter[:200], allowed=allowed)
    return Invalid(f"The request is not valid: {message}", [fault])
