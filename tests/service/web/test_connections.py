"""Connections end when they should: idle, stalled, broken off, or not at all."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from service.web import whole_body
from service.web.protocol import LEAST_RATE, STALLED_SECONDS
from service.web.whole_body import WholeBody
from tests.service.web.connections import CHUNKED, LARGE, LATER, NOW, POST, Line, with_length

WINDOW = int(LEAST_RATE * STALLED_SECONDS)


def test_a_connection_may_end_in_the_middle_of_a_body() -> None:
    async def run() -> None:
        line = Line()
        await line.say(NOW[:-1])
        line.lose()
        await line.rest()
        assert (line.tried, line.asked) == ([], [])

    asyncio.run(run())


@pytest.mark.parametrize("said", [b"", b"\r\n", b"\r\n" * 20_000])
def test_a_connection_that_says_nothing_is_closed(said: bytes) -> None:
    async def run() -> None:
        for before in (b"", NOW, LATER):
            line = Line()
            await line.say(before)
            if before:
                line.look()
            await line.say(said)
            assert not line.sent.closed
            line.look()
            assert line.sent.closed
            assert line.sent.calls == []

    asyncio.run(run())


def test_a_connection_stays_for_a_while_after_an_answer() -> None:
    async def run() -> None:
        line = Line()
        for whole in (NOW, LATER):
            await line.say(whole)
            line.look()
            assert not line.sent.closed
        line.may_end.clear()
        assert await line.say(LATER) == []
        for _ in range(3):
            line.look()
        line.may_end.set()
        await line.rest()
        line.look()
        assert not line.sent.closed
        line.look()
        assert line.sent.closed

    asyncio.run(run())


@pytest.mark.parametrize("first", [NOW, LATER, LARGE])
def test_a_connection_is_not_idle_once_the_next_request_has_begun(first: bytes) -> None:
    async def run() -> None:
        for sent in (NOW[:5], NOW[:30], NOW[:-1], LARGE[:-1]):
            line = Line()
            line.may_end.clear()
            await line.say(first + sent)
            line.may_end.set()
            await line.rest()
            for _ in range(3):
                line.look()
            assert not line.sent.closed
            (answer,) = await line.say((LARGE if len(sent) > 1000 else NOW)[len(sent) :])
            assert answer[-10:].endswith((b"done", b"now", b"x" * 10))
            line.look()
            assert not line.sent.closed
            line.look()
            line.look()
            assert line.sent.closed

    asyncio.run(run())


def test_a_body_that_is_refused_before_it_has_come_leaves_the_connection_as_it_was() -> None:
    async def run() -> None:
        line = Line()
        line.protocol.app = refuse
        assert await line.say(LARGE[:100_000]) == [b""]
        for _ in range(3):
            line.look()
        assert await line.say(LARGE[100_000:]) == []
        line.look()
        assert not line.sent.closed
        line.look()
        assert line.sent.closed

    asyncio.run(run())


async def refuse(scope: object, receive: object, send: object) -> None:
    """Answer without waiting for the body."""
    await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]


@pytest.mark.parametrize("begun", [b"PO", POST, NOW[:-1], LARGE[:-1], b"GET / HTTP/1.1\r\nHo"])
def test_a_request_that_does_not_go_on_is_given_up(begun: bytes) -> None:
    async def run() -> None:
        for before in (b"", NOW, LATER):
            line = Line()
            await line.say(before, before + begun)
            assert not line.sent.closed
            line.run_out()
            answer = line.sent.calls[-1]
            assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert b"within 60 seconds" in answer
            assert (b"or 500 bytes" in answer) == (b"\r\n\r\n" in begun)
            assert line.sent.ended
            await line.say(b"more", NOW)
            assert line.sent.calls == []
            line.lose()
            await line.rest()

    asyncio.run(run())


def test_a_head_must_come_as_a_whole_within_the_time() -> None:
    async def run() -> None:
        line = Line()
        timers = set()
        for at in range(len(LATER) - len(b"later")):
            await line.say(LATER[at : at + 1])
            timers.add(line.protocol._stalled)
        assert len(timers) == 2  # that of the head, and with its last byte that of the body
        assert await line.say(b"later") == [b"/at-once later"]
        assert line.protocol._stalled is None

    asyncio.run(run())


def test_a_body_may_be_slow_but_not_slower_than_the_least_rate() -> None:
    async def run() -> None:
        line = Line()
        await line.say(CHUNKED)
        for _ in range(5):
            await line.say(*[b"3e8\r\n" + b"x" * 1000 + b"\r\n"] * (WINDOW // 1000))
            line.run_out()
            assert not line.sent.ended
        await line.say(*[b"1\r\nx\r\n"] * 20)
        line.run_out()
        assert line.sent.ended
        assert line.sent.calls[-1].startswith(b"HTTP/1.1 408 ")
        await line.rest()
        assert line.gone == 1

    asyncio.run(run())


def test_a_request_that_is_worked_on_is_not_given_up() -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        assert await line.say(LATER) == []
        assert line.protocol._stalled is None
        await line.say(NOW[:-1])  # behind it, and it waits for the answer
        line.run_out()
        assert not line.sent.closed
        assert line.protocol._stalled is not None
        line.may_end.set()
        assert await line.say(NOW[-1:]) == [b"/at-once later", b"/at-once now"]
        assert line.protocol._stalled is None

    asyncio.run(run())


def test_a_body_that_is_not_taken_or_not_asked_for_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_body, "MAX_WHOLE", 0)

    async def run() -> None:
        line = Line()
        line.protocol.app = wait
        await line.say(LARGE[:-1])
        assert line.protocol.flow.read_paused
        line.run_out()
        line.protocol.flow.resume_reading()
        line.run_out()  # it was not taken for most of that time
        assert not line.sent.ended
        line.run_out()
        assert line.sent.ended
        line = Line()
        line.protocol.app = wait
        await line.say(with_length(b"now", b"Expect: 100-continue\r\n")[:-3])
        line.run_out()
        assert not line.sent.ended

    async def wait(*asgi: object) -> None:
        await asyncio.Event().wait()

    asyncio.run(run())


@pytest.mark.parametrize("most", [0, 4 << 20])
def test_a_body_comes_whole_in_one_message_or_in_pieces_if_it_is_too_large(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(whole_body, "MAX_WHOLE", most)
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        messages.append(await receive())
        while messages[-1].get("more_body"):
            messages.append(await receive())

    async def run() -> None:
        head, end, body = LARGE.partition(b"\r\n\r\n")
        for last in (b"", body[-1000:]):  # the client goes away before the last of it has come, or after
            messages.clear()
            line = Line()
            line.protocol.app = app
            await line.say(head + end, body[:70_000], body[70_000:-1000], last)
            line.protocol.connection_lost(None)
            await line.rest()
            if last:
                assert b"".join(one["body"] for one in messages) == body
                assert (len(messages) == 1) is bool(most)
            else:
                assert messages[-1]["type"] == "http.disconnect"
                assert (len(messages) == 1) is bool(most)

    asyncio.run(run())


def test_a_body_that_comes_as_a_whole_leaves_what_follows_to_the_parser() -> None:
    async def run() -> None:
        line = Line()
        for _ in range(2):
            assert await line.say(LARGE[:-10], LARGE[-10:] + NOW) == [b"/at-once " + b"x" * 20, b"/at-once now"]
            assert line.sent.get_protocol() is line.protocol
        head, end, body = LARGE.partition(b"\r\n\r\n")
        assert await line.say(head + end, body) == [b"/at-once " + b"x" * 20]
        assert await line.say(LARGE + LARGE + NOW) == [b"/at-once " + b"x" * 20] * 2 + [b"/at-once now"]

    asyncio.run(run())


def test_a_body_that_comes_as_a_whole_may_end_early() -> None:
    async def run() -> None:
        line = Line()
        await line.say(LARGE[:-10])
        gathering = line.sent.get_protocol()
        assert isinstance(gathering, WholeBody)
        assert gathering.body == b"", "what is not there yet is nobody's to see"
        gathering.pause_writing()
        assert line.protocol.flow.write_paused
        gathering.resume_writing()
        assert gathering.eof_received() is False
        assert line.sent.closed
        gathering.connection_lost(None)
        await line.rest()
        assert line.gone == 1
        line = Line()
        await line.say(LARGE[:100_000], LARGE[100_000:-10])
        line.run_out()  # it had come fast enough
        assert not line.sent.ended
        line.run_out()
        assert line.sent.ended
        assert line.sent.get_protocol() is line.protocol
        assert await line.say(LARGE[-10:]) == [], "what a refused client still sends is dropped"

    asyncio.run(run())


def test_a_client_that_takes_no_answer_is_broken_off() -> None:
    async def run() -> None:
        for is_closing in (False, True):
            line = Line()
            await line.say(LATER)
            line.sent.closed = is_closing
            for unsent in (300_000, 299_999, 299_998):  # slow, but it goes on
                line.sent.unsent = unsent
                for _ in range(11):
                    line.protocol._is_used = True
                    line.look()
            assert not line.sent.aborted
            line.protocol._is_used = True
            line.look()
            line.protocol._is_used = True
            line.look()
            assert line.sent.aborted

    asyncio.run(run())


def test_an_answer_that_has_begun_is_not_followed_by_another() -> None:
    async def begin(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await asyncio.Event().wait()

    async def run() -> None:
        for app, n_calls in ((begin, 1), (refuse, 1)):
            line = Line()
            line.protocol.app = app  # type: ignore[assignment]
            await line.say(CHUNKED)
            assert len(line.sent.calls) == n_calls
            await line.say(b"zz")
            assert line.sent.calls == []
            assert line.sent.closed

    asyncio.run(run())


def test_what_is_broken_behind_a_request_waits_for_its_answer() -> None:
    async def run() -> None:
        line = Line()
        line.may_end.clear()
        assert await line.say(LATER, CHUNKED + b"1\r\na\r\nzz\r\n") == []
        line.may_end.set()
        await line.rest()
        (answer,) = line.sent.calls
        assert b"connection: close" in answer
        assert line.sent.closed

    asyncio.run(run())
