"""Long answers take turns, end when nobody waits for them, and are bounded."""

import threading

import pytest

from service.errors import TooLarge
from service.operations import long_work
from service.operations.long_work import Abandoned, LongWork, Slots, parts, pause


class Clock:
    """Processor time that only goes on where a test says so; the same for all threads."""

    def __init__(self):
        self.now = 0.0

    def thread_time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(long_work, "time", found)
    return found


def test_all_rows_come_once_and_in_order_in_parts_by_what_they_take(clock):
    sizes, rows = [], []
    for part in parts(1000, 10):
        sizes.append(part.stop - part.start)
        rows += range(1000)[part]
        clock.now += 0.01 * sizes[-1] if len(rows) < 500 else 0.02 * sizes[-1]
    assert rows == list(range(1000))
    # doubled below a tenth of a second, halved above four, and kept between: the last is what is left
    assert sizes[:3] == [10, 10, 10]
    assert sizes[-3:] == [10, 10, 10]


def test_parts_grow_while_they_are_short_and_shrink_to_single_rows(clock):
    sizes = []
    for part in parts(100, 2):
        sizes.append(part.stop - part.start)
        clock.now += 0.001 if part.stop < 63 else 10
    assert sizes == [2, 4, 8, 16, 32, 38]
    clock.now, slow = 0.0, []
    for part in parts(20, 8):
        slow.append(part.stop - part.start)
        clock.now += 10
    assert slow == [8, 4, 2, 1, 1, 1, 1, 1, 1]


def test_what_takes_too_much_is_refused_with_the_rows_that_fit(clock):
    work = LongWork(Slots(1), 5.0)

    def make():
        for _ in parts(100, 10):
            clock.now += 0.3 * 10

    with pytest.raises(TooLarge, match="To answer 15 of the 100 rows took 5 seconds") as refused:
        work.run(make)
    assert refused.value.faults[0].allowed == 15


def test_the_time_that_others_take_does_not_count(clock):
    slots = Slots(1)
    long, asks, answered = LongWork(slots, 5.0), threading.Event(), []

    def short():
        asks.set()
        LongWork(slots, 5.0).run(lambda: answered.append(setattr(clock, "now", clock.now + 100)))

    def make():
        thread = threading.Thread(target=short)
        thread.start()
        asks.wait(60)
        while not slots.is_wanted:
            pass
        pause(1, 2)
        thread.join()
        pause(2, 2)
        return len(answered)

    assert long.run(make) == 1


def test_who_has_had_least_comes_first():
    slots, order = Slots(1), []
    slots.take(0.0)
    threads = []
    for spent in (5.0, 0.5, 3.0, 0.0):
        waiting = len(slots._waiting)

        def wait(spent=spent):
            slots.take(spent)
            order.append(spent)
            slots.give()

        threads.append(threading.Thread(target=wait))
        threads[-1].start()
        while len(slots._waiting) == waiting:
            pass
    slots.give()
    for thread in threads:
        thread.join()
    assert order == [0.0, 0.5, 3.0, 5.0]


def test_abandoned_work_ends_at_its_next_pause_and_work_that_waits_never_begins():
    slots, made = Slots(1), []
    work = LongWork(slots, 5.0)

    def make():
        for part in parts(10, 1):
            made.append(part.start)
            work.is_wanted = part.start < 3

    with pytest.raises(Abandoned):
        work.run(make)
    assert made == [0, 1, 3]
    left = LongWork(slots, 5.0)
    left.is_wanted = False
    with pytest.raises(Abandoned):
        left.run(lambda: made.append("never"))
    assert made == [0, 1, 3]


@pytest.mark.parametrize("ends", ["returns", "fails", "too-large", "abandoned"])
def test_however_work_ends_its_slot_is_free_again(ends):
    slots = Slots(2)

    def make():
        if ends == "fails":
            raise ValueError
        if ends == "abandoned":
            work.is_wanted = False
        pause(1, 2)

    for _ in range(5):
        work = LongWork(slots, -1.0 if ends == "too-large" else 5.0)
        if ends == "returns":
            work.run(make)
        else:
            with pytest.raises((ValueError, TooLarge, Abandoned)):
                work.run(make)
    assert slots._free == 2
    assert not slots.is_wanted


def test_outside_of_long_work_nothing_pauses():
    pause(1, 2)
    assert next(part.start for part in parts(3, 1)) == 0
