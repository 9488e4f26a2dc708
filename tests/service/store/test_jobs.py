"""Jobs: moves among states, idempotency, parts, events."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from service.errors import Conflict, Invalid, NotFound
from service.jobs.states import TRANSITIONS, JobState
from service.store import datasets, jobs
from service.store.session import Store
from service.store.tables import Job, JobEvent, JobPart
from tests.service.store.making import WORKSPACE, count, make_dataset, make_job

ROADS = {"queued": [], "running": ["running"], "succeeded": ["running", "succeeded"]}
ROADS |= {"failed": ["failed"], "cancelled": ["cancelled"]}


def test_the_store_allows_the_moves_that_the_states_declare() -> None:
    declared = {(str(before), str(after)) for before, following in TRANSITIONS.items() for after in following}
    assert {(before, after) for after, sources in jobs.SOURCES.items() for before in sources} == declared
    assert {str(state) for state in JobState if state.is_final} == set(jobs.FINAL)


@pytest.mark.parametrize("before", ROADS)
def test_only_allowed_moves_happen(store: Store, before: str) -> None:
    data = make_dataset(store)
    for after in jobs.SOURCES:
        job_id = make_job(store, data).id
        with store.begin() as session:
            for state in ROADS[before]:
                assert jobs.set_state(session, job_id, state)
            moved = jobs.set_state(session, job_id, after)
        with store.read() as session:
            job = jobs.get(session, WORKSPACE, job_id)
        assert moved == (before in jobs.SOURCES[after])
        assert job.state == (after if moved else before)
        assert (job.finished_at is not None) == (job.state in jobs.FINAL)


def test_a_state_that_does_not_exist_is_an_error_of_the_caller(store: Store) -> None:
    with pytest.raises(KeyError), store.begin() as session:
        jobs.set_state(session, "job_none", "paused")


def test_what_a_job_becomes(store: Store) -> None:
    job_id = make_job(store, make_dataset(store)).id
    with store.begin() as session:
        assert not jobs.set_progress(session, job_id, 0.1, "too early")
        jobs.set_state(session, job_id, "running", worker="w1")
        assert jobs.set_progress(session, job_id, 0.5, "half")
        assert jobs.put_part(session, job_id, "fold-1", {"accuracy": 0.5})
        assert not jobs.put_part(session, job_id, "fold-1", {"accuracy": 0.9})
        assert jobs.put_part(session, job_id, "fold-2", {"accuracy": 0.6})
        assert not jobs.put_part(session, "job_none", "fold-1", {})
        assert jobs.set_state(session, job_id, "succeeded", result={"accuracy": 0.55})
        assert not jobs.set_state(session, job_id, "failed", error={"type": "late"})
        assert jobs.add_event(session, "job_none", "log", {}) is None
    with store.read() as session:
        job = jobs.get(session, WORKSPACE, job_id)
        assert (job.state, job.worker, job.progress) == ("succeeded", "w1", 1.0)
        assert (job.result, job.error) == ({"accuracy": 0.55}, None)
        assert job.created_at <= job.started_at <= job.finished_at
        assert jobs.parts(session, job_id) == {"fold-1": {"accuracy": 0.5}, "fold-2": {"accuracy": 0.6}}
        assert jobs.count_parts(session, job_id) == 2
        assert jobs.has_part(session, job_id, "fold-2")
        assert not jobs.has_part(session, job_id, "fit")
        events = jobs.events_after(session, job_id)
        assert [event.position for event in events] == [1, 2, 3, 4, 5, 6]
        assert [event.kind for event in events] == ["state", "state", "progress", "part", "part", "state"]
        assert [event.position for event in jobs.events_after(session, job_id, 4)] == [5, 6]
        assert [event.position for event in jobs.events_after(session, job_id, 1, limit=2)] == [2, 3]


def test_lists(store: Store) -> None:
    data = make_dataset(store)
    waiting, running, failed = (make_job(store, data).id for _ in range(3))
    with store.begin() as session:
        jobs.set_state(session, running, "running")
        jobs.set_state(session, failed, "failed", error={"type": "x"})
        assert jobs.queued_ids(session) == [waiting]
        assert jobs.unfinished_ids(session) == [waiting, running]
        assert jobs.final_ids(session, [waiting, running, failed, "job_none"]) == sorted([failed, "job_none"])
        assert jobs.final_ids(session, []) == []
        assert jobs.cancel_requested_ids(session) == []
        jobs.request_cancel(session, WORKSPACE, running)
        assert jobs.cancel_requested_ids(session) == [running]
        assert jobs.unfinished(session, running).id == running
        assert jobs.unfinished(session, failed) is None
        assert [job.id for job in jobs.page(session, WORKSPACE, state="failed")[0]] == [failed]
        assert [job.id for job in jobs.page(session, WORKSPACE, kind="train")[0]] == [failed, running, waiting]
        assert jobs.page(session, WORKSPACE, kind="cross-validate") == ([], None)


def test_cancelling(store: Store) -> None:
    data = make_dataset(store)
    waiting, running = make_job(store, data).id, make_job(store, data).id
    with store.begin() as session:
        jobs.set_state(session, running, "running")
        assert jobs.request_cancel(session, WORKSPACE, waiting).state == "cancelled"
        assert jobs.request_cancel(session, WORKSPACE, waiting).state == "cancelled"
        marked = jobs.request_cancel(session, WORKSPACE, running)
        assert (marked.state, marked.cancel_requested) == ("running", True)
        assert not jobs.set_state(session, waiting, "running")
    with pytest.raises(NotFound), store.begin() as session:
        jobs.request_cancel(session, "other", running)


def test_deleting(store: Store) -> None:
    job_id = make_job(store, make_dataset(store)).id
    with pytest.raises(Conflict, match="cancel it first"), store.begin() as session:
        jobs.delete(session, WORKSPACE, job_id)
    with store.begin() as session:
        jobs.set_state(session, job_id, "running")
        jobs.put_part(session, job_id, "fit", {})
        jobs.set_state(session, job_id, "cancelled")
        jobs.delete(session, WORKSPACE, job_id)
    assert [count(store, table) for table in (Job, JobPart, JobEvent)] == [0, 0, 0]


def test_the_same_key_and_request_give_the_same_job(store: Store) -> None:
    data = make_dataset(store)

    def submit(key: str | None, request: dict[str, object], workspace: str = WORKSPACE) -> tuple[str, bool]:
        with store.begin() as session:
            job, is_new = jobs.insert_or_get(session, workspace, "train", request, data.id, idempotency_key=key)
            return job.id, is_new

    first, is_new = submit("k", {"a": 1, "b": [2]})
    assert is_new
    assert submit("k", {"b": [2], "a": 1}) == (first, False)
    with pytest.raises(Conflict) as caught:
        submit("k", {"a": 2})
    assert caught.value.extra == {"job": first}
    assert submit(None, {"a": 1})[0] != submit(None, {"a": 1})[0]
    with store.begin() as session:  # a repeated request finds its job even if the data went meanwhile
        datasets.delete(session, WORKSPACE, data.id, force="flowers")
    assert submit("k", {"a": 1, "b": [2]}) == (first, False)


def test_a_job_needs_its_dataset(store: Store) -> None:
    data = make_dataset(store)
    for workspace, dataset_id in ((WORKSPACE, "ds_none"), ("other", data.id)):
        with pytest.raises(Invalid) as caught, store.begin() as session:
            jobs.insert_or_get(session, workspace, "train", {}, dataset_id)
        assert caught.value.faults[0].parameter == "dataset"


def test_racing_requests_with_one_key_make_one_job(store: Store) -> None:
    data = make_dataset(store)

    def submit(number: int) -> str:
        try:
            with store.begin() as session:
                request = {"same": number % 2}
                job, is_new = jobs.insert_or_get(session, WORKSPACE, "train", request, data.id, idempotency_key="k")
                return f"{job.id} {is_new}"
        except Conflict:
            return "conflict"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(submit, range(16)))
    assert count(store, Job) == 1
    assert answers.count("conflict") == 8
    assert sum(answer.endswith("True") for answer in answers) == 1
    assert len({answer.split()[0] for answer in answers}) == 2


def test_events_of_racing_writers_have_no_gap_and_are_seen_in_order(store: Store) -> None:
    job_id = make_job(store, make_dataset(store)).id

    def write(_: int) -> None:
        for number in range(5):
            with store.begin() as session:
                jobs.add_event(session, job_id, "log", {"number": number})

    seen: list[int] = []
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, number) for number in range(4)]
        while len(seen) < 21:
            with store.read() as session:
                seen += [event.position for event in jobs.events_after(session, job_id, seen[-1] if seen else 0)]
        for future in writing:
            future.result()
    assert seen == list(range(1, 22))
