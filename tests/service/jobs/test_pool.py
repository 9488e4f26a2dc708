"""The pool alone: warm processes, kills, limits, progress."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.jobs import lane
from service.jobs.lane import Ticket
from service.jobs.outcomes import error_record
from service.jobs.pace import Pace
from service.jobs.pool import Pool
from service.jobs.slot import Reading, Slot
from service.jobs.states import TRANSITIONS, JobState
from tests.service.jobs import tasks
from tests.service.jobs.conftest import PATIENCE, is_alive, wait_for


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    made = Pool(1, tasks.perform, tmp_path_factory.mktemp("scratch"))
    yield made
    made.close()


def run(pool, do, **limits):
    ticket = Ticket("job", "part", {"do": do, "seconds": 600}, **limits)
    pool.submit(ticket)
    return ticket.outcome.result(timeout=PATIENCE)


def test_one_warm_process_serves_part_after_part(pool):
    assert len({run(pool, "echo").result["pid"] for _ in range(5)}) == 1


def test_the_processes_give_way_to_others(pool):
    pid = run(pool, "echo").result["pid"]
    assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10


def test_stopping_a_job_kills_what_runs_and_drops_what_waits(pool):
    running, waiting, other = (
        Ticket("doomed", "a", {"do": "spin", "seconds": 600}),
        Ticket("doomed", "b", {"do": "echo"}),
        Ticket("other", "a", {"do": "echo", "value": 4}),
    )
    for ticket in (running, waiting, other):
        pool.submit(ticket)
    part = wait_for(lambda: [one for one in pool.running() if one.message == "spinning"])[0]
    assert pool.job_ids() == {"doomed", "other"}
    pool.stop_job("doomed")
    assert running.outcome.result(timeout=PATIENCE).stopped
    assert waiting.outcome.result(timeout=PATIENCE).stopped
    assert other.outcome.result(timeout=PATIENCE).result["value"] == 4
    assert not is_alive(part.pid)


def test_waiting_parts_are_taken_by_submission_of_their_job_and_number(pool):
    running = Ticket("first", "a", {"do": "spin", "seconds": 600})
    pool.submit(running)
    wait_for(lambda: [one for one in pool.running() if one.message == "spinning"])
    ended = []
    orders = [(2.0, "b", 0), (1.0, "b", 1), (1.0, "a", 1), (1.0, "b", 0), (1.0, "a", 0)]
    tickets = [Ticket(order[1], "part", {"do": "echo"}, order=order) for order in orders]
    for ticket in tickets:
        ticket.outcome.add_done_callback(lambda _, order=ticket.order: ended.append(order))
        pool.submit(ticket)
    pool.stop_job("first")
    for ticket in tickets:
        ticket.outcome.result(timeout=PATIENCE)
    wait_for(lambda: len(ended) == len(orders))
    assert ended == sorted(orders)


def test_cancelling_the_future_kills_the_part(pool):
    ticket = Ticket("job", "part", {"do": "spin", "seconds": 600})
    pool.submit(ticket)
    pid = wait_for(lambda: [one for one in pool.running() if one.message == "spinning"])[0].pid
    ticket.outcome.cancel()
    wait_for(lambda: not is_alive(pid))
    assert run(pool, "echo").result is not None


def test_an_idle_process_that_dies_is_replaced(pool):
    pid = run(pool, "echo").result["pid"]
    os.kill(pid, signal.SIGKILL)
    assert run(pool, "echo").result["pid"] != pid


def test_limits(pool):
    slow = run(pool, "spin", seconds=0.5).error
    assert (slow.type, slow.detail) == ("time-limit", "the work took longer than the limit of 0.5 seconds")
    greedy = run(pool, "hog", memory_bytes=200 * 1024 * 1024).error
    assert (greedy.type, greedy.detail) == (
        "memory-limit",
        "the work needed more memory than the limit of 209,715,200 bytes",
    )


def test_processes_die_with_their_parent(tmp_path):
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from service.jobs.lane import Ticket\n"
        "from service.jobs.pool import Pool\n"
        "from tests.service.jobs import tasks\n"
        f"pool = Pool(2, tasks.perform, Path({str(tmp_path)!r}))\n"
        "tickets = [Ticket('j', 'p', {'do': 'spin', 'seconds': 600}) for _ in range(2)]\n"
        "[pool.submit(ticket) for ticket in tickets]\n"
        "while len([one for one in pool.running() if one.message]) < 2:\n"
        "    time.sleep(0.05)\n"
        "print(*[one.pid for one in pool.running()], flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not any(is_alive(pid) for pid in pids))


def test_a_slot_gives_back_what_was_written(tmp_path):
    slot = Slot(tmp_path / "slot", create=True)
    assert slot.read() == Reading(0, 0.0, "")
    Slot(tmp_path / "slot").write(17, 0.25, "näher" * 200)
    reading = slot.read()
    assert (reading.pid, reading.share) == (17, 0.25)
    assert reading.message.startswith("näher")
    assert len(reading.message.encode()) <= 400
    slot.write(17, 7.0, "x")
    assert slot.read() == Reading(17, 1.0, "x")
    slot.close()
    assert not (tmp_path / "slot").exists()


def test_states_that_end_a_job_are_not_left():
    assert {state for state in JobState if state.is_final} == {
        JobState.SUCCEEDED,
        JobState.FAILED,
        JobState.CANCELLED,
    }
    assert JobState.RUNNING in TRANSITIONS[JobState.QUEUED]
    assert set(TRANSITIONS) == set(JobState)


def test_the_store_moves_jobs_by_the_same_rules():
    from service.store.jobs import SOURCES

    for after, sources in SOURCES.items():
        assert set(sources) == {state.value for state in JobState if after in TRANSITIONS[state]}


def test_an_unforeseen_error_is_told_without_its_text(caplog):
    record = error_record(ZeroDivisionError("secret value 42"))
    assert record.to_json() == {
        "type": "internal",
        "detail": "an internal error (ZeroDivisionError) stopped the work; the log has more",
    }
    assert "secret value 42" in caplog.text


def test_a_process_that_cannot_load_ahead_works_all_the_same_and_the_log_says_so_once(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "rulewood.jobs")
    pool = Pool(1, tasks.perform, tmp_path, warm=tasks.fails_to_warm)
    try:
        assert pool.wait_until_warm(PATIENCE)
        assert len({run(pool, "echo").result["pid"] for _ in range(3)}) == 1
    finally:
        pool.close()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "RuntimeError: no kernels; it goes on without" in line


def test_processes_that_end_early_are_started_ever_more_seldom(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(lane, "FIRST_PAUSE_SECONDS", 0.01)
    pool = Pool(1, tasks.perform, tmp_path, warm=tasks.dies_while_warming)
    try:
        wait_for(lambda: len(caplog.records) >= 2)
        assert not pool.wait_until_warm(0.0)
        assert run(pool, "echo").error.type == "process-died"  # a part is tried at once, and not for ever
    finally:
        pool.close()
    first, second, *_ = [record.getMessage() for record in caplog.records]
    assert "ended before it was ready, 1 in a row; starting another, the next in 0.02 s" in first
    assert "ended before it was ready, 2 in a row; starting another, the next in 0.04 s" in second


def test_the_queues_are_looked_at_often_while_there_is_work_and_for_a_while_after():
    now = [0.0]
    pace = Pace(lambda: now[0])
    found = []
    for seconds, has_work in ((0, False), (4.9, False), (5, False), (6, False), (7, True), (11.9, False), (12, False)):
        now[0] = seconds
        pace.tell(has_work=has_work)
        found.append(pace.is_often)
    assert found == [True, True, False, False, True, True, False]


def test_work_ends_a_long_wait_and_nothing_ends_the_looking(monkeypatch):
    monkeypatch.setattr("service.jobs.pace.IDLE_SECONDS", 600)
    now = [0.0]
    pace = Pace(lambda: now[0])
    now[0] = 5.0
    pace.tell(has_work=False)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(pace.wait, 0.05)
        pace.tell(has_work=True)
        assert waiting.result(timeout=PATIENCE) is False
    assert not pace.wait(0.0)
    assert not pace.is_set()
