"""Sequences fed in pieces: answers after each step, with the state handed back to the caller, who alone keeps it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from learners._accel import uncompiled
from learners.base import Classifier
from learners.errors import LearnerError
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.neural.recurrent.state import StateError
from learners.table import Table
from learners.types import FloatArray
from service.errors import Conflict, Fault, Invalid, TooLarge
from service.operations.explanation.reasoning import Rows, warnings_of
from service.operations.predict import MAX_NAMES, refuse_if_all_bad
from service.operations.rows import Options, encode_records
from service.operations.served import ServedModel


def feed(model: ServedModel, sent: Rows, state: Any) -> dict[str, Any]:
    """The answers after each step of a row's pieces, and the state after the last.

    Args:
        model: which answers.
        sent: one row.
        state: what was handed back after the pieces before, or ``None``.

    Raises:
        Conflict: the model does not go step by step, or the state is another version's. Invalid: the row or the state
            is bad. TooLarge: too many steps.
    """
    learner = _stepwise(model)
    before = None if state is None else _own_state(model, state)
    options = Options(unseen=sent.unseen, strict=sent.strict)
    most = model.inputs.most_steps or 0
    unlimited = replace(model.inputs, most_steps=sys.maxsize)  # what is too long is told as a whole, below
    encoded = encode_records(sent.rows, unlimited, options)
    refuse_if_all_bad(encoded)
    table = Table(encoded.columns or model.inputs.columns, np.asfortranarray(encoded.values))
    try:
        if learner.count_steps(table) > most:
            message = f"a request feeds at most {most} steps to this model; send the others after these, with the state"
            raise TooLarge(message, [Fault("too many steps", parameter="row", allowed=most)])
        with uncompiled():
            answers, after = learner.feed(table, before)
    except LearnerError as error:
        parameter = "state" if isinstance(error, StateError) else "row"
        column = None if parameter == "state" else error.field
        raise Invalid(
            f"The request is not valid: {error}", [Fault(str(error), parameter=parameter, column=column)]
        ) from None
    first = after["steps"] - len(answers)
    answer = model.identity.to_json()
    answer["steps"] = [{"step": first + place, **told} for place, told in enumerate(_told(model, answers))]
    answer["state"] = _marks(model) | after
    answer |= warnings_of(encoded, model, options).get(0, {})
    for name, columns in (("ignored_columns", encoded.ignored), ("absent_columns", encoded.absent)):
        if columns:
            answer[name] = columns[:MAX_NAMES]
        if len(columns) > MAX_NAMES:
            answer[f"{name}_total"] = len(columns)
    return answer


def _stepwise(model: ServedModel) -> StepwiseEstimator:
    if not isinstance(model.learner, StepwiseEstimator):
        message = f"{model.learner.name} does not go through sequences step by step"
        raise Conflict(f"Steps cannot be fed to the model: {message}", [Fault(message, parameter="ref")])
    return model.learner


def _own_state(model: ServedModel, state: Any) -> dict[str, Any]:
    """The learner's part of a state that this version handed back."""
    own = _marks(model)
    if not isinstance(state, Mapping) or not set(own) <= set(state):
        message = "state is what was handed back with the steps before, unchanged"
        raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="state")])
    if {name: state[name] for name in own} != own or isinstance(state["version"], bool):
        names = f"{own['model']}:{own['version']}"
        message = f"the state belongs to another model or version, or to a deleted {names}; {names} answers here"
        raise Conflict(f"The steps do not follow: {message}", [Fault(message, parameter="state")])
    return {name: value for name, value in state.items() if name not in own}


def _marks(model: ServedModel) -> dict[str, Any]:
    """What a state tells of the version that it belongs to."""
    identity = model.identity
    return {"model": identity.name, "version": identity.version, "fingerprint": identity.fingerprint}


def _told(model: ServedModel, answers: FloatArray) -> list[dict[str, Any]]:
    if not isinstance(model.learner, Classifier):
        return [{"value": value} for value in answers.tolist()]
    pairs = zip(model.decided(answers), answers.tolist(), strict=True)
    return [label | {"probabilities": shares} for label, shares in pairs]
