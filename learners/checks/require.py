"""How checks speak: a sentence in an AssertionError, never a bare ``assert`` that -O takes away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from learners.base import Classifier, Learner
from learners.types import Array

#: Makes an unfitted learner.
MakeLearner = Callable[[], Learner]

#: Answers that should be equal but for the order of additions.
TOLERANCE = 1e-9


def require(condition: object, sentence: str) -> None:
    """Raise AssertionError with the sentence unless the condition holds."""
    if not condition:
        raise AssertionError(sentence)


def refusal(kind: type[Exception], action: Callable[[], Any], what: str) -> Exception:
    """The error of that kind with which the action is refused."""
    try:
        action()
    except kind as error:
        require(str(error), f"{what}: the refusal has no message")
        return error
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__} ({error}) in place of {kind.__name__}") from error
    raise AssertionError(f"{what}: accepted, but must be refused with {kind.__name__}")


def answers(model: Learner, table: Any) -> Array:
    """What the model says of each row: class probabilities, shape (n, K), or numbers, shape (n,)."""
    return model.predict_proba(table) if isinstance(model, Classifier) else model.predict(table)


def require_same(found: Array, wanted: Array, what: str) -> None:
    """Equal to the bit."""
    require(found.shape == wanted.shape, f"{what}: shape {found.shape} in place of {wanted.shape}")
    different = np.flatnonzero((found != wanted).reshape(len(found), -1).any(axis=1))
    if different.size:
        row = int(different[0])
        raise AssertionError(f"{what}: {different.size} rows differ, first row {row}: {found[row]} / {wanted[row]}")


def require_close(found: Array, wanted: Array, what: str) -> None:
    """Equal but for rounding."""
    require(found.shape == wanted.shape, f"{what}: shape {found.shape} in place of {wanted.shape}")
    close = np.isclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE).reshape(len(found), -1).all(axis=1)
    different = np.flatnonzero(~close)
    if different.size:
        row = int(different[0])
        raise AssertionError(f"{what}: {different.size} rows differ, first row {row}: {found[row]} / {wanted[row]}")


def require_json(value: Any, what: str) -> None:
    """Strict JSON: no NaN, no infinity, no numpy type, not even one that is a subclass of Python's float."""
    if isinstance(value, dict):
        for name, one in value.items():
            require(type(name) is str, f"{what} has a key {name!r}")
            require_json(one, f"{what}, {name}")
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            require_json(one, f"{what}, {index}")
    else:
        require(value is None or type(value) in (bool, int, float, str), f"{what} is {value!r}")
        require(type(value) is not float or math.isfinite(value), f"{what} is {value}")
