"""Errors on the wire: RFC 9457 problem documents, made in one place.

:func:`render` turns any :class:`~service.errors.ServiceError` into status, headers and body. The
FastAPI handlers below and the fast prediction door both answer with it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from service import strict_json
from service.errors import MAX_FAULTS, Fault, ServiceError

#: ``type`` of a problem is this plus its slug. The address names the kind; it need not be reachable.
PROBLEM_BASE = "https://rulewood.dev/problems/"
MEDIA_TYPE = "application/problem+json"
#: Longest text of a caller's value that is repeated in a fault.
VALUE_LIMIT = 100
_ALLOWED_LIMIT = 20
#: Arrays and objects in each other that are repeated.
_LEVELS = 3
_DETAIL_LIMIT = 2000


class InternalError(ServiceError):
    """What the caller is told about a defect of ours; the log has the rest under the request id."""

    status, slug, title = 500, "internal", "The service failed"

    @classmethod
    def of_request(cls, request_id: str) -> InternalError:
        """The error of the request with this id."""
        return cls(f"A defect of the service; its log has the details under request {request_id}.")


class MethodNotAllowed(ServiceError):
    """The path exists but not with this method; sent with ``Allow``."""

    status, slug, title = 405, "method-not-allowed", "The method is not allowed here"


@dataclasses.dataclass(frozen=True)
class Rendered:
    """A response ready to be sent."""

    status: int
    headers: dict[str, str]
    body: bytes


def document(error: ServiceError, request_id: str, *, minimal: bool = False) -> dict[str, Any]:
    """The problem document of an error.

    Args:
        error: what went wrong.
        request_id: the id under which the log knows the request.
        minimal: leave out everything that repeats data of the caller (quiet mode).
    """
    problem: dict[str, Any] = {
        "type": PROBLEM_BASE + error.slug,
        "title": error.title,
        "status": error.status,
        "detail": error.title if minimal and error.faults else _cut(error.detail, _DETAIL_LIMIT),
        "request_id": request_id,
    }
    if error.faults:
        problem["errors"] = [fault_json(fault, minimal=minimal) for fault in error.faults[:MAX_FAULTS]]
        problem["errors_total"] = max(len(error.faults), int(error.extra.get("errors_total", 0)))
    for name, value in error.extra.items():
        problem.setdefault(name, _plain(value))
    return problem


def render(error: ServiceError, request_id: str, *, minimal: bool = False) -> Rendered:
    """Status, headers and body of an error."""
    headers = {"content-type": MEDIA_TYPE, **{name.lower(): value for name, value in error.headers.items()}}
    if error.status in (429, 503):
        headers.setdefault("retry-after", "1")
    if error.status == 401:
        headers.setdefault("www-authenticate", 'Bearer realm="rulewood"')
    return Rendered(error.status, headers, strict_json.encode(document(error, request_id, minimal=minimal)))


def fault_json(fault: Fault, *, minimal: bool = False) -> dict[str, Any]:
    """One fault as it stands in a problem document."""
    shown: dict[str, Any] = {"message": _cut(fault.message, _DETAIL_LIMIT)}
    if minimal:
        where = [("row", fault.row), ("line", fault.line), ("column", fault.column), ("parameter", fault.parameter)]
        shown["message"] = "not valid: " + ", ".join(f"{name} {value}" for name, value in where if value is not None)
    for name in ("row", "line", "column", "parameter"):
        if (value := getattr(fault, name)) is not None:
            shown[name] = _cut(value, VALUE_LIMIT) if isinstance(value, str) else value
    if fault.allowed is not None:
        shown["allowed"] = _allowed(fault.allowed)
    if fault.value is not None and not minimal:
        shown["value"] = _plain(fault.value)
    return shown


def describer(*, minimal: bool) -> Callable[[Fault], dict[str, Any]]:
    """How a process writes the faults of single rows: in full, or without the caller's data."""
    return lambda fault: fault_json(fault, minimal=minimal)


def _allowed(allowed: Any) -> Any:
    if isinstance(allowed, Sequence) and not isinstance(allowed, str):
        items = [_plain(item) for item in allowed[:_ALLOWED_LIMIT]]
        return items + ([f"... {len(allowed) - _ALLOWED_LIMIT} more"] if len(allowed) > _ALLOWED_LIMIT else [])
    return _plain(allowed)


def _plain(value: Any, levels: int = _LEVELS) -> Any:
    """A strict-JSON stand-in: finite numbers stay, texts are cut, what is deep or long or else becomes its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return _plain_scalar(value)
    if levels and isinstance(value, Mapping) and len(value) <= _ALLOWED_LIMIT:
        return {_cut(str(key), VALUE_LIMIT): _plain(item, levels - 1) for key, item in value.items()}
    if levels and isinstance(value, list | tuple) and len(value) <= _ALLOWED_LIMIT:
        return [_plain(item, levels - 1) for item in value]
    return _cut(f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else str(value), VALUE_LIMIT)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, VALUE_LIMIT)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool) or abs(value) < 2**63:
        return value
    return _cut(_integer_text(value), VALUE_LIMIT)


def _integer_text(value: int) -> str:
    return str(value) if value.bit_length() < 10_000 else f"an integer of {value.bit_length()} bits"


def _cut(text: str, limit: int) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return clean if len(clean) <= limit else f"{clean[:limit]}... ({len(clean)} characters)"
