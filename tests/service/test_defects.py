"""What a caller is told when the service itself is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.operations import learners
from service.settings import Settings
from service.store.session import Store
from tests.service.running import problem


def broken() -> None:
    raise RuntimeError("inside")


def test_a_defect_is_a_problem_document_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path)
    Store(settings.store_url).upgrade()
    app: Any = create_app(settings)
    monkeypatch.setattr(learners, "catalogue", broken)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.get("/api/v1/learners")

    app.services.keyring.replace([], any_made=False)  # the lifespan has not run, so the parts are as they were made
    answer = asyncio.run(ask())
    assert problem(answer, 500)["title"] == "The service failed"
    assert "inside" not in answer.text
    assert "inside" in caplog.text


def test_a_service_that_cannot_load_its_routes_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path)
    Store(settings.store_url).upgrade()
    monkeypatch.setattr("service.api.make_api", lambda services: broken())
    app: Any = create_app(settings)
    app.services.keyring.replace([], any_made=False)

    async def ask() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return [await client.get(path) for path in ("/api/v1/learners", "/health/ready", "/health/live")]

    for answer in asyncio.run(ask()):
        problem(answer, 500)
    assert "inside" in caplog.text
