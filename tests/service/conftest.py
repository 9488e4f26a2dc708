"""Fixtures of the service's tests: a running API on each database, and one shared by a module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.settings import Settings

if TYPE_CHECKING:
    from tests.service.running import Api


@pytest.fixture
def api(database_url: str, data_dir: Path) -> Iterator[Api]:
    """A service of its own for one test, on SQLite and then on PostgreSQL."""
    from tests.service.running import running

    with running(Settings(data=data_dir, database=database_url)) as found:
        yield found


@pytest.fixture(scope="module")
def shared_api(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Api]:
    """A service on SQLite for all tests of a module that do not mind each other."""
    from tests.service.running import running

    folder = tmp_path_factory.mktemp("shared")
    shutil.copy(migrated_sqlite, folder / "store.sqlite3")
    with running(Settings(data=folder)) as found:
        yield found
