"""What outlives kill -9: jobs of dead workers, lost workflows, jobs that kill their worker."""

from __future__ import annotations

import signal
import time

import pytest

from service.jobs.reaper import DEAD_SECONDS
from service.store import jobs, workers
from tests.service.jobs.conftest import is_alive, versions, wait_for
from tests.service.jobs.test_engine import ECHO, spin


def test_a_killed_worker_is_followed_by_one_that_keeps_the_finished_parts(work, house):
    first = house.worker()
    part, marker = work.hold(2)
    job_id = work.submit({"fold-1": ECHO, "fold-2": part, "fit": ECHO}, model="kept")
    wait_for(lambda: "fold-1" in work.parts(job_id))
    pid = work.wait_for_start(job_id, "fold-2")
    first.kill()
    wait_for(lambda: not is_alive(pid))
    assert work.get(job_id).state == "running"
    marker.touch()
    house.worker()
    job = work.wait(job_id)
    assert (job.state, job.result) == ("succeeded", {"sum": 4, "version": 1})
    starts = [part for part, _ in work.diary(job_id)]
    assert starts.count("fold-1") == 1
    assert starts.count("fold-2") == 2
    assert versions(house.store, "kept") == [1]


def test_a_worker_that_is_killed_between_stages_is_followed_by_one_that_goes_on(work, house):
    first = house.worker()
    held, marker = work.hold(5)
    parts = {"first": ECHO | {"then": ["later"]}, "second": ECHO, "later": held}
    job_id = work.submit(parts, model="staged")
    work.wait_for_start(job_id, "later")
    first.kill()
    marker.touch()
    house.worker()
    job = work.wait(job_id)
    assert (job.state, job.result) == ("succeeded", {"sum": 7, "version": 1})
    starts = [part for part, _ in work.diary(job_id)]
    assert (starts.count("first"), starts.count("second"), starts.count("later")) == (1, 1, 2)


def test_sigterm_hands_the_work_over(work, house):
    first = house.worker()
    part, marker = work.hold()
    job_id = work.submit({"fit": part})
    pid = work.wait_for_start(job_id, "fit")
    first.kill(signal.SIGTERM)
    assert not is_alive(pid)
    with house.store.read() as session:
        assert first.id not in workers.known(session)
    assert work.get(job_id).state == "running"
    marker.touch()
    house.worker()
    assert work.wait(job_id).state == "succeeded"


@pytest.mark.parametrize("house", ["postgresql"], indirect=True)
def test_a_worker_that_is_dead_for_ever_is_replaced_by_another(work, house):
    first = house.worker()
    part, marker = work.hold()
    job_id = work.submit({"fold-1": ECHO, "fit": part})
    work.wait_for_start(job_id, "fit")
    second = house.another_worker()
    assert work.get(job_id).worker == first.id
    wait_for(lambda: "fold-1" in work.parts(job_id))
    killed_at = time.time()
    first.kill()
    again = {"message": "fit: started", "worker": second.id}
    started = wait_for(lambda: [event for event in work.events(job_id) if event.data == again])[0]
    marker.touch()
    job = work.wait(job_id)
    assert (job.state, job.worker) == ("succeeded", second.id)
    assert started.created_at - killed_at < DEAD_SECONDS + 5
    assert [part for part, _ in work.diary(job_id)].count("fold-1") == 1


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)  # a death for ever takes 15 s to be seen on PostgreSQL
def test_a_job_that_kills_its_worker_again_and_again_is_given_up(work, house):
    most = 2  # of the service's PART_RECOVERIES, each of which is the start of a process
    house.worker(recoveries=most)
    job_id = work.submit({"fit": {"do": "kill-worker"}})
    while work.get(job_id).state not in ("failed", "succeeded"):
        worker = house.worker(recoveries=most)
        wait_for(lambda worker=worker: not worker.is_alive or work.get(job_id).state == "failed")
    job = work.get(job_id)
    assert job.error["type"] == "engine"
    assert "fit" in job.error["detail"]
    assert len(work.diary(job_id)) == most + 1


def test_a_running_job_whose_workflow_is_lost_is_run_again(work, house):
    worker = house.worker()
    worker.kill()
    job_id = work.submit({"fit": ECHO})
    with house.store.begin() as session:
        jobs.set_state(session, job_id, "running", worker=worker.id)
    house.worker()
    assert work.wait(job_id).state == "succeeded"


def test_many_workers_may_start_the_same_job_which_runs_once(work, house):
    house.worker()
    if house.store.dialect == "postgresql":
        house.another_worker()
    ids = [work.submit({"fold-1": ECHO, "fit": ECHO}, model="raced") for _ in range(10)]
    results = [work.wait(job_id) for job_id in ids]
    assert {job.state for job in results} == {"succeeded"}
    assert sorted(job.result["version"] for job in results) == list(range(1, 11))
    assert sorted(versions(house.store, "raced")) == list(range(1, 11))
    assert all(len(work.diary(job_id)) == 2 for job_id in ids)


def test_a_deleted_job_is_forgotten_by_the_engine(work, house):
    house.worker()
    job_id = work.submit({"fit": spin(600)})
    pid = work.wait_for_start(job_id, "fit")
    work.cancel(job_id)
    work.wait(job_id)
    with house.store.begin() as session:
        jobs.delete(session, "default", job_id)
    wait_for(lambda: not is_alive(pid))
    assert work.wait(work.submit({"fit": ECHO})).state == "succeeded"
