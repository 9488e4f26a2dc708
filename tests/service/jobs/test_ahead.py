"""What is prepared beside the pool: told by files, once, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from service.jobs.ahead import Ahead
from tests.service.jobs.tasks import never_ready, soon_ready


def wait_for(path: Path, seconds: float = 60.0) -> bool:
    give_up_at = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return path.exists()


def test_word_is_there_when_it_is_done_and_gone_with_its_owner(tmp_path: Path) -> None:
    ahead = Ahead(soon_ready, tmp_path)
    assert not list(ahead.done.iterdir())
    ahead.start()
    assert wait_for(ahead.done / "second")
    assert (ahead.done / "first").exists()
    ahead.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("begun", [False, True])
def test_it_can_be_ended_before(tmp_path: Path, begun: bool) -> None:
    ahead = Ahead(never_ready, tmp_path)
    if begun:
        ahead.start()
        time.sleep(1.0)
    ahead.close()
    assert not ahead.done.exists()
