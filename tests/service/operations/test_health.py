"""Readiness: what is told of a store that does not answer."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

import pytest

from service.errors import Unavailable
from service.operations.health import Readiness
from service.store.session import Store


def looks() -> int:
    return sum(thread.name == "readiness" for thread in threading.enumerate())


def test_a_database_that_is_silent_is_not_waited_for() -> None:
    """A server that has stopped takes connections, for the kernel does, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = Store(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none", wait_seconds=60)
        readiness = Readiness(store, seconds=0.1)
        before = looks()

        async def ask() -> list[BaseException | dict[str, object]]:
            return await asyncio.gather(*(readiness.check() for _ in range(5)), return_exceptions=True)

        for _ in range(2):
            for answer in asyncio.run(ask()):
                assert isinstance(answer, Unavailable)
                assert "did not answer within 0.1 s" in answer.detail
                assert int(answer.headers["Retry-After"]) > 0
        assert looks() == before + 1  # however often it is asked
        silent.accept()[0].close()
    for thread in [one for one in threading.enumerate() if one.name == "readiness"]:
        thread.join()
    with pytest.raises(Unavailable, match="cannot be reached"):
        asyncio.run(Readiness(store, seconds=60).check())


def test_a_store_that_answers_again_is_ready_again(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(database_url)
    readiness = Readiness(store, seconds=0.05)
    let = threading.Event()
    is_current = Store.is_current
    monkeypatch.setattr(Store, "is_current", lambda self: let.wait() and is_current(self))
    with pytest.raises(Unavailable):
        asyncio.run(readiness.check())
    let.set()
    assert asyncio.run(Readiness(store, seconds=60).check())["status"] == "ready"
    store.dispose()


def test_a_store_without_tables_is_told_at_once(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/empty.sqlite3")
    with pytest.raises(Unavailable, match="rulewood db upgrade"):
        asyncio.run(Readiness(store).check())
    store.dispose()
