"""Parameters declared as data: one declaration gives type, default, range, meaning and JSON Schema.

A learner is a keyword-only dataclass made by :func:`learner`, its fields made by :func:`integer`,
:func:`real`, :func:`flag`, :func:`choice`, :func:`sizes`, :func:`mapping`, :func:`matrix` and :func:`nested`. The
constructor only stores; :meth:`Parameterised.check_params` and :meth:`Parameterised.check_together` are called by
``fit``.

A learner may have presets: sets of parameters under a name. Where parameters are read from outside
(:meth:`Parameterised.from_params`) the key ``preset`` takes one, and what is given beside it overrides it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from learners.errors import ParameterError, quoted
from learners.nesting import Nesting
from learners.parameter import Parameter, Preset

__all__ = [
    "PRESET",
    "OnlyWith",
    "Parameter",
    "Parameterised",
    "Preset",
    "choice",
    "flag",
    "integer",
    "learner",
    "like",
    "mapping",
    "matrix",
    "nested",
    "real",
    "sizes",
]

_KEY = "rulewood.parameter"
#: The key among given parameters that names a preset.
PRESET = "preset"

#: The largest whole number of a parameter that does not say otherwise: kernels count in 32 bits.
LARGEST_COUNT = 2**31 - 1

#: What other parameters must be, by name, for a parameter to differ from its default.
OnlyWith = Mapping[str, tuple[str | bool, ...]]


def integer(
    default: int | None,
    meaning: str,
    *,
    minimum: int | None = None,
    maximum: int = LARGEST_COUNT,
    none_means: str = "",
    is_size: bool = False,
    only_with: OnlyWith | None = None,
) -> Any:
    """A whole-number parameter; ``none_means`` makes ``None`` legal and says what it stands for.

    Args:
        is_size: it says how much the learner may express, so that a search by size may raise it.
    """
    parameter = Parameter("integer", default, meaning, minimum, maximum, none_means=none_means, is_size=is_size)
    return _field(parameter, only_with)


def real(
    default: float | None,
    meaning: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    exclusive_minimum: bool = False,
    none_means: str = "",
    only_with: OnlyWith | None = None,
) -> Any:
    """A finite-number parameter."""
    parameter = Parameter("number", default, meaning, minimum, maximum, exclusive_minimum, none_means=none_means)
    return _field(parameter, only_with)


def flag(default: bool, meaning: str, *, only_with: OnlyWith | None = None) -> Any:
    """A true-or-false parameter."""
    return _field(Parameter("boolean", default, meaning), only_with)


def choice(
    default: str | None,
    choices: tuple[str, ...],
    meaning: str,
    *,
    none_means: str = "",
    only_with: OnlyWith | None = None,
) -> Any:
    """A parameter that names one of several ways."""
    return _field(Parameter("string", default, meaning, choices=choices, none_means=none_means), only_with)


def sizes(
    default: tuple[int, ...],
    meaning: str,
    *,
    maximum: int,
    most: int,
    fewest: int = 0,
    only_with: OnlyWith | None = None,
) -> Any:
    """A parameter that is several whole numbers from 1 to ``maximum``, ``fewest`` to ``most`` of them."""
    return _field(Parameter("array", default, meaning, 1, maximum, fewest=fewest, most=most), only_with)


def mapping(
    meaning: str,
    *,
    none_means: str,
    exclusive_minimum: bool = False,
    maximum: float | None = None,
    only_with: OnlyWith | None = None,
) -> Any:
    """A parameter that gives a weight >= 0, or > 0, to each of several names; ``None`` by default."""
    parameter = Parameter("object", None, meaning, 0.0, maximum, exclusive_minimum, none_means=none_means)
    return _field(parameter, only_with)


def matrix(meaning: str, *, none_means: str) -> Any:
    """A parameter that gives a number to each of several pairs of names, a mapping of mappings; ``None`` by default."""
    return _field(Parameter("object", None, meaning, nested=True, none_means=none_means))


def nested(nesting: Nesting, meaning: str, *, none_means: str) -> Any:
    """A parameter that is a learner with parameters of its own; ``None`` by default."""
    return _field(Parameter("object", None, meaning, nesting=nesting, none_means=none_means))


def like(declaring: type[Parameterised], name: str, **changes: Any) -> Any:
    """The same parameter as another learner's of that name, but for some members of its declaration."""
    declared = next(parameter for parameter in declaring.parameters() if parameter.name == name)
    changed = dataclasses.replace(declared, **changes)
    return dataclasses.field(default=changed.default, metadata={_KEY: changed})


