"""The worker process and its supervisor: one per SQLite store, dies with its parent, comes back when killed."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading

import pytest

from service import worker
from service.settings import Settings
from service.supervisor import WorkerSupervisor
from service.worker import AlreadyRunningError, engine_options, exclusive_lock, sqlite_folder
from tests.service.jobs.conftest import PATIENCE, is_alive, wait_for


def test_one_worker_at_a_time_holds_a_sqlite_store(tmp_path):
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    with exclusive_lock(url):
        refused = pytest.raises(AlreadyRunningError, match="another worker already runs on")
        with refused, exclusive_lock(url, patience=0.2):
            pass
        with exclusive_lock("postgresql://host/name"):
            pass
    with exclusive_lock(url):
        pass


def test_a_worker_beside_a_second_service_waits_to_take_the_place_of_the_first(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(worker, "_TELL_SECONDS", 0.0)
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    entered = threading.Event()

    def second():
        with exclusive_lock(url, patience=math.inf):
            entered.set()

    with caplog.at_level("INFO", logger="rulewood.worker"):
        waiting = threading.Thread(target=second)
        with exclusive_lock(url):
            waiting.start()
            wait_for(lambda: "waits to take its place" in caplog.text)
            assert not entered.is_set()
        waiting.join(timeout=PATIENCE)
    assert entered.is_set()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_workflows_lie_beside_the_store(tmp_path):
    alone = engine_options(Settings(data=tmp_path, processes=3))
    assert alone.workflows_url == f"sqlite:///{tmp_path}/jobs.sqlite3"
    assert alone.exclusive
    shared = engine_options(Settings(data=tmp_path, processes=3, database="postgresql://host/name"))
    assert (shared.workflows_url, shared.schema) == ("postgresql://host/name", "rulewood_jobs")
    assert not shared.exclusive
    assert sqlite_folder("postgresql://host/name") is None


def test_a_killed_worker_comes_back_and_a_stopped_one_does_not(tmp_path):
    supervisor = WorkerSupervisor(Settings(data=tmp_path, processes=1))
    supervisor.start()
    first = wait_for(lambda: supervisor.pid)
    os.kill(first, signal.SIGKILL)
    second = wait_for(lambda: supervisor.pid not in (None, first) and supervisor.pid)
    supervisor.stop()
    assert supervisor.pid is None
    assert not is_alive(second)


def test_a_worker_dies_with_its_parent(tmp_path):
    program = (
        "import sys, time\n"
        "from service.settings import Settings\n"
        "from service.supervisor import WorkerSupervisor\n"
        f"supervisor = WorkerSupervisor(Settings(data={str(tmp_path)!r}, processes=1))\n"
        "supervisor.start()\n"
        "while supervisor.pid is None:\n"
        "    time.sleep(0.01)\n"
        "print(supervisor.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait(timeout=PATIENCE)
    parent.stdout.close()
    wait_for(lambda: not is_alive(pid))


def test_what_the_engines_library_logs_is_json_without_wanted_cancellations():
    program = (
        "import logging\n"
        "from service import logs\n"
        "logs.configure()\n"
        "from dbos._error import DBOSAwaitedWorkflowCancelledError, DBOSWorkflowCancelledError\n"
        "from dbos._logger import dbos_logger, init_logger\n"
        "from service.jobs.durable import tells_more_than_a_cancellation\n"
        "init_logger()\n"
        "dbos_logger.addFilter(tells_more_than_a_cancellation)\n"
        "for error in (DBOSWorkflowCancelledError('job_1'), DBOSAwaitedWorkflowCancelledError('job_1')):\n"
        "    dbos_logger.error('cancelled', exc_info=error)\n"
        "dbos_logger.error('lost', exc_info=ValueError('why'))\n"
    )
    logged = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
    (line,) = (json.loads(line) for line in logged.splitlines())
    assert (line["logger"], line["level"], line["message"]) == ("dbos", "error", "lost")
    assert "ValueError: why" in line["trace"]
