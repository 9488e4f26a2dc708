"""What the head of a request must be before anything is done for it (RFC 9110, RFC 9112).

Two readers of one request must not take it for two different ones: a proxy and the service, or two parts of the
service. So what they could read differently is refused.
"""

from __future__ import annotations

from collections import Counter

from service.errors import (
    BadRequest,
    ExpectationFailed,
    Fault,
    HeadTooLarge,
    NotImplementedHere,
    ServiceError,
    TargetTooLong,
    VersionNotSupported,
)
from service.settings import Limits

Headers = list[tuple[bytes, bytes]]

#: Fields that come once at most, as they are spelled. The parser sees to Content-Length.
_SINGLE = {b"host": "Host", b"authorization": "Authorization", b"content-type": "Content-Type"}
#: All characters of a host and port (RFC 3986, section 3.2).
_OF_HOSTS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=%:[]"


def check_head(version: str, headers: Headers) -> dict[bytes, bytes]:
    """The fields of a request by their names, once nothing about them is in doubt.

    Args:
        version: of HTTP, as the request names it: ``1.1``; ``0.9`` where it names none.
        headers: raw, with lower-case names.

    Raises:
        BadRequest: no version, no or no proper Host, a field twice that comes once, chunks in HTTP/1.0.
        ExpectationFailed: anything but ``100-continue`` is expected.
        NotImplementedHere: a transfer coding other than ``chunked``.
        VersionNotSupported: HTTP/2.0.
    """
    fields = dict(headers)
    host = fields.get(b"host")
    if (
        version != "1.1"
        or host is None
        or host.translate(None, _OF_HOSTS)
        or len(fields) != len(headers)
        or b"transfer-encoding" in fields
        or b"expect" in fields
    ):  # which is rare
        _check_version(version)
        _check_fields(version, headers)
    return fields


def _check_version(version: str) -> None:
    if version == "0.9":
        raise BadRequest("The request's first line names no version of HTTP that is known; HTTP/1.1 is spoken here")
    if version not in ("1.0", "1.1"):
        raise VersionNotSupported(f"HTTP/{version} is not spoken here, but HTTP/1.1")


def _check_fields(version: str, headers: Headers) -> None:
    times = Counter(name for name, _ in headers)
    for name, spelled in _SINGLE.items():
        if times[name] > 1:
            fault = Fault(f"{spelled} comes {times[name]} times", parameter=spelled, allowed=1)
            raise BadRequest(f"The request has {times[name]} header fields {spelled}; there can be one", [fault])
    if b"host" not in times and version == "1.1":
        fault = Fault("Host is missing", parameter="Host")
        raise BadRequest("A request of HTTP/1.1 needs the header field Host", [fault])
    codings = []
    for name, value in headers:
        if name == b"host" and value.strip().translate(None, _OF_HOSTS):
            raise BadRequest("The header field Host is no host and port", [Fault("no host and port", parameter="Host")])
        if name == b"expect" and version == "1.1" and value.strip().lower() != b"100-continue":
            fault = Fault("Expect is not known", parameter="Expect", allowed=["100-continue"])
            raise ExpectationFailed("What the header field Expect names cannot be met here", [fault])
        if name == b"transfer-encoding":
            codings += [coding.strip().lower() for coding in value.split(b",")]
    if codings:
        _check_codings(version, codings)


def _check_codings(version: str, codings: list[bytes]) -> None:
    fault = Fault("Transfer-Encoding is not supported", parameter="Transfer-Encoding", allowed=["chunked"])
    if version == "1.0":
        raise BadRequest("A request of HTTP/1.0 cannot have a Transfer-Encoding", [fault])
    if codings != [b"chunked"]:
        raise NotImplementedHere("A Transfer-Encoding other than chunked is not read here", [fault])


def check_size(target: bytes, headers: Headers, limits: Limits) -> None:
    """Refuse a head that is larger than allowed, as far as it has come.

    Raises:
        HeadTooLarge, TargetTooLong: it is.
    """
    if len(headers) > limits.head_fields:
        raise HeadTooLarge(
            f"The request has more than {limits.head_fields} header fields, which is the most that is read here",
            [Fault("too many header fields", allowed=limits.head_fields)],
        )
    if len(target) + sum(len(name) + len(value) for name, value in headers) > limits.head_bytes:
        raise too_large(target, limits)


def too_large(target: bytes, limits: Limits) -> ServiceError:
    """The error of a head beyond its limit; of its target where that is the most of it."""
    fault = Fault("head too large", allowed=limits.head_bytes)
    of_all = f"larger than {limits.head_bytes} bytes, which is the most that is read here"
    if len(target) > limits.head_bytes // 2:
        return TargetTooLong(f"The request's target makes its head {of_all}", [fault])
    return HeadTooLarge(f"The request's header fields are {of_all}", [fault])
