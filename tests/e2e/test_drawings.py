"""Drawings of trees in a real browser without a network: 5, 50 and 500 leaves, on a wide window and on a phone."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from learners.types import Array
from service.settings import Settings
from tests.e2e.test_docs_page import LOCAL_ONLY, browser
from tests.service.running import Api, running
from tests.service.working import train
from tests.shared import table_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]

WINDOWS = {
    "wide": {"viewport": {"width": 1600, "height": 900}},
    "narrow": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
LEAVES = {"five": 5, "fifty": 50, "hundreds": 500}
#: Of each node: its box, the texts and the bars in it, and what its tooltip says; as the browser has laid them out.
MEASURE = """() => {
  const place = one => {
    const {x, y, width, height} = one.getBoundingClientRect();
    return [x, y, x + width, y + height];
  };
  const shown = one => [...one.childNodes].filter(part => part.nodeType == 3).map(part => part.data).join('');
  return [...document.querySelectorAll('g')].map(node => ({
    box: place(node.querySelector('rect[rx]')),
    fill: node.querySelector('rect[rx]').getAttribute('fill'),
    says: node.querySelector('title').textContent,
    texts: [...node.querySelectorAll('text')].map(one => [...place(one), shown(one)]),
    bars: [...node.querySelectorAll('rect:not([rx])')].map(one => [...place(one), one.getAttribute('fill')]),
  }));
}"""
ON_PAGE = """() => {
  const page = document.querySelector('svg').getBoundingClientRect();
  return [...document.querySelectorAll('text, rect')].every(one => {
    const place = one.getBoundingClientRect();
    return place.left >= page.left - 1 && place.right <= page.right + 1 && place.bottom <= page.bottom + 1;
  });
}"""
#: Texts that lie in no box: what branches ask, the heading and the footnotes.
BESIDE = """() => [...document.querySelectorAll('svg > text, svg > a > text')]
  .filter(one => one.textContent != '▸').map(one => {
    const {x, y, width, height} = one.getBoundingClientRect();
    return [x, y, x + width, y + height];
  })"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Api]:
    """Trees of credits and of incomes: levels of many words, numbers, and gaps that divide rows."""
    folder = tmp_path_factory.mktemp("drawings")
    shutil.copy(migrated_sqlite, folder / "store.sqlite3")
    with running(Settings(data=folder)) as found:
        for name, target, models in (
            ("credit-g", "class", ("five", "fifty")),
            ("adult-train", "income", ("hundreds",)),
        ):
            dataset = found.upload(table_path(f"{name}.csv").read_bytes(), name=name).json()["id"]
            for model in models:
                train(found, dataset, target=target, name=model, parameters={"max_leaves": LEAVES[model]})
        yield found


