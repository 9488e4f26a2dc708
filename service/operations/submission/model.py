"""Under which name a request wants its model to be registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from service import registry
from service.errors import Invalid
from service.operations.submission.asked import Asked


def model(asked: Asked) -> dict[str, Any] | None:
    """Name, aliases, notes and tags of the model; None if none is to be registered."""
    given = asked.request.get("model")
    if given is None or asked.request.get("kind") not in ("train", "select"):
        return None
    normal: dict[str, Any] = {"name": given.get("name", ""), "aliases": [], "notes": "", "tags": []}
    normal.update({name: value for name, value in given.items() if value is not None})
    _check_name(asked, registry.check_name, normal["name"], "model.name")
    for alias in normal["aliases"]:
        _check_name(asked, registry.check_alias, alias, "model.aliases")
    return normal


def _check_name(asked: Asked, check: Callable[[str, str], str], name: str, parameter: str) -> None:
    try:
        check(name, parameter)
    except Invalid as error:
        asked.faults.extend(error.faults)
