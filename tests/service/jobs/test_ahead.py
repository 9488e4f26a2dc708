"""What is prepared beside the pool: told by files, once, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from service.jobs.ahead import Ahead
from tests.service.jobs.conftest import wait_for
from tests.service.jobs.tasks import never_ready, soon_ready


def test_word_is_there_when_it_is_done_and_gone_with_its_owner(tmp_path: Path) -> None:
    ahead = Ahead(soon_ready, has_second, tmp_path)
    assert not list(ahead.done.iterdir())
    ahead.start()
    wait_for((ahead.done / "second").exists)
    assert (ahead.done / "first").exists()
    ahead.close()
    assert not list(tmp_path.iterdir())


def test_where_word_lasts_it_is_done_once(tmp_path: Path) -> None:
    scratch, lasting = tmp_path / "scratch", tmp_path / "lasting"
    for folder in (scratch, lasting):
        folder.mkdir()
    first = Ahead(soon_ready, has_second, scratch, lasting)
    first.start()
    wait_for((lasting / "second").exists)
    first.close()
    (lasting / "first").unlink()
    second = Ahead(soon_ready, has_second, scratch, lasting)
    second.start()
    second.close()
    assert [path.name for path in lasting.iterdir()] == ["second"]
    assert not list(scratch.iterdir())


def has_second(done: Path) -> bool:
    return (done / "second").exists()


@pytest.mark.parametrize("begun", [False, True])
def test_it_can_be_ended_before(tmp_path: Path, begun: bool) -> None:
    ahead = Ahead(never_ready, has_second, tmp_path)
    if begun:
        ahead.start()
        time.sleep(1.0)
    ahead.close()
    assert not ahead.done.exists()
