"""How much each column matters to a model."""

from __future__ import annotations

from typing import Any

from learners.trees.estimator import TreeEstimator
from service.errors import Conflict, Fault
from service.operations.served import ServedModel


def importances(model: ServedModel) -> dict[str, Any]:
    """The version and each column's share of the decrease of impurity.

    Raises:
        Conflict: the model is no tree.
    """
    learner = model.learner
    if not isinstance(learner, TreeEstimator):
        message = f"a {learner.name} has no impurity that its columns decrease"
        raise Conflict(f"The model has no such importances: {message}", [Fault(message, parameter="ref")])
    shares = learner.feature_importances_.tolist()
    listed = [
        {"column": column.name, "importance": share} for column, share in zip(learner.columns_, shares, strict=True)
    ]
    return model.identity.to_json() | {"kind": "impurity", "importances": listed}