def _field(parameter: Parameter, only_with: OnlyWith | None = None) -> Any:
    declared = dataclasses.replace(
        parameter, optional=bool(parameter.none_means), only_with=tuple((only_with or {}).items())
    )
    return dataclasses.field(default=declared.default, metadata={_KEY: declared})


Declared = TypeVar("Declared")


@dataclass_transform(
    kw_only_default=True, field_specifiers=(integer, real, flag, choice, sizes, mapping, matrix, nested, like)
)
def learner(cls: type[Declared]) -> type[Declared]:
    """Class decorator: a keyword-only constructor from the declared parameters."""
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)


@cache
def _declared(cls: Any) -> tuple[Parameter, ...]:
    """The parameters of a class, once: a fit of a small table takes not much longer than this."""
    return tuple(
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(cls)
        if _KEY in field.metadata
    )


class Parameterised:
    """Describing, reading, setting and checking of declared parameters."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    #: Sets of parameters by name.
    presets: ClassVar[Mapping[str, Preset]] = {}

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The declared parameters, in the order of declaration."""
        return _declared(cast("Any", cls))

    @classmethod
    def parameter_schema(cls) -> dict[str, Any]:
        """JSON Schema of an object holding any of the parameters, and a preset's name where there are presets."""
        properties = {parameter.name: parameter.json_schema() for parameter in cls.parameters()}
        if cls.presets:
            meaning = (
                "A set of parameters by its name; those given beside it override it, and what has no effect beside "
                "them is left out. null: none."
            )
            names = {"type": ["string", "null"], "default": None, "enum": [*cls.presets, None], "description": meaning}
            properties = {PRESET: names} | properties
        return {"type": "object", "additionalProperties": False, "properties": properties}

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

    def check_together(self) -> None:
        """Raise :class:`ParameterError`, naming both, for the first parameter that has no sense beside another."""
        values = self.get_params()
        for parameter in self.parameters():
            parameter.check_beside(values)

    def _refuse_changed(self, names: Sequence[str], reason: str) -> None:
        """Refuse those of the parameters that are not as by default, since they have no effect."""
        for parameter in self.parameters():
            value = getattr(self, parameter.name)
            if parameter.name in names and value != parameter.default:
                message = f"parameter {parameter.name} = {quoted(value)} has no effect, since {reason}"
                raise ParameterError(message, field=parameter.name)

    @classmethod
    def with_preset(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """The same parameters with those of the preset that they name written out.

        What the preset says that has no effect beside what is given is left out: ``c45`` with ``pruning`` ``none``
        asks for no subtree raising.

        Raises:
            ParameterError: there is no such preset.
        """
        given = dict(params)
        if not cls.presets or PRESET not in given:
            return given
        name = given.pop(PRESET)
        if name is None:
            return given
        if not isinstance(name, str) or name not in cls.presets:
            allowed = ", ".join(cls.presets)
            raise ParameterError(f"parameter {PRESET} must be one of {allowed}; it is {quoted(name)}", field=PRESET)
        chosen = {own: value for own, value in cls.presets[name].parameters.items() if own not in given}
        defaults = {parameter.name: parameter.default for parameter in cls.parameters()}
        while idle := cls._idle(chosen, {**defaults, **chosen, **given}):
            chosen = {own: value for own, value in chosen.items() if own not in idle}
        return chosen | given

    @classmethod
    def _idle(cls, names: Collection[str], values: Mapping[str, Any]) -> set[str]:
        """Which of these parameters have no effect beside the values of all."""
        return {
            parameter.name
            for parameter in cls.parameters()
            if parameter.name in names and parameter.idle_beside(values) is not None
        }

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Any:
        """An unfitted learner with these parameters, every name and value checked.

        3.0 for an integer is 3, and a list of whole numbers becomes a tuple.

        Raises:
            ParameterError: a name is unknown or a value not allowed.
        """
        made = cls().set_params(**cls.with_preset(params))
        made.check_params()
        for parameter in cls.parameters():
            value = getattr(made, parameter.name)
            if parameter.type == "integer" and value is not None:
                setattr(made, parameter.name, int(value))
            elif parameter.type == "array":
                setattr(made, parameter.name, tuple(int(one) for one in value))
        return made

    @classmethod
    def _known(cls, name: str) -> None:
        names = [parameter.name for parameter in cls.parameters()]
        if name not in names:
            raise ParameterError(
                f"{cls.__name__} has no parameter {quoted(name)}; it has {', '.join(names)}", field=name
            )
