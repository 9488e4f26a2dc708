"""Doing a queued job in the test's own process: what a worker does, without its processes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from learners.base import Progress, no_progress
from learners.checks.require import require_json
from service.operations import work
from service.operations.work.part import opened
from service.store import jobs
from service.store.session import Store
from tests.service.running import Api


def do_job(api: Api, job_id: str, *, parts: int | None = None, progress: Progress = no_progress) -> None:
    """Carry out a job's parts (or the first ``parts`` of them) and, if all are done, finish it."""
    store = Store(api.settings.store_url)
    try:
        with store.begin() as session:
            jobs.set_state(session, job_id, "running", worker="test")
            request = jobs.find(session, job_id).request
        done = 0
        while parts is None or done < parts:
            with store.read() as session:
                names = work.plan(request, partial(jobs.parts, session, job_id))
            if done == len(names):
                break
            _do_part(api, store, job_id, request, names[done], progress)
            done += 1
        if parts is None:
            with store.begin() as session:
                result = work.finish(session, jobs.find(session, job_id), jobs.parts(session, job_id))
                jobs.set_state(session, job_id, "succeeded", result=result)
    finally:
        _close_what_parts_opened(api)
        store.dispose()


def _do_part(api: Api, store: Store, job_id: str, request: dict[str, Any], part: str, progress: Progress) -> None:
    arguments = {
        "store": api.settings.store_url,
        "cache": str(api.settings.cache.absolute()),
        "cache_bytes": api.settings.cache_bytes,
        "error_detail": api.settings.error_detail,
        "job_id": job_id,
        "workspace": "default",
        "request": request,
        "part": part,
    }
    result = work.run_part(arguments, progress)
    require_json(result, "the result of a part")
    with store.begin() as session:
        jobs.put_part(session, job_id, part, json.loads(json.dumps(result)))


def _close_what_parts_opened(api: Api) -> None:
    """A part's process ends with its store; this one goes on, and an open connection would be a warning."""
    settings = api.settings
    found, _ = opened(settings.store_url, str(settings.cache.absolute()), settings.cache_bytes)
    found.dispose()
    opened.cache_clear()


def train(api: Api, dataset: str, *, target: str, name: str = "model", **more: Any) -> dict[str, Any]:
    """Train and register a model; returns the job as it ended."""
    request = {
        "kind": "train",
        "dataset": dataset,
        "target": target,
        "learner": "decision-tree-classifier",
        "model": {"name": name},
        **more,
    }
    made = api.post("/api/v1/jobs", json=request)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    return ended
