"""The composition root of an API process: every part is made and joined here, nothing at import."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.types import ASGIApp

from service import logs
from service.deps import Services
from service.front import Front
from service.metrics import Metrics
from service.operations.ingesting import Ingester
from service.operations.keys import Keyring, is_loopback
from service.operations.serving import ChangeWatcher, Serving
from service.routes import (
    comparisons,
    datasets,
    docs,
    jobs,
    keys,
    learners,
    metrics,
    models,
    operations,
    predictions,
    reasons,
    rules,
    trees,
)
from service.settings import Settings
from service.store import changes
from service.store.blobs import Blobs
from service.store.session import Store
from service.temporary import remove_abandoned
from service.web.authentication import Authentication
from service.web.gate import Gate, InFlight
from service.web.heap import keep_freed_memory
from service.web.observing import Observer
from service.web.openapi import install_document
from service.web.strict_routes import install_error_handlers

_ROUTERS = (
    datasets,
    learners,
    jobs,
    models,
    comparisons,
    predictions,
    reasons,
    rules,
    trees,
    keys,
    operations,
    metrics,
    docs,
)


def from_environment() -> ASGIApp:
    """The app as ``RULEWOOD_*`` variables say; what uvicorn calls in each API process."""
    logs.configure()
    keep_freed_memory()
    _end_with_parent()
    app = create_app(Settings())
    # What a start makes stays as long as the process: no later collection need look at it.
    gc.freeze()
    gc.enable()
    return app


def _end_with_parent() -> None:
    """As one of several API processes, do not outlive the one that started them."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def create_app(settings: Settings) -> ASGIApp:
    """An API process.

    Connections are made when it starts and closed when it stops (ASGI lifespan).
    """
    services = make_services(settings)
    app = FastAPI(
        title="Rulewood",
        version=version("rulewood"),
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(services),
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.services = services
    install_error_handlers(app)
    install_document(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    minimal = settings.error_detail == "minimal"
    gate = Gate(app, settings.limits, services.in_flight)
    authentication = Authentication(gate, services.keyring)
    return Front(Observer(authentication, minimal=minimal, observe=services.metrics.observe), services)


def make_services(settings: Settings) -> Services:
    """The parts of an API process, not yet started."""
    settings.data.mkdir(parents=True, exist_ok=True)
    store = Store(settings.store_url)
    blobs = Blobs(store, settings.cache, settings.cache_bytes)
    return Services(
        settings=settings,
        store=store,
        blobs=blobs,
        keyring=Keyring(loopback=is_loopback(settings.host)),
        serving=Serving(store, blobs),
        metrics=Metrics(settings.data / "metrics" if settings.workers > 1 else None),
        in_flight=InFlight(settings.limits.requests_in_flight),
        ingester=Ingester(settings.limits),
    )


def _lifespan(services: Services) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        services.keyring.load(services.store)
        remove_abandoned(services.settings.scratch)
        actions = {
            changes.REGISTRY: services.serving.refresh,
            changes.KEYS: lambda counter: services.keyring.load(services.store),
        }
        watcher = ChangeWatcher(services.store, actions, besides=services.metrics.publish)
        watcher.start()
        try:
            yield
        finally:
            watcher.stop()
            services.ingester.close()
            services.store.dispose()

    return life
