"""A bench on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.operations.work.bench import Bench


@pytest.fixture
def bench(database_url: str, data_dir: Path) -> Iterator[Bench]:
    """A store of its own for one test."""
    made = Bench(database_url, data_dir)
    yield made
    made.close()
