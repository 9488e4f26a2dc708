"""Predictions and explanations over HTTP, compared with the library's answers."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from learners.catalog import load_model
from learners.persist import load_file
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from service.registry import resolve
from service.schemas.predictions import Explanations, Predictions
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


@pytest.fixture(scope="module")
def weather(shared_api: Api) -> Api:
    return taught(shared_api)


def taught(api: Api) -> Api:
    """A service with the models ``weather`` (names) and ``iris`` (numbers)."""
    uploaded = api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    train(api, uploaded["id"], target="play", name="weather", parameters={"nominal": "multiway"})
    uploaded = api.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    train(api, uploaded["id"], target=uploaded["columns"][-1]["name"], name="iris")
    return api


def predict(api: Api, body: dict[str, Any], name: str = "weather", **query: Any) -> dict[str, Any]:
    response = api.post(f"/api/v1/models/{name}/predictions", json=body, params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    Predictions.model_validate(answer)
    return answer


def library_model(api: Api, name: str) -> DecisionTreeClassifier:
    store = Store(api.settings.store_url)
    try:
        with store.read() as session:
            version = resolve(session, "default", name)
        model = load_model(load_file(Blobs(store, api.settings.cache, 1 << 30).path(version.blob_sha256)))
        assert isinstance(model, DecisionTreeClassifier)
        return model
    finally:
        store.dispose()


SUNNY = {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}


def test_a_row_is_answered_in_its_own_label_with_probabilities_and_version(weather: Api) -> None:
    answer = predict(weather, {"rows": [SUNNY]})
    assert answer["model"] == "weather"
    assert answer["version"] == 1
    assert answer["classes"] == ["no", "yes"]
    assert answer["predictions"] == [{"row": 0, "label": "no", "probabilities": [1.0, 0.0]}]
    assert answer["summary"] == {"rows": 1, "failed": 0}


def test_the_order_of_names_never_matters(weather: Api) -> None:
    shuffled = dict(reversed(SUNNY.items()))
    assert predict(weather, {"rows": [shuffled]}) == predict(weather, {"rows": [SUNNY]})
    names = list(shuffled)
    matrix = {"columns": names, "data": [[shuffled[name] for name in names]]}
    assert predict(weather, matrix) == predict(weather, {"rows": [SUNNY]})


def test_every_training_row_is_answered_as_the_library_answers(weather: Api) -> None:
    model = library_model(weather, "iris")
    with table_path("iris.csv").open() as file:
        records = list(csv.DictReader(file))
    names = [column.name for column in model.columns_]
    rows = [{name: float(record[name]) for name in names} for record in records]
    values = np.array([[row[name] for name in names] for row in rows])
    values[::7, 0] = np.nan
    for index in range(0, len(rows), 7):
        rows[index][names[0]] = None  # type: ignore[assignment]
    expected = model.predict_proba(Table(model.columns_, np.asfortranarray(values)))
    answer = predict(weather, {"rows": rows}, "iris")
    assert [row["probabilities"] for row in answer["predictions"]] == expected.tolist()
    labels = model.predict(Table(model.columns_, np.asfortranarray(values))).tolist()
    assert [row["label"] for row in answer["predictions"]] == labels


def test_rows_on_every_threshold_and_one_ulp_beside_go_where_the_library_sends_them(weather: Api) -> None:
    model = library_model(weather, "iris")
    names = [column.name for column in model.columns_]
    rows = []
    for node in np.flatnonzero(model.tree_.feature >= 0):
        threshold, place = model.tree_.threshold[node], model.tree_.feature[node]
        for value in (threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)):
            row = [5.0, 3.0, 4.9, 1.7]
            row[place] = float(value)
            rows.append(row)
    expected = model.predict_proba(Table(model.columns_, np.asfortranarray(rows)))
    answer = predict(weather, {"columns": names, "data": rows}, "iris")
    assert [row["probabilities"] for row in answer["predictions"]] == expected.tolist()
    single = [predict(weather, {"rows": [dict(zip(names, row, strict=True))]}, "iris") for row in rows]
    assert [one["predictions"][0]["probabilities"] for one in single] == expected.tolist()


def test_true_and_false_are_the_levels_of_a_boolean_column(weather: Api) -> None:
    assert predict(weather, {"rows": [SUNNY | {"windy": False}]}) == predict(weather, {"rows": [SUNNY]})


def test_numbers_written_as_text_count_as_numbers(weather: Api) -> None:
    as_text = SUNNY | {"temperature": "85", "humidity": "8.5e1"}
    assert predict(weather, {"rows": [as_text]}) == predict(weather, {"rows": [SUNNY]})


def test_an_unseen_level_is_told_and_treated_as_asked(weather: Api) -> None:
    foggy = SUNNY | {"outlook": "foggy"}
    for policy in ("missing", "other"):
        (row,) = predict(weather, {"rows": [foggy], "unseen": policy})["predictions"]
        assert row["warnings"] == [{"kind": "unseen", "column": "outlook", "value": "foggy", "treated_as": policy}]
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-12)
    answered = weather.post("/api/v1/models/weather/predictions", json={"rows": [foggy], "unseen": "reject"})
    (fault,) = problem(answered, 422)["errors"]
    assert (fault["row"], fault["column"], fault["value"]) == (0, "outlook", "foggy")
    assert fault["allowed"] == ["overcast", "rainy", "sunny"]


def test_the_same_unseen_row_has_one_answer_however_often_it_is_asked(weather: Api) -> None:
    body = {"rows": [SUNNY | {"outlook": "foggy"}]}
    answers = {json.dumps(predict(weather, body)) for _ in range(20)}
    assert len(answers) == 1


def test_missing_and_absent_values_are_told_apart(weather: Api) -> None:
    without = {name: value for name, value in SUNNY.items() if name != "outlook"}
    absent = predict(weather, {"rows": [without]})
    assert absent["absent_columns"] == ["outlook"]
    null = predict(weather, {"rows": [SUNNY | {"outlook": None}]})
    assert "absent_columns" not in null
    assert null["predictions"][0]["warnings"] == [{"kind": "missing", "columns": ["outlook"]}]
    assert null["predictions"] == absent["predictions"]


#: Each value there, empty, not sent, or of a level or in a column that the model does not know; and a bad one.
_PARTLY = [
    SUNNY,
    {},
    *({name: value for name, value in SUNNY.items() if name != left_out} for left_out in SUNNY),
    *(SUNNY | {name: None} for name in SUNNY),
    {"outlook": "foggy", "humidity": None},
    {"outlook": "foggy", "wind": 3},
    {"humidity": "wet"},
]


@pytest.mark.parametrize("route", ["predictions", "explanations", "question", "counterfactuals"])
def test_each_row_is_answered_as_if_it_were_alone(weather: Api, route: str) -> None:
    def answered(rows: list[Any], media_type: str = "application/json") -> Any:
        asked = {"rows": rows} | ({"wanted": "yes"} if route == "counterfactuals" else {})
        return weather.post(f"/api/v1/models/weather/{route}", json=asked, headers={"Accept": media_type})

    def rows_of(answer: Any) -> list[Any]:
        told = answer.json()["rows" if route in ("question", "counterfactuals") else route]
        assert [row.pop("row") for row in told] == list(range(len(told)))
        return told

    alone = [rows_of(answered([row]))[0] for row in _PARTLY[:-1]]
    together = rows_of(answered(_PARTLY))
    assert together[:-1] == alone
    assert rows_of(answered(_PARTLY[::-1]))[:0:-1] == alone
    assert [row["column"] for row in together[-1]["error"]["errors"]] == ["humidity"]
    lacking = list(SUNNY)
    assert together[1]["warnings"] == [{"kind": "missing", "columns": lacking}]
    assert [row["warnings"][0]["columns"] for row in together[2:6]] == [[name] for name in lacking]
    assert together[2:6] == together[6:10]  # not sent is empty
    if route in ("predictions", "explanations"):
        lines = answered(_PARTLY, "application/x-ndjson").text.splitlines()
        for row, line in zip(_PARTLY[:-1], lines, strict=False):
            (single,) = answered([row], "application/x-ndjson").text.splitlines()
            assert json.loads(line) | {"row": 0} == json.loads(single)


def test_missing_values_are_refused_where_that_is_asked(weather: Api) -> None:
    rows = [SUNNY, SUNNY | {"outlook": None}]
    answer = predict(weather, {"rows": rows, "missing": "reject"})
    assert answer["predictions"][1]["error"]["errors"][0]["column"] == "outlook"
    assert answer["summary"] == {"rows": 2, "failed": 1}


def test_strict_refuses_extra_and_absent_columns(weather: Api) -> None:
    for row, column in ((SUNNY | {"more": 1}, "more"), ({"outlook": "sunny"}, "humidity")):
        answered = weather.post("/api/v1/models/weather/predictions", json={"rows": [row], "strict": True})
        assert column in {fault["column"] for fault in problem(answered, 422)["errors"]}
        assert predict(weather, {"rows": [row]})


def test_the_target_among_the_columns_is_ignored_and_named(weather: Api) -> None:
    assert predict(weather, {"rows": [SUNNY | {"play": "yes"}]})["ignored_columns"] == ["play"]


def test_a_bad_row_fails_no_other(weather: Api) -> None:
    rows = [SUNNY, SUNNY | {"humidity": "wet"}, 7, SUNNY | {"humidity": [1]}, SUNNY]
    answer = predict(weather, {"rows": rows})
    assert [("error" in row) for row in answer["predictions"]] == [False, True, True, True, False]
    (fault,) = answer["predictions"][1]["error"]["errors"]
    assert (fault["row"], fault["column"], fault["value"].strip("'")) == (1, "humidity", "wet")
    assert answer["summary"] == {"rows": 5, "failed": 3}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rows": {}},
        {"rows": [], "data": []},
        {"columns": ["outlook"]},
        {"columns": ["outlook", "outlook"], "data": []},
        {"columns": [1], "data": []},
        {"rows": [SUNNY], "explain": 1},
        {"rows": [SUNNY], "unseen": "guess"},
        {"rows": [SUNNY], "colour": "red"},
        {"rows": [SUNNY | {"humidity": True}]},
        {"rows": [None]},
        [],
        7,
    ],
)
def test_a_body_of_another_form_is_refused_with_a_reason(weather: Api, body: Any) -> None:
    document = problem(weather.post("/api/v1/models/weather/predictions", json=body), 422)
    assert document["detail"]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e400", "01", "+1", ".5", "1.", "nan"])
def test_what_is_no_json_number_is_refused(weather: Api, text: str) -> None:
    body = json.dumps({"rows": [SUNNY]}).replace(": 85,", f": {text},")
    answered = weather.post(
        "/api/v1/models/weather/predictions", content=body, headers={"content-type": "application/json"}
    )
    assert answered.status_code in (400, 422), answered.text
    problem(answered, answered.status_code)


def test_a_name_given_twice_is_refused(weather: Api) -> None:
    body = '{"rows":[{"outlook":"sunny","outlook":"rainy","temperature":85,"humidity":85,"windy":"FALSE"}]}'
    headers = {"content-type": "application/json"}
    problem(weather.post("/api/v1/models/weather/predictions", content=body, headers=headers), 422)


def test_too_many_rows_are_refused_with_the_number(weather: Api) -> None:
    limit = weather.settings.limits.batch_rows
    body = {"columns": ["outlook"], "data": [["sunny"]] * (limit + 1)}
    (fault,) = problem(weather.post("/api/v1/models/weather/predictions", json=body), 413)["errors"]
    assert fault["allowed"] == limit


def test_media_types_that_are_not_known_are_refused(weather: Api) -> None:
    headers = {"content-type": "application/xml"}
    problem(weather.post("/api/v1/models/weather/predictions", content="<x/>", headers=headers), 415)
    headers = {"content-type": "application/json", "accept": "image/png"}
    problem(weather.post("/api/v1/models/weather/predictions", content='{"rows":[]}', headers=headers), 406)


def test_no_rows_have_no_answers(weather: Api) -> None:
    assert predict(weather, {"rows": []})["predictions"] == []
    assert predict(weather, {"columns": ["outlook"], "data": []})["summary"] == {"rows": 0, "failed": 0}


def test_the_path_replayed_leads_to_the_answer(weather: Api) -> None:
    rows = [SUNNY, {"outlook": None, "temperature": 70, "humidity": 70, "windy": "TRUE"}]
    answered = weather.post("/api/v1/models/weather/explanations", json={"rows": rows})
    assert answered.status_code == 200, answered.text
    Explanations.model_validate(answered.json())
    tree = {node["id"]: node for node in weather.get("/api/v1/models/weather/tree").json()["nodes"]}
    predicted = predict(weather, {"rows": rows, "explain": True})["predictions"]
    for row, (explained, answer) in enumerate(zip(answered.json()["explanations"], predicted, strict=True)):
        assert explained["kind"] == "path"
        assert explained["branches"] == answer["explanation"]["branches"]
        total = [0.0, 0.0]
        for branch in explained["branches"]:
            for step in branch["steps"]:
                assert step["observed"] == rows[row][step["condition"]["column"]]
                assert tree[step["child"]]["parent"] == step["node"]
            total = [
                sum_ + branch["weight"] * share["share"]
                for sum_, share in zip(total, branch["distribution"], strict=True)
            ]
        assert total == answer["probabilities"]
    assert len(answered.json()["explanations"][1]["branches"]) == 3


def test_the_query_asks_as_the_body_does(weather: Api) -> None:
    by_query = predict(weather, {"rows": [SUNNY]}, explain="true")
    assert by_query == predict(weather, {"rows": [SUNNY], "explain": True})
    problem(weather.post("/api/v1/models/weather/predictions?unseen=x", json={"rows": [SUNNY]}), 422)


def test_a_model_that_is_not_there_is_told(weather: Api) -> None:
    for ref in ("other", "weather:9", "weather@champion", "we ather", "x" * 200):
        problem(weather.post(f"/api/v1/models/{ref}/predictions", json={"rows": [SUNNY]}), 404)


def test_labels_that_look_like_formulas_come_back_as_they_are_and_this_is_documented(weather: Api) -> None:
    labels = ["=cmd()", "+1+1", "-x", "@sum"]
    table = "x,y\n" + "".join(f"{place},{label}\n" for place, label in enumerate(labels))
    dataset = weather.upload(table, name="formulas", format="csv").json()["id"]
    train(weather, dataset, target="y", name="formulas")
    body = "x\n0\n1\n2\n3\n"
    answer = weather.post("/api/v1/models/formulas/predictions", content=body, headers={"Content-Type": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["label"] for row in rows] == labels
    assert {f"probability_{label}" for label in labels} <= set(rows[0])
    paths = weather.get("/openapi.json").json()["paths"]
    for path in ("/api/v1/models/{ref}/predictions", "/api/v1/models/{ref}/explanations"):
        assert "spreadsheet" in paths[path]["post"]["description"]
    assert "spreadsheet" in paths["/api/v1/datasets/{dataset_id}/download"]["get"]["description"]


def test_a_number_that_no_double_holds_fails_its_row_alone_and_is_named_with_its_cell(weather: Api) -> None:
    address, headers = "/api/v1/models/weather/predictions", {"Content-Type": "application/json"}
    for number in ("1e400", "-1e999", "NaN", "-Infinity", "9" * 5000):
        for body, place in [
            ('{"rows":[{"humidity":70},{"humidity":%s}]}', (1, "humidity", "rows.1.humidity")),
            ('{"columns":["outlook","humidity"],"data":[["sunny",%s],["rainy",1]]}', (0, "humidity", "data.0.1")),
            ('{"rows":[{"humidity":70},{"outlook":%s}]}', (1, "outlook", "rows.1.outlook")),
        ]:
            found = weather.post(address, content=body % number, headers=headers).json()
            assert found["summary"] == {"rows": 2, "failed": 1}
            (fault,) = found["predictions"][place[0]]["error"]["errors"]
            assert (fault["row"], fault["column"], fault["parameter"]) == place
            assert found["predictions"][1 - place[0]]["label"] in ("no", "yes")
    alone = weather.post(address, content='{"rows":[{"humidity":1e999}]}', headers=headers)
    fault = problem(alone, 422)["errors"][0]
    assert fault["column"] == "humidity"
    assert "1.7976931348623157e+308" in fault["allowed"]
    empty = weather.post(address, headers=headers)
    assert problem(empty, 400)["detail"] == "The body is empty; JSON is expected"
    lines = '{"humidity":70}\n{"humidity":1e999}\n'
    told = weather.post(address, content=lines, headers={"Content-Type": "application/x-ndjson"}).text.splitlines()
    assert json.loads(told[1])["error"]["errors"][0]["column"] == "humidity"


@pytest.mark.parametrize(
    "body",
    [
        '{"rows":[{"humidity":1e999}],"unseen":NaN}',
        '{"rows":NaN}',
        '{"rows":[{"humidity":70},{"humidity":1e999,"humidity":3}]}',
        '{"rows":[{"humidity":70},{"humidity":1e999}],"explain":1}',
        '{"rows":[{"humidity":1e999},{"outlook":"\\ud800"}]}',
    ],
)
def test_what_is_wrong_beside_such_a_number_refuses_all(weather: Api, body: str) -> None:
    answer = weather.post(
        "/api/v1/models/weather/predictions", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code)


def test_a_reason_tells_the_unseen_level_that_was_sent(weather: Api) -> None:
    rows = [{**SUNNY, "outlook": "foggy"}]
    answer = predict(weather, {"rows": rows, "explain": True})
    steps = [step for one in answer["predictions"][0]["explanation"]["branches"] for step in one["steps"]]
    assert {step["observed"] for step in steps if step["state"] == "unseen"} == {"foggy"}
    missing = predict(weather, {"rows": rows, "explain": True, "unseen": "missing"})
    steps = [step for one in missing["predictions"][0]["explanation"]["branches"] for step in one["steps"]]
    assert {step["observed"] for step in steps if step["state"] == "missing"} == {None}
    body = {"rows": rows, "wanted": "yes" if answer["predictions"][0]["label"] == "no" else "no"}
    (found,) = weather.post("/api/v1/models/weather/counterfactuals", json=body).json()["rows"]
    asked = found["counterfactuals"][0]["conditions"] + found["counterfactuals"][0]["changes"]
    told = {one.get("observed", one.get("before")) for one in asked if "outlook" in json.dumps(one)}
    assert told == {"foggy"}
