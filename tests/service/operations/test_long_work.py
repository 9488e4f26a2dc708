"""Long answers take turns, end when nobody waits for them, and are bounded."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import Fault, TooLarge
from service.operations import long_work
from service.operations.long_work import Abandoned, Amount, LongWork, Turns, parts, pause


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


@pytest.fixture
def turns():
    """One answer at a time."""
    with ThreadPoolExecutor(20) as threads:
        yield Turns(1, threads)


def wait_for(turns, waiting):
    while len(turns._waiting) < waiting:
        time.sleep(0.001)


def test_what_takes_too_much_is_refused_with_the_rows_that_fit(clock, turns):
    def make():
        for _ in parts(100, 10):
            clock.now += 0.3 * 10

    with pytest.raises(TooLarge, match="15 of the 100 rows took 5 seconds") as refused:
        turns.submit(LongWork(turns, 5.0), make).result()
    assert refused.value.faults[0].allowed == 15


def test_who_asked_by_another_parameter_is_told_how_much_of_it_fits(clock, turns):
    def make():
        for before in (0, 100, 200):
            for _ in parts(100, 10, Amount("answers", "n_rows", before=before, count=300, asked=30)):
                clock.now += 0.3

    told = "110 of the 300 answers took 3.2 seconds .* for one request; give n_rows up to 11$"
    with pytest.raises(TooLarge, match=told) as refused:
        turns.submit(LongWork(turns, 3.2), make).result()
    assert refused.value.faults == (Fault("too much work", parameter="n_rows", allowed=11),)


def test_the_time_that_others_take_does_not_count(clock, turns):
    begun, others = threading.Event(), []

    def long():
        begun.set()
        wait_for(turns, 1)
        clock.now += 1
        pause(1, 2)
        pause(2, 2)
        return list(others)

    work = LongWork(turns, 5.0)
    found = turns.submit(work, long)
    assert begun.wait(60)
    turns.submit(LongWork(turns, 500.0), lambda: others.append(setattr(clock, "now", clock.now + 100)))
    assert found.result() == [None]
    assert work.spent == 1


def test_who_has_had_least_comes_first_and_of_equals_who_came_first(turns):
    order, begun, may_end = [], threading.Event(), threading.Event()

    def held():
        begun.set()
        may_end.wait(60)

    holding = turns.submit(LongWork(turns, 99.0), held)
    assert begun.wait(60)
    made = []
    for place, spent in enumerate((5.0, 0.5, 3.0, 0.0, 0.5)):
        work = LongWork(turns, 99.0)
        work.spent = spent
        made.append(turns.submit(work, partial(order.append, (spent, place))))
    may_end.set()
    for one in (holding, *made):
        one.result()
    assert order == [(0.0, 3), (0.5, 1), (0.5, 4), (3.0, 2), (5.0, 0)]


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_that_is_asked_is_made_and_no_more_at_a_time_than_may(clock, lengths, at_once):
    """Works of parts that take so many seconds; whoever goes on has had least of those that wait."""
    running, most = [], []
    with ThreadPoolExecutor(len(lengths)) as threads:
        turns = Turns(at_once, threads)

        def make(number):
            for done, _ in enumerate(lengths[number]):
                running.append(number)
                most.append(len(running))
                running.remove(number)
                pause(done, len(lengths[number]))
            return number

        made = [turns.submit(LongWork(turns, 1e9), partial(make, number)) for number in range(len(lengths))]
        assert [one.result(60) for one in made] == list(range(len(lengths)))
    assert max(most) <= at_once
    assert turns._free == at_once
    assert turns._waiting == []


def test_abandoned_work_ends_at_its_next_pause_and_work_that_waits_never_begins(turns):
    made, begun, may_end = [], threading.Event(), threading.Event()
    work = LongWork(turns, 5.0)

    def make():
        begun.set()
        may_end.wait(60)
        for part in parts(10, 1):
            made.append(part.start)
            work.is_wanted = part.start < 3

    found = turns.submit(work, make)
    assert begun.wait(60)
    never = turns.submit(LongWork(turns, 5.0), partial(made.append, "never"))
    assert never.cancel()
    may_end.set()
    with pytest.raises(Abandoned):
        found.result()
    turns.submit(LongWork(turns, 5.0), int).result()
    assert made == [0, 1, 3]


@pytest.mark.parametrize("ends", ["returns", "fails", "too-large", "abandoned"])
def test_however_work_ends_another_is_made_after_it(turns, ends):
    def make():
        if ends == "fails":
            raise ValueError
        if ends == "abandoned":
            work.is_wanted = False
        pause(1, 2)

    for _ in range(5):
        work = LongWork(turns, -1.0 if ends == "too-large" else 5.0)
        made = turns.submit(work, make)
        if ends == "returns":
            made.result()
        else:
            with pytest.raises((ValueError, TooLarge, Abandoned)):
                made.result()
    while not turns._free:
        time.sleep(0.001)
    assert turns._waiting == []


def test_outside_of_long_work_nothing_pauses():
    pause(1, 2)
    assert next(part.start for part in parts(3, 1)) == 0
