"""A model as one request wants it to answer: with another treatment of missing values, by another decision.

Such a model is a copy that shares what it can, and is kept for the next request that wants the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal
from weakref import WeakKeyDictionary

from learners.base import Learner
from learners.errors import ParameterError
from learners.trees.estimator import TreeEstimator
from service.errors import Fault, Invalid
from service.operations.decision import read_decision
from service.operations.json_text import encode_json
from service.operations.rows import Options
from service.operations.served import ServedModel

#: Decisions by which a model's answers are kept; the least recently used gives way.
_MAX_DECISIONS = 4


class _Variants:
    """The copies of one model: by what becomes of missing values, and of these by decision."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes | str, ServedModel] = OrderedDict()

    def get(self, key: bytes | str, make: Callable[[], ServedModel], most: int) -> ServedModel:
        """The copy of a key; made anew where it is not kept. Threads that make one at once make equal ones."""
        found = self._kept.pop(key, None) or make()
        self._kept[key] = found
        while len(self._kept) > most:
            self._kept.popitem(last=False)
        return found


_by_missing: WeakKeyDictionary[ServedModel, _Variants] = WeakKeyDictionary()
_by_decision: WeakKeyDictionary[ServedModel, _Variants] = WeakKeyDictionary()


def under_policies(model: ServedModel, options: Options) -> ServedModel:
    """The model that answers a request.

    Raises:
        Invalid: the decision does not fit the model, missing values cannot be treated so by it, or it tells no
            intervals.
    """
    if options.interval:
        check_intervals(model.learner)
    if options.missing in ("fractional", "most-likely"):
        model = _following(model, options.missing)
    if options.decision is None:
        return model
    decision = read_decision(options.decision, model.learner.target_)
    variants = _by_decision.setdefault(model, _Variants())
    return variants.get(encode_json(decision.told), lambda: model.deciding_by(decision), _MAX_DECISIONS)


def check_intervals(learner: Learner | type[Learner]) -> None:
    """Raise :class:`Invalid` if a learner's answers come without intervals."""
    if not learner.capabilities.intervals:
        message = f"interval must be false: {learner.name} tells none with its answers (GET /learners: `intervals`)"
        fault = Fault(message, parameter="interval", allowed=[False])
        raise Invalid(f"The request is not valid: {message}", [fault])


def _following(model: ServedModel, missing: Literal["fractional", "most-likely"]) -> ServedModel:
    learner = model.learner
    if not isinstance(learner, TreeEstimator):
        raise _refusal(f"what {learner.name} does with missing values was settled in training")
    variants = _by_missing.setdefault(model, _Variants())
    try:
        return variants.get(missing, lambda: model.answering_with(learner.following(missing)), 2)
    except ParameterError as error:
        raise _refusal(str(error)) from None


def _refusal(why: str) -> Invalid:
    fault = Fault(f"missing must be as-model or reject, for {why}", parameter="missing", allowed=["as-model", "reject"])
    return Invalid(f"The request is not valid: {fault.message}", [fault])
