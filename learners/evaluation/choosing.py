"""Deciding among candidates by what their evaluations say: which is best, and whether to look at more.

These are functions of numbers alone, so that a search in one process and one whose folds run elsewhere
decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from learners.errors import DataError, ParameterError, quoted
from learners.evaluation.metrics import BY_TASK, GREATER_IS_BETTER


@dataclass(frozen=True)
class Convergence:
    """When the training error has converged.

    Attributes:
        patience: so many sizes in a row ...
        tolerance: ... must have lowered it by no more than this share of the first size's.
    """

    patience: int = 3
    tolerance: float = 0.01


def check_metric(name: str | None, task: str, *, has_utility: bool = False) -> str:
    """A metric by which candidates of a task are chosen; ``None`` is the error, or the mean squared error.

    Raises:
        ParameterError: the task has none of that name.
    """
    known = [metric for metric in BY_TASK[task] if has_utility or metric != "mean_utility"]
    if name is None:
        return known[0]
    if name not in known:
        raise ParameterError(
            f"parameter metric must be one of {', '.join(known)}; it is {quoted(name)}", field="metric"
        )
    return name


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values of a grid; those of the last name change fastest.

    Raises:
        ParameterError: there is no name, a name without values, or a value twice.
    """
    if not grid:
        raise ParameterError("parameter grid must name at least one parameter with its values", field="grid")
    for name, values in grid.items():
        if not values:
            raise ParameterError(f"parameter grid has no value of {quoted(name)}", field=f"grid.{name}")
        twice = [value for place, value in enumerate(values) if _is_among(value, values[:place])]
        if twice:
            raise ParameterError(
                f"parameter grid has the value {quoted(twice[0])} of {quoted(name)} twice", field=f"grid.{name}"
            )
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _is_among(value: Any, others: Sequence[Any]) -> bool:
    """``True`` and 1 are two values, as JSON has them; 1 and 1.0 are one."""
    return any(isinstance(value, bool) == isinstance(other, bool) and value == other for other in others)


def loss_of(metric: str, value: float | None) -> float | None:
    """A metric's value as something of which less is better."""
    return None if value is None else -value if metric in GREATER_IS_BETTER else value


def best_of(metric: str, values: Sequence[float | None]) -> int:
    """The place of the best value, of equally good ones the first.

    Raises:
        DataError: the metric is defined for none.
    """
    losses = [(loss, place) for place, value in enumerate(values) if (loss := loss_of(metric, value)) is not None]
    if not losses:
        raise DataError(f"{metric} is undefined for every candidate, so none can be chosen by it")
    return min(losses)[1]


def converged_after(losses: Sequence[float | None], rule: Convergence) -> int | None:
    """After how many sizes the training error had converged; ``None``: it has not yet.

    Args:
        losses: training errors of size 1, 2, ...; ``None`` of a size that has none, which is passed over.
    """
    places = [place for place, loss in enumerate(losses) if loss is not None]
    known = [float(loss) for loss in losses if loss is not None]
    for count in range(rule.patience + 1, len(known) + 1):
        before, since = known[count - rule.patience - 1], known[count - rule.patience : count]
        if before - min(since) <= rule.tolerance * abs(known[0]):
            return places[count - 1] + 1
    return None
