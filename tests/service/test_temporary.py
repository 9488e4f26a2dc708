"""Temporary folders: whose they are, and that none outlives its owner by more than one start."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from service.client import Rulewood
from service.temporary import TemporaryFolder, remove_abandoned, temporary_folder
from tests.service.jobs.conftest import wait_for

ROOT = Path(__file__).parents[2]
OWNER = """
import sys, time
from pathlib import Path
from typing import Any
from service.temporary import TemporaryFolder
folder = TemporaryFolder(Path(sys.argv[1]), "owner")
(folder.path / "file").write_text("x")
print(folder.path, flush=True)
time.sleep(600)
"""


@contextmanager
def owner(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(parent)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_folder_lasts_as_long_as_its_context(tmp_path: Path) -> None:
    with temporary_folder(tmp_path / "scratch", "some") as folder:
        assert folder.name.startswith(f"some-{os.getpid()}-")
        (folder / "deep").mkdir()
        assert remove_abandoned(tmp_path / "scratch") == 0
        assert folder.is_dir()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert remove_abandoned(tmp_path / "nowhere") == 0


def test_only_folders_of_the_dead_are_removed(tmp_path: Path) -> None:
    other = tmp_path / "of-somebody-else.txt"
    other.write_text("a file is no temporary folder")
    with owner(tmp_path) as (killed, left), owner(tmp_path) as (_, used):
        assert remove_abandoned(tmp_path) == 0
        killed.kill()
        killed.wait()
        assert remove_abandoned(tmp_path, "another") == 0
        assert remove_abandoned(tmp_path) == 1
        assert not left.exists()
        assert (used / "file").read_text() == "x"
    assert other.exists()


def test_making_and_removing_at_once_never_takes_a_folder_from_its_maker(tmp_path: Path) -> None:
    finished = threading.Event()

    def remove() -> None:
        while not finished.is_set():
            remove_abandoned(tmp_path)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for number in range(300):
            folder = TemporaryFolder(tmp_path, "made")
            (folder.path / "file").write_text(str(number))
            assert (folder.path / "file").read_text() == str(number)
            folder.close()
    finally:
        finished.set()
        remover.join()


@contextmanager
def service(data: Path, temporary: Path) -> Iterator[str]:
    """A service with its worker, ended by kill -9 of all its processes."""
    program = "from service.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--data", str(data), "--processes", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RULEWOOD_")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment | {"TMPDIR": str(temporary)}
    )
    assert process.stdout is not None
    try:
        address = next(word for word in process.stdout.readline().split() if word.startswith("http"))
        with Rulewood(address) as client:
            wait_for(client.is_ready)
        yield address
    finally:
        root = psutil.Process(process.pid)
        for one in [root, *root.children(recursive=True)]:
            one.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_service_leaves_nothing_that_the_next_one_does_not_remove(
    tmp_path: Path, migrated_sqlite: Path
) -> None:
    data, temporary = tmp_path / "data", tmp_path / "tmp"
    data.mkdir()
    temporary.mkdir()
    shutil.copy(migrated_sqlite, data / "store.sqlite3")

    def purposes() -> set[str]:
        return {path.name.partition("-")[0] for path in (data / "scratch").glob("*")}

    with service(data, temporary) as address:
        with Rulewood(address) as client:
            client.upload(b"x,y\n1,a\n2,b\n")
        place = urlsplit(address)
        half_sent = socket.create_connection((str(place.hostname), int(place.port or 0)))
        half_sent.sendall(b"POST /api/v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nx,y\n1,")
        wait_for(lambda: purposes() == {"ahead", "upload", "worker"})
    half_sent.close()  # only now, when all processes are killed
    left = set((data / "scratch").iterdir())
    assert {path.name.partition("-")[0] for path in left} == {"ahead", "upload", "worker"}
    with service(data, temporary):
        assert not left & set((data / "scratch").iterdir())
    assert list(temporary.iterdir()) == []


def test_a_service_of_a_killed_demonstration_ends_with_it(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from pathlib import Path\n"
        "from service.demo.road import started_service\n"
        f"with started_service(Path({str(tmp_path)!r})) as address:\n"
        "    print(address, flush=True)\n"
        "    time.sleep(600)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert starter.stdout is not None
    assert starter.stdout.readline().startswith("http")
    started = psutil.Process(starter.pid).children(recursive=True)
    assert len(started) >= 2  # the service and its worker
    starter.kill()
    starter.wait()
    starter.stdout.close()
    wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in started))


def test_without_a_descriptor_left_no_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*arguments: Any, **named: Any) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("service.temporary.os.open", none_left)
        with pytest.raises(OSError, match="Too many open files"):
            TemporaryFolder(tmp_path, "upload")
    assert list(tmp_path.iterdir()) == []
