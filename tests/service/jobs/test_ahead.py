"""What is prepared beside the pool: told by files, once, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from service.jobs.ahead import Ahead
from tests.service.jobs.conftest import wait_for
from tests.service.jobs.tasks import never_ready, soon_ready


def test_word_is_there_when_it_is_done_and_gone_with_its_owner(tmp_path: Path) -> None:
    ahead = Ahead(soon_ready, tmp_path)
    assert not list(ahead.done.iterdir())
    ahead.start()
    wait_for((ahead.done / "second").exists)
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
