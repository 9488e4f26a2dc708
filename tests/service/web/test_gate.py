"""What a request must pass before anything reads it, asked over raw ASGI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from service.settings import Limits
from service.web.gate import Gate, InFlight
from service.web.observing import Observer, request_id_of

Headers = list[tuple[bytes, bytes]]


class Answer:
    """What an ASGI app sent."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message.get("body", b"")

    @property
    def problem(self) -> dict[str, Any]:
        assert self.headers[b"content-type"] == b"application/problem+json"
        return json.loads(self.body)


def scope(path: str = "/x", method: str = "POST", query: bytes = b"", headers: Iterable = ()) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": list(headers),
    }


async def reads_all(scope: dict[str, Any], receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def ask(app: Any, where: dict[str, Any], chunks: Iterable[bytes] = (b"",), limits: Limits | None = None) -> Answer:
    seen: list[tuple[str, int]] = []
    limits = limits or Limits(body_bytes=1024, upload_bytes=4096)
    stack = Observer(Gate(app, limits, InFlight(2)), minimal=False, observe=lambda *told: seen.append(told[:2]))
    answer = Answer()
    pieces = list(chunks)

    async def messages() -> AsyncIterator[dict[str, Any]]:
        for number, piece in enumerate(pieces):
            yield {"type": "http.request", "body": piece, "more_body": number + 1 < len(pieces)}

    stream = messages()
    asyncio.run(stack(where, lambda: anext(stream), answer.send))
    assert seen == [("unmatched", answer.status)]
    return answer


def test_a_body_at_its_limit_passes_and_one_byte_more_does_not() -> None:
    assert ask(reads_all, scope(), [b"x" * 1024]).body == b"1024"
    assert ask(reads_all, scope(), [b"x" * 1025]).status == 413


def test_an_announced_length_is_refused_before_a_byte_is_read() -> None:
    async def untouched(*_: Any) -> None:
        raise AssertionError("must not be reached")

    answer = ask(untouched, scope(headers=[(b"content-length", b"1025")]))
    assert answer.status == 413
    assert answer.problem["errors"][0]["allowed"] == 1024


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"", b"9" * 5000, "１".encode()])
def test_a_senseless_length_is_refused(length: bytes) -> None:
    assert ask(reads_all, scope(headers=[(b"content-length", length)])).status == 413


def test_a_stream_without_a_length_is_counted() -> None:
    answer = ask(reads_all, scope(), [b"x" * 100] * 11)
    assert answer.status == 413
    assert "1024 bytes" in answer.problem["detail"]


def test_uploads_have_a_limit_of_their_own() -> None:
    assert ask(reads_all, scope("/api/v1/datasets"), [b"x" * 4096]).status == 200
    assert ask(reads_all, scope("/api/v1/datasets"), [b"x" * 4097]).problem["errors"][0]["allowed"] == 4096


@pytest.mark.parametrize("encoding", [b"gzip", b"br", b"deflate, gzip"])
def test_an_encoded_body_is_refused(encoding: bytes) -> None:
    assert ask(reads_all, scope(headers=[(b"content-encoding", encoding)])).status == 415


@pytest.mark.parametrize(
    ("path", "query"), [("/a%00b", b""), ("/a", b"q=%00"), ("/a%ff", b""), ("/a", b"q=%ff"), ("/a", b"q=%c3%28")]
)
def test_an_address_that_no_database_could_hold_is_refused(path: str, query: bytes) -> None:
    assert ask(reads_all, scope(path, query=query)).status == 400


def test_more_requests_than_allowed_are_told_to_come_again() -> None:
    async def main() -> list[Answer]:
        release = asyncio.Event()

        async def waits(where: dict[str, Any], receive: Any, send: Any) -> None:
            await release.wait()
            await reads_all(where, receive, send)

        in_flight = InFlight(2)
        stack = Observer(Gate(waits, Limits(), in_flight), minimal=False, observe=lambda *_: None)

        async def one(path: str) -> Answer:
            answer = Answer()

            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b""}

            await stack(scope(path), receive, answer.send)
            return answer

        waiting = [asyncio.create_task(one("/x")) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await one("/x")
        health = asyncio.create_task(one("/health/live"))
        release.set()
        answers = [*await asyncio.gather(*waiting), await health, refused]
        assert in_flight.count == 0
        return answers

    *served, refused = asyncio.run(main())
    assert [answer.status for answer in served] == [200, 200, 200]
    assert refused.status == 429
    assert refused.headers[b"retry-after"] == b"1"
    assert refused.problem["errors"][0]["allowed"] == 2


def test_a_defect_becomes_a_500_without_a_trace_and_with_an_id(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(*_: Any) -> None:
        raise RuntimeError("secret of the inside")

    answer = ask(breaks, scope(headers=[(b"x-request-id", b"abc.1")]))
    assert answer.status == 500
    assert answer.headers[b"x-request-id"] == b"abc.1"
    assert answer.problem["request_id"] == "abc.1"
    assert b"secret" not in answer.body
    assert "secret of the inside" in caplog.text


def test_safe_headers_come_with_every_answer() -> None:
    headers = ask(reads_all, scope()).headers
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"default-src 'none'" in headers[b"content-security-policy"]
    assert b"server" not in headers
    assert not [name for name in headers if name.startswith(b"access-control")]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b"req-1.A_b", True),
        (b"a" * 64, True),
        (b"a" * 65, False),
        (b"", False),
        (b"a b", False),
        (b"a\r\nX: y", False),
        ("é".encode(), False),
    ],
)
def test_only_a_harmless_request_id_is_taken_over(given: bytes, kept: bool) -> None:
    taken = request_id_of([(b"x-request-id", given)])
    assert (taken == given.decode()) is kept
    assert taken.isascii()
