"""Learners as parameters of other learners: an object of a name and of parameters, checked as the named one does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learners.errors import ParameterError, quoted

#: The members of the object.
LEARNER, PARAMETERS = "learner", "parameters"
_SEED = "seed"


@dataclass(frozen=True)
class Nesting:
    """Which learners a parameter may name.

    Attributes:
        learners: their classes.
        without: parameters of theirs that are not taken here, since the learner around them has its own.
    """

    learners: tuple[type[Any], ...]
    without: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [learner.name for learner in self.learners]

    def allowed(self) -> str:
        """What the parameter may be, in words."""
        return f"an object of {LEARNER}, one of {', '.join(self.names)}, and, if need be, its {PARAMETERS}"

    def json_schema(self) -> list[dict[str, Any]]:
        """JSON Schema of each of the objects that are allowed."""
        return [
            {
                "type": "object",
                "additionalProperties": False,
                "required": [LEARNER],
                "properties": {LEARNER: {"const": learner.name}, PARAMETERS: self._parameters(learner)},
            }
            for learner in self.learners
        ]

    def _parameters(self, learner: type[Any]) -> dict[str, Any]:
        schema: dict[str, Any] = learner.parameter_schema()
        schema["properties"] = {
            name: declared for name, declared in schema["properties"].items() if name not in self.without
        }
        return schema

    @staticmethod
    def fits(value: Any) -> bool:
        """Whether it is an object with no other members than a learner and its parameters."""
        return isinstance(value, Mapping) and set(value) <= {LEARNER, PARAMETERS}

    def make(self, value: Mapping[str, Any], place: str, number: int = 0) -> Any:
        """An unfitted learner, all its parameters checked.

        Args:
            value: the object, which :meth:`fits`.
            place: the parameter's name.
            number: counts learners made of one object; each draws by a seed of its own, the object's plus this.

        Raises:
            ParameterError: its ``field`` is where in the object the fault is, ``member.parameters.k`` for example.
        """
        learner, given = self._named(value, place), value.get(PARAMETERS, {})
        inside = f"{place}.{PARAMETERS}"
        if not isinstance(given, Mapping):
            message = f"parameter {inside} must be an object of parameters of {learner.name}; it is {quoted(given)}"
            raise ParameterError(message, field=inside, allowed="an object")
        self._check_names(learner, given, inside)
        try:
            made = learner.from_params(given)
            made.check_together()
        except ParameterError as error:
            where = inside if error.field is None else f"{inside}.{error.field}"
            message = f"{learner.name} in {place}: {error}"
            raise ParameterError(message, field=where, allowed=_allowed(learner, error)) from None
        return _drawing_anew(made, number)

    def _named(self, value: Mapping[str, Any], place: str) -> type[Any]:
        name = value.get(LEARNER)
        for learner in self.learners:
            if learner.name == name:
                return learner
        message = f"parameter {place}.{LEARNER} must be one of {', '.join(self.names)}; it is {quoted(name)}"
        raise ParameterError(message, field=f"{place}.{LEARNER}", allowed=self.names)

    def _check_names(self, learner: type[Any], given: Mapping[str, Any], inside: str) -> None:
        known = list(self._parameters(learner)["properties"])
        for name in given:
            if name not in known:
                raise ParameterError(
                    f"parameter {inside}: {learner.name} takes no {quoted(name)} here; it takes {', '.join(known)}",
                    field=f"{inside}.{name}"[:200],
                    allowed=sorted(known),
                )


def plain(value: Any) -> Any:
    """The object, or a part of it, as JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


def _drawing_anew(made: Any, number: int) -> Any:
    """The same learner with its seed moved on, where it has one and draws by it."""
    if number and hasattr(made, _SEED):
        given = made.seed
        made.seed = given + number
        try:
            made.check_params()
            made.check_together()
        except ParameterError:  # beside the other parameters nothing is drawn
            made.seed = given
    return made


def _allowed(learner: type[Any], error: ParameterError) -> Any:
    if error.allowed is not None:
        return error.allowed
    declared = {parameter.name: parameter for parameter in learner.parameters()}
    is_range = error.field in declared and declared[error.field].allowed() in str(error)
    return declared[error.field].allowed() if is_range else None
