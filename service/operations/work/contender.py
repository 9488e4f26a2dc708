"""The learners that a job judges, each with the parts by which it is judged: one, or several that are compared.

Names of parts: those of :mod:`service.operations.work.evaluating`, of several learners with ``learner-1-`` .. before
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from learners.evaluation.failing import Failure
from service.operations.work import evaluating
from service.operations.work.part import Part, Request, Result


@dataclass(frozen=True)
class Contender:
    """One of a job's learners.

    Attributes:
        request: as if the job had this learner alone.
        prefix: what its parts' names begin with; empty in a job of one learner.
        name: what the caller calls it; ``None`` in a job of one learner.
    """

    request: Request
    prefix: str = ""
    name: str | None = None

    @property
    def parts(self) -> list[str]:
        """The parts that judge it; of leave-one-out without the one that puts them together."""
        return [f"{self.prefix}{name}" for name in evaluating.names(self.request["evaluation"])]

    @property
    def judge(self) -> list[str]:
        """The part that puts those of leave-one-out together; none otherwise."""
        is_left_out = self.request["evaluation"]["method"] == "leave-one-out"
        return [f"{self.prefix}{evaluating.JUDGE}"] if is_left_out else []

    def own(self, part: Part) -> Part:
        """A part of the job as one of this learner's."""
        name = part.name.removeprefix(self.prefix)
        return replace(part, name=name, request=self.request, prefix=self.prefix)

    def found(self, done: Mapping[str, Mapping[str, Any]]) -> dict[str, Result]:
        """The results of its parts by the names that they have without the prefix."""
        named = {name: dict(result) for name, result in done.items() if name.startswith(self.prefix)}
        return {name.removeprefix(self.prefix): result for name, result in named.items()}

    def failure(self, done: Mapping[str, Mapping[str, Any]]) -> Failure | None:
        """Why it cannot be learned with, by the first of its parts that tells so; ``None``: none does."""
        records = [done[name]["failure"] for name in self.parts if "failure" in done.get(name, {})]
        return Failure.from_json(records[0]) if records else None


def contenders(request: Request) -> list[Contender]:
    """The learners of a request, in its order."""
    if "learners" not in request:
        return [Contender(request)]
    rest = {name: value for name, value in request.items() if name not in ("learners", "reference")}
    found = []
    for number, one in enumerate(request["learners"], 1):
        evaluation = rest["evaluation"] | ({"parts": one["parts"]} if "parts" in one else {})
        alone = {**rest, "evaluation": evaluation, "learner": one["learner"], "parameters": one["parameters"]}
        found.append(Contender(alone, f"learner-{number}-", one["name"]))
    return found
