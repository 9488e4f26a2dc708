"""Checks of the constructor, the parameters and what ``fit`` may and may not do."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from learners.base import Classifier
from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_json, require_same
from learners.errors import DataError, NotFittedError, ParameterError
from learners.params import Parameter
from learners.persist import dump
from learners.table import MISSING, Series, Table


def constructor_only_stores(make: MakeLearner) -> None:
    """Whatever is passed is kept as it is, unchecked, and nothing else is set."""
    cls = type(make())
    for parameter in cls.parameters():
        marker = object()
        made = cls(**{parameter.name: marker})
        require(getattr(made, parameter.name) is marker, f"the constructor changed {parameter.name}")
    names = {parameter.name for parameter in cls.parameters()}
    require(set(vars(cls())) == names, f"an unfitted learner holds {sorted(vars(cls()))}, not just its parameters")


def description_is_complete(make: MakeLearner) -> None:
    """Name, summary, capabilities and parameters say all that the catalogue shows."""
    cls = type(make())
    require(cls.name and cls.summary.endswith("."), "name or summary is missing (a summary is a sentence)")
    task = "classification" if issubclass(cls, Classifier) else "regression"
    require(cls.capabilities.task == task, f"the task is {cls.capabilities.task!r}, but it is a learner of {task}")
    require_json(cls.parameter_schema(), "the parameters' schema")
    for parameter in cls.parameters():
        require(parameter.meaning, f"parameter {parameter.name} has no meaning")
        parameter.check(parameter.default)


def parameters_round_trip(make: MakeLearner) -> None:
    """Parameters read, sent as JSON and set again are the same."""
    model = make()
    params = model.get_params()
    copy = type(model).from_params(json.loads(json.dumps(params)))
    require(copy.get_params() == params, f"parameters changed: {params} became {copy.get_params()}")
    require(copy.set_params(**params) is copy, "set_params does not return self")
    refusal(ParameterError, lambda: copy.set_params(no_such_parameter=1), "an unknown parameter")


def bad_parameter_is_named_with_its_range(make: MakeLearner) -> None:
    """``fit`` refuses every value outside the declaration, naming the parameter and what is allowed."""
    sample = samples.numeric(type(make()).capabilities.task)
    for parameter in type(make()).parameters():
        for value in _bad_values(parameter):
            model = make().set_params(**{parameter.name: value})
            what = f"{parameter.name} = {value!r}"
            error = refusal(ParameterError, partial(model.fit, sample.table, sample.target), what)
            require(getattr(error, "field", None) == parameter.name, f"{what}: the error's field does not name it")
            require(parameter.name in str(error), f"{what}: the message does not name it: {error}")
            require(parameter.allowed() in str(error), f"{what}: the message does not say what is allowed: {error}")
            require(not model.is_fitted, f"{what}: refused, but the learner counts as fitted")


def _bad_values(parameter: Parameter) -> list[Any]:
    bad: list[Any] = [object(), [1] if parameter.type != "array" else 1]
    if not parameter.optional:
        bad.append(None)
    if parameter.type in ("integer", "number"):
        bad += ["1", True, float("nan"), float("inf"), 10**400]
        bad += [] if parameter.minimum is None else [parameter.minimum - 1]
        bad += [parameter.minimum] if parameter.exclusive_minimum else []
        bad += [] if parameter.maximum is None else [parameter.maximum + 1]
        bad += [0.5 + (parameter.minimum or 0)] if parameter.type == "integer" else []
    if parameter.type == "boolean":
        bad += [1, "true"]
    if parameter.type == "array":
        bad += [["1"], [True], [1.5], [parameter.minimum - 1 if parameter.minimum else 0.5], [1] * (parameter.most + 1)]
    if parameter.type == "string":
        bad += ["", "no-such-choice", 1]
    return bad


def fit_returns_self(make: MakeLearner) -> None:
    """``fit`` returns the learner, which then knows its columns and classes."""
    sample = samples.mixed(type(make()).capabilities)
    model = make()
    require(model.fit(sample.table, sample.target) is model, "fit does not return self")
    require(model.is_fitted, "fit leaves the learner unfitted")
    require(model.n_features_in_ == sample.table.n_columns, "n_features_in_ is not the number of columns")
    require(model.columns_ == sample.table.columns, "columns_ are not those of the table")
    if isinstance(model, Classifier):
        require(list(model.classes_) == list(sample.target.column.labels), "classes_ are not the target's levels")


def unfitted_refuses(make: MakeLearner) -> None:
    """Before ``fit`` nothing can be asked."""
    model = make()
    table = samples.numeric(type(model).capabilities.task).table
    refusal(NotFittedError, lambda: model.predict(table), "predict before fit")
    refusal(NotFittedError, lambda: model.explain(table), "explain before fit")
    refusal(NotFittedError, model.get_state, "get_state before fit")
    if isinstance(model, Classifier):
        refusal(NotFittedError, lambda: model.predict_proba(table), "predict_proba before fit")


def same_data_same_model(make: MakeLearner) -> None:
    """No hidden chance: equal fits give equal bytes, also where two columns are equally good."""
    sample = samples.mixed(type(make()).capabilities)
    twin = Table(
        (*sample.table.columns, replace(sample.table.columns[0], name="twin")),
        np.column_stack([sample.table.values, sample.table.values[:, 0]]),
    )
    for table in (sample.table, twin):
        first = dump(make().fit(table, sample.target).get_state())
        for _ in range(3):
            require(dump(make().fit(table, sample.target).get_state()) == first, "two equal fits gave two models")


def fits_at_once_are_alike(make: MakeLearner) -> None:
    """Fits in several threads do not meet."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = dump(make().fit(sample.table, sample.target).get_state())
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(lambda: make().fit(sample.table, sample.target).get_state()) for _ in range(12)]
        require(all(dump(one.result()) == wanted for one in fits), "a fit beside others gave another model")


