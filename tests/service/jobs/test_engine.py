"""The engine with real worker processes on both databases."""

from __future__ import annotations

import os
import signal

import pytest

from service.jobs.engine import EngineOptions
from service.settings import Limits
from service.store import models
from tests.service.jobs.conftest import is_alive, versions, wait_for

ECHO = {"do": "echo", "value": 1}


def spin(seconds, value=1):
    return {"do": "spin", "seconds": seconds, "value": value}


# The two tests that need workers of their own kind come first, so that all others share one.


def test_a_failing_part_stops_the_others(work, house):
    house.worker(processes=2)
    job_id = work.submit({"fold-1": spin(600), "fold-2": {"do": "bad-column"}})
    job = work.wait(job_id)
    assert job.state == "failed"
    wait_for(lambda: all(not is_alive(pid) for part, pid in work.diary(job_id) if part == "fold-1"))


def test_limits_of_time_and_memory_are_named(work, house):
    limits = {"job_seconds": 1.0, "job_memory_bytes": 300 * 1024 * 1024}
    house.worker(limits=limits)
    slow, greedy = work.submit({"fit": spin(600)}), work.submit({"fit": {"do": "hog"}})
    assert work.wait(slow).error["type"] == "time-limit"
    assert "1 seconds" in work.wait(slow).error["detail"]
    assert work.wait(greedy).error["type"] in ("memory-limit", "time-limit")


def test_a_job_runs_its_parts_and_keeps_their_results(work, house):
    house.worker()
    job_id = work.submit({"fold-1": {"do": "echo", "value": 2}, "fold-2": {"do": "echo", "value": 3}})
    job = work.wait(job_id)
    assert (job.state, job.result, job.progress, job.error) == ("succeeded", {"sum": 5}, 1.0, None)
    assert {part: result["value"] for part, result in work.parts(job_id).items()} == {"fold-1": 2, "fold-2": 3}
    states = [event.data["state"] for event in work.events(job_id) if event.kind == "state"]
    assert states == ["queued", "running", "succeeded"]
    assert {event.data["part"] for event in work.events(job_id) if event.kind == "part"} == {"fold-1", "fold-2"}


def test_parts_that_are_known_by_what_others_found_come_as_further_stages(work, house):
    house.worker()
    parts = {
        "first": {"do": "echo", "value": 1, "then": ["later-2"]},
        "later-1": {"do": "echo", "value": 10},
        "later-2": {"do": "echo", "value": 100, "then": ["later-3"]},
        "later-3": {"do": "echo", "value": 1000},
    }
    job_id = work.submit(parts)
    job = work.wait(job_id)
    assert (job.state, job.result, job.progress) == ("succeeded", {"sum": 1101}, 1.0)
    assert [part for part, _ in work.diary(job_id)] == ["first", "later-2", "later-3"]


def test_progress_is_told_while_a_part_runs(work, house):
    house.worker()
    job_id = work.submit({"fit": spin(60)})
    job = wait_for(lambda: (job := work.get(job_id)).progress > 0 and job)
    assert 0 < job.progress < 1
    assert job.message == "fit: spinning"
    assert any(event.kind == "progress" for event in work.events(job_id))
    work.cancel(job_id)


def test_cancelling_a_running_job_kills_its_process_and_leaves_no_model(work, house):
    house.worker()
    job_id = work.submit({"fold-1": ECHO, "fit": spin(600)}, model="half")
    pid = work.wait_for_start(job_id, "fit")
    work.cancel(job_id)
    job = work.wait(job_id)
    wait_for(lambda: not is_alive(pid))
    assert (job.state, job.result) == ("cancelled", None)
    after = work.submit({"fit": ECHO})
    assert work.wait(after).state == "succeeded"
    assert versions(house.store, "half") == []


