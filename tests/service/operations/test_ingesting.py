"""Reading in a child process: what a dying child means."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.errors import Invalid, Unavailable
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


def test_no_process_at_all_is_told_as_such(ingester: Ingester, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError

    with monkeypatch.context() as patched:
        patched.setattr("service.operations.reading_process.subprocess.Popen", refuse)
        with pytest.raises(Unavailable, match="No process could be started"):
            ingester._call(os.getpid)
    with monkeypatch.context() as patched:
        patched.setattr("service.operations.reading_process._PROGRAM", "raise SystemExit(3)")
        with pytest.raises(Unavailable, match="No process could be started"):
            ingester._call(os.getpid)
    assert ingester._call(os.getpid) != os.getpid()


def test_the_first_file_is_read_by_the_process_started_ahead(ingester: Ingester) -> None:
    ingester.start()
    (process,) = ingester._idle
    ingester.start()
    assert ingester._idle == [process]
    assert ingester._call(os.getpid) == process.pid


def test_a_process_is_replaced_once_its_successor_is_ready(ingester: Ingester) -> None:
    used = {ingester._call(os.getpid) for _ in range(50)}
    successor, process = ingester._idle
    assert used == {process.pid}
    while process.is_alive:
        assert ingester._call(os.getpid) == process.pid  # nobody waits for the successor
    assert successor.is_ready
    assert ingester._idle == [successor]
    assert ingester._call(os.getpid) == successor.pid


def wait_for(came: Path, mark: Path) -> int:
    with came.open("a") as file:
        file.write("large\n")
    while not mark.exists():
        time.sleep(0.01)
    return os.getpid()


def test_a_small_file_is_read_beside_a_large_one_and_never_two_large_ones(ingester: Ingester, tmp_path: Path) -> None:
    came, mark = tmp_path / "came", tmp_path / "mark"
    with ThreadPoolExecutor() as callers:
        large = [callers.submit(ingester._call, wait_for, came, mark, is_large=True) for _ in range(2)]
        while not came.exists():
            time.sleep(0.01)
        small = {ingester._call(os.getpid) for _ in range(20)}
        assert came.read_text() == "large\n"
        mark.touch()
        assert small.isdisjoint(one.result() for one in large)
    assert came.read_text() == "large\n" * 2
    assert len(ingester._idle) == 2


def test_the_size_of_a_file_tells_its_lane(ingester: Ingester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    monkeypatch.setattr(ingester, "_call", lambda *_, is_large: told.append(is_large))
    for n_bytes in (4 << 20, (4 << 20) + 1):
        (tmp_path / "file").write_bytes(bytes(n_bytes))
        ingester.read(tmp_path / "file", {}, tmp_path / "out", filename=None, content_type=None)
        ingester.relate(tmp_path / "file", [], "y")
    assert told == [False, False, True, True]


def test_a_reading_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    slow = Ingester(Limits(job_seconds=3.0))
    try:
        with pytest.raises(Invalid, match="longer than 3 s"):
            slow._call(wait_for, tmp_path / "came", tmp_path / "mark")
        assert slow._call(os.getpid) != os.getpid()
    finally:
        slow.close()


def test_a_closed_ingester_leaves_no_process(ingester: Ingester, tmp_path: Path) -> None:
    came, mark = tmp_path / "came", tmp_path / "mark"
    with ThreadPoolExecutor() as callers:
        call = callers.submit(ingester._call, wait_for, came, mark, is_large=True)
        while not came.exists():
            time.sleep(0.01)
        processes = [*ingester._idle, *ingester._busy]
        ingester.close()
        with pytest.raises(Unavailable):
            call.result()
    assert len(processes) == 2
    assert not any(process.is_alive for process in processes)


def test_the_process_that_asks_loads_no_parser(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from service.operations.ingesting import Ingester
from service.settings import Limits
path = Path(sys.argv[1])
path.write_text("x,y\\n1,a\\n2,b\\n")
ingester = Ingester(Limits())
read = ingester.read(path, {}, path.with_suffix(".table"), filename="t.csv", content_type=None)
ingester.close()
print(read.n_rows, [name for name in ("pyarrow", "pebble", "scipy") if name in sys.modules])
"""
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.csv")], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "2 []", said.stderr


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    code = """
import os, sys, time
from service.operations.reading_process import ReadingProcess
process = ReadingProcess("json")
process.call(os.getpid, (), 60.0)
print(process.pid, flush=True)
os._exit(0)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    process = Path("/proc") / said.stdout.strip()
    while process.exists() and "Z" not in (process / "stat").read_text().split()[2]:
        time.sleep(0.05)


def test_what_cannot_be_sent_back_is_an_error(ingester: Ingester) -> None:
    with pytest.raises(RuntimeError, match="pickle"):
        ingester._call(make_lambda)
    assert ingester._call(os.getpid) != os.getpid()


def make_lambda() -> object:
    return lambda: None


def test_an_error_of_the_reading_itself_comes_through(ingester: Ingester) -> None:
    with pytest.raises(RuntimeError, match="of its own") as caught:
        ingester._call(fail)
    assert "in fail" in caught.value.__notes__[0]


def fail() -> None:
    raise RuntimeError("of its own")
