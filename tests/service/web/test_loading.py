"""While the app is being loaded, health checks and predictions are answered, and everything else waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from service import api, app
from service.services import Services
from service.settings import Settings
from service.store.session import Store
from service.web.loading import LoadedBeside
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

ROW = {"outlook": "sunny", "temperature": 70, "humidity": 80, "windy": "FALSE"}
ADDRESS = "/api/v1/models/loading/predictions"


@pytest.fixture
def let(shared_api: Api, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What lets the loading of an app go on."""
    assert shared_api.get("/api/v1/learners").status_code == 200  # its own app is loaded
    go_on = threading.Event()
    make = api.make_api

    def wait_and_make(services: Services) -> Any:
        assert go_on.wait(30)
        return make(services)

    monkeypatch.setattr(api, "make_api", wait_and_make)
    return go_on


@asynccontextmanager
async def started(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app whose parts are ready, without a server between."""
    made: Any = app.create_app(settings)
    made.services.keyring.load(made.services.store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(made), base_url="http://localhost") as client:
        yield client


def test_health_checks_say_the_same_before_and_after(shared_api: Api, let: threading.Event) -> None:
    async def ask() -> list[tuple[int, str, bytes]]:
        async with started(shared_api.settings) as client:
            paths = ("/health/live", "/health/ready")
            answers = [await client.get(path) for path in paths]
            let.set()
            assert (await client.get("/api/v1/learners")).status_code == 200
            answers += [await client.get(path) for path in paths]
        return [(answer.status_code, answer.headers["content-type"], answer.content) for answer in answers]

    live, ready, *after = asyncio.run(ask())
    assert [live, ready] == after
    assert live[0] == ready[0] == 200


def test_a_request_waits_for_the_app(shared_api: Api, let: threading.Event) -> None:
    async def ask() -> int:
        async with started(shared_api.settings) as client:
            waiting = asyncio.create_task(client.get("/api/v1/learners"))
            assert (await client.get("/health/ready")).status_code == 200
            assert not waiting.done()
            let.set()
            return (await waiting).status_code

    assert asyncio.run(ask()) == 200


def test_predictions_do_not_wait(shared_api: Api, let: threading.Event) -> None:
    uploaded = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="loading").json()
    train(shared_api, uploaded["id"], target="play", name="loading")

    async def ask() -> tuple[httpx.Response, httpx.Response]:
        async with started(shared_api.settings) as client:
            at_once = await client.post(ADDRESS, json={"rows": [ROW]})
            unknown = asyncio.create_task(client.post("/api/v1/models/nothing/predictions", json={"rows": [ROW]}))
            let.set()
            return at_once, await unknown

    at_once, unknown = asyncio.run(ask())
    assert at_once.status_code == 200
    assert at_once.content == shared_api.post(ADDRESS, json={"rows": [ROW]}).content
    assert "nothing" in problem(unknown, 404)["detail"]


def test_a_store_that_is_not_current_is_told_while_loading(tmp_path: Any, let: threading.Event) -> None:
    settings = Settings(data=tmp_path)
    Store(settings.store_url).upgrade()

    async def ask() -> httpx.Response:
        async with started(settings) as client:
            with Store(settings.store_url).begin() as session:
                session.connection().exec_driver_sql("UPDATE alembic_version SET version_num = 'another'")
            return await client.get("/health/ready")

    problem(asyncio.run(ask()), 503)


@pytest.mark.parametrize("stage", ["startup", "shutdown"])
def test_a_start_or_end_that_fails_is_told_to_the_server(stage: str) -> None:
    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        if stage == "startup":
            raise OSError("no room")
        yield
        raise OSError("no room")

    def never() -> ASGIApp:
        raise AssertionError

    sent: list[Any] = []

    async def run() -> None:
        async def receive() -> dict[str, str]:
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            sent.append(message)

        await LoadedBeside(never, life, {})({"type": "lifespan"}, receive, send)

    with pytest.raises(OSError, match="no room"):
        asyncio.run(run())
    assert sent[-1] == {"type": f"lifespan.{stage}.failed", "message": "OSError: no room"}
