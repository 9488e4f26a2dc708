"""Errors on the wire: RFC 9457 problem documents, made in one place.

:func:`render` turns any :class:`~service.errors.ServiceError` into status, headers and body. The
FastAPI handlers below and the fast prediction door both answer with it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from service import strict_json
from service.errors import MAX_FAULTS, ServiceError
from service.fault_json import DETAIL_LIMIT, cut, fault_json, plain

#: ``type`` of a problem is this plus its slug. The address names the kind; it need not be reachable.
PROBLEM_BASE = "https://rulewood.dev/problems/"
MEDIA_TYPE = "application/problem+json"


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
        "detail": error.title if minimal and error.faults else cut(error.detail, DETAIL_LIMIT),
        "request_id": request_id,
    }
    if error.faults:
        problem["errors"] = [fault_json(fault, minimal=minimal) for fault in error.faults[:MAX_FAULTS]]
        problem["errors_total"] = max(len(error.faults), int(error.extra.get("errors_total", 0)))
    for name, value in error.extra.items():
        problem.setdefault(name, plain(value))
    return problem


def render(error: ServiceError, request_id: str, *, minimal: bool = False) -> Rendered:
    """Status, headers and body of an error."""
    headers = {"content-type": MEDIA_TYPE, **{name.lower(): value for name, value in error.headers.items()}}
    if error.status in (429, 503):
        headers.setdefault("retry-after", "1")
    if error.status == 401:
        headers.setdefault("www-authenticate", 'Bearer realm="rulewood"')
    return Rendered(error.status, headers, strict_json.encode(document(error, request_id, minimal=minimal)))
