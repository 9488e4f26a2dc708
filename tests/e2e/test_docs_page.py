"""The documentation page in a real browser without a network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings import Settings
from tests.service.running import Api, running

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
#: Whatever is asked of other machines fails.
LOCAL_ONLY = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed here (Debian: apt-get install chromium), so the page was not opened")
    return found


@pytest.fixture
def api(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Api]:
    shutil.copy(migrated_sqlite, tmp_path / "store.sqlite3")
    with running(Settings(data=tmp_path)) as found:
        yield found


def test_the_page_shows_every_operation_and_asks_nobody_else(api: Api, browser: str) -> None:
    from playwright.sync_api import sync_playwright

    asked_for: list[str] = []
    complaints: list[str] = []
    document = api.get("/openapi.json").json()
    n_operations = sum(len(item) for item in document["paths"].values())
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=LOCAL_ONLY)
        page = opened.new_page()
        page.on("request", lambda asked: asked_for.append(asked.url))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{api.address}/docs")
        page.wait_for_selector(".opblock")
        assert page.locator(".opblock").count() == n_operations
        assert "Rulewood" in page.title()
        page.locator("#operations-jobs-submitJob .opblock-summary").first.click()
        page.wait_for_selector("#operations-jobs-submitJob .opblock-body")
        assert "application/problem+json" in page.locator("#operations-jobs-submitJob").inner_text()
        opened.close()
    assert len(asked_for) >= 5
    assert [url for url in asked_for if not url.startswith((f"{api.address}/", "data:"))] == []
    assert complaints == []


def test_its_files_come_from_here(api: Api) -> None:
    page = api.get("/docs")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert not re.search(r"https?://|//cdn", page.text)
    for name in re.findall(r'(?:src|href)="(docs/[^"]+)"', page.text):
        assert api.get(f"/{name}").status_code == 200, name
