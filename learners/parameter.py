"""What one parameter may be, as data: range, meaning, JSON Schema, and what it needs beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.errors import ParameterError, quoted
from learners.nesting import Nesting


@dataclass(frozen=True)
class Parameter:
    """What one parameter may be.

    Attributes:
        type: ``integer``, ``number``, ``boolean``, ``string``, ``object`` or ``array`` (JSON Schema's words).
        default: used where the caller gives none.
        meaning: one sentence for people.
        minimum, maximum: inclusive bounds unless ``exclusive_minimum`` says otherwise; of an ``array`` those of its
            whole numbers.
        fewest, most: bounds of an ``array``'s length.
        nesting: the learners of which an ``object`` names one, with parameters of its own.
        choices: the allowed texts of a ``string`` parameter.
        optional: whether ``None`` is allowed; ``none_means`` says what it stands for.
        nested: whether an ``object`` holds objects of numbers of any sign, not numbers >= 0.
        is_size: whether a search by size may raise it (see :mod:`learners.evaluation.search`).
        only_with: pairs of another choice's name and its values: with others this one stays at its default.
        name: filled in from the field.
    """

    type: str
    default: Any
    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False
    none_means: str = ""
    nested: bool = False
    is_size: bool = False
    only_with: tuple[tuple[str, tuple[str | bool, ...]], ...] = ()
    fewest: int = 0
    most: int = 0
    nesting: Nesting | None = None
    name: str = ""

    def allowed(self) -> str:
        """The allowed values in words, for messages."""
        words = {
            "integer": "a whole number",
            "number": "a finite number",
            "boolean": "true or false",
            "string": "one of " + ", ".join(self.choices),
            "object": self._objects(),
            "array": f"an array of {self.fewest} to {self.most} whole numbers",
        }[self.type]
        if self.type in ("integer", "number", "array") or self._holds_numbers:
            sign = ">" if self.exclusive_minimum else ">="
            bounds = [f"{sign} {_bound_text(self.minimum)}"] if self.minimum is not None else []
            bounds += [f"<= {_bound_text(self.maximum)}"] if self.maximum is not None else []
            words += "".join(" " + bound for bound in bounds[:1]) + "".join(f" and {bound}" for bound in bounds[1:])
        return words + (f", or null ({self.none_means})" if self.optional else "")

    def check(self, value: Any) -> None:
        """Raise :class:`ParameterError` unless the value is allowed."""
        if value is self.default or (value is None and self.optional):
            return
        if not self._fits(value):
            raise ParameterError(
                f"parameter {self.name} must be {self.allowed()}; it is {quoted(value)}", field=self.name
            )
        if self.nesting is not None:
            self.nesting.make(value, self.name)

    def _fits(self, value: Any) -> bool:
        if self.type == "boolean":
            return isinstance(value, bool | np.bool_)
        if self.type == "string":
            return isinstance(value, str) and value in self.choices
        if self.nesting is not None:
            return self.nesting.fits(value)
        if self.type == "object":
            fits = _is_row if self.nested else self._is_within
            return isinstance(value, Mapping) and all(fits(item) for item in value.values())
        if self.type == "array":
            is_listed = isinstance(value, list | tuple) and self.fewest <= len(value) <= self.most
            return is_listed and all(self._is_within(item) and item == math.floor(item) for item in value)
        return self._is_within(value) and (self.type != "integer" or value == math.floor(value))

    def _is_within(self, value: Any) -> bool:
        if not _is_number(value):
            return False
        if self.minimum is not None and (value <= self.minimum if self.exclusive_minimum else value < self.minimum):
            return False
        return self.maximum is None or value <= self.maximum

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the parameter."""
        schema: dict[str, Any] = {"type": [self.type, "null"] if self.optional else self.type}
        schema["default"] = list(self.default) if isinstance(self.default, tuple) else self.default
        meaning = self.meaning + (f" null: {self.none_means}." if self.none_means else "")
        schema["description"] = meaning + "".join(f" Only with {needed}." for needed in self._needs())
        if self.is_size:
            schema["x-size"] = True
        if self.choices:
            schema["enum"] = [*self.choices, *([None] if self.optional else [])]
        bounded = schema
        if self.type == "array":
            bounded = schema["items"] = {"type": "integer"}
            schema["minItems"], schema["maxItems"] = self.fewest, self.most
        elif self._holds_numbers:
            bounded = schema["additionalProperties"] = {"type": "number"}
        if self.minimum is not None:
            bounded["exclusiveMinimum" if self.exclusive_minimum else "minimum"] = self.minimum
        if self.maximum is not None:
            bounded["maximum"] = self.maximum
        if self.nesting is not None:
            schema["anyOf"] = [{"type": "null"}, *self.nesting.json_schema()]
        elif self.nested:
            schema["additionalProperties"] = {"type": "object", "additionalProperties": {"type": "number"}}
        return schema

    def check_beside(self, values: Mapping[str, Any]) -> None:
        """Raise :class:`ParameterError` if the value has no sense beside those of the other parameters."""
        place = self.idle_beside(values)
        if place is not None:
            other = self.only_with[place][0]
            raise ParameterError(
                f"parameter {self.name} = {quoted(values[self.name])} has no effect with "
                f"{other} = {quoted(values[other])}; it is only for {self._needs()[place]}",
                field=self.name,
            )

    def idle_beside(self, values: Mapping[str, Any]) -> int | None:
        """Which of ``only_with`` takes the value's effect away, beside those of all parameters; ``None``: none does."""
        if values[self.name] != self.default:
            for place, (other, fitting) in enumerate(self.only_with):
                if values[other] not in fitting:
                    return place
        return None

    def _objects(self) -> str:
        if self.nesting is not None:
            return self.nesting.allowed()
        if self.nested:
            return "an object of objects of finite numbers"
        return "an object of finite numbers"

    @property
    def _holds_numbers(self) -> bool:
        """Whether it is an object whose values are numbers within bounds."""
        return self.type == "object" and not self.nested and self.nesting is None

    def _needs(self) -> list[str]:
        return [f"{name} = {' or '.join(_choice_text(value) for value in values)}" for name, values in self.only_with]


@dataclass(frozen=True)
class Preset:
    """Parameters under a name that people know.

    Attributes:
        parameters: values of some parameters; the others have their defaults.
        source: where these choices come from.
    """

    parameters: Mapping[str, Any]
    source: str

    def to_json(self) -> dict[str, Any]:
        return {"parameters": dict(self.parameters), "source": self.source}


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_number(item) for item in value.values())


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every double
        return False


def _bound_text(bound: float) -> str:
    """Whole numbers with all their digits, as six would name another bound."""
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _choice_text(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value
