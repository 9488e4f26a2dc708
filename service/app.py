"""The composition root of an API process: every part is made and joined here, nothing at import."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from service import logs
from service.front import Front
from service.metrics import Metrics
from service.operations import health
from service.operations.ingesting import Ingester
from service.operations.keys import Keyring, is_loopback
from service.operations.machine_code import MachineCode
from service.operations.serving import ChangeWatcher, Serving
from service.services import Services
from service.settings import Settings
from service.store import changes
from service.store.blobs import Blobs
from service.store.session import Store
from service.temporary import remove_abandoned
from service.web.authentication import Authentication
from service.web.gate import Gate, InFlight
from service.web.head import HeadAsGet
from service.web.heap import keep_freed_memory
from service.web.loading import Life, LoadedBeside
from service.web.long_answers import LongAnswers
from service.web.observing import Observer

#: So much a process reads into memory where the disk has no room for it.
_MEMORY_BYTES = 256 * 1024**2


def from_environment() -> ASGIApp:
    """The app as ``RULEWOOD_*`` variables say; what uvicorn calls in each API process."""
    logs.configure()
    keep_freed_memory()
    _end_with_parent()
    return create_app(Settings(), loaded=_keep_start)


def _keep_start(services: Services) -> None:
    """What a start makes stays as long as the process: no later collection need look at it."""
    gc.freeze()
    gc.enable()
    services.ingester.start()  # not sooner: the loading of the routes would wait for it


def _end_with_parent() -> None:
    """As one of several API processes, do not outlive the one that started them."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def create_app(settings: Settings, loaded: Callable[[Services], None] = lambda _: None) -> ASGIApp:
    """An API process.

    Connections are made when it starts and closed when it stops (ASGI lifespan).

    Args:
        settings: of the process.
        loaded: called with its parts once all of it is in memory.
    """
    services = make_services(settings)
    meanwhile = {"/health/live": health.live, "/health/ready": services.readiness.check}
    api = LoadedBeside(lambda: _load_api(services, loaded), _life_of(services), meanwhile)
    gate = Gate(HeadAsGet(api), settings.limits, services.in_flight)
    authentication = Authentication(gate, services.keyring)
    minimal = settings.error_detail == "minimal"
    return Front(Observer(authentication, minimal=minimal, observe=services.metrics.observe), services)


def _load_api(services: Services, loaded: Callable[[Services], None]) -> ASGIApp:
    from service.api import make_api  # FastAPI and all routes: not before the process answers predictions

    try:
        return make_api(services)
    finally:
        loaded(services)


def make_services(settings: Settings) -> Services:
    """The parts of an API process, not yet started."""
    settings.data.mkdir(parents=True, exist_ok=True)
    store = Store(settings.store_url)
    blobs = Blobs(store, settings.cache, settings.cache_bytes, memory_bytes=_MEMORY_BYTES)
    return Services(
        settings=settings,
        store=store,
        blobs=blobs,
        keyring=Keyring(loopback=is_loopback(settings.host)),
        serving=Serving(store, blobs),
        metrics=Metrics(settings.data / "metrics" if settings.workers > 1 else None),
        in_flight=InFlight(settings.limits.requests_in_flight),
        long_answers=LongAnswers(settings.limits.requests_in_flight, settings.limits.answer_seconds),
        ingester=Ingester(settings.limits),
        readiness=health.Readiness(store),
    )


def _life_of(services: Services) -> Life:
    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        services.keyring.load(services.store)
        remove_abandoned(services.settings.scratch)
        actions = {
            changes.REGISTRY: services.serving.catch_up,
            changes.KEYS: lambda: services.keyring.load(services.store),
        }
        machine_code = MachineCode(lambda: services.serving.models)

        def besides() -> None:
            services.metrics.publish()
            machine_code.look()

        watcher = ChangeWatcher(services.store, actions, besides=besides)
        watcher.start()
        try:
            yield
        finally:
            watcher.stop()
            services.ingester.close()
            services.store.dispose()

    return life
