"""A series over HTTP: rows become windows, and a time-delay network learns and tells the next value."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


def _yearly() -> list[float]:
    """Mean sunspot numbers of the years 1749 to 1983."""
    with table_path("sunspots-monthly.csv").open(encoding="utf-8", newline="") as file:
        monthly = np.array([float(row["sunspots"]) for row in csv.DictReader(file)])
    return [float(value) for value in monthly.reshape(-1, 12).mean(axis=1)]


def test_the_next_year_is_learned_from_the_rows_of_a_table(shared_api: Api) -> None:
    series = _yearly()
    text = "year,sunspots\n" + "".join(f"{1749 + k},{value!r}\n" for k, value in enumerate(series))
    plain = shared_api.upload(text, name="years.csv").json()
    body = {"windows": {"columns": ["sunspots"], "length": 12, "time": "year"}, "name": "sunspots"}
    made = shared_api.post(f"/api/v1/datasets/{plain['id']}/revisions", json=body)
    assert made.status_code == 201, made.text
    dataset = made.json()
    asked = shared_api.upload(text, name="again.csv", options=json.dumps({"windows": body["windows"]})).json()
    assert asked["options"]["windows"] == dataset["options"]["windows"]
    assert (dataset["n_rows"], [one["kind"] for one in dataset["columns"]]) == (
        len(series) - 12,
        ["numeric", "numeric", "sequence"],
    )
    first = shared_api.get(f"{made.headers['location']}/rows").json()["rows"][0]
    assert first == {"year": 1761, "sunspots": series[12], "past": series[:12]}
    job = train(
        shared_api,
        dataset["id"],
        target="sunspots",
        excluded=["year"],
        name="years",
        learner="time-delay-network-regressor",
        parameters={"window": 12, "hidden_units": [3], "activation": "relu", "shortcuts": True, "decay": 0.03},
        evaluation={"time": "year", "folds": 3},
    )
    told = job["result"]["evaluation"]
    persistence = float(np.sqrt(np.mean(np.diff(series)[-told["rows"] :] ** 2)))
    assert told["metrics"]["root_mean_squared_error"]["mean"] < 0.8 * persistence
    model = "/api/v1/models/years"
    answer = shared_api.post(f"{model}/predictions", json={"rows": [{"past": series[-12:]}]}).json()
    stepped = shared_api.post(f"{model}/steps", json={"row": {"past": series[-12:]}}).json()
    assert answer["predictions"][0]["value"] == stepped["steps"][-1]["value"]


@pytest.mark.parametrize(
    ("windows", "field"),
    [
        ({"columns": ["y"], "length": 2}, "options.windows.columns"),
        ({"columns": ["x"], "length": 5}, "options.windows.length"),
        ({"columns": ["x"], "length": 0}, None),
        ({"columns": ["x"], "length": 2, "wide": 1}, None),
    ],
)
def test_windows_that_cannot_be_made_are_refused(
    shared_api: Api, windows: dict[str, object], field: str | None
) -> None:
    dataset = shared_api.upload("x,y\n1,a\n2,b\n3,a\n", name="few.csv").json()["id"]
    before = shared_api.counts()
    found = problem(shared_api.post(f"/api/v1/datasets/{dataset}/revisions", json={"windows": windows}), 422)
    if field is not None:
        assert found["errors"][0]["parameter"] == field
    assert shared_api.counts() == before
