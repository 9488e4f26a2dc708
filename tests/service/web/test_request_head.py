"""Heads that two readers could take for different requests, or that are too large, are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.errors import ServiceError
from service.settings import Limits
from service.web.request_head import Headers, check_head
from tests.service.running import Api, problem
from tests.service.web.connections import Line, exchange, with_length

HOST = (b"host", b"x")
CHUNKED = (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        ("1.1", [HOST]),
        ("1.1", [(b"host", b"")]),
        ("1.1", [(b"host", b"my_service.example:8000 ")]),
        ("1.1", [(b"host", b"[fe80::1%25eth0]:80")]),
        ("1.1", [HOST, CHUNKED]),
        ("1.1", [HOST, (b"transfer-encoding", b" Chunked ")]),
        ("1.1", [HOST, (b"expect", b"100-Continue")]),
        ("1.1", [HOST, (b"accept", b"text/csv"), (b"accept", b"*/*")]),
        ("1.0", []),
        ("1.0", [HOST]),
        ("1.0", [(b"expect", b"anything")]),  # RFC 9110, section 10.1.1
    ],
)
def test_plain_heads_are_taken(version: str, headers: Headers) -> None:
    assert check_head(version, headers) == dict(headers)


REFUSED = [
    ("1.1", [], 400, "Host"),
    ("1.1", [HOST, HOST], 400, "Host"),
    ("1.0", [HOST, (b"host", b"y")], 400, "Host"),
    ("1.1", [(b"host", b"a b")], 400, "Host"),
    ("1.1", [(b"host", b"x/y")], 400, "Host"),
    ("1.1", [(b"host", b"user@x")], 400, "Host"),
    ("0.9", [HOST], 400, None),
    ("2.0", [HOST], 505, None),
    ("1.1", [HOST, (b"transfer-encoding", b"gzip, chunked")], 501, "Transfer-Encoding"),
    ("1.1", [HOST, (b"transfer-encoding", b"gzip"), CHUNKED], 501, "Transfer-Encoding"),
    ("1.1", [HOST, (b"transfer-encoding", b"identity")], 501, "Transfer-Encoding"),
    ("1.1", [HOST, (b"transfer-encoding", b"chunked;q=1")], 501, "Transfer-Encoding"),
    ("1.1", [HOST, CHUNKED, CHUNKED], 501, "Transfer-Encoding"),
    ("1.0", [CHUNKED], 400, "Transfer-Encoding"),
    ("1.1", [HOST, (b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], 400, "Authorization"),
    ("1.1", [HOST, (b"content-type", b"text/csv"), (b"content-type", b"text/csv")], 400, "Content-Type"),
    ("1.1", [HOST, (b"expect", b"200-ok")], 417, "Expect"),
    ("1.1", [HOST, (b"expect", b"100-continue, 200-ok")], 417, "Expect"),
]


@pytest.mark.parametrize(("version", "headers", "status", "parameter"), REFUSED)
def test_what_two_readers_could_read_differently_is_refused(
    version: str, headers: Headers, status: int, parameter: str | None
) -> None:
    with pytest.raises(ServiceError) as caught:
        check_head(version, headers)
    assert caught.value.status == status
    assert [fault.parameter for fault in caught.value.faults] == ([parameter] if parameter else [])


#: The parser refuses it itself, and does not say why.
BY_PARSER = ("1.1", [HOST, CHUNKED, CHUNKED], 400, None)


@pytest.mark.parametrize(
    ("version", "headers", "status", "parameter"),
    [BY_PARSER, *(case for case in REFUSED if case[1] != BY_PARSER[1])],
)
@pytest.mark.parametrize("target", [b"/at-once", b"/other"])
def test_the_connection_ends_with_what_is_refused(
    target: bytes, version: str, headers: Headers, status: int, parameter: str | None
) -> None:
    async def run() -> None:
        lines = [b"POST %b HTTP/%b" % (target, version.encode()), *(b"%b: %b" % header for header in headers)]
        if not any(name == b"transfer-encoding" for name, _ in headers):
            lines.append(b"Content-Length: 3")
        line = Line()
        document = await line.refusal(b"\r\n".join([*lines, b"", b"now"]), b"and more")
        assert document["status"] == status
        assert [fault.get("parameter") for fault in document.get("errors", [])] == ([parameter] if parameter else [])
        assert (line.asked, line.tried, len(line.sent.calls)) == ([], [], 1)

    asyncio.run(run())


def test_a_first_line_without_a_version_is_refused(shared_api: Api) -> None:
    answer, _ = exchange(shared_api, b"GET /health/live\r\n\r\n")
    assert answer.status == 400


def head(*fields: bytes, target: bytes = b"/at-once") -> bytes:
    return b"\r\n".join([b"GET %b HTTP/1.1" % target, b"Host: x", *fields, b"", b""])


LIMITS = Limits(head_bytes=4096, head_fields=20)


def test_heads_up_to_the_limits_are_read() -> None:
    async def run() -> None:
        longest = b"x" * (4096 - len(b"/at-once" + b"Host" + b"x" + b"y"))
        fields = [b"a%d: b" % number for number in range(19)]
        for whole in (head(b"y: " + longest), head(*fields)):
            for pieces in ([whole], [whole[:700], whole[700:]], [with_length(b"now") + whole]):
                answers = await Line(limits=LIMITS).say(*pieces)
                assert answers[-1] == b"/at-once "
        small = with_length(b"now")
        assert await Line(limits=LIMITS).say(small * 100 + small[:30], small[30:]) == [b"done"] * 101
        large = b"x" * 100_000
        body = [with_length(large)[at : at + 9_000] for at in range(0, len(with_length(large)), 9_000)]
        line = Line(limits=LIMITS)
        assert await line.say(*body) == [b"/at-once " + large[:20]]
        chunk = b"2000\r\n" + b"y" * 0x2000 + b"\r\n"
        began = b"POST /at-once HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert await line.say(began, *[chunk] * 9, b"0\r\n\r\n") == [b"/at-once " + b"y" * 20]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("whole", "status", "allowed"),
    [
        (head(b"y: " + b"x" * (4096 - len(b"/at-onceHostxy") + 1)), 431, 4096),
        (head(b"x" * 4100 + b": y"), 431, 4096),
        (head(*[b"y: " + b"x" * 500] * 9), 431, 4096),
        (head(*[b"a: b"] * 20), 431, 20),
        (head(target=b"/at-once?" + b"x" * 4100), 414, 4096),
        (head(b"y: " + b"x" * 2000, target=b"/" + b"x" * 2100), 414, 4096),
    ],
)
def test_heads_beyond_the_limits_are_refused(whole: bytes, status: int, allowed: int) -> None:
    async def run() -> None:
        pieces = [whole[at : at + 1000] for at in range(0, len(whole), 1000)]
        for sent in ([whole], pieces, [with_length(b"now") + whole]):
            line = Line(limits=LIMITS)
            document = await line.refusal(*sent)
            assert document["status"] == status
            assert document["errors"][0]["allowed"] == allowed
            assert line.asked == []

    asyncio.run(run())


BODY = b"POST /at-once HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"


@pytest.mark.parametrize(
    ("begun", "more", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\ny: ", b"x" * 1000, 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"y: x\r\n" * 10, 431),
        (b"GET /", b"x" * 1000, 414),
        (BODY + b"0\r\ny: ", b"x" * 1000, 431),  # trailers
        (BODY + b"0\r\n", b"y: x\r\n" * 100, 431),
        (BODY + b"2;y=", b"x" * 1000, 431),  # the extension of a chunk
    ],
)
def test_what_has_no_end_is_refused_before_it_has_come(begun: bytes, more: bytes, status: int) -> None:
    async def run() -> None:
        line = Line(limits=LIMITS)
        document = await line.refusal(begun, *[more] * 7)
        assert document["status"] == status
        await line.rest()
        assert line.gone == len(line.asked)

    asyncio.run(run())


def test_fields_behind_a_body_are_none_of_the_request() -> None:
    async def run() -> None:
        line = Line()
        assert await line.say(BODY + b"0\r\nAuthorization: Bearer x\r\nHost: y\r\n\r\n") == [b"/at-once ab"]
        assert line.asked == [[(b"host", b"x"), (b"transfer-encoding", b"chunked")]]

    asyncio.run(run())


def test_the_limits_are_those_of_the_app(shared_api: Api) -> None:
    limits = shared_api.settings.limits
    fields: dict[str, Any] = {f"x-{number}": "y" for number in range(limits.head_fields)}
    document = problem(shared_api.get("/health/live", headers=fields), 431)
    assert document["errors"][0]["allowed"] == limits.head_fields
    document = problem(shared_api.get("/health/live", headers={"x-long": "y" * limits.head_bytes}), 431)
    assert document["errors"][0]["allowed"] == limits.head_bytes
