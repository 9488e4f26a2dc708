"""A worker as the service runs it, but with the small parts of :mod:`tests.service.jobs.tasks`."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading

from service.jobs import workflows
from service.jobs.engine import Engine
from service.jobs.runner import Work
from service.settings import Settings
from service.store.session import Store
from service.worker import engine_options, exclusive_lock
from tests.service.jobs import tasks


def main():
    settings = Settings.model_validate_json(sys.stdin.read())
    workflows.PART_RECOVERIES = int(sys.argv[1])
    logging.basicConfig(level=logging.INFO)
    faulthandler.register(signal.SIGUSR1)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    with exclusive_lock(settings.store_url):
        store = Store(settings.store_url)
        work = Work(tasks.plan, tasks.expected, tasks.finish, {})
        engine = Engine(store, work, tasks.perform_part, engine_options(settings))
        engine.start()
        sys.stdout.write(f"ready {engine.worker_id}\n")
        sys.stdout.flush()
        stopping.wait()
        engine.hand_over()
        os._exit(0)
