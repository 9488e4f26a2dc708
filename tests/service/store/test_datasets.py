"""Datasets: pages, what needs them, deletion."""

from __future__ import annotations

import pytest

from service import registry
from service.errors import BadRequest, Conflict, Invalid, NotFound
from service.store import datasets, jobs
from service.store.paging import encode_cursor
from service.store.session import Store
from tests.service.store.making import WORKSPACE, make_dataset, make_job, register


def test_pages_hold_every_dataset_once_newest_first(store: Store) -> None:
    made = [make_dataset(store, name=f"d{number % 2}").id for number in range(7)]
    found, cursor, sizes = [], None, []
    while True:
        with store.read() as session:
            items, cursor = datasets.page(session, WORKSPACE, cursor=cursor, limit=3)
        found += [item.id for item in items]
        sizes.append(len(items))
        make_dataset(store, name="later")  # does not shift the pages that follow
        if cursor is None:
            break
    assert (found, sizes) == (made[::-1], [3, 3, 1])
    with store.read() as session:
        assert len(datasets.page(session, WORKSPACE, name="d0")[0]) == 4
        assert datasets.page(session, "other") == ([], None)


def test_rows_of_the_same_instant_are_paged_by_id(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.datasets.time.time", lambda: 1234.5)
    made = {make_dataset(store).id for _ in range(5)}
    with store.read() as session:
        first, cursor = datasets.page(session, WORKSPACE, limit=2)
        second, cursor = datasets.page(session, WORKSPACE, limit=2, cursor=cursor)
        third, cursor = datasets.page(session, WORKSPACE, limit=2, cursor=cursor)
    assert cursor is None
    ids = [row.id for row in [*first, *second, *third]]
    assert (len(ids), set(ids)) == (5, made)


NO_CURSORS = ["", "x", "!!!!", "bnVsbA", "WzEsMl0", "\ud800", "é", "W" * 300, encode_cursor(float("nan"), "a")]


def test_a_made_up_cursor_is_a_bad_request(store: Store) -> None:
    for cursor in NO_CURSORS:
        with pytest.raises(BadRequest) as caught, store.read() as session:
            datasets.page(session, WORKSPACE, cursor=cursor)
        assert caught.value.faults[0].parameter == "cursor"


def test_get_and_delete(store: Store) -> None:
    made = make_dataset(store)
    with pytest.raises(NotFound), store.begin() as session:
        datasets.delete(session, "other", made.id)
    with store.begin() as session:
        assert datasets.get(session, WORKSPACE, made.id).name == "flowers"
        datasets.delete(session, WORKSPACE, made.id)
    with pytest.raises(NotFound), store.read() as session:
        datasets.get(session, WORKSPACE, made.id)


def test_a_dataset_that_is_needed_is_deleted_only_by_name(store: Store) -> None:
    made = make_dataset(store)
    ended, waiting, running = make_job(store, made), make_job(store, made), make_job(store, made)
    with store.begin() as session:
        jobs.set_state(session, ended.id, "failed", error={"type": "invalid"})
        jobs.set_state(session, running.id, "running", worker="w")
    version = register(store, "m", ended.id, made.id)
    with store.read() as session:
        needed = datasets.references(session, made.id)
    assert (needed.versions, sorted(needed.jobs)) == (["m:1"], sorted([waiting.id, running.id]))

    with pytest.raises(Conflict) as caught, store.begin() as session:
        datasets.delete(session, WORKSPACE, made.id)
    assert "m:1" in caught.value.faults[0].message
    assert caught.value.extra == {"needed_by": 3}
    with pytest.raises(Invalid), store.begin() as session:
        datasets.delete(session, WORKSPACE, made.id, force="flower")

    with store.begin() as session:
        datasets.delete(session, WORKSPACE, made.id, force="flowers")
    with store.read() as session:
        kept = registry.resolve(session, WORKSPACE, "m:1")
        assert (kept.id, kept.dataset_id, kept.lineage) == (version.id, None, {"dataset": made.id})
        assert jobs.get(session, WORKSPACE, ended.id).dataset_id is None
        assert jobs.get(session, WORKSPACE, waiting.id).state == "cancelled"
        assert jobs.get(session, WORKSPACE, running.id).cancel_requested


def test_a_version_of_a_deleted_dataset_is_registered_without_the_link(store: Store) -> None:
    made = make_dataset(store)
    with store.begin() as session:
        datasets.delete(session, WORKSPACE, made.id)
    assert register(store, "m", "job_1", made.id).dataset_id is None


def test_a_dataset_needs_its_blobs(store: Store) -> None:
    with pytest.raises(Conflict):
        make_dataset(store, raw_sha256="0" * 64)
