"""An app behind a socket, in the process of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp


@contextmanager
def served_app(app: ASGIApp, lifespan: Any, protocol: Any = "httptools") -> Iterator[httpx.Client]:
    """The app behind a socket of its own."""
    config = uvicorn.Config(
        app,
        port=0,
        log_config=None,
        access_log=False,
        lifespan=lifespan,
        http=protocol,
        ws="none",
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        yield client
    server.should_exit = True
    thread.join(timeout=20)
