"""The catalogue of learners as data."""

from __future__ import annotations

from typing import Any

from service.errors import NotFound
from service.strict_json import quoted


def catalogue() -> list[dict[str, Any]]:
    """Every learner that is offered, in the catalogue's order."""
    from learners import catalog

    return [_describe(learner) for learner in catalog.LEARNERS]


def describe(name: str) -> dict[str, Any]:
    """One learner with the JSON Schema of its parameters.

    Raises:
        NotFound: there is none of this name.
    """
    from learners import catalog

    for learner in catalog.LEARNERS:
        if learner.name == name:
            return _describe(learner)
    names = ", ".join(learner.name for learner in catalog.LEARNERS)
    raise NotFound(f"There is no learner {quoted(name)}; there are {names}")


def _describe(learner: Any) -> dict[str, Any]:
    able = learner.capabilities
    return {
        "name": learner.name,
        "summary": learner.summary,
        "task": able.task,
        "missing": able.missing,
        "categories": able.categories,
        "texts": able.texts,
        "sequences": able.sequences,
        "steps": able.steps,
        "intervals": able.intervals,
        "weights": able.weights,
        "supervised": able.supervised,
        "explanations": list(able.explanations),
        "exports": list(able.exports),
        "parameters": learner.parameter_schema(),
        "presets": {name: preset.to_json() for name, preset in learner.presets.items()},
    }
