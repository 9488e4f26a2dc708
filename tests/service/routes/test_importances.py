"""Permutation importance over HTTP: what the library measures, within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from learners.catalog import load_model
from learners.persist import load_file
from learners.reasons.permutation import permutation_importance
from service.client import Rulewood
from service.operations.explanation import importances
from service.registry import resolve
from service.schemas.reasons import Importances
from service.store.blobs import Blobs
from service.store.session import Store
from tests.learners.tables import read
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

FEATURES = ["outlook", "temperature", "humidity", "windy"]


@pytest.fixture(scope="module")
def golf(shared_api: Api) -> tuple[Api, str]:
    """A service with the models ``golf`` (a tree), ``rules`` and ``numbers``, and the dataset of all."""
    dataset = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="golf").json()["id"]
    train(shared_api, dataset, target="play", name="golf")
    train(shared_api, dataset, target="play", name="rules", learner="rule-set-classifier")
    train(shared_api, dataset, target="humidity", name="numbers", learner="decision-tree-regressor")
    return shared_api, dataset


def ask(golf: tuple[Api, str], name: str = "golf", **query: Any) -> dict[str, Any]:
    api, dataset = golf
    response = api.get(f"/api/v1/models/{name}/importances", params={"dataset": dataset, "kind": "permutation"} | query)
    assert response.status_code == 200, response.text
    Importances.model_validate(response.json())
    answer: dict[str, Any] = response.json()
    return answer


def library(golf: tuple[Api, str], name: str, **options: Any) -> list[dict[str, Any]]:
    api, _ = golf
    store = Store(api.settings.store_url)
    try:
        with store.read() as session:
            version = resolve(session, "default", name)
        model = load_model(load_file(Blobs(store, api.settings.cache, 1 << 30).path(version.blob_sha256)))
    finally:
        store.dispose()
    table, target = read("weather-numeric", "play")
    found = permutation_importance(model, table, target, **options)
    return [{"column": one.column, "importance": one.mean, "standard_error": one.standard_error} for one in found]


@pytest.mark.parametrize("name", ["golf", "rules"])
def test_it_is_what_the_library_measures(golf: tuple[Api, str], name: str) -> None:
    answer = ask(golf, name, repeats=4, seed=7)
    assert answer["importances"] == library(golf, name, repeats=4, seed=7)
    assert (answer["kind"], answer["metric"], answer["n_rows"]) == ("permutation", "accuracy", 14)
    assert answer["dataset"] == {"id": golf[1], "rows": 14, "learned_from": True}
    assert max(one["importance"] for one in answer["importances"]) > 0
    losses = ask(golf, name, repeats=4, seed=7, metric="brier_score")
    assert losses["importances"] == library(golf, name, repeats=4, seed=7, metric="brier_score")


def test_of_numbers_and_of_a_single_shuffle(golf: tuple[Api, str]) -> None:
    answer = ask(golf, "numbers", repeats=1)
    assert answer["metric"] == "r2"
    assert {one["standard_error"] for one in answer["importances"]} == {None}
    assert answer == ask(golf, "numbers", repeats=1)
    with Rulewood(golf[0].address) as client:
        assert client.importances("numbers", dataset=golf[1], repeats=1) == answer


def test_more_than_some_seconds_of_work_is_refused_with_the_rows_that_may_be_asked(
    golf: tuple[Api, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, dataset = golf
    monkeypatch.setattr(importances, "MAX_ANSWERS", 200)
    query = {"kind": "permutation", "dataset": dataset}
    fault = problem(api.get("/api/v1/models/golf/importances", params=query), 413)["errors"][0]
    assert (fault["parameter"], fault["allowed"]) == ("n_rows", 10)
    answer = ask(golf, n_rows=10, seed=3)
    assert answer["n_rows"] == 10
    assert answer == ask(golf, n_rows=10, seed=3)
    assert answer != ask(golf, n_rows=10, seed=4) | {"seed": 3}


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"kind": "permutation"}, "dataset"),
        ({"repeats": 3}, "repeats"),
        ({"dataset": "DATASET", "seed": 1}, "dataset"),
        ({"kind": "permutation", "dataset": "DATASET", "metric": "beauty"}, "metric"),
        ({"kind": "permutation", "dataset": "DATASET", "metric": "r2"}, "metric"),
        ({"kind": "permutation", "dataset": "DATASET", "repeats": 0}, "repeats"),
        ({"kind": "gini"}, "kind"),
    ],
)
def test_what_cannot_be_measured_is_named(golf: tuple[Api, str], query: dict[str, Any], parameter: str) -> None:
    api, dataset = golf
    query = {name: dataset if value == "DATASET" else value for name, value in query.items()}
    refused = problem(api.get("/api/v1/models/golf/importances", params=query), 422)
    assert refused["errors"][0]["parameter"] == parameter


def test_a_dataset_that_does_not_fit_is_named(golf: tuple[Api, str]) -> None:
    api, _ = golf
    for content, column in (("outlook,play\nsunny,no\nrainy,yes\n", "temperature"), ("a,b\n1,2\n2,3\n", None)):
        query = {"kind": "permutation", "dataset": api.upload(content).json()["id"]}
        fault = problem(api.get("/api/v1/models/golf/importances", params=query), 422)["errors"][0]
        assert (fault["parameter"], fault.get("column")) == ("dataset", column)
    query = {"kind": "permutation", "dataset": "ds_nothing"}
    problem(api.get("/api/v1/models/golf/importances", params=query), 404)
