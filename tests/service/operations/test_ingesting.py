"""Reading in a child process: what a dying child means."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.errors import Invalid
from service.operations.ingesting import Ingester
from service.settings import Limits


@pytest.fixture
def ingester() -> Iterator[Ingester]:
    made = Ingester(Limits())
    yield made
    made.close()


def die_once(mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "read"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_reader_is_replaced_and_the_file_read_again(ingester: Ingester, tmp_path: Path) -> None:
    assert ingester._call(die_once, tmp_path / "mark") == "read"


def test_a_file_that_breaks_the_reader_each_time_is_refused(ingester: Ingester) -> None:
    with pytest.raises(Invalid, match="broke the reading process 3 times"):
        ingester._call(die)
    assert ingester._call(os.getpid) != os.getpid()


def test_a_reader_killed_while_it_waits_is_replaced(ingester: Ingester) -> None:
    for _ in range(3):
        os.kill(ingester._call(os.getpid), signal.SIGKILL)
    assert ingester._call(os.getpid) != os.getpid()


def test_a_pool_that_broke_is_built_anew(ingester: Ingester) -> None:
    ingester._call(os.getpid)
    ingester._pool.stop()
    ingester._pool.join()
    assert ingester._call(os.getpid) != os.getpid()


def test_an_error_of_the_reading_itself_comes_through(ingester: Ingester) -> None:
    with pytest.raises(RuntimeError, match="of its own"):
        ingester._call(fail)


def fail() -> None:
    raise RuntimeError("of its own")
