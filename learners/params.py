"""Parameters declared as data: one declaration gives type, default, range, meaning and JSON Schema.

A learner is a keyword-only dataclass made by :func:`learner`, its fields made by :func:`integer`,
:func:`real`, :func:`flag`, :func:`choice` and :func:`mapping`. The constructor only stores;
:func:`check` is called by ``fit``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from learners.errors import ParameterError, quoted

_KEY = "rulewood.parameter"


@dataclass(frozen=True)
class Parameter:
    """What one parameter may be.

    Attributes:
        type: ``integer``, ``number``, ``boolean``, ``string`` or ``object`` (JSON Schema's words).
        default: used where the caller gives none.
        meaning: one sentence for people.
        minimum, maximum: inclusive bounds unless ``exclusive_minimum`` says otherwise.
        choices: the allowed texts of a ``string`` parameter.
        optional: whether ``None`` is allowed; ``none_means`` says what it stands for.
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
    name: str = ""

    def allowed(self) -> str:
        """The allowed values in words, for messages."""
        words = {
            "integer": "a whole number",
            "number": "a finite number",
            "boolean": "true or false",
            "string": "one of " + ", ".join(self.choices),
            "object": "an object of finite numbers >= 0",
        }[self.type]
        if self.type in ("integer", "number"):
            sign = ">" if self.exclusive_minimum else ">="
            bounds = [f"{sign} {self.minimum:g}"] if self.minimum is not None else []
            bounds += [f"<= {self.maximum:g}"] if self.maximum is not None else []
            words += "".join(" " + bound for bound in bounds[:1]) + "".join(f" and {bound}" for bound in bounds[1:])
        return words + (f", or null ({self.none_means})" if self.optional else "")

    def check(self, value: Any) -> None:
        """Raise :class:`ParameterError` unless the value is allowed."""
        if value is None and self.optional:
            return
        if not self._fits(value):
            raise ParameterError(
                f"parameter {self.name} must be {self.allowed()}; it is {quoted(value)}", field=self.name
            )

    def _fits(self, value: Any) -> bool:
        if self.type == "boolean":
            return isinstance(value, bool | np.bool_)
        if self.type == "string":
            return isinstance(value, str) and value in self.choices
        if self.type == "object":
            return isinstance(value, Mapping) and all(_is_number(item) and item >= 0 for item in value.values())
        if not _is_number(value) or (self.type == "integer" and value != math.floor(value)):
            return False
        if self.minimum is not None and (value <= self.minimum if self.exclusive_minimum else value < self.minimum):
            return False
        return self.maximum is None or value <= self.maximum

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the parameter."""
        schema: dict[str, Any] = {"type": [self.type, "null"] if self.optional else self.type}
        schema["default"] = self.default
        meaning = self.meaning + (f" null: {self.none_means}." if self.none_means else "")
        schema["description"] = meaning
        if self.choices:
            schema["enum"] = [*self.choices, *([None] if self.optional else [])]
        if self.minimum is not None:
            schema["exclusiveMinimum" if self.exclusive_minimum else "minimum"] = self.minimum
        if self.maximum is not None:
            schema["maximum"] = self.maximum
        if self.type == "object":
            schema["additionalProperties"] = {"type": "number", "minimum": 0}
        return schema


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every double
        return False


def integer(
    default: int | None,
    meaning: str,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    none_means: str = "",
) -> Any:
    """A whole-number parameter; ``none_means`` makes ``None`` legal and says what it stands for."""
    return _field(
        Parameter("integer", default, meaning, minimum, maximum, optional=bool(none_means), none_means=none_means)
    )


def real(
    default: float | None,
    meaning: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    exclusive_minimum: bool = False,
    none_means: str = "",
) -> Any:
    """A finite-number parameter."""
    return _field(
        Parameter(
            "number",
            default,
            meaning,
            minimum,
            maximum,
            exclusive_minimum,
            optional=bool(none_means),
            none_means=none_means,
        )
    )


def flag(default: bool, meaning: str) -> Any:
    """A true-or-false parameter."""
    return _field(Parameter("boolean", default, meaning))


def choice(default: str | None, choices: tuple[str, ...], meaning: str, *, none_means: str = "") -> Any:
    """A parameter that names one of several ways."""
    return _field(
        Parameter("string", default, meaning, choices=choices, optional=bool(none_means), none_means=none_means)
    )


def mapping(meaning: str, *, none_means: str) -> Any:
    """A parameter that gives a weight >= 0 to each of several names; ``None`` by default."""
    return _field(Parameter("object", None, meaning, optional=True, none_means=none_means))


def _field(parameter: Parameter) -> Any:
    return dataclasses.field(default=parameter.default, metadata={_KEY: parameter})


Declared = TypeVar("Declared")


@dataclass_transform(kw_only_default=True, field_specifiers=(integer, real, flag, choice, mapping))
def learner(cls: type[Declared]) -> type[Declared]:
    """Class decorator: a keyword-only constructor from the declared parameters."""
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)


class Parameterised:
    """Describing, reading, setting and checking of declared parameters."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The declared parameters, in the order of declaration."""
        return tuple(
            dataclasses.replace(field.metadata[_KEY], name=field.name)
            for field in dataclasses.fields(cls)
            if _KEY in field.metadata
        )

    @classmethod
    def parameter_schema(cls) -> dict[str, Any]:
        """JSON Schema of an object holding any of the parameters."""
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {parameter.name: parameter.json_schema() for parameter in cls.parameters()},
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given; ``deep`` is for scikit-learn's contract and changes nothing."""
        return {parameter.name: getattr(self, parameter.name) for parameter in self.parameters()}

    def set_params(self, **params: Any) -> Any:
        """Set some parameters; returns self.

        Raises:
            ParameterError: a name is none of this learner's parameters.
        """
        for name in params:
            self._known(name)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise :class:`ParameterError` for the first parameter that is out of its range."""
        for parameter in self.parameters():
            parameter.check(getattr(self, parameter.name))

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Any:
        """An unfitted learner with these parameters, every name and value checked; 3.0 for an integer is 3.

        Raises:
            ParameterError: a name is unknown or a value not allowed.
        """
        made = cls().set_params(**params)
        made.check_params()
        for parameter in cls.parameters():
            value = getattr(made, parameter.name)
            if parameter.type == "integer" and value is not None:
                setattr(made, parameter.name, int(value))
        return made

    @classmethod
    def _known(cls, name: str) -> None:
        names = [parameter.name for parameter in cls.parameters()]
        if name not in names:
            raise ParameterError(
                f"{cls.__name__} has no parameter {quoted(name)}; it has {', '.join(names)}", field=name
            )
