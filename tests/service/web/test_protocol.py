"""What is no HTTP is answered with a problem document, and nothing else changes."""

from __future__ import annotations

import asyncio
import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.service.running import Api
from tests.service.web.connections import POST, Line, exchange, with_length


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS greeting
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    ],
)
def test_what_is_no_http_is_told_so(shared_api: Api, sent: bytes) -> None:
    answer, body = exchange(shared_api, sent)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-content-type-options"] == "nosniff"
    problem = json.loads(body)
    assert (problem["status"], problem["type"]) == (400, "https://rulewood.dev/problems/bad-request")
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert shared_api.get("/health/live").status_code == 200


def test_http_1_0_is_answered_as_ever(shared_api: Api) -> None:
    answer, body = exchange(shared_api, b"GET /health/live HTTP/1.0\r\n\r\n")
    assert answer.status == 200
    assert json.loads(body)["status"]


def test_a_client_that_asks_first_is_told_to_go_on(shared_api: Api) -> None:
    place = urlsplit(shared_api.address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        head = "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert b"".join(iter(lambda: connection.recv(65_536), b"")).startswith(b"HTTP/1.1 422 ")


def test_what_can_be_answered_at_once_is_no_request_of_the_app() -> None:
    async def run() -> None:
        line = Line()
        assert await line.say(with_length(b"now")) == [b"done"]
        assert line.sent.calls == [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nby: hand\r\n\r\ndone"]
        whole = with_length(b"now")
        assert await line.say(*(whole[at : at + 1] for at in range(len(whole)))) == [b"done"]
        assert line.protocol.server_state.total_requests == 2
        assert line.protocol.timeout_keep_alive_task is not None

    asyncio.run(run())


def test_what_is_left_is_a_request_of_the_app() -> None:
    async def run() -> None:
        line = Line()
        assert await line.say(with_length(b"later")) == [b"/at-once later"]
        assert await line.say(with_length(b"")) == [b"/at-once "]
        assert await line.say(with_length(b"now").replace(b"/at-once", b"/other")) == [b"/other now"]
        large = b"x" * 200_000
        assert await line.say(with_length(large)[:160_000], with_length(large)[160_000:]) == [b"/at-once " + large[:20]]
        assert line.tried == [b"later"]
        line.tried.clear()
        chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nn\r\n2\r\now\r\n0\r\n\r\n"
        assert await line.say(chunked) == [b"/at-once now"]
        assert await line.say(b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n") == [b"/at-once "]
        head = await line.say(with_length(b"now", b"Expect: 100-continue\r\n"))
        assert head == [b"", b"/at-once now"]  # told to go on, answered
        assert await line.say(with_length(b"now", b"Connection: close\r\n")) == [b"/at-once now"]
        assert line.sent.closed
        assert await Line(offered=False).say(with_length(b"now")) == [b"/at-once now"]
        old = with_length(b"now").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert await Line().say(old) == [b"/at-once now"]
        assert not line.tried

    asyncio.run(run())


def test_answers_come_in_the_order_of_the_requests() -> None:
    async def run() -> None:
        line = Line()
        now, later = with_length(b"now"), with_length(b"later")
        assert await line.say(now + now + later + now) == [b"done", b"done", b"/at-once later", b"/at-once now"]
        line.may_end.clear()
        assert await line.say(later + now, now) == []
        line.may_end.set()
        assert await line.say(b"") == [b"/at-once later", b"/at-once now", b"/at-once now"]
        assert await line.say(now) == [b"done"]

    asyncio.run(run())


def test_a_request_that_has_begun_to_come_is_answered_though_the_server_ends() -> None:
    async def run() -> None:
        line = Line()
        whole = with_length(b"now")
        await line.say(whole[:-1])
        line.protocol.shutdown()
        assert not line.sent.closed
        assert await line.say(whole[-1:]) == [b"/at-once now"]
        assert line.sent.closed
        line = Line()
        await line.say(whole)
        line.protocol.shutdown()
        assert line.sent.closed

    asyncio.run(run())


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n"


def test_a_wish_for_another_protocol_changes_nothing() -> None:
    async def run() -> None:
        for whole in (with_length(b"now", UPGRADE), with_length(b"later", UPGRADE)):
            answer = b"done" if whole.endswith(b"now") else b"/at-once later"
            assert await Line().say(whole) == [answer]
            assert await Line().say(whole + whole) == [answer] * 2
            line = Line()
            assert await line.say(*(whole[at : at + 1] for at in range(len(whole)))) == [answer]
            assert await line.say(with_length(b"now")) == [b"done"]
        line = Line()
        inner = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        assert await line.say(with_length(inner, UPGRADE)[: -len(inner)], inner) == [b"/at-once " + inner[:20]]
        assert await line.say(b"GET /at-once HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"\r\n") == [b"/at-once "]
        assert await line.say(POST + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n") == [
            b"/at-once ab"
        ]

    asyncio.run(run())


def test_what_is_no_http_does_not_take_the_answer_of_the_request_before() -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        assert await line.say(with_length(b"later") + b"GARBAGE\r\n\r\n", b"more") == []
        line.may_end.set()
        assert await line.say(b"") == [b"/at-once later"]
        assert b"connection: close" in line.sent.calls[0]
        assert line.sent.closed
        line = Line()
        answers = await line.say(with_length(b"now") + b"GARBAGE\r\n\r\n")
        assert answers[0] == b"done"
        assert line.sent.calls[1].startswith(b"HTTP/1.1 400 ")
        assert line.sent.ended
        line = Line()
        line.protocol.server_state.default_headers = [(b"date", b"now")]
        await line.say(POST + b"Transfer-Encoding: chunked\r\n\r\nzz")
        (refused,) = line.sent.calls
        assert refused.startswith(b"HTTP/1.1 400 Bad Request\r\ndate: now\r\n")

    asyncio.run(run())
