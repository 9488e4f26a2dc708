"""Requests that come together are answered step by step, and those that come alone as they come."""

from __future__ import annotations

import asyncio

from service.web.together import Together
from tests.service.web.connections import Line, with_length


class Connection:
    """One that tells what is asked of it, and when."""

    def __init__(self, name: str, told: list[str], *, answers: bool = True) -> None:
        self.loop = asyncio.get_running_loop()
        self.name, self.told, self.answers = name, told, answers

    def make_answer(self) -> bytes | None:
        self.told.append(f"make {self.name}")
        return self.name.encode() if self.answers else None

    def send_answer(self, answer: bytes) -> None:
        self.told.append(f"send {answer.decode()}")


def test_all_are_made_and_then_all_are_sent() -> None:
    async def run() -> None:
        told: list[str] = []
        together = Together()
        for name in "abc":
            assert together.takes(Connection(name, told, answers=name != "b"))
        assert not told  # others may still come
        await asyncio.sleep(0)
        assert told == ["make a", "make b", "make c", "send a", "send c"]
        await asyncio.sleep(0)
        assert len(told) == 5

    asyncio.run(run())


def test_of_very_many_some_are_sent_before_the_last_is_made() -> None:
    async def run() -> None:
        told: list[str] = []
        together = Together()
        for number in range(200):
            assert together.takes(Connection(str(number), told))
        await asyncio.sleep(0)
        assert [one for one in told if one.startswith("make")] == [f"make {number}" for number in range(200)]
        assert [one for one in told if one.startswith("send")] == [f"send {number}" for number in range(200)]
        assert told.index("send 0") < told.index("make 199")

    asyncio.run(run())


def test_where_none_come_together_none_waits_until_some_do() -> None:
    async def run() -> None:
        told: list[str] = []
        together = Together()

        async def turns_until_taken(n_together: int) -> int:
            """Requests that come in turns of the loop, so many in each, until one is taken."""
            n_answered = 0
            while True:
                taken = [together.takes(Connection("x", told)) for _ in range(n_together)]
                await asyncio.sleep(0)
                if all(taken):
                    return n_answered
                n_answered += n_together - sum(taken)

        for _ in range(8):
            assert await turns_until_taken(1) == 0
        assert await turns_until_taken(1) == 512
        for _ in range(7):
            assert await turns_until_taken(1) == 0
        assert await turns_until_taken(4) == 512
        for _ in range(20):
            assert await turns_until_taken(4) == 0

    asyncio.run(run())


NOW, LATER = with_length(b"now"), with_length(b"later")


def test_a_connection_that_goes_on_is_answered_first() -> None:
    async def run() -> None:
        line = Line()
        line.sent.come(NOW)
        assert not line.sent.calls
        line.sent.come(NOW[:10])  # in the same turn
        assert len(line.sent.calls) == 1
        assert await line.say(NOW[10:] + LATER) == [b"done", b"/at-once later"]
        line.sent.calls.clear()
        line.sent.come(LATER)
        line.sent.come(NOW)
        await line.rest()
        assert [call.partition(b"\r\n\r\n")[2] for call in line.sent.calls] == [b"/at-once later", b"/at-once now"]

    asyncio.run(run())


def test_what_came_whole_is_answered_before_nonsense_is_refused_and_before_a_half_is_closed() -> None:
    async def run() -> None:
        line = Line()
        line.sent.come(NOW)
        line.sent.come(b"nonsense\r\n\r\n")
        await line.rest()
        assert line.sent.calls[0].endswith(b"done")
        assert line.sent.calls[1].startswith(b"HTTP/1.1 400 ")
        for body in (b"now", b"later"):
            line = Line()
            line.sent.come(with_length(body))
            line.protocol.eof_received()
            await line.rest()
            assert line.sent.calls[0].endswith(b"done" if body == b"now" else b"/at-once later")
            assert line.sent.closed

    asyncio.run(run())


def test_who_is_gone_is_not_answered() -> None:
    async def run() -> None:
        line = Line()
        line.sent.come(NOW)
        line.lose()
        await line.rest()
        assert not line.tried
        assert not line.sent.calls

    asyncio.run(run())


def test_a_connection_is_not_idle_while_its_answer_is_to_come() -> None:
    async def run() -> None:
        line = Line()
        line.sent.come(NOW)
        line.look()
        assert not line.sent.closed
        await line.rest()
        assert line.sent.calls[0].endswith(b"done")

    asyncio.run(run())
