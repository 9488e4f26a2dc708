"""What training came to, as it is told: the error of the network that is stored, its history, and what went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.errors import ParameterError
from learners.neural.start import SENSELESS, Start
from learners.neural.training import History
from learners.types import FloatArray

#: An error of so many times another is no noise of small batches; and one that is no lower by so much is no better.
_WORSE, _NO_BETTER = 1.1, 0.99
#: A first error of so many times that of a constant answer comes of the first weights or of the inputs.
_LARGE = 10.0


def columns(history: History) -> dict[str, FloatArray]:
    """The errors by epoch, as a fitted network keeps them."""
    told = {"epoch": np.arange(1.0, len(history.errors) + 1.0), "training_error": history.errors}
    return told | ({"validation_error": history.validation} if len(history.validation) else {})


def notes(n_weights: int, history: History, stopped: str, error: float) -> dict[str, Any]:
    """What is told of the whole.

    Args:
        n_weights: those that were learned.
        history: errors by epoch.
        stopped: why it ended.
        error: mean loss of the training rows, of the network that is stored.
    """
    told: dict[str, Any] = {
        "weights": n_weights,
        "epochs": len(history.errors),
        "stopped": stopped,
        "training_error": error,
    }
    if len(history.validation):
        told |= {"best_epoch": int(history.best_epoch), "validation_error": float(history.validation.min())}
    return told


def verdict(
    start: Start, error: float, first: float, remedy: tuple[str, str], early: tuple[str, str] | None = None
) -> tuple[str, ...]:
    """Warnings of a network that training made no better than no network.

    Args:
        start: where it began.
        error: mean loss of the training rows, of the network that is stored.
        first: the same of the first epoch.
        remedy: what to do where training went astray, and the parameter to change.
        early: the same where it ended before its epochs did; ``None``: it did not.

    Raises:
        ParameterError: the error is beyond any sense, though its numbers are finite.
    """
    if not error <= SENSELESS * max(start.constant, 1.0):
        advice, field = _advice(start, error, remedy, early)
        raise ParameterError(f"training diverged: it ended with {_beside(start, error)}; {advice}", field=field)
    if 0 < _NO_BETTER * start.constant < error:
        advice, _ = _advice(start, error, remedy, early)
        if error > _WORSE * start.constant:
            return (f"the network answers worse than a constant would, with {_beside(start, error)}; {advice}",)
        beside = "" if start.is_still else ", unless the columns tell nothing of the target"
        return (f"the network answers no better than a constant would, with {_beside(start, error)}; {advice}{beside}",)
    if error > _WORSE * first:
        return (f"the error of the training rows rose from {first:.3g} to {error:.3g}: {start.remedied(*remedy)[0]}",)
    return ()


def _beside(start: Start, error: float) -> str:
    return f"an error of the training rows of {error:.3g} beside {start.constant:.3g}"


def _advice(start: Start, error: float, remedy: tuple[str, str], early: tuple[str, str] | None) -> tuple[str, str]:
    if start.is_still and start.given.range_name is not None:
        return f"initial weights are 0, by which all units stay alike: raise {start.given.range_name}", "initial_scale"
    advice = start.remedied(*remedy)
    if error > start.error or start.is_held:
        return advice
    if early is not None:
        return early
    if start.is_large or (start.error > _LARGE * start.constant and start.given.range_name is not None):
        return start.fault()
    return ("give more epochs", "epochs") if remedy[1] == "decay" else ("give more epochs, or another rate", "epochs")
