"""A disk that is full for a while: jobs wait and go on; what was lost by other errors is begun anew."""

from __future__ import annotations

import errno
import sqlite3
import time

import pytest
from sqlalchemy import create_engine, event, text

from service.errors import StorageFull, Unavailable
from service.jobs import durable, lane, reaper, runner
from service.jobs.outcomes import describe
from service.jobs.reaper import RESTARTS
from service.jobs.runner import patiently
from service.worker import WORKFLOW_SCHEMA
from tests.service.jobs.conftest import versions, wait_for
from tests.service.jobs.test_engine import ECHO
from tests.service.jobs.worker_process import ENDLESS, FULL


def end_workflows(house, ids: list[str], status: str) -> None:
    """Change the state of workflows behind the worker's back."""
    if house.store.dialect == "sqlite":
        url, table = f"sqlite:///{house.folder / 'jobs.sqlite3'}", "workflow_status"
    else:
        url, table = house.url.replace("postgresql:", "postgresql+psycopg:"), f"{WORKFLOW_SCHEMA}.workflow_status"
    engine = create_engine(url)
    with engine.begin() as connection:
        for workflow_id in ids:
            statement = text(f"UPDATE {table} SET status = :status WHERE workflow_uuid = :id")
            assert connection.execute(statement, {"status": status, "id": workflow_id}).rowcount == 1
    engine.dispose()


@pytest.mark.parametrize("moment", ["before", "within", "between"])
def test_a_job_outlives_a_disk_that_is_full_for_a_while(work, house, moment):
    house.worker()
    full = house.folder / FULL
    held, marker = work.hold(2)
    parts = {"first": ECHO | {"then": ["later"]}, "fit": held, "later": ECHO}
    before = len(house.log())
    if moment == "before":
        full.touch()
    job_id = work.submit(parts, model=f"full-{moment}")
    if moment == "within":
        work.wait_for_start(job_id, "fit")
        full.touch()
        marker.touch()
    elif moment == "between":
        wait_for(lambda: "first" in work.parts(job_id))
        full.touch()
        marker.touch()
    wait_for(lambda: any(word in house.log()[before:] for word in ("full", "no space")))
    time.sleep(1.0)
    assert work.get(job_id).state in ("queued", "running")
    full.unlink()
    marker.touch()
    job = work.wait(job_id)
    assert (job.state, job.result["sum"]) == ("succeeded", 4)
    assert versions(house.store, f"full-{moment}") == [1]


def test_a_job_whose_workflow_ended_by_an_error_is_begun_anew(work, house):
    house.worker()
    held, marker = work.hold(2)
    job_id = work.submit({"first": ECHO, "fit": held}, model="anew")
    work.wait_for_start(job_id, "fit")
    wait_for(lambda: "first" in work.parts(job_id))
    end_workflows(house, [job_id], "ERROR")
    wait_for(lambda: len([part for part, _ in work.diary(job_id) if part == "fit"]) == 2)
    marker.touch()
    job = work.wait(job_id)
    assert (job.state, job.result) == ("succeeded", {"sum": 3, "version": 1})
    assert [part for part, _ in work.diary(job_id)].count("first") == 1
    assert any("begun anew" in str(one.data) for one in work.events(job_id))
    assert versions(house.store, "anew") == [1]


def test_a_job_is_begun_anew_when_a_part_of_it_ended_by_an_error(work, house):
    house.worker()
    held, marker = work.hold(2)
    job_id = work.submit({"fit": held})
    work.wait_for_start(job_id, "fit")
    end_workflows(house, [f"{job_id}:fit"], "ERROR")
    marker.touch()
    assert work.wait(job_id).state == "succeeded"


def test_what_a_worker_holds_and_does_not_run_is_begun_anew(work, house):
    house.worker()
    endless = house.folder / ENDLESS
    held, marker = work.hold(2)
    job_id = work.submit({"fit": held}, model="endless")
    work.wait_for_start(job_id, "fit")
    endless.touch()
    marker.touch()
    wait_for(lambda: "fit" in work.parts(job_id))
    wait_for(lambda: "the end cannot be stored" in house.log())
    endless.unlink()
    job = work.wait(job_id)
    assert (job.state, job.result) == ("succeeded", {"sum": 2, "version": 1})
    assert [part for part, _ in work.diary(job_id)] == ["fit"]
    assert "was lost and is begun anew" in house.log()


def test_steps_wait_for_room_as_for_a_locked_store(monkeypatch):
    monkeypatch.setattr(runner, "_PAUSE_SECONDS", 0.0)
    errors = [StorageFull("full"), Unavailable("locked"), StorageFull("full")]

    def step() -> str:
        if errors:
            raise errors.pop()
        return "done"

    assert patiently(step) == "done"
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(StorageFull):
        patiently(lambda: (_ for _ in ()).throw(StorageFull("full")))


def test_a_part_that_finds_no_room_is_tried_again_and_says_why_if_there_never_is():
    for error in (StorageFull("full"), OSError(errno.ENOSPC, "No space left on device")):
        outcome = describe(error)
        assert outcome.retry
        assert outcome.error.type == "storage-full"
    assert not describe(OSError(errno.EACCES, "Permission denied")).retry


def test_a_lane_waits_for_room_for_its_slot(tmp_path, monkeypatch):
    monkeypatch.setattr(lane, "FIRST_PAUSE_SECONDS", 0.0)
    full = [OSError(errno.ENOSPC, "No space left on device")] * 3
    make = lane.Slot

    def slot(path, *, create):
        if full:
            raise full.pop()
        return make(path, create=create)

    monkeypatch.setattr(lane, "Slot", slot)
    waiting = lane.Lane(0, None, lane.LaneOptions(None, None, 0, tmp_path))
    assert waiting._new_slot(tmp_path / "slot").read().pid == 0
    assert full == []


def test_a_file_that_is_full_is_a_lost_connection_to_the_library(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/file")
    event.listen(engine, "handle_error", durable.waits_for_the_file)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (x)"))
    for statement, is_lost in (("PRAGMA max_page_count = 2", True), ("SELECT * FROM nowhere", False)):
        with pytest.raises(Exception, match=r"full|no such table") as caught, engine.begin() as connection:
            connection.execute(text(statement))
            connection.execute(text("INSERT INTO t VALUES (zeroblob(100000))"))
        assert isinstance(caught.value.orig, sqlite3.OperationalError)
        assert caught.value.connection_invalidated == is_lost
    engine.dispose()


def test_a_job_that_always_ends_by_an_error_is_given_up_with_the_reason(work, house, monkeypatch):
    monkeypatch.setattr(reaper, "RESTART_PAUSE_SECONDS", 0.0)
    for _, worker in house._workers:
        worker.kill()
    begun = []
    monkeypatch.setattr(durable, "states", lambda ids: dict.fromkeys(ids, "ERROR"))
    monkeypatch.setattr(durable, "reason", lambda job_id: "part fit: it is broken")
    monkeypatch.setattr(durable, "start_anew", lambda workflows, job_id: begun.append(job_id))

    class Idle:
        def stop_job(self, job_id: str) -> None:
            assert job_id == submitted

    submitted = work.submit({"fit": ECHO})
    repairer = reaper.Repairer(house.store, None, Idle())
    for count in range(RESTARTS):
        repairer.repair()
        assert begun == [submitted] * (count + 1)
    assert work.get(submitted).state == "queued"
    repairer.repair()
    job = work.get(submitted)
    assert job.state == "failed"
    assert job.error["type"] == "engine"
    assert job.error["detail"].endswith("4 times: part fit: it is broken")
