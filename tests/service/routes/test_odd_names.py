"""Any text may name a column, a level or a class: everything that a model offers works with it."""

from __future__ import annotations

import csv
import io
import xml.dom.minidom
from collections.abc import Iterator

import pytest

from service.settings import Settings
from tests.conftest import DATABASES, migrated_database
from tests.service.running import Api, running
from tests.service.working import train

NAMES = ['a"b', "back\\slash", "tab\there", "new\nline", "c,d", "e'f", "é €", "<b>&", " ", "{x}", "%s", "a.b", "null"]


@pytest.fixture(scope="module", params=DATABASES)
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One service on each database for all names."""
    folder = tmp_path_factory.mktemp("odd")
    with migrated_database(request, request.param, folder) as url, running(Settings(data=folder, database=url)) as made:
        yield made


@pytest.mark.parametrize("name", NAMES)
def test_a_model_with_an_odd_column_name_level_and_class(api: Api, name: str) -> None:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["x", name, f"{name}!"])
    writer.writerows([place, [name, "plain", ""][place % 3], [name, "other"][place % 3 == 0]] for place in range(12))
    dataset = api.upload(file.getvalue().encode(), name="odd", format="csv").json()["id"]
    path = f"/api/v1/models/odd:{train(api, dataset, target=f'{name}!', name='odd')['result']['model']['version']}"
    row = {"x": 1, name: "plain"}
    bodies: list[object] = [{"rows": [row]}, {"rows": [row], "explain": True}]
    bodies.append({"columns": list(row), "data": [list(row.values())]})
    answered = [api.post(f"{path}/predictions", json=body) for body in bodies]
    assert [answer.status_code for answer in answered] == [200, 200, 200]
    assert {answer.json()["predictions"][0]["label"] for answer in answered} == {name}
    for form in ("json", "text", "markdown", "sql"):
        assert api.get(f"{path}/rules", params={"format": form}).status_code == 200
    xml.dom.minidom.parseString(api.get(f"{path}/tree", params={"format": "svg"}).text)
    assert api.get(f"{path}/schema").json()["inputs"][1]["name"] == name
