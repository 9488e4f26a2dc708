"""Rules judged on stored rows, and the rows of a rule, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from service.schemas.rule_support import RowsOfRule, RulesOnDataset
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

OTHER = """play,humidity,outlook,temperature,windy
yes,60,sunny,70,TRUE
no,60,sunny,70,TRUE
,95,sunny,70,TRUE
no,,overcast,70,TRUE
maybe,80,overcast,70,TRUE
"""


@pytest.fixture(scope="module")
def weather(shared_api: Api) -> Api:
    """A service with the model ``weather``."""
    uploaded = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    parameters = {"nominal": "multiway", "criterion": "entropy"}
    train(shared_api, uploaded["id"], target="play", name="weather", parameters=parameters)
    return shared_api


def rules_of(api: Api, **query: Any) -> dict[str, Any]:
    response = api.get("/api/v1/models/weather/rules", params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_on_the_training_rows_the_figures_are_the_trainings(weather: Api) -> None:
    learned_from = weather.get("/api/v1/models/weather:1").json()["lineage"]["dataset"]
    answer = rules_of(weather, dataset=learned_from)
    RulesOnDataset.model_validate(answer)
    assert answer["dataset"] == {"id": learned_from, "rows": 14, "learned_from": True}
    for rule in answer["rules"]:
        assert rule["on_dataset"]["rows"] == rule["rows"]
        assert rule["on_dataset"]["weight"] == rule["weight"]
        assert rule["on_dataset"]["confidence"] == rule["confidence"]


def test_on_held_out_rows_they_are_of_these(weather: Api) -> None:
    other = weather.upload(OTHER, name="other").json()["id"]
    answer = rules_of(weather, dataset=other)
    assert answer["dataset"] == {"id": other, "rows": 5, "learned_from": False}
    by_text = {
        " and ".join(condition["text"] for condition in rule["conditions"]): rule["on_dataset"]
        for rule in answer["rules"]
    }
    dry = by_text["outlook = sunny and humidity <= 77.5"]
    assert dry == {"rows": 2, "weight": 2, "counts": [1, 1], "confidence": 0.5}
    wet = by_text["outlook = sunny and humidity > 77.5"]
    assert wet == {"rows": 1, "weight": 1, "counts": [0, 0], "confidence": None}  # the row has no target
    overcast = by_text["outlook = overcast"]
    assert overcast == {"rows": 2, "weight": 2, "counts": [1, 0], "confidence": 0}  # one is of an unknown class


def test_the_rows_of_all_rules_are_the_training_rows(weather: Api) -> None:
    seen = []
    for rule in rules_of(weather)["rules"]:
        path = f"/api/v1/models/weather/rules/{rule['id']}/rows"
        answer = weather.get(path).json()
        RowsOfRule.model_validate(answer)
        assert answer["total"] == len(answer["rows"]) == rule["rows"]
        assert answer["rule"] == rule
        for row in answer["rows"]:
            assert row["share"] == 1
            asked = {name: value for name, value in row["values"].items() if name != "play"}
            body = {"rows": [asked], "explain": True}
            (predicted,) = weather.post("/api/v1/models/weather/predictions", json=body).json()["predictions"]
            assert [branch["leaf"] for branch in predicted["explanation"]["branches"]] == [rule["leaf"]]
        seen += [row["row"] for row in answer["rows"]]
        second = weather.get(path, params={"offset": 1, "limit": 1}).json()
        assert second["rows"] == answer["rows"][1:2]
        assert second["total"] == answer["total"]
    assert sorted(seen) == list(range(14))


def test_rows_of_another_dataset(weather: Api) -> None:
    other = weather.upload(OTHER, name="other").json()["id"]
    found = []
    for rule in rules_of(weather)["rules"]:
        path = f"/api/v1/models/weather/rules/{rule['id']}/rows"
        found += [row["row"] for row in weather.get(path, params={"dataset": other}).json()["rows"]]
    assert sorted(found) == [0, 1, 2, 3, 4]


def test_what_is_not_there_or_does_not_fit_is_named(weather: Api) -> None:
    rule = rules_of(weather)["rules"][0]["id"]
    problem(weather.get("/api/v1/models/weather/rules", params={"dataset": "ds_nothing"}), 404)
    problem(weather.get(f"/api/v1/models/weather/rules/{rule}/rows", params={"dataset": "ds_nothing"}), 404)
    lost = problem(weather.get("/api/v1/models/weather/rules/9-0123456789abcdef/rows"), 404)
    assert lost["errors"][0]["parameter"] == "rule_id"
    problem(weather.get(f"/api/v1/models/nobody/rules/{rule}/rows"), 404)
    iris = weather.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    for path in ("/api/v1/models/weather/rules", f"/api/v1/models/weather/rules/{rule}/rows"):
        refused = problem(weather.get(path, params={"dataset": iris}), 422)
        assert refused["errors"][0]["column"] == "outlook"
    numbers = weather.upload(OTHER.replace("yes", "1").replace("no", "0").replace("maybe", "2"), name="numbers").json()
    refused = problem(weather.get("/api/v1/models/weather/rules", params={"dataset": numbers["id"]}), 422)
    assert refused["errors"][0]["column"] == "play"
    refused = problem(weather.get("/api/v1/models/weather/rules", params={"dataset": iris, "format": "sql"}), 422)
    assert refused["errors"][0]["parameter"] == "dataset"


def test_a_deleted_dataset_takes_the_rows_along(weather: Api) -> None:
    uploaded = weather.upload(table_path("weather-nominal.csv").read_bytes(), name="gone").json()
    train(weather, uploaded["id"], target="play", name="gone")
    rule = weather.get("/api/v1/models/gone/rules").json()["rules"][0]["id"]
    assert weather.delete(f"/api/v1/datasets/{uploaded['id']}", params={"force": "gone"}).status_code == 204
    problem(weather.get(f"/api/v1/models/gone/rules/{rule}/rows"), 404)


def test_the_client_has_them(weather: Api) -> None:
    from service.client import Rulewood

    with Rulewood(weather.address) as client:
        learned_from = client.model("weather:1")["lineage"]["dataset"]
        judged = client.rules("weather", dataset=learned_from)
        rule = judged["rules"][0]
        assert len(client.rule_rows("weather", rule["id"])["rows"]) == rule["on_dataset"]["rows"]


def test_on_both_stores(api: Api) -> None:
    """Reasons, which need the version's ranges, and rows of a rule, which need its dataset."""
    uploaded = api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    train(api, uploaded["id"], target="play", name="weather", parameters={"nominal": "multiway"})
    row = {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}
    found = api.post("/api/v1/models/weather/counterfactuals", json={"rows": [row], "wanted": "yes"}).json()
    assert found["rows"][0]["status"] == "found"
    assert api.post("/api/v1/models/weather/question", json={"rows": [{}]}).json()["rows"][0]["ask"] is not None
    assert api.get("/api/v1/models/weather/importances").status_code == 200
    total = 0
    for rule in api.get("/api/v1/models/weather/rules", params={"dataset": uploaded["id"]}).json()["rules"]:
        total += api.get(f"/api/v1/models/weather/rules/{rule['id']}/rows").json()["total"]
        assert rule["on_dataset"]["rows"] == rule["rows"]
    assert total == 14
