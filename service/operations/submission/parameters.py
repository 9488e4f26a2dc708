"""The parameters of the learner that a request names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from learners import catalog, class_weights, decisions
from learners.base import Learner
from learners.ensembles.parameters import OTHER_MEMBERS, nesting_of
from learners.errors import DataError, ParameterError, quoted
from learners.neighbors import given_weights
from learners.neighbors.estimator import NeighborsEstimator
from learners.nesting import PARAMETERS
from learners.params import PRESET, Parameter
from learners.table import Column
from learners.trees import pricing
from service.operations.submission.asked import SHOWN_NAMES, Asked, told_range

#: Parameters that speak of classes, and what checks them against the target.
_OF_CLASSES: dict[str, Callable[[Any, Column], Any]] = {
    class_weights.PARAMETER: class_weights.class_factors,
    decisions.PARAMETER: decisions.utility_matrix,
}


def parameters(asked: Asked) -> dict[str, Any]:
    """The parameters as given, each and all together checked by what the learner declares."""
    given = asked.request.get("parameters") or {}
    if asked.learner is None:
        return dict(given)
    declared = {parameter.name: parameter for parameter in asked.learner.parameters()}
    faults_before = len(asked.faults)
    for name, value in given.items():
        if name == PRESET and asked.learner.presets:
            continue
        if name not in declared:
            asked.refuse(
                f"{asked.learner.name} has no parameter {quoted(name)}",
                f"parameters.{name}"[:200],
                allowed=sorted(declared),
            )
            continue
        try:
            declared[name].check(value)
        except ParameterError as error:
            asked.refuse(str(error), f"parameters.{error.field}", allowed=what_is_allowed(declared[name], error))
            continue
        if value is not None:
            check_against_dataset(asked, asked.learner, name, value, f"parameters.{name}")
    if len(asked.faults) == faults_before:
        _check_together(asked, asked.learner, given)
    return dict(given)


def what_is_allowed(declared: Parameter, error: ParameterError) -> Any:
    """What may stand where an error names a fault: in a parameter itself, or within one that is a learner."""
    return declared.allowed() if error.field == declared.name else error.allowed


def check_columns(asked: Asked, features: Sequence[str]) -> None:
    """Whether the parameters go with the columns; told only where nothing else is wrong."""
    if asked.learner is None or asked.faults:
        return
    made = catalog.make(asked.learner.name, dict(asked.request.get("parameters") or {}))
    record = asked.columns.get(str(asked.request.get("target")))
    columns = [Column.from_json(asked.columns[name]) for name in features]
    try:
        made.check_columns(columns, None if record is None else Column.from_json(record))
    except ParameterError as error:
        asked.refuse(str(error), f"parameters.{error.field}", allowed=_names(error, features))
    except DataError as error:
        asked.refuse(str(error), "features", column=error.field)


def check_against_dataset(asked: Asked, learner: type[Learner], name: str, value: Any, place: str) -> None:
    """What the dataset tells of one parameter.

    Args:
        place: where in the request the value stands.
    """
    if name in _OF_CLASSES:
        _check_labels(asked, _OF_CLASSES[name], value, place)
    elif name == pricing.PARAMETER:
        _check_costs(asked, value, place)
    elif name == given_weights.COLUMN_WEIGHTS:
        _check_column_weights(asked, value, place)
    elif name == OTHER_MEMBERS:
        _check_member(asked, learner, value, place)
    elif name == "k" and issubclass(learner, NeighborsEstimator):
        _check_neighbours(asked, value, place)


def _check_member(asked: Asked, learner: type[Learner], value: Mapping[str, Any], place: str) -> None:
    """The same of the parameters of the learner that members are."""
    own = type(nesting_of(learner).make(value, place))
    for name, given in value.get(PARAMETERS, {}).items():
        if given is not None:
            check_against_dataset(asked, own, name, given, f"{place}.{PARAMETERS}.{name}")


def _check_labels(asked: Asked, check: Callable[[Any, Column], Any], value: Any, place: str) -> None:
    """What the target's levels tell of a parameter; what the rows' weights tell fails the job."""
    record = asked.columns.get(str(asked.request.get("target")))
    if record is None or not record.get("levels"):
        return  # refused already, as no target of classes
    target = Column.from_json(record)
    try:
        check(value, target)
    except ParameterError as error:
        asked.refuse(str(error), place, allowed=_names(error, target.levels))


def _check_costs(asked: Asked, value: Any, place: str) -> None:
    """Whether costs are given to attributes."""
    target = asked.request.get("target")
    columns = [Column.from_json(record) for name, record in asked.columns.items() if name != target]
    try:
        pricing.column_costs(value, columns)
    except ParameterError as error:
        names = [column.name for column in columns]
        asked.refuse(str(error), place, allowed=_names(error, names))


def _check_column_weights(asked: Asked, value: Any, place: str) -> None:
    """Whether weights are given to attributes."""
    names = [name for name in asked.columns if name != asked.request.get("target")]
    try:
        given_weights.column_factors(value, names)
    except ParameterError as error:
        asked.refuse(str(error), place, allowed=_names(error, names))


def _check_neighbours(asked: Asked, k: int, place: str) -> None:
    """Whether there are as many rows as are to vote; in a fold, which has fewer, all vote."""
    n_rows = asked.usable_rows()
    if k > n_rows >= 1:  # that there is no row is told of the target
        asked.refuse(
            f"parameter k must be at most the number of rows, {n_rows}; it is {k}",
            place,
            allowed=told_range(1, n_rows),
        )


def _names(error: ParameterError, known: Sequence[str]) -> list[str] | None:
    """The names that are allowed, where a name is at fault; of a number the message tells what is."""
    return list(known[:SHOWN_NAMES]) if "which is no" in str(error) else None


def _check_together(asked: Asked, learner: type[Learner], given: Mapping[str, Any]) -> None:
    """The preset's name, and parameters that have no sense beside others."""
    try:
        catalog.make(learner.name, dict(given))
    except ParameterError as error:
        allowed = list(learner.presets) if error.field == PRESET else error.allowed
        asked.refuse(str(error), f"parameters.{error.field}", allowed=allowed)
