"""Connections whose client has closed its half, or has gone: told what came whole, else ended silently."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from urllib.parse import urlsplit

import pytest

from tests.service.running import Api
from tests.service.web.connections import CHUNKED, LARGE, LATER, NOW, Line


@pytest.mark.parametrize("first", [NOW, LATER, LARGE])
def test_a_half_closed_connection_is_told_what_came_whole(first: bytes) -> None:
    async def run() -> None:
        for half in (b"", NOW[:30], NOW[:-1], LARGE[:-1], CHUNKED + b"3\r\nabc\r\n", CHUNKED + b"3\r\nab"):
            line = Line()
            line.may_end.clear()
            await line.say(first, NOW + LATER + half)
            answered = list(line.sent.calls)
            assert line.protocol.eof_received() is not line.sent.closed
            assert not line.sent.closed  # there is one to answer
            line.may_end.set()
            await line.rest()
            await line.rest()
            answered += line.sent.calls[len(answered) :] if first == NOW else line.sent.calls
            bodies = [answer.partition(b"\r\n\r\n")[2] for answer in line.sent.calls]
            assert bodies[-2:] == [b"done" if first == NOW else b"/at-once now", b"/at-once later"]
            assert b"connection: close" in line.sent.calls[-1]
            assert line.sent.closed
            assert len(line.asked) == 1 + (first != NOW) * 2

    asyncio.run(run())


def test_a_half_closed_client_is_asked_whether_it_reads_until_it_is_answered() -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        await line.say(LATER, LATER)
        assert line.protocol.eof_received() is True
        for _ in range(3):
            line.protocol._asking.cancel()
            line.protocol._ask_whether_it_reads()
        assert line.sent.calls == [b"HTTP/1.1 100 Continue\r\n\r\n"] * 3
        line.may_end.set()
        await line.rest()
        await line.rest()
        line.protocol._ask_whether_it_reads()
        assert sum(call.startswith(b"HTTP/1.1 200") for call in line.sent.calls) == 2
        assert sum(call.startswith(b"HTTP/1.1 100") for call in line.sent.calls) == 3
        line.protocol.connection_lost(None)
        assert line.protocol._asking.cancelled()

    asyncio.run(run())


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_http_1_0_knows_no_interim_answers(version: bytes) -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        await line.say(LATER.replace(b"HTTP/1.1", b"HTTP/" + version))
        line.protocol.eof_received()
        line.protocol._asking.cancel()
        line.protocol._ask_whether_it_reads()
        line.protocol._asking.cancel()
        assert len(line.sent.calls) == (version == b"1.1")
        line.may_end.set()
        await line.rest()

    asyncio.run(run())


@pytest.mark.parametrize("half", [b"", b"\r\n", NOW[:30], NOW[:-1], LARGE[:-1], CHUNKED + b"3\r\nabc\r\n"])
def test_a_half_closed_connection_without_a_whole_request_ends(half: bytes) -> None:
    async def run() -> None:
        for before in (b"", NOW, LATER):
            line = Line()
            await line.say(before, half)
            calls = list(line.sent.calls)
            assert line.protocol.eof_received() is False
            assert line.sent.closed
            await line.rest()
            assert line.sent.calls == calls
            assert line.protocol._stalled is None

    asyncio.run(run())


def test_a_client_that_was_refused_is_read_until_it_ends() -> None:
    async def run() -> None:
        line = Line()
        await line.refusal(b"GARBAGE\r\n\r\n")
        await line.say(NOW, LATER)
        assert line.sent.calls == []
        assert not line.sent.closed
        assert line.protocol.eof_received() is False
        assert line.sent.closed
        line = Line()
        await line.refusal(b"GARBAGE\r\n\r\n")
        assert line.protocol._stalled is not None
        line.protocol.shutdown()
        assert line.sent.closed

    asyncio.run(run())


@pytest.mark.parametrize("sent", [LATER, LATER * 3, LATER + LARGE[:-1], LARGE + NOW, NOW + LATER * 2, LARGE[:-1]])
def test_a_client_that_goes_away_ends_all_its_requests_silently(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        await line.say(sent)
        line.sent.calls.clear()
        line.sent.closed = True
        line.lose()
        line.may_end.set()
        await line.rest()
        assert line.sent.calls == []
        assert line.protocol._pending() == line.protocol._pending()[:1]
        assert line.protocol.timeout_keep_alive_task is line.protocol._stalled is None
        assert not line.protocol.tasks

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert caplog.records == []


@pytest.mark.parametrize("is_reset", [True, False])
def test_clients_that_go_away_are_no_defects_of_the_service(shared_api: Api, is_reset: bool) -> None:
    """The service of the tests fails at its end if it has logged one."""
    place = urlsplit(shared_api.address)
    asked = b"GET /api/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
    for sent in (asked * 3, asked + NOW, asked * 2 + asked[:30]):
        for _ in range(10):
            with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
                connection.sendall(sent)
                if is_reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert shared_api.get("/health/live").status_code == 200


@pytest.mark.parametrize("n_requests", [1, 2])
def test_a_client_may_close_its_half_at_once(shared_api: Api, n_requests: int) -> None:
    place = urlsplit(shared_api.address)
    for path in (b"/health/live", b"/api/v1/models"):
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
            connection.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path * n_requests)
            connection.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert received.count(b"HTTP/1.1 200 OK\r\n") == n_requests
        assert received.count(b"connection: close\r\n") <= 1  # none where the half ends after the answer
