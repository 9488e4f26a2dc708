"""Models in memory: references, moves, room, and a store that is gone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from learners.catalog import dump_model
from learners.trees.classifier import DecisionTreeClassifier
from service import registry
from service.errors import NotFound, Unavailable
from service.operations.served import ServedModel
from service.operations.serving import ChangeWatcher, Serving
from service.store import changes, models
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.operations.serving_models import mixed_classifier, mixed_table

WORKSPACE = "default"


@pytest.fixture
def blobs(store: Store, tmp_path: Path) -> Blobs:
    return Blobs(store, tmp_path / "cache", 1 << 30)


@pytest.fixture
def serving(store: Store, blobs: Blobs) -> Serving:
    return Serving(store, blobs)


def register(store: Store, blobs: Blobs, job: str, name: str = "model", **options: Any) -> None:
    """A version whose tree has another depth for every job."""
    depth = int(job.removeprefix("job_"))
    sha256 = blobs.put_bytes(dump_model(DecisionTreeClassifier(max_depth=depth).fit(*mixed_table())))
    values = {"learner": "decision-tree-classifier", "task": "classification", "parameters": {}}
    values |= {"schema": {"missing_tokens": ["", "?"]}, "lineage": {}, "metrics": {}}
    with store.begin() as session:
        registry.register(session, WORKSPACE, name, job, dataset_id=None, blob_sha256=sha256, **values, **options)


def test_a_reference_is_resolved_once_and_then_known(store: Store, blobs: Blobs, serving: Serving) -> None:
    register(store, blobs, "job_1", aliases=["champion"])
    assert serving.known(WORKSPACE, "model") is None
    found = {reference: serving.get(WORKSPACE, reference) for reference in ("model", "model:1", "model@champion")}
    assert len(set(map(id, found.values()))) == 1
    assert serving.known(WORKSPACE, "model@champion") is found["model"]
    assert found["model"].inputs.missing_tokens == {"", "?"}
    assert serving.n_models == 1
    assert serving.n_bytes > 0


def test_what_is_not_there_is_not_found(store: Store, blobs: Blobs, serving: Serving) -> None:
    register(store, blobs, "job_1")
    for reference in ("other", "model:2", "model@nobody", "", "a b", "model:", "@x"):
        with pytest.raises(NotFound):
            serving.get(WORKSPACE, reference)
    with pytest.raises(NotFound):
        serving.get("elsewhere", "model")


def test_an_alias_move_and_a_new_version_are_followed(store: Store, blobs: Blobs, serving: Serving) -> None:
    register(store, blobs, "job_1", aliases=["champion"])
    watcher = ChangeWatcher(store, {changes.REGISTRY: serving.catch_up})
    assert serving.get(WORKSPACE, "model@champion").identity.version == 1
    assert serving.get(WORKSPACE, "model").identity.version == 1
    register(store, blobs, "job_2")
    watcher.look()
    assert [_version(serving, reference) for reference in ("model", "model@champion", "model:1")] == [2, 1, None]
    with store.begin() as session:
        registry.move_alias(session, WORKSPACE, "model", "champion", 2)
    watcher.look()
    assert _version(serving, "model@champion") == 2


def test_a_deleted_version_has_another_fingerprint_than_its_successor(
    store: Store, blobs: Blobs, serving: Serving
) -> None:
    register(store, blobs, "job_1")
    first = serving.get(WORKSPACE, "model:1").identity
    with store.begin() as session:
        models.delete(session, models.get(session, WORKSPACE, "model"))
    serving.catch_up()
    register(store, blobs, "job_2")
    second = serving.get(WORKSPACE, "model:1").identity
    assert (first.name, first.version) == (second.name, second.version)
    assert first.fingerprint != second.fingerprint


def _version(serving: Serving, reference: str) -> int | None:
    model = serving.known(WORKSPACE, reference)
    return None if model is None else model.identity.version


def test_a_move_is_seen_by_the_running_watcher_within_a_second(store: Store, blobs: Blobs, serving: Serving) -> None:
    register(store, blobs, "job_1", aliases=["champion"])
    register(store, blobs, "job_2")
    serving.get(WORKSPACE, "model@champion")
    watcher = ChangeWatcher(store, {changes.REGISTRY: serving.catch_up}, interval=0.05)
    watcher.start()
    try:
        with store.begin() as session:
            registry.move_alias(session, WORKSPACE, "model", "champion", 2)
        for _ in range(400):
            if _version(serving, "model@champion") == 2:
                break
            time.sleep(0.05)
        assert _version(serving, "model@champion") == 2
    finally:
        watcher.stop()


def test_many_threads_load_a_model_once(store: Store, blobs: Blobs, serving: Serving) -> None:
    register(store, blobs, "job_1")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: serving.get(WORKSPACE, "model"), range(16)))
    assert len(set(map(id, found))) == 1


def test_the_least_recently_used_gives_way(store: Store, blobs: Blobs) -> None:
    for number in (1, 2, 3):
        register(store, blobs, f"job_{number}")
    sizes = [Serving(store, blobs).get(WORKSPACE, f"model:{number}").size for number in (1, 2, 3)]
    serving = Serving(store, blobs, max_bytes=sizes[0] + sizes[2])
    serving.get(WORKSPACE, "model:1")
    serving.get(WORKSPACE, "model:2")
    serving.known(WORKSPACE, "model:1")
    serving.get(WORKSPACE, "model:3")
    assert serving.known(WORKSPACE, "model:2") is None
    assert _version(serving, "model:1") == 1
    assert serving.n_models == 2


def test_a_store_that_is_gone_leaves_what_is_known(
    store: Store, blobs: Blobs, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(store, blobs, "job_1")
    model = serving.get(WORKSPACE, "model")

    @contextmanager
    def gone() -> Iterator[None]:
        raise Unavailable("gone")
        yield

    monkeypatch.setattr(store, "read", gone)
    seen: list[int] = []
    watcher = ChangeWatcher(store, {changes.REGISTRY: serving.catch_up}, interval=0.01, besides=lambda: seen.append(1))
    watcher.start()
    while len(seen) < 3:
        time.sleep(0.01)
    watcher.stop()
    assert serving.known(WORKSPACE, "model") is model


def test_a_change_whose_following_failed_is_followed_at_the_next_look(store: Store) -> None:
    told: list[bool] = []

    def follow() -> None:
        told.append(True)
        if len(told) == 1:
            raise Unavailable("just now not")

    watcher = ChangeWatcher(store, {"registry": follow})
    with pytest.raises(Unavailable):
        watcher.look()
    watcher.look()
    watcher.look()
    assert len(told) == 2


def test_no_request_however_large_loads_the_compiler(tmp_path: Path) -> None:
    """So a serving process stays small, and nobody waits while kernels are compiled."""
    path = tmp_path / "model"
    path.write_bytes(dump_model(mixed_classifier().learner))
    program = """
