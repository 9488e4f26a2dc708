"""Whether two versions answer the same question, so that their answers can be held against each other."""

from __future__ import annotations

from learners.columns import Column
from learners.errors import quoted

#: Classes that a message names.
_SHOWN = 5


def what_differs(first: tuple[str, Column], second: tuple[str, Column]) -> str | None:
    """Why two targets cannot be compared: of another task or name, or of classes of which none is common.

    A class that only one of them knows is no hindrance: later rows bring new ones.

    Args:
        first, second: task and target of either version.
    """
    if (first[0], first[1].name) != (second[0], second[1].name):
        return f"{_said(first)} and {_said(second)} cannot be compared"
    if first[1].is_numeric or any(second[1].encode(label) >= 0 for label in first[1].labels):
        return None
    said = " and ".join(f"{_said(one)} with the classes {_classes(one[1])}" for one in (first, second))
    return f"{said} cannot be compared: no class is common to both"


def _said(of: tuple[str, Column]) -> str:
    return f"a {of[0]} of {quoted(of[1].name)}"


def _classes(target: Column) -> str:
    return ", ".join(map(quoted, target.levels[:_SHOWN])) + (", ..." if len(target.levels) > _SHOWN else "")
