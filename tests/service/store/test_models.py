"""Models: numbers of versions, aliases, archive, deletion."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from service import registry
from service.errors import Conflict, NotFound
from service.store import changes, models
from service.store.session import Store
from service.store.tables import Alias, Model, ModelVersion
from tests.service.store.making import SPAWN, WORKSPACE, count, make_blob, register, version_values


def test_numbers_are_never_given_twice(store: Store) -> None:
    for number in (1, 2, 3):
        assert register(store, "m", f"job_{number}").version == number
    with store.begin() as session:
        models.delete_version(session, models.get(session, WORKSPACE, "m"), 3)
    assert register(store, "m", "job_4").version == 4
    assert register(store, "other", "job_5").version == 1


def test_a_job_registers_once(store: Store) -> None:
    first = register(store, "m", "job_1")
    assert register(store, "m", "job_1").id == first.id
    assert register(store, "m", "job_2").version == 2
    assert count(store, ModelVersion) == 2


def test_a_failed_registration_leaves_no_gap(store: Store) -> None:
    blob = make_blob(store, b"model")
    with pytest.raises(RuntimeError), store.begin() as session:
        registry.register(session, WORKSPACE, "m", "job_1", **version_values(blob))
        raise RuntimeError
    assert count(store, Model) == 0
    assert register(store, "m", "job_2").version == 1


def _register_many(url: str, writer: int, blob: str) -> list[int]:
    store = Store(url, wait_seconds=60)
    numbers = []
    for number in range(5):
        with store.begin() as session:
            job_id = f"job_{writer}_{number}"
            numbers.append(registry.register(session, WORKSPACE, "m", job_id, **version_values(blob)).version)
    store.dispose()
    return numbers


def test_racing_threads_and_processes_number_without_gap_or_double(store: Store, database_url: str) -> None:
    blob = make_blob(store, b"model")
    with SPAWN.Pool(2) as processes, ThreadPoolExecutor(6) as threads:
        others = processes.starmap_async(_register_many, [(database_url, writer, blob) for writer in (0, 1)])
        mine = [threads.submit(_register_many, database_url, writer, blob) for writer in range(2, 8)]
        numbers = list(chain(*others.get(120), *(future.result() for future in mine)))
    assert sorted(numbers) == list(range(1, 41))
    with store.read() as session:
        assert changes.counters(session)["registry"] == 40


def test_racing_writers_of_one_job_register_one_version(store: Store) -> None:
    blob = make_blob(store, b"model")

    def write(_: int) -> str:
        with store.begin() as session:
            return registry.register(session, WORKSPACE, "m", "job_1", **version_values(blob), aliases=["a"]).id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(write, range(16)))) == 1
    assert register(store, "m", "job_2").version == 2


def test_aliases(store: Store) -> None:
    register(store, "m", "job_1", aliases=["champion", "first"])
    register(store, "m", "job_2", aliases=["champion"])
    with store.begin() as session:
        model = models.get(session, WORKSPACE, "m")
        assert models.aliases(session, model) == {"champion": 2, "first": 1}
        assert models.aliases_of(session, [model]) == {model.id: {"champion": 2, "first": 1}}
        before = changes.counters(session)["registry"]
        models.set_alias(session, model, "champion", 1)
        models.delete_alias(session, model, "first")
        assert models.aliases(session, model) == {"champion": 1}
        assert changes.counters(session)["registry"] == before + 2
        with pytest.raises(NotFound, match="no version 3"):
            models.set_alias(session, model, "champion", 3)
        with pytest.raises(NotFound, match="no alias"):
            models.delete_alias(session, model, "first")


def test_an_alias_is_always_one_of_its_versions(store: Store) -> None:
    """Movers race; a reader sees the alias at every instant."""
    for number in (1, 2):
        register(store, "m", f"job_{number}", aliases=["champion"])

    def move(number: int) -> None:
        for _ in range(5):
            with store.begin() as session:
                registry.move_alias(session, WORKSPACE, "m", "champion", number)

    with ThreadPoolExecutor(4) as pool:
        moving = [pool.submit(move, number) for number in (1, 2, 1, 2)]
        while not all(future.done() for future in moving):
            with store.read() as session:
                assert registry.resolve(session, WORKSPACE, "m@champion").version in (1, 2)
        for future in moving:
            future.result()
    assert count(store, Alias) == 1


def test_archive_and_delete_spare_what_an_alias_names(store: Store) -> None:
    register(store, "m", "job_1")
    register(store, "m", "job_2", aliases=["champion"])
    with store.begin() as session:
        model = models.get(session, WORKSPACE, "m")
        for refused in (models.archive, models.delete_version):
            with pytest.raises(Conflict, match="champion"):
                refused(session, model, 2)
        models.set_alias(session, model, "champion", 1)
        assert models.archive(session, model, 2).archived_at is not None
        assert models.latest(session, model).version == 1
        assert models.latest_of(session, [model])[model.id].version == 1
        with pytest.raises(Conflict, match="archived"):
            models.set_alias(session, model, "champion", 2)
        assert [version.version for version in models.versions(session, model)[0]] == [2, 1]
        with pytest.raises(Conflict, match="champion"):
            models.delete(session, model)
        models.delete(session, model, force="m")
    assert [count(store, table) for table in (Model, ModelVersion, Alias)] == [0, 0, 0]
    with pytest.raises(NotFound), store.begin() as session:
        models.set_alias(session, model, "champion", 1)


def test_notes_and_tags(store: Store) -> None:
    register(store, "m", "job_1", tags=["a", "b"], notes="first")
    register(store, "m", "job_2", tags=["b", "c"])
    with store.begin() as session:
        model = models.get(session, WORKSPACE, "m")
        assert model.tags == ["a", "b", "c"]
        assert models.version(session, model, 1).notes == "first"
        models.change(session, model, notes="all about m")
        models.change(session, model, tags=[])
    with store.read() as session:
        found, _ = models.page(session, WORKSPACE)
        assert [(model.name, model.notes, model.tags) for model in found] == [("m", "all about m", [])]