import json, sys
from pathlib import Path
from learners.catalog import load_model
from learners.persist import load_file
from tests.service.operations.serving_models import Options, general, serve

model = serve(load_model(load_file(Path(sys.argv[1]))))
row = {"size": 1.5, "a:b": None, "colour": "blue", "grade": "low", "on": True, "zip": "other"}
body = json.dumps({"rows": [row, row | {"a:b": 2}] * 400}).encode()
for options in (Options(), Options(explain=True)):
    assert len(json.loads(general(model, body, options))["predictions"]) == 800
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, cwd=Path(__file__).parents[3])


def test_whoever_catches_up_waits_for_a_refresh_in_work(
    store: Store, blobs: Blobs, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(store, blobs, "job_1")
    serving.get(WORKSPACE, "model")
    register(store, blobs, "job_2")
    began, go_on = threading.Event(), threading.Event()
    resolve = serving._resolve

    def slowly(workspace: str, reference: str) -> ServedModel:
        began.set()
        go_on.wait(30)
        return resolve(workspace, reference)

    monkeypatch.setattr(serving, "_resolve", slowly)
    with ThreadPoolExecutor(2) as pool:
        watching = pool.submit(serving.catch_up)
        assert began.wait(30)
        told = pool.submit(serving.catch_up)
        time.sleep(0.2)
        assert not told.done()
        go_on.set()
        told.result(30)
        assert _version(serving, "model") == 2
        watching.result(30)


def test_what_a_slow_thread_read_before_a_move_is_not_put_back(
    store: Store, blobs: Blobs, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(store, blobs, "job_1")
    read, go_on = threading.Event(), threading.Event()
    load = serving._load
    slow = threading.Event()

    def slowly(*version: Any) -> ServedModel:
        if not slow.is_set():
            slow.set()
            read.set()
            go_on.wait(30)
        return load(*version)

    monkeypatch.setattr(serving, "_load", slowly)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(serving.get, WORKSPACE, "model")
        assert read.wait(30)
        register(store, blobs, "job_2")
        serving.catch_up()
        assert serving.get(WORKSPACE, "model").identity.version == 2
        versions = []
        put = serving._references

        class Watched(dict[tuple[str, str], Any]):
            def __setitem__(self, key: tuple[str, str], resolved: Any) -> None:
                versions.append(resolved.model.identity.version)
                super().__setitem__(key, resolved)

        serving._references = Watched(put)
        go_on.set()
        assert asked.result(30).identity.version == 2
    assert versions == [2]