def test_cancelling_a_queued_job_means_that_no_part_starts(work, house):
    house.worker()
    first = work.submit({"fit": spin(600)})
    work.wait_for_start(first, "fit")
    second = work.submit({"fit": ECHO})
    work.cancel(second)
    assert work.get(second).state == "cancelled"
    work.cancel(first)
    assert work.wait(first).state == "cancelled"
    assert work.wait(work.submit({"fit": ECHO})).state == "succeeded"
    assert work.diary(second) == []


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("bad-column", {"type": "invalid", "column": "x", "detail": "the column 'x' is all missing", "part": "fit"}),
        (
            "bad-parameter",
            {"type": "invalid", "parameter": "max_depth", "detail": "max_depth must be >= 1", "part": "fit"},
        ),
    ],
)
def test_a_failure_says_which_column_or_parameter(work, house, action, error):
    house.worker()
    job = work.wait(work.submit({"fold-1": ECHO, "fit": {"do": action}}))
    assert (job.state, job.error) == ("failed", error)


@pytest.mark.parametrize(("processes", "exclusive", "parts"), [(1, True, 1), (2, True, 3), (2, False, 2)])
def test_one_part_waits_beside_those_in_work_where_no_other_worker_could_compute_it(
    processes, exclusive, parts, tmp_path
):
    options = EngineOptions("sqlite://", "", processes, tmp_path, exclusive, Limits())
    assert options.parts == parts


def test_an_unforeseen_error_fails_the_job_without_telling_data(work, house):
    house.worker()
    job = work.wait(work.submit({"fit": {"do": "surprise"}}))
    assert (job.state, job.error["type"], job.message) == ("failed", "internal", "")
    assert "42" not in job.error["detail"]
    assert "secret value 42" in house.log()


def test_a_part_whose_process_is_killed_once_is_run_again(work, house):
    house.worker()
    part, marker = work.hold(7)
    job_id = work.submit({"fold-1": ECHO, "fit": part})
    os.kill(work.wait_for_start(job_id, "fit"), signal.SIGKILL)
    marker.touch()
    job = work.wait(job_id)
    assert (job.state, job.result) == ("succeeded", {"sum": 8})
    assert sorted(part for part, _ in work.diary(job_id)) == ["fit", "fit", "fold-1"]
    assert any("killed by signal 9" in event.data.get("message", "") for event in work.events(job_id))


def test_a_part_that_always_kills_its_process_fails_the_job(work, house):
    house.worker()
    job_id = work.submit({"fit": {"do": "die"}})
    job = work.wait(job_id)
    assert (job.state, job.error["type"]) == ("failed", "process-died")
    assert len(work.diary(job_id)) == 4


def test_trainings_submitted_back_to_back_run_and_register_in_that_order(work, house):
    house.worker()
    held, marker = work.hold()
    first = work.submit({"fit": held})
    work.wait_for_start(first, "fit")
    diary = house.folder / f"diary-of-all-{first}"

    def train(number):
        parts = {f"{number:02}-{part}": ECHO for part in range(4)}
        return work.submit(parts, model="in-order", aliases=["champion"], diary=str(diary))

    waiting = [train(number) for number in range(6)]
    marker.touch()
    at_once = [train(number) for number in range(6, 12)]
    ended = [work.wait(job_id) for job_id in waiting + at_once]
    assert [job.result["version"] for job in ended] == list(range(1, 13))
    started = [line.split()[0] for line in diary.read_text().splitlines()]
    assert started == [f"{number:02}-{part}" for number in range(12) for part in range(4)]
    with house.store.read() as session:
        assert models.aliases(session, models.get(session, "default", "in-order")) == {"champion": 12}


def test_jobs_that_waited_for_a_worker_run_and_register_in_order(work, house):
    house.worker().kill(signal.SIGTERM)
    submitted = [work.submit({"fit": ECHO}, model="waited") for _ in range(6)]
    house.worker()
    assert [work.wait(job_id).result["version"] for job_id in submitted] == [1, 2, 3, 4, 5, 6]


def test_a_wanted_cancellation_leaves_no_trace_of_the_library_in_the_log(work, house):
    house.worker()
    job_id = work.submit({"fold-1": ECHO, "fit": spin(600)})
    work.wait_for_start(job_id, "fit")
    before = len(house.log())
    work.cancel(job_id)
    assert work.wait(job_id).state == "cancelled"
    assert work.wait(work.submit({"fit": ECHO})).state == "succeeded"
    assert "Traceback" not in house.log()[before:]
