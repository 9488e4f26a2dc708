"""What one request may ask of a model's answers: by what labels are decided, and what becomes of missing values."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pytest

from service.client import Rulewood
from service.schemas.predictions import Predictions
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

#: Of 100 messages each with a word, so many are spam: at b exactly 10/11.
_SPAM = {"a": (9, 10), "b": (10, 11), "c": (11, 12)}
_WORDS = [{"word": word} for word in _SPAM]
#: Russell and Norvig: to lose a good message costs 10, to let a spam through costs 1.
_COSTS = {"nospam": {"spam": 1}, "spam": {"nospam": 10}}


@pytest.fixture(scope="module")
def mail(shared_api: Api) -> Api:
    """The models ``mail`` (two classes), ``weather`` and ``rules`` of the weather, ``cpu`` (numbers)."""
    lines = [
        f"{word},{label}"
        for word, (spam, total) in _SPAM.items()
        for label in ["nospam"] * (total - spam) + ["spam"] * spam
    ]
    uploaded = shared_api.upload("\n".join(["word,class", *lines]), name="mail").json()
    train(shared_api, uploaded["id"], target="class", name="mail", parameters={"nominal": "multiway"})
    train(shared_api, uploaded["id"], target="class", name="mail-rules", learner="rule-set-classifier")
    weather = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    train(shared_api, weather["id"], target="play", name="weather", parameters={"nominal": "multiway"})
    train(
        shared_api,
        weather["id"],
        target="humidity",
        name="numbers",
        features=["outlook", "temperature", "windy"],
        learner="decision-tree-regressor",
        parameters={"nominal": "multiway"},
    )
    parameters = {"nominal": "multiway", "missing": "as-value"}
    train(shared_api, weather["id"], target="play", name="as-value", parameters=parameters)
    return shared_api


def ask(api: Api, body: dict[str, Any], name: str = "mail", route: str = "predictions") -> dict[str, Any]:
    response = api.post(f"/api/v1/models/{name}/{route}", json=body)
    assert response.status_code == 200, response.text
    Predictions.model_validate(response.json()) if route == "predictions" else None
    answer: dict[str, Any] = response.json()
    return answer


def labels(answer: dict[str, Any]) -> list[Any]:
    return [one["label"] for one in answer["predictions"]]


@pytest.mark.parametrize(
    "decision",
    [
        {"costs": _COSTS},
        {"utility": {"nospam": {"spam": -1}, "spam": {"nospam": -10}}},
        {"costs": [[0, 1], [10, 0]]},
        {"utility": [[0, -1], [-10, 0]]},
        {"threshold": {"class": "spam", "at": 10 / 11 + 1e-9}},
        {"threshold": {"class": "nospam", "at": 1 / 11}},
    ],
)
def test_these_costs_move_the_threshold_to_10_of_11_where_the_tie_goes_to_the_first_class(
    mail: Api, decision: dict[str, Any]
) -> None:
    plain = ask(mail, {"rows": _WORDS})
    assert labels(plain) == ["spam", "spam", "spam"]
    answer = ask(mail, {"rows": _WORDS, "decision": decision})
    assert answer["classes"] == ["nospam", "spam"]
    assert labels(answer) == ["nospam", "nospam", "spam"]
    assert [one.get("model_label") for one in answer["predictions"]] == ["spam", "spam", None]
    assert [one["probabilities"] for one in answer["predictions"]] == [
        one["probabilities"] for one in plain["predictions"]
    ]
    assert answer["decision"] == decision
    assert ask(mail, {"rows": _WORDS}) == plain


@pytest.mark.parametrize(("at", "decided"), [(0.9, "spam"), (10 / 11, "spam"), (0.91, "nospam"), (1, "nospam")])
def test_a_threshold_decides_its_class_at_exactly_its_probability(mail: Api, at: float, decided: str) -> None:
    answer = ask(mail, {"rows": _WORDS[1:2], "decision": {"threshold": {"class": "spam", "at": at}}})
    assert answer["predictions"][0]["probabilities"][1] == pytest.approx(10 / 11)
    assert labels(answer) == [decided]


def test_reasons_come_with_the_label_of_the_decision(mail: Api) -> None:
    decision = {"costs": _COSTS}
    plain = ask(mail, {"rows": _WORDS}, route="explanations")
    answer = ask(mail, {"rows": _WORDS, "decision": decision}, route="explanations")
    assert [one["label"] for one in answer["explanations"]] == ["nospam", "nospam", "spam"]
    assert [one["branches"] for one in answer["explanations"]] == [one["branches"] for one in plain["explanations"]]
    both = ask(mail, {"rows": _WORDS, "decision": decision, "explain": True})
    assert labels(both) == ["nospam", "nospam", "spam"]


def test_a_rule_set_decides_likewise(mail: Api) -> None:
    sure = ask(mail, {"rows": _WORDS, "decision": {"threshold": {"class": "spam", "at": 0.99}}}, "mail-rules")
    assert labels(sure) == ["nospam"] * 3
    assert labels(ask(mail, {"rows": _WORDS}, "mail-rules")) == ["spam"] * 3


def test_lines_take_the_decision_from_the_query_and_tell_it(mail: Api) -> None:
    decision = {"threshold": {"class": "spam", "at": 0.91}}
    address, query = "/api/v1/models/mail/predictions", {"decision": json.dumps(decision)}
    sent = mail.post(address, params=query, content="word\na\nb\nc\n", headers={"content-type": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [row["label"] for row in rows] == ["nospam", "nospam", "spam"]
    assert [row["model_label"] for row in rows] == ["spam"] * 3
    assert [json.loads(row["decision"]) for row in rows] == [decision] * 3
    sent = mail.post(
        address, params=query, content='{"word":"a"}\n{"word":"c"}\n', headers={"content-type": "application/x-ndjson"}
    )
    lines = [json.loads(line) for line in sent.text.splitlines()]
    assert [(line["label"], line.get("model_label")) for line in lines] == [("nospam", "spam"), ("spam", None)]
    assert [json.loads(line["decision"]) for line in lines] == [decision] * 2
    arrow = mail.post(
        address, params=query, json={"rows": _WORDS}, headers={"accept": "application/vnd.apache.arrow.stream"}
    )
    table = pa.ipc.open_stream(arrow.content).read_all().to_pydict()
    assert (table["label"], table["model_label"]) == (["nospam", "nospam", "spam"], ["spam"] * 3)
    assert [json.loads(one) for one in table["decision"]] == [decision] * 3
    stronger = {"rows": _WORDS, "decision": {"threshold": {"class": "spam", "at": 0}}}
    assert labels(mail.post(address, params=query, json=stronger).json()) == ["spam"] * 3


@pytest.mark.parametrize(
    ("decision", "parameter"),
    [
        ([], "decision"),
        ({}, "decision"),
        ({"costs": _COSTS, "threshold": {"class": "spam", "at": 0.5}}, "decision"),
        ({"cost": _COSTS}, "decision"),
        ({"costs": 3}, "decision.costs"),
        ({"costs": {"spam": 3}}, "decision.costs.spam"),
        ({"costs": {"spam": {"nospam": "3"}}}, "decision.costs.spam.nospam"),
        ({"costs": {"spam": {"nospam": True}}}, "decision.costs.spam.nospam"),
        ({"costs": {"spam": {"ham": 3}}}, "decision.costs"),
        ({"costs": {"spam": {"nospam": 1e200}}}, "decision.costs"),
        ({"costs": {}}, "decision.costs"),
        ({"costs": [[0, 1]]}, "decision.costs"),
        ({"costs": [[0, 1], [0]]}, "decision.costs"),
        ({"costs": [[0, 1], [0, None]]}, "decision.costs.1.1"),
        ({"costs": [[0, 1], [0, 1]]}, "decision.costs"),
        ({"threshold": 0.5}, "decision.threshold"),
        ({"threshold": {"class": "spam"}}, "decision.threshold"),
        ({"threshold": {"class": "ham", "at": 0.5}}, "decision.threshold"),
        ({"threshold": {"class": None, "at": 0.5}}, "decision.threshold.class"),
        ({"threshold": {"class": "spam", "at": 1.5}}, "decision.threshold.at"),
        ({"threshold": {"class": "spam", "at": True}}, "decision.threshold.at"),
    ],
)
def test_what_is_no_decision_of_the_model_is_refused_by_name(mail: Api, decision: Any, parameter: str) -> None:
    refused = mail.post("/api/v1/models/mail/predictions", json={"rows": _WORDS, "decision": decision})
    assert problem(refused, 422)["errors"][0]["parameter"] == parameter
    query = {"decision": json.dumps(decision)}
    refused = mail.post(
        "/api/v1/models/mail/explanations", params=query, content="word\na\n", headers={"content-type": "text/csv"}
    )
    assert problem(refused, 422)["errors"][0]["parameter"] == parameter


def test_a_decision_has_no_sense_for_numbers_nor_a_threshold_among_three(mail: Api) -> None:
    threshold = {"threshold": {"class": "Iris-setosa", "at": 0.5}}
    refused = mail.post("/api/v1/models/numbers/predictions", json={"rows": [{}], "decision": threshold})
    assert problem(refused, 422)["errors"][0]["parameter"] == "decision"
    uploaded = mail.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    train(mail, uploaded["id"], target=uploaded["columns"][-1]["name"], name="iris")
    refused = mail.post("/api/v1/models/iris/predictions", json={"rows": [{}], "decision": threshold})
    assert "two classes" in problem(refused, 422)["detail"]
    refused = mail.post("/api/v1/models/mail/predictions?decision=nan", json={"rows": _WORDS})
    assert problem(refused, 422)["errors"][0]["parameter"] == "decision"


ROWS = [
    {"outlook": None, "temperature": 85, "humidity": 85, "windy": "FALSE"},
    {"outlook": "foggy", "temperature": 85, "humidity": 85, "windy": "FALSE"},
    {"outlook": "sunny", "temperature": 85, "humidity": None, "windy": None},
    {"outlook": "overcast", "temperature": 85, "humidity": 85, "windy": "FALSE"},
]


@pytest.mark.parametrize("name", ["weather", "numbers"])
def test_a_missing_value_follows_what_the_request_says(mail: Api, name: str) -> None:
    """The likeliest branch is what a tree answers that was trained to answer so."""
    dataset = mail.get(f"/api/v1/models/{name}:1").json()["lineage"]
    parameters = dataset["parameters"] | {"missing_prediction": "most-likely"}
    more = {"learner": dataset["learner"], "parameters": parameters, "features": dataset["features"]}
    train(mail, dataset["dataset"], target=dataset["target"], name=f"{name}-likely", **more)
    plain = ask(mail, {"rows": ROWS}, name)["predictions"]
    likely = ask(mail, {"rows": ROWS, "missing": "most-likely"}, name)["predictions"]
    trained = ask(mail, {"rows": ROWS}, f"{name}-likely")["predictions"]
    assert [_answer(one) for one in likely] == [_answer(one) for one in trained]
    assert [_answer(one) for one in likely] != [_answer(one) for one in plain]
    back = ask(mail, {"rows": ROWS, "missing": "fractional"}, f"{name}-likely")["predictions"]
    assert [_answer(one) for one in back] == [_answer(one) for one in plain]
    assert likely[0]["warnings"] == [{"kind": "missing", "columns": ["outlook"], "treated_as": "most-likely"}]
    assert _answer(likely[3]) == _answer(plain[3])
    paths = ask(mail, {"rows": ROWS, "missing": "most-likely"}, name, "explanations")["explanations"]
    assert [len(one["branches"]) for one in paths] == [1, 1, 1, 1]
    assert {step["weight"] for one in paths for step in one["branches"][0]["steps"]} == {1.0}
    picture = {"row": ROWS[0], "missing": "most-likely"}
    assert mail.post(f"/api/v1/models/{name}/tree", json=picture).status_code == 200


def _answer(prediction: dict[str, Any]) -> Any:
    return {name: prediction[name] for name in ("label", "probabilities", "value") if name in prediction}


@pytest.mark.parametrize("name", ["mail-rules", "as-value"])
def test_a_model_that_treats_missing_values_in_one_way_alone_says_so(mail: Api, name: str) -> None:
    for missing in ("fractional", "most-likely"):
        refused = mail.post(f"/api/v1/models/{name}/predictions", json={"rows": [{}], "missing": missing})
        fault = problem(refused, 422)["errors"][0]
        assert (fault["parameter"], fault["allowed"]) == ("missing", ["as-model", "reject"])
    assert ask(mail, {"rows": [{}], "missing": "as-model"}, name)["predictions"][0]["label"]


def test_the_client_asks_for_both(mail: Api) -> None:
    with Rulewood(mail.address) as client:
        answer = client.predict("mail", _WORDS, decision={"costs": _COSTS}, missing="fractional", explain=True)
        assert labels(answer) == ["nospam", "nospam", "spam"]
        assert answer["predictions"][0]["explanation"]["kind"] == "path"
        explained = client.explain("weather", ROWS[:1], missing="most-likely")
        assert len(explained["explanations"][0]["branches"]) == 1
