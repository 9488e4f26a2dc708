"""A service in this process behind a real socket: what the tests of HTTP talk to."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from service.app import create_app
from service.operations.ingesting import Ingester
from service.settings import Limits, Settings
from service.store.session import Store
from service.web.protocol import ProblemProtocol


class Unhandled(logging.Handler):
    """Collects what the service logs as a defect of its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(logging.Formatter().format(record))


class KeptIngester(Ingester):
    """The reading process of all services of a test run: starting one for each takes longer than the tests."""

    def close(self) -> None:
        """Leave it to the end of the run."""

    def end(self) -> None:
        super().close()


_ingester = KeptIngester(Limits())
atexit.register(_ingester.end)


class Api(httpx.Client):
    """An HTTP client of a running service that knows its parts too."""

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__(base_url=address, trust_env=False, timeout=60)
        self.address = address
        self.settings = settings

    def upload(self, content: bytes | str, **query: Any) -> httpx.Response:
        data = content.encode() if isinstance(content, str) else content
        return self.post("/api/v1/datasets", params=query, content=data)

    def counts(self) -> dict[str, int]:
        """Rows of every table: what "the store is as it was" means."""
        from sqlalchemy import func, select

        from service.store.tables import Base

        store = Store(self.settings.store_url)
        try:
            with store.read() as session:
                tables = Base.metadata.sorted_tables
                return {table.name: session.scalar(select(func.count()).select_from(table)) or 0 for table in tables}
        finally:
            store.dispose()


@contextmanager
def running(settings: Settings) -> Iterator[Api]:
    """A service with these settings; fails at its end if it logged an unhandled exception."""
    unhandled = Unhandled()
    logging.getLogger("rulewood").addHandler(unhandled)
    app: Any = create_app(settings)
    if settings.limits == Limits():
        app.services.ingester = _ingester
    config = uvicorn.Config(
        app,
        port=0,
        http=ProblemProtocol,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the service did not start"
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        with Api(f"http://127.0.0.1:{port}", settings) as api:
            yield api
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        logging.getLogger("rulewood").removeHandler(unhandled)
    assert not unhandled.records, "\n".join(unhandled.records)


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document of a refusal, checked to be one."""
    assert response.status_code == status, response.text[:2000]
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= set(document)
    assert document["status"] == status
    assert document["type"].startswith("https://rulewood.dev/problems/")
    assert document["request_id"] == response.headers["x-request-id"]
    assert "NaN" not in str(document.get("value", ""))
    assert "Traceback" not in response.text
    return document
