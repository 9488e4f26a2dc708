"""When a queue is looked at, and how a job's workflow learns that one of a part has ended."""

from __future__ import annotations

import asyncio
import threading

import pytest

from service.jobs.pace import IDLE_SECONDS, LINGER_SECONDS, Pace
from service.jobs.workflows import _MOST_REMEMBERED, Ended


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_queue_is_looked_at_often_while_there_is_work_and_some_time_after():
    clock = Clock()
    pace = Pace(clock)
    assert pace.is_often
    clock.now = LINGER_SECONDS + 1
    pace.tell(has_work=False)
    assert not pace.is_often
    pace.tell(has_work=True)
    assert pace.is_often
    clock.now += LINGER_SECONDS - 0.1
    pace.tell(has_work=False)
    assert pace.is_often


@pytest.mark.parametrize("wake", [Pace.ring, lambda pace: pace.tell(has_work=True)])
def test_a_ring_and_the_first_work_end_a_long_wait(wake):
    clock = Clock()
    pace = Pace(clock)
    clock.now = LINGER_SECONDS + 1
    pace.tell(has_work=False)
    pace._bell = Counting()
    waiting = threading.Thread(target=pace.wait, args=(3600.0,))
    waiting.start()
    pace._bell.waits.wait()
    wake(pace)
    waiting.join()
    assert pace._bell.asked == [IDLE_SECONDS]


class Counting(threading.Event):
    """Waits for ever, and keeps how long it was to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float | None] = []
        self.waits = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout)
        self.waits.set()
        return super().wait()


def test_a_ring_during_a_look_is_not_lost_and_counts_once():
    pace = Pace()
    pace.ring()
    pace.ring()
    pace._bell = (bell := Counting())
    bell.set()
    assert pace.wait(3600.0) is False
    assert not bell.is_set()


def test_the_end_of_a_workflow_is_told_when_its_task_has_ended():
    rings, order = [], []

    async def part(ended: Ended, go: asyncio.Event) -> None:
        ended.follow("job:a")
        await go.wait()
        order.append("stored")

    async def job() -> None:
        ended, go = Ended(lambda: rings.append(len(order))), asyncio.Event()
        task = asyncio.create_task(part(ended, go))
        waiting = asyncio.create_task(ended.wait("job:a"))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        go.set()
        await waiting
        assert task.done()
        assert rings == [1]
        await ended.wait("job:b")  # runs nowhere here: it is asked for elsewhere after a moment

    asyncio.run(job())


def test_an_end_before_anybody_waits_is_remembered_but_not_too_many_are():
    async def part(ended: Ended, name: str) -> None:
        ended.follow(name)

    async def job() -> None:
        ended = Ended(lambda: None)
        for number in range(_MOST_REMEMBERED + 10):
            await asyncio.create_task(part(ended, f"job:{number}"))
        await asyncio.sleep(0)
        assert len(ended._events) == _MOST_REMEMBERED
        await ended.wait(f"job:{_MOST_REMEMBERED}")
        assert len(ended._events) == _MOST_REMEMBERED - 1
        assert not ended._running

    asyncio.run(job())
