"""What is no HTTP is answered with a problem document, and nothing else changes."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import pytest

from service.web.protocol import JoinedWrites
from tests.service.running import Api


def exchange(api: Api, sent: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to some bytes, and what the server sent in all until it closed the connection."""
    place = urlsplit(api.address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.sendall(sent)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))

    class Received:
        def makefile(self, mode: str) -> io.BytesIO:
            return io.BytesIO(received)

    answer = http.client.HTTPResponse(Received())  # type: ignore[arg-type]  # all that it asks of a socket
    answer.begin()
    return answer, answer.read()


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


class Written(asyncio.Transport):
    """A transport that keeps what is sent in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.calls.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


@pytest.mark.parametrize("begin", [b"{}", b"", b"HTTP/1.1 100 is how this body begins", b"x" * 100_000])
def test_a_head_goes_out_with_the_beginning_of_its_body(begin: bytes) -> None:
    sent = Written()
    answer = JoinedWrites(sent)
    for part in (b"HTTP/1.1 100 Continue\r\n\r\n", HEAD, begin, b"more", b"and more"):
        answer.write(part)
    assert sent.calls == [b"HTTP/1.1 100 Continue\r\n\r\n", HEAD + begin, b"more", b"and more"]


def test_a_head_without_a_body_is_sent_before_the_end() -> None:
    sent = Written()
    answer = JoinedWrites(sent)
    answer.write(HEAD)
    assert not answer.is_closing()
    answer.close()
    assert (sent.calls, sent.closed, answer.is_closing()) == ([HEAD], True, True)


def test_a_stream_shows_its_head_at_once() -> None:
    sent = Written()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    JoinedWrites(sent).write(head)
    assert sent.calls == [head]


def test_a_client_that_asks_first_is_told_to_go_on(shared_api: Api) -> None:
    place = urlsplit(shared_api.address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        head = "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{}")
        assert b"".join(iter(lambda: connection.recv(65_536), b"")).startswith(b"HTTP/1.1 422 ")
