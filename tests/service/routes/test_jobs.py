"""Jobs over HTTP: submission, idempotency, listing, events, cancellation, retry, deletion."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from service.client import Rulewood
from service.store import jobs, workers
from service.store.session import Store
from service.store.tables import Job
from tests.service.running import Api, problem
from tests.service.working import do_job
from tests.shared import table_path


@pytest.fixture
def dataset(api: Api) -> str:
    return uploaded(api)


def uploaded(api: Api) -> str:
    made: str = api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    return made


def request(dataset: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "kind": "train",
        "dataset": dataset,
        "target": "class",
        "learner": "decision-tree-classifier",
        "model": {"name": "iris"},
    }
    return {name: value for name, value in {**plain, **changes}.items() if value is not None}


def test_a_job_is_kept_and_shown_with_every_default(api: Api, dataset: str) -> None:
    answer = api.post("/api/v1/jobs", json=request(dataset, seed=3))
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == f"/api/v1/jobs/{job['id']}"
    assert (job["state"], job["progress"], job["parts"], job["result"]) == ("queued", 0.0, [], None)
    assert job["request"]["seed"] == 3
    assert job["request"]["evaluation"]["method"] == "none"
    assert job["request"]["features"] == ["sepallength", "sepalwidth", "petallength", "petalwidth"]
    assert api.get(answer.headers["location"]).json() == job


def test_parts_show_as_they_come_and_the_result_at_the_end(api: Api, dataset: str) -> None:
    cross = request(dataset, kind="cross-validate", model=None, evaluation={"method": "k-fold", "folds": 3})
    job = api.post("/api/v1/jobs", json=cross).json()["id"]
    do_job(api, job, parts=2)
    half = api.get(f"/api/v1/jobs/{job}").json()
    assert half["state"] == "running"
    assert [part["part"] for part in half["parts"]] == ["fold-1", "fold-2"]
    do_job(api, job)
    done = api.get(f"/api/v1/jobs/{job}").json()
    assert done["state"] == "succeeded"
    assert done["result"]["evaluation"]["metrics"]["accuracy"]["mean"] > 0.9
    assert done["started_at"] <= done["finished_at"]


def test_the_same_key_finds_the_same_job(api: Api, dataset: str) -> None:
    headers = {"Idempotency-Key": "key-1"}
    first = api.post("/api/v1/jobs", json=request(dataset), headers=headers)
    again = api.post("/api/v1/jobs", json=request(dataset), headers=headers)
    assert first.json() == again.json()
    refused = problem(api.post("/api/v1/jobs", json=request(dataset, seed=5), headers=headers), 409)
    assert refused["errors"][0]["parameter"] == "Idempotency-Key"
    assert len(api.get("/api/v1/jobs").json()["items"]) == 1
    twice = [("Idempotency-Key", "key-1"), ("Idempotency-Key", "key-3")]
    refused = problem(api.post("/api/v1/jobs", json=request(dataset), headers=twice), 422)
    assert refused["errors"][0]["parameter"] == "Idempotency-Key"
    assert "given 2 times" in refused["detail"]
    unlike = api.post("/api/v1/jobs", json=request(dataset), headers={"Idempotency-Key": "key-2"})
    assert unlike.json()["id"] != first.json()["id"]


def test_many_submissions_at_once_with_one_key_make_one_job(api: Api, dataset: str) -> None:
    found: list[str] = []

    def submit() -> None:
        with Rulewood(api.address) as client:
            found.append(client.submit(request(dataset), idempotency_key="at-once")["id"])

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_queued_job_tells_what_it_waits_for(api: Api, dataset: str) -> None:
    first, second = (api.post("/api/v1/jobs", json=request(dataset)).json()["id"] for _ in range(2))

    def messages() -> list[str]:
        listed = {job["id"]: job["message"] for job in api.get("/api/v1/jobs").json()["items"]}
        shown = [api.get(f"/api/v1/jobs/{job_id}").json()["message"] for job_id in (first, second)]
        assert [listed[first], listed[second]] == shown
        return shown

    assert messages() == ["waiting for a worker", "waiting for a worker"]
    store = Store(api.settings.store_url)
    with store.begin() as session:
        workers.beat(session, "test", "host", 1)
    assert messages() == ["about to start", "waiting for other jobs"]
    with store.begin() as session:
        jobs.set_state(session, first, "running", worker="test")
        jobs.set_progress(session, first, 0.5, "fit: working")
    assert messages() == ["fit: working", "waiting for other jobs"]
    with store.begin() as session:
        jobs.set_state(session, first, "failed", error={"type": "internal", "detail": "lost"})
    store.dispose()
    assert messages()[1] == "about to start"


def test_lists_filter_by_state_and_kind(api: Api, dataset: str) -> None:
    made = [api.post("/api/v1/jobs", json=request(dataset, seed=seed)).json()["id"] for seed in range(3)]
    api.post(f"/api/v1/jobs/{made[0]}/cancel")
    listed = api.get("/api/v1/jobs", params={"state": "queued", "kind": "train"}).json()["items"]
    assert [job["id"] for job in listed] == [made[2], made[1]]
    assert api.get("/api/v1/jobs", params={"kind": "cross-validate"}).json()["items"] == []
    problem(api.get("/api/v1/jobs", params={"state": "sleeping"}), 422)


def test_cancel_retry_and_delete(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    problem(api.post(f"/api/v1/jobs/{job}/retry"), 409)
    problem(api.delete(f"/api/v1/jobs/{job}"), 409)
    cancelled = api.post(f"/api/v1/jobs/{job}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    asked_again = api.post(f"/api/v1/jobs/{job}/cancel")
    assert (asked_again.status_code, asked_again.json()) == (200, cancelled.json())
    again = api.post(f"/api/v1/jobs/{job}/retry")
    assert again.status_code == 202
    assert again.json()["retry_of"] == job
    assert again.json()["state"] == "queued"
    assert again.json()["request"] == cancelled.json()["request"]
    assert api.post(f"/api/v1/jobs/{job}/retry").json()["id"] == again.json()["id"]
    assert len(api.get("/api/v1/jobs").json()["items"]) == 2
    api.post(f"/api/v1/jobs/{again.json()['id']}/cancel")
    third = api.post(f"/api/v1/jobs/{job}/retry").json()
    assert third["id"] != again.json()["id"]
    assert api.post(f"/api/v1/jobs/{job}/retry").json()["id"] == third["id"]
    assert api.delete(f"/api/v1/jobs/{job}").status_code == 204
    problem(api.get(f"/api/v1/jobs/{job}"), 404)
    for method, path in [("POST", "cancel"), ("POST", "retry"), ("GET", "events")]:
        problem(api.request(method, f"/api/v1/jobs/{job}/{path}"), 404)


def test_a_job_that_succeeded_is_neither_cancelled_nor_tried_again(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    do_job(api, job)
    refused = problem(api.post(f"/api/v1/jobs/{job}/retry"), 409)
    assert "succeeded; only a job that failed or was cancelled" in refused["detail"]
    assert refused["errors"][0]["allowed"] == ["failed", "cancelled"]
    refused = problem(api.post(f"/api/v1/jobs/{job}/cancel"), 409)
    assert refused["errors"][0]["allowed"] == ["queued", "running", "cancelled"]
    assert api.get(f"/api/v1/jobs/{job}").json()["state"] == "succeeded"
    assert [version["version"] for version in api.get("/api/v1/models/iris/versions").json()["items"]] == [1]


def test_a_job_that_failed_is_tried_again(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    store = Store(api.settings.store_url)
    with store.begin() as session:
        jobs.set_state(session, job, "failed", error={"type": "data", "detail": "the disk was full"})
    store.dispose()
    assert api.post(f"/api/v1/jobs/{job}/retry").json()["retry_of"] == job


@pytest.mark.parametrize(
    ("kind", "evaluation"),
    [
        ("train", {"method": "k-fold", "folds": 3, "repeats": 2}),
        ("train", {"method": "hold-out", "fraction": 0.5, "stratified": False}),
        ("cross-validate", {"method": "leave-one-out"}),
        ("cross-validate", {"method": "k-fold", "groups": "petalwidth", "folds": 3}),
        ("cross-validate", {"method": "hold-out", "time": "petalwidth"}),
    ],
)
def test_a_request_tried_again_is_the_same(api: Api, dataset: str, kind: str, evaluation: dict[str, Any]) -> None:
    model = {"name": "iris", "aliases": ["best"], "tags": ["a"]} if kind == "train" else None
    sent = request(dataset, kind=kind, evaluation=evaluation, model=model, weights="petallength")
    made = api.post("/api/v1/jobs", json=sent)
    assert made.status_code == 202, made.text
    api.post(f"/api/v1/jobs/{made.json()['id']}/cancel")
    again = api.post(f"/api/v1/jobs/{made.json()['id']}/retry")
    assert again.status_code == 202, again.text
    assert again.json()["request"] == made.json()["request"]


def test_a_stored_request_that_is_no_longer_allowed_is_refused_by_name(api: Api, dataset: str) -> None:
    """As an earlier version may have stored it: a parameter that is gone, another that is too large now, no seed."""
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    api.post(f"/api/v1/jobs/{job}/cancel")
    store = Store(api.settings.store_url)

    def store_request(parameters: dict[str, Any]) -> None:
        with store.begin() as session:
            found = session.get_one(Job, job)
            kept = {name: value for name, value in found.request.items() if name != "seed"}
            found.request = kept | {"parameters": parameters}

    store_request({"min_leaves": 3, "max_depth": 0.5})
    refused = problem(api.post(f"/api/v1/jobs/{job}/retry"), 422)
    assert [one["parameter"] for one in refused["errors"]] == ["parameters.min_leaves", "parameters.max_depth"]
    assert len(api.get("/api/v1/jobs").json()["items"]) == 1
    store_request({"max_depth": 2})
    again = api.post(f"/api/v1/jobs/{job}/retry").json()
    store.dispose()
    assert (again["request"]["parameters"], again["request"]["seed"]) == ({"max_depth": 2}, 0)
    do_job(api, again["id"])
    assert api.get(f"/api/v1/jobs/{again['id']}").json()["state"] == "succeeded"


def test_a_running_job_is_marked_for_its_worker(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    store = Store(api.settings.store_url)
    with store.begin() as session:
        jobs.set_state(session, job, "running", worker="w")
    for _ in range(2):  # it is yet to be stopped
        asked = api.post(f"/api/v1/jobs/{job}/cancel")
        assert (asked.status_code, asked.json()["state"]) == (202, "running")
    with store.read() as session:
        assert jobs.cancel_requested_ids(session) == [job]
    store.dispose()


def test_events_come_as_they_happen_and_end_with_the_job(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    events: list[dict[str, Any]] = []

    def follow() -> None:
        with Rulewood(api.address) as client:
            events.extend(client.events(job))

    follower = threading.Thread(target=follow)
    follower.start()
    while not events and follower.is_alive():
        time.sleep(0.02)
    do_job(api, job)
    follower.join(timeout=30)
    assert not follower.is_alive()
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    states = [event["data"]["state"] for event in events if event["event"] == "state"]
    assert states == ["queued", "running", "succeeded"]
    assert {"part": "fit"}.items() <= next(e for e in events if e["event"] == "part")["data"].items()


def test_a_stream_goes_on_after_the_event_last_seen(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    do_job(api, job)
    with Rulewood(api.address) as client:
        everything = list(client.events(job))
        assert list(client.events(job, after=2)) == everything[2:]
        assert list(client.events(job, after=10**9)) == []
    raw = api.get(f"/api/v1/jobs/{job}/events", headers={"Last-Event-ID": "1"})
    assert raw.headers["content-type"].startswith("text/event-stream")
    assert raw.text.startswith("retry:")
    problem(api.get(f"/api/v1/jobs/{job}/events", headers={"Last-Event-ID": "x"}), 422)


def test_a_failed_job_is_shown_with_its_reason(api: Api, dataset: str) -> None:
    job = api.post("/api/v1/jobs", json=request(dataset)).json()["id"]
    store = Store(api.settings.store_url)
    with store.begin() as session:
        jobs.set_state(session, job, "failed", error={"type": "data", "detail": "column x is empty"})
    store.dispose()
    shown = api.get(f"/api/v1/jobs/{job}")
    assert shown.json()["error"]["detail"] == "column x is empty"
    json.loads(shown.text, parse_constant=pytest.fail)
