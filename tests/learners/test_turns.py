"""Processes take turns, and none waits for one that is gone."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from learners._turns import tell_waiting, telling, turn

ROOT = Path(__file__).resolve().parents[2]
_HOLDER = """
import sys
from pathlib import Path
from learners._turns import telling, turn
with telling(lambda: print("waits", flush=True)), turn(Path(sys.argv[1]), sys.argv[2]):
    print("works", flush=True)
    sys.stdin.readline()
"""


def holder(folder: Path, work: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _HOLDER, str(folder), work]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_second_waits_for_the_first_however_it_ends_and_other_work_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    first = holder(folder, "a")
    assert said(first) == "works"
    second, other = holder(folder, "a"), holder(folder, "b")
    assert said(other) == "works"
    assert said(second) == "waits"
    first.kill()
    assert said(second) == "works"
    for process, ended in ((first, -9), (second, 0), (other, 0)):
        with process:
            process.communicate("")
        assert process.returncode == ended


def test_a_turn_within_the_same_turn_and_one_where_no_file_can_be(tmp_path: Path) -> None:
    with turn(tmp_path, "a"), turn(tmp_path, "a"), turn(tmp_path, "b"):
        pass
    (tmp_path / "file").touch()
    with turn(tmp_path / "file" / "folder", "a"):
        assert (tmp_path / "file").is_file()


def test_compiling_in_a_thread_of_the_learner_is_told_too() -> None:
    told: list[str] = []
    with telling(lambda: told.append("outer")), telling(lambda: told.append("inner")):
        thread = threading.Thread(target=tell_waiting)
        thread.start()
        thread.join()
    tell_waiting()
    assert told == ["inner"]