@pytest.fixture(params=WINDOWS)
def layout(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def chromium(browser: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=LOCAL_ONLY)
        yield opened
        opened.close()


@pytest.fixture
def page(layout: str, chromium: Browser) -> Iterator[Page]:
    """A page of a window that notes whatever goes wrong in it, and asks nobody but this machine."""
    with closing(chromium.new_context(**WINDOWS[layout])) as context:
        found = context.new_page()
        asked_for: list[str] = []
        complaints: list[str] = []
        found.on("request", lambda asked: asked_for.append(asked.url))
        found.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        found.on("pageerror", lambda error: complaints.append(str(error)))
        yield found
        assert [one for one in complaints if "favicon" not in one] == []
        assert [
            url for url in asked_for if not re.match(r"(http://127\.0\.0\.1:\d+/api/|about:|blob:|data:)", url)
        ] == []


def drawing(api: Api, model: str, layout: str, **sizes: int) -> str:
    query = "&".join(f"{name}={value}" for name, value in sizes.items())
    return f"{api.address}/api/v1/models/{model}/tree?format=svg&layout={layout}&{query}".rstrip("&")


def check_layout(page: Page) -> list[dict[str, Any]]:
    """The nodes as they are shown: no box meets another, no text leaves its box or meets another text."""
    nodes: list[dict[str, Any]] = page.evaluate(MEASURE)
    boxes, texts = (np.array(found) for found in ([node["box"] for node in nodes], page.evaluate(BESIDE)))
    assert not meeting(boxes, boxes, 0).any()
    assert not meeting(texts, texts, 2).any()  # a line is higher than what is written in it
    assert not meeting(texts, boxes, 1).any()
    for node in nodes:
        left, top, right, bottom = node["box"]
        inside = [one for one in node["texts"] if one[4] != "▸"]
        assert len(inside) == 2
        for begin, above, end, below, shown in inside:
            assert left <= begin < end <= right, shown
            assert top - 1 <= above < below <= bottom + 1, shown
        for begin, above, end, below, _ in node["bars"]:
            assert left <= begin <= end <= right
            assert top <= above <= below <= bottom
    assert page.evaluate(ON_PAGE)
    return nodes


def meeting(some: Array, others: Array, slack: float) -> Array:
    """Whether each of some rectangles meets each of some others by more than that; of the same, apart from itself."""
    (left, top, right, bottom), (west, north, east, south) = some.T[:, :, None], others.T[:, None, :]
    inside = (left < east - slack) & (west < right - slack) & (top < south - slack) & (north < bottom - slack)
    return np.triu(inside, 1) if some is others else inside


@pytest.mark.parametrize("sizes", [{}, {"max_depth": 1000, "max_leaves": 2000}], ids=["as it comes", "whole"])
@pytest.mark.parametrize("model", LEAVES)
def test_a_drawing_is_laid_out_and_says_what_the_tree_says(
    api: Api, page: Page, layout: str, model: str, sizes: dict[str, int]
) -> None:
    page.goto(drawing(api, model, layout, **sizes))
    shown = check_layout(page)
    whole = not sizes and LEAVES[model] > 5
    tree = {node["id"]: node for node in api.get(f"/api/v1/models/{model}/tree").json()["nodes"]}
    assert len(shown) == len(tree) if not whole else len(shown) < len(tree)
    colours = colours_of(page)
    for node in shown:
        known = tree[int(re.match(r"node (\d+): ", node["says"])[1])]  # type: ignore[index]
        big, small = (text[4] for text in node["texts"][:2])
        rows = re.search(r"([\d,.]+) rows?$", small)[1].replace(",", "")  # type: ignore[index]
        assert float(rows) == pytest.approx(known["weight"], rel=1e-3)
        if known["children"] and "more leaves" not in small:
            assert known["column"].startswith(re.sub(r"^\(\d+\) ", "", big).rstrip("?… "))
        else:
            assert big.strip('"') == known["label"]
        check_bar(node, known, colours)


def colours_of(page: Page) -> dict[str, str]:
    """The colour of each class, as the legend tells."""
    legend = page.evaluate("""() => [...document.querySelectorAll('svg > rect[rx="2"]')].map(one =>
        [one.nextElementSibling.textContent.trim().replaceAll('"', ''), one.getAttribute('fill')])""")
    return dict(legend)


def check_bar(node: dict[str, Any], known: dict[str, Any], colours: dict[str, str]) -> None:
    """The bar is as wide as the box leaves room, and each class's part is its share of it."""
    left, _, right, _ = node["box"]
    wide = right - left - 20
    found = {fill: (begin, end) for begin, _, end, _, fill in node["bars"]}
    for one in known["distribution"]:
        begin, end = found.get(colours[one["label"]], (0.0, 0.0))
        assert end - begin == pytest.approx(one["share"] * wide, abs=0.1)
    for (_, end), (begin, _) in pairwise(sorted(found.values())):
        assert begin == pytest.approx(end, abs=0.5)


def test_a_drawing_as_it_comes_fits_the_window(api: Api, page: Page, layout: str) -> None:
    """Of the wide one all is seen at once; the narrow one is as wide as the phone, at its own size."""
    for model in LEAVES:
        page.goto(drawing(api, model, layout))
        wide, high, inner, scale = page.evaluate(
            "() => [document.documentElement.width.baseVal.value, document.documentElement.height.baseVal.value,"
            " window.innerWidth, window.visualViewport.scale]"
        )
        window = WINDOWS[layout]["viewport"]
        assert (inner, scale) == (window["width"], 1)  # type: ignore[index]
        assert wide <= inner
        assert layout == "narrow" or high <= window["height"]  # type: ignore[index]


@pytest.mark.parametrize("by", ["click", "keyboard"])
def test_what_is_folded_opens_and_the_way_leads_back(api: Api, page: Page, layout: str, by: str) -> None:
    page.goto(drawing(api, "hundreds", layout))
    before = page.evaluate(MEASURE)
    folded = next(node for node in before if "more leaves" in node["says"])
    number = int(re.match(r"node (\d+): ", folded["says"])[1])  # type: ignore[index]
    follow(page, f"a[href*='node={number}&']", by)
    opened = check_layout(page)
    assert opened[0]["says"].startswith(f"node {number}: ")
    assert len(opened) > 1
    parent = next(
        node["id"] for node in api.get("/api/v1/models/hundreds/tree").json()["nodes"] if number in node["children"]
    )
    follow(page, "a:has(> text)", by)
    assert page.evaluate(MEASURE)[0]["says"].startswith(f"node {parent}: ")


def follow(page: Page, link: str, by: str) -> None:
    """Go where a link of the drawing leads."""
    with page.expect_navigation():
        if by == "click":
            page.locator(f"{link} text").first.click()
        else:
            page.evaluate("link => document.querySelector(link).focus()", link)
            assert page.evaluate("() => document.activeElement.tagName") == "a"
            page.keyboard.press("Enter")


def test_every_leaf_is_reached_by_opening_what_is_folded(api: Api, page: Page, layout: str) -> None:
    waiting, seen = [drawing(api, "fifty", layout, max_depth=2, max_leaves=3)], set()
    leaves: set[str] = set()
    while waiting:
        page.goto(waiting.pop())
        for node in page.evaluate(MEASURE):
            if " more leaves" not in node["says"] and " ?," not in node["says"]:
                leaves.add(node["says"].split(":")[0])
        for link in page.evaluate("() => [...document.querySelectorAll('a:has(g)')].map(one => one.href.baseVal)"):
            if link not in seen:
                seen.add(link)
                waiting.append(page.url.split("?")[0] + link)
    assert len(leaves) == LEAVES["fifty"]


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("model", ["five", "fifty"])
def test_the_way_of_a_row_is_lit_to_its_end(api: Api, page: Page, layout: str, model: str, gap: bool) -> None:
    row = first_credit()
    if gap:
        row["checking_status"] = None
    reason = api.post(f"/api/v1/models/{model}/explanations", json={"rows": [row]}).json()["explanations"][0]
    way = {0} | {step["child"] for branch in reason["branches"] for step in branch["steps"]}
    drawn = api.post(f"/api/v1/models/{model}/tree", params={"layout": layout}, json={"row": row})
    page.set_content(drawn.text)
    lit = [node for node in check_layout(page) if node["fill"] == "#fff4e5"]
    assert {int(re.match(r"node (\d+): ", node["says"])[1]) for node in lit} == way  # type: ignore[index]
    assert len(reason["branches"]) == 1 + gap
    ends = {branch["leaf"] for branch in reason["branches"]}
    assert sum(node["says"].startswith(f"node {leaf}: ") for node in lit for leaf in ends) == len(ends)
    assert ("checking_status: missing" if gap else 'checking_status: "<0"') in lit[0]["says"]


def first_credit() -> dict[str, Any]:
    with table_path("credit-g.csv").open() as file:
        row = next(csv.DictReader(file))
    numeric = {"duration", "credit_amount", "installment_commitment", "residence_since", "age", "existing_credits",
               "num_dependents"}  # fmt: skip
    return {name: float(cell) if name in numeric else cell for name, cell in row.items() if name != "class"}
