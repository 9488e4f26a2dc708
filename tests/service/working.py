"""Doing a queued job in the test's own process: what a worker does, without its processes."""

from __future__ import annotations

from typing import Any

from service.operations import training
from service.store import jobs
from service.store.session import Store
from tests.service.running import Api


def do_job(api: Api, job_id: str, *, parts: int | None = None) -> None:
    """Carry out a job's parts (or the first ``parts`` of them) and, if all are done, finish it."""
    store = Store(api.settings.store_url)
    try:
        with store.begin() as session:
            jobs.set_state(session, job_id, "running", worker="test")
            request = jobs.find(session, job_id).request
        for part in training.plan(request)[:parts]:
            arguments = {
                "store": api.settings.store_url,
                "cache": str(api.settings.cache.absolute()),
                "cache_bytes": api.settings.cache_bytes,
                "request": request,
                "part": part,
            }
            result = training.run_part(arguments, lambda share, message: None)
            with store.begin() as session:
                jobs.put_part(session, job_id, part, result)
        if parts is None:
            with store.begin() as session:
                result = training.finish(session, jobs.find(session, job_id), jobs.parts(session, job_id))
                jobs.set_state(session, job_id, "succeeded", result=result)
    finally:
        training._opened(api.settings.store_url, str(api.settings.cache.absolute()), api.settings.cache_bytes)[
            0
        ].dispose()
        training._opened.cache_clear()
        store.dispose()


def _close_what_parts_opened(api: Api) -> None:
    """A part's process ends with its store; this one goes on, and an open connection would be a warning."""
    settings = api.settings
    opened, _ = training._opened(settings.store_url, str(settings.cache.absolute()), settings.cache_bytes)
    opened.dispose()
    training._opened.cache_clear()


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
