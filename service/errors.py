"""The errors a caller can meet: each has a stable type, a status and a list that names what is at fault.

Everything below the routes raises these; :mod:`service.problems` turns them into RFC 9457 problem
documents, the one envelope. Texts of a caller are cut before they are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

#: A problem document lists at most this many faults and says how many there were.
MAX_FAULTS = 20


@dataclass(frozen=True)
class Fault:
    """One bad thing in a request.

    Attributes:
        message: what is wrong and what is allowed.
        row: 0-based position among the rows sent, or None.
        line: 1-based line of an uploaded file, or None.
        column: column name, cut to a sane length, or None.
        parameter: parameter or field name (dotted path), or None.
        allowed: a short list or range of what is allowed, or None.
        value: the offending value, cut; left out in quiet mode.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None
    parameter: str | None = None
    allowed: Any = None
    value: Any = None


class ServiceError(Exception):
    """Base; subclasses fix ``status``, ``slug`` (end of the type URI) and ``title``."""

    status: ClassVar[int] = 400
    slug: ClassVar[str] = "bad-request"
    title: ClassVar[str] = "The request cannot be carried out"

    def __init__(
        self, detail: str, faults: Sequence[Fault] = (), *, headers: dict[str, str] | None = None, **extra: Any
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = headers or {}
        self.extra = extra


class BadRequest(ServiceError):
    """Syntax: not JSON, a bad header or query parameter."""


class Unauthenticated(ServiceError):
    """No key, or one that is not known."""

    status, slug, title = 401, "unauthenticated", "A key is needed"


class Forbidden(ServiceError):
    """The key lacks the scope."""

    status, slug, title = 403, "forbidden", "The key does not allow this"


class NotFound(ServiceError):
    """No such resource in this workspace."""

    status, slug, title = 404, "not-found", "There is no such thing"


class NotAcceptable(ServiceError):
    """None of the formats in Accept can be given."""

    status, slug, title = 406, "not-acceptable", "The format asked for cannot be given"


class RequestTimeout(ServiceError):
    """A request began to come and did not go on."""

    status, slug, title = 408, "request-timeout", "The request did not come in time"


class Conflict(ServiceError):
    """What is there already forbids the change."""

    status, slug, title = 409, "conflict", "The state of things forbids this"


class TooLarge(ServiceError):
    """A limit on size is exceeded; the detail names it."""

    status, slug, title = 413, "too-large", "A limit is exceeded"


class TargetTooLong(ServiceError):
    """The address of a request is longer than is read."""

    status, slug, title = 414, "target-too-long", "The address is too long"


class UnsupportedMediaType(ServiceError):
    """A content type or encoding that is not read."""

    status, slug, title = 415, "unsupported-media-type", "The format or encoding is not supported"


class ExpectationFailed(ServiceError):
    """What the request expects of the server is not known."""

    status, slug, title = 417, "expectation-failed", "What is expected cannot be met"


class Invalid(ServiceError):
    """Meaning: rows, columns or parameters that are not allowed."""

    status, slug, title = 422, "invalid", "The content is not valid"


class TooManyRequests(ServiceError):
    """More requests in flight than are taken."""

    status, slug, title = 429, "too-many-requests", "Too much at once"


class HeadTooLarge(ServiceError):
    """A request has more header fields, or larger ones, than are read."""

    status, slug, title = 431, "head-too-large", "The header fields are too large"


class NotImplementedHere(ServiceError):
    """A part of HTTP that is not spoken."""

    status, slug, title = 501, "not-implemented", "This is not spoken here"


class Unavailable(ServiceError):
    """The store cannot be reached or is locked; sent with Retry-After."""

    status, slug, title = 503, "unavailable", "Not possible just now"


class VersionNotSupported(ServiceError):
    """A version of HTTP that is not spoken."""

    status, slug, title = 505, "version-not-supported", "This version of HTTP is not spoken here"


class StorageFull(ServiceError):
    """The disk of the store is full; nothing was written."""

    status, slug, title = 507, "storage-full", "There is no space left"