def refit_forgets(make: MakeLearner) -> None:
    """A second ``fit`` is as good as a first one."""
    capabilities = type(make()).capabilities
    before, after = samples.mixed(capabilities, rows=60, seed=5), samples.numeric(capabilities.task, rows=40, seed=6)
    model = make().fit(before.table, before.target).fit(after.table, after.target)
    fresh = make().fit(after.table, after.target)
    require(dump(model.get_state()) == dump(fresh.get_state()), "a refitted model differs from a fresh one")


def inputs_are_unchanged(make: MakeLearner) -> None:
    """Neither ``fit`` nor ``predict`` writes into what it is given; read-only arrays are fine."""
    capabilities = type(make()).capabilities
    sample = samples.mixed(capabilities)
    weights = np.linspace(0.5, 1.5, sample.table.n_rows) if capabilities.weights else None
    given = [sample.table.values, sample.target.cells, *([] if weights is None else [weights])]
    copies = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    model = make().fit(sample.table, sample.target, weights)
    answers(model, sample.table)
    model.explain(sample.table)
    for array, copy in zip(given, copies, strict=True):
        require(np.array_equal(array, copy, equal_nan=True), "an input array was changed")


def arrays_and_tables_are_one(make: MakeLearner) -> None:
    """Numbers given as lists, as an array of either memory order or as a table teach the same."""
    sample = samples.numeric(type(make()).capabilities.task)
    values = sample.table.values
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    for form in (values.tolist(), np.ascontiguousarray(values), np.asfortranarray(values)):
        model = make().fit(form, sample.target)
        require_same(answers(model, form), wanted, f"X given as {type(form).__name__}")


def bad_rows_are_refused(make: MakeLearner) -> None:
    """No rows, no columns, infinite cells: refused in a sentence."""
    sample = samples.numeric(type(make()).capabilities.task)
    table, target = sample.table, sample.target
    nothing = np.empty(0, dtype=np.int64)
    _refused(make, "no rows", table.take(nothing), target.take(nothing))
    _refused(make, "no columns", table.select([]), target)
    infinite = table.values.copy()
    infinite[3, 1] = np.inf
    message = _refused(make, "an infinite cell", Table(table.columns, infinite), target)
    require("'width'" in message and "row 3" in message, f"column and row are not named: {message}")


def bad_targets_are_refused(make: MakeLearner) -> None:
    """None, of another length, with gaps: refused in a sentence."""
    sample = samples.numeric(type(make()).capabilities.task)
    table, target = sample.table, sample.target
    _refused(make, "unequal lengths", table, target.take(np.arange(5)))
    _refused(make, "no target", table, None)
    gap = target.cells.copy()
    gap[7] = MISSING
    message = _refused(make, "a missing target", table, Series(target.column, gap))
    require("row 7" in message, f"the row is not named: {message}")


def _refused(make: MakeLearner, what: str, X: Any, y: Any) -> str:
    model = make()
    message = str(refusal(DataError, lambda: model.fit(X, y), what))
    require(not model.is_fitted, f"{what}: refused, but the learner counts as fitted")
    return message


def target_is_left_aside(make: MakeLearner) -> None:
    """What learns from rows alone learns the same whatever is given as the target, or nothing."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = dump(make().fit(sample.table, None).get_state())
    for given in (sample.target, sample.target.take(np.arange(5)), "anything"):
        require(dump(make().fit(sample.table, given).get_state()) == wanted, "the target changed what was learned")
