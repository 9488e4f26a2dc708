"""How one fault of a request is written, in problem documents and in the answers to single rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from service.errors import Fault

#: Longest text of a caller's value that is repeated in a fault.
VALUE_LIMIT = 100
#: Longest text of ours.
DETAIL_LIMIT = 2000
_ALLOWED_LIMIT = 20
#: Arrays and objects in each other that are repeated.
_LEVELS = 3


def fault_json(fault: Fault, *, minimal: bool = False) -> dict[str, Any]:
    """One fault as it stands in a problem document."""
    shown: dict[str, Any] = {"message": cut(fault.message, DETAIL_LIMIT)}
    if minimal:
        where = [("row", fault.row), ("line", fault.line), ("column", fault.column), ("parameter", fault.parameter)]
        shown["message"] = "not valid: " + ", ".join(f"{name} {value}" for name, value in where if value is not None)
    for name in ("row", "line", "column", "parameter"):
        if (value := getattr(fault, name)) is not None:
            shown[name] = cut(value, VALUE_LIMIT) if isinstance(value, str) else value
    if fault.allowed is not None:
        shown["allowed"] = _allowed(fault.allowed)
    if fault.value is not None and not minimal:
        shown["value"] = plain(fault.value)
    return shown


def describer(*, minimal: bool) -> Callable[[Fault], dict[str, Any]]:
    """How a process writes the faults of single rows: in full, or without the caller's data."""
    return lambda fault: fault_json(fault, minimal=minimal)


def _allowed(allowed: Any) -> Any:
    if isinstance(allowed, Sequence) and not isinstance(allowed, str):
        items = [plain(item) for item in allowed[:_ALLOWED_LIMIT]]
        return items + ([f"... {len(allowed) - _ALLOWED_LIMIT} more"] if len(allowed) > _ALLOWED_LIMIT else [])
    return plain(allowed)


def plain(value: Any, levels: int = _LEVELS) -> Any:
    """A strict-JSON stand-in: finite numbers stay, texts are cut, what is deep or long or else becomes its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return _plain_scalar(value)
    if levels and isinstance(value, Mapping) and len(value) <= _ALLOWED_LIMIT:
        return {cut(str(key), VALUE_LIMIT): plain(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list | tuple) and len(value) <= _ALLOWED_LIMIT:
        return [plain(item, levels - 1) for item in value]
    return cut(f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else str(value), VALUE_LIMIT)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value, VALUE_LIMIT)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool) or abs(value) < 2**63:
        return value
    return cut(_integer_text(value), VALUE_LIMIT)


def _integer_text(value: int) -> str:
    return str(value) if value.bit_length() < 10_000 else f"an integer of {value.bit_length()} bits"


def cut(text: str, limit: int) -> str:
    """A text cut to a length, and how long it was."""
    clean = text.encode("utf-8", "replace").decode()
    return clean if len(clean) <= limit else f"{clean[:limit]}... ({len(clean)} characters)"
