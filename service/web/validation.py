"""What FastAPI finds wrong with a request, in the service's words: each fault with what is allowed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from fastapi.dependencies.models import Dependant
from pydantic import BaseModel
from starlette.datastructures import Headers, QueryParams

from service.errors import BadRequest, Fault, Invalid, ServiceError
from service.strict_json import quoted
from service.web.wording import allowed_type, said_of

_PARTS = ("body", "query", "path", "header", "cookie")
#: What a bound in an error means.
_BOUNDS = {
    "ge": ">=",
    "gt": ">",
    "le": "<=",
    "lt": "<",
    "min_length": "a length >=",
    "max_length": "a length <=",
    "pattern": "texts of the pattern",
    "multiple_of": "multiples of",
}


def refusal(errors: Sequence[Mapping[str, Any]], body_type: Any = None) -> ServiceError:
    """The error of a request that does not have the form declared.

    Args:
        errors: pydantic's, whose places begin with the part of the request.
        body_type: annotation of the route's body, which tells the members that are allowed.
    """
    if [error["type"] for error in errors if tuple(error["loc"]) == ("body",)] == ["missing"]:
        message = "The body is empty; JSON is expected"
        return BadRequest(message, [Fault("the body is empty", parameter="body", allowed="JSON")])
    faults = [_fault_of(error, body_type) for error in errors]
    first = faults[0].message if faults else "see errors"
    return Invalid(f"The request is not valid: {first}", faults)


def _fault_of(error: Mapping[str, Any], body_type: Any) -> Fault:
    place = tuple(error["loc"])
    path = place[1:] if place[0] in _PARTS else place
    parameter = ".".join(map(str, path)) or str(place[0])
    if error["type"] == "extra_forbidden":
        return _unknown_member(parameter, path, body_type)
    if error["type"] == "missing":
        return Fault(f"{parameter} must be given", parameter=parameter)
    said = said_of(error)
    message = f"{parameter} {said}" if said.startswith("must ") else f"{parameter}: {said}"
    return Fault(message, parameter=parameter, allowed=_allowed(error), value=error.get("input"))


def _allowed(error: Mapping[str, Any]) -> Any:
    """What is allowed instead: a list of values, or words."""
    context = error.get("ctx") or {}
    for name in ("expected", "expected_tags"):
        if name in context:
            return _values(str(context[name]))
    for name, word in _BOUNDS.items():
        if name in context:
            return f"{word} {context[name]}"
    return allowed_type(error)


def _values(expected: str) -> Any:
    """The values that pydantic names in words: ``'a', 'b' or 3``."""
    first, _, last = expected.rpartition(" or ")
    try:
        return ast.literal_eval(f"[{first + ', ' if first else ''}{last}]")
    except (SyntaxError, ValueError):
        return expected


def _unknown_member(parameter: str, path: tuple[str | int, ...], body_type: Any) -> Fault:
    allowed = members_at(body_type, path[:-1])
    where = f" in {'.'.join(map(str, path[:-1]))}" if len(path) > 1 else ""
    message = f"there is no member {quoted(str(path[-1]))}{where}; allowed are {', '.join(allowed)}"
    return Fault(message, parameter=parameter, allowed=allowed)


def members_at(annotation: Any, path: Iterable[str | int]) -> list[str]:
    """Names of the members that the objects at a place of a body may have."""
    models = _models_in(annotation)
    for step in path:
        if isinstance(step, str):
            fields = [model.model_fields[step] for model in models if step in model.model_fields]
            models = [inner for field in fields for inner in _models_in(field.annotation)]
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models in an annotation, beneath unions, lists and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def query_names(dependant: Dependant) -> list[str]:
    """Names of the query parameters that a route and its dependencies take."""
    own = [parameter.alias for parameter in dependant.query_params]
    inner = [name for dependency in dependant.dependencies for name in query_names(dependency)]
    return list(dict.fromkeys([*own, *inner]))


def header_names(dependant: Dependant) -> list[str]:
    """Names of the headers that a route and its dependencies take."""
    own = [parameter.alias for parameter in dependant.header_params]
    inner = [name for dependency in dependant.dependencies for name in header_names(dependency)]
    return list(dict.fromkeys([*own, *inner]))


def check_headers(given: Headers, names: Sequence[str]) -> None:
    """Raise :class:`Invalid` for headers of these that are given more than once: which one is meant cannot be told."""
    faults = [
        Fault(f"the header {name} is given {count} times; it may be given once", parameter=name, allowed="once")
        for name in map(str.title, names)
        if (count := len(given.getlist(name))) > 1
    ]
    if faults:
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)


def check_query(given: QueryParams, allowed: Sequence[str]) -> None:
    """Raise :class:`Invalid` for query parameters that are not known, or given more than once."""
    names = [name for name, _ in given.multi_items()]
    may = f"allowed are {', '.join(allowed)}" if allowed else "none is allowed here"
    faults = []
    for name in dict.fromkeys(names):
        if name not in allowed:
            message = f"there is no query parameter {quoted(name)}; {may}"
            faults.append(Fault(message, parameter=name, allowed=list(allowed)))
        elif names.count(name) > 1:
            message = f"the query parameter {name} is given {names.count(name)} times; it may be given once"
            faults.append(Fault(message, parameter=name, allowed="once"))
    if faults:
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)


def refuse_without_effect(given: QueryParams, names: Sequence[str], beside: str) -> None:
    """Raise :class:`Invalid` for query parameters that do nothing beside what else is asked.

    Args:
        given: the query.
        names: parameters without effect.
        beside: what takes it from them, as it stands in the query, e.g. ``format=text``.
    """
    faults = [
        Fault(f"{name} has no effect with {beside}; leave it out", parameter=name) for name in names if name in given
    ]
    if faults:
        raise Invalid(f"The request is not valid: {faults[0].message}", faults)
