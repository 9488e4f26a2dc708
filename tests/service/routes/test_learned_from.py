"""Whether a version learned from a dataset's rows: the same answer at every door, for copies and revisions too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.running import Api
from tests.service.working import do_job, train
from tests.shared import table_path

WEATHER = table_path("weather-numeric.csv").read_text()
#: The same values in other words, so another file of the same table.
QUOTED = WEATHER.replace("sunny", '"sunny"')
OTHER = "\n".join(WEATHER.splitlines()[:10]) + "\n"


@pytest.fixture(scope="module")
def datasets(shared_api: Api) -> dict[str, str]:
    """Ids of what the model ``play`` learned from, of the same rows otherwise, and of others."""
    first = shared_api.upload(WEATHER, name="weather").json()["id"]
    train(shared_api, first, target="play", name="play")
    train(shared_api, shared_api.upload(OTHER, name="other").json()["id"], target="play", name="play")
    made = {"own": first, "copy": shared_api.upload(WEATHER, name="copy").json()["id"]}
    made["quoted"] = shared_api.upload(QUOTED, name="quoted").json()["id"]
    for name, options in (
        ("revision", {"kinds": {"play": "nominal"}}),
        ("other kind", {"kinds": {"windy": "nominal"}}),
        ("more missing", {"missing_tokens": ["", "rainy"]}),
    ):
        revised = shared_api.post(f"/api/v1/datasets/{first}/revisions", json=options)
        assert revised.status_code == 201, revised.text
        made[name] = revised.json()["id"]
    made["other"] = shared_api.upload(OTHER, name="other again").json()["id"]
    return made


def evaluated(api: Api, dataset: str) -> Any:
    made = api.post("/api/v1/jobs", json={"kind": "evaluate", "dataset": dataset, "version": "play:1"})
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    return api.get(made.headers["location"]).json()["result"]["learned_from"]


@pytest.mark.parametrize("name", ["own", "copy", "quoted", "revision", "other kind", "more missing", "other"])
def test_every_door_says_the_same(shared_api: Api, datasets: dict[str, str], name: str) -> None:
    dataset = datasets[name]
    learned = name != "other"
    assert evaluated(shared_api, dataset) is learned
    rules = shared_api.get("/api/v1/models/play:1/rules", params={"dataset": dataset}).json()
    assert rules["dataset"]["learned_from"] is learned
    asked = {"kind": "permutation", "dataset": dataset}
    importances = shared_api.get("/api/v1/models/play:1/importances", params=asked).json()
    assert importances["dataset"]["learned_from"] is learned
    both = {"with": "play:2", "dataset": dataset}
    compared = shared_api.get("/api/v1/models/play:1/comparison", params=both).json()
    assert compared["rows"]["learned_from"] == (["before"] if learned else ["after"])
