"""Counterfactuals and importances over HTTP, and what they have in common with questions."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from service.schemas.reasons import Counterfactuals, Importances, Questions
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

SUNNY = {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}
RAINY = {"outlook": "rainy", "temperature": 71, "humidity": 91, "windy": "TRUE"}


@pytest.fixture(scope="module")
def weather(shared_api: Api) -> Api:
    return taught(shared_api)


def taught(api: Api) -> Api:
    """A service with the models ``weather`` (classes) and ``speed`` (a regression)."""
    uploaded = api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    parameters = {"nominal": "multiway", "criterion": "entropy"}
    train(api, uploaded["id"], target="play", name="weather", parameters=parameters)
    table = "x,speed\n" + "".join(f"{x},{x * x}\n" for x in range(8))
    uploaded = api.upload(table, name="speed").json()
    train(api, uploaded["id"], target="speed", name="speed", learner="decision-tree-regressor")
    return api


@pytest.fixture(scope="module")
def at_least_two(weather: Api) -> str:
    """The name of a model of one test: whether at least two of four digits are 1."""
    digits = list(product((0, 1), repeat=4))
    lines = [f"{','.join(map(str, one))},{'yes' if sum(one) >= 2 else 'no'}\n" for one in digits]
    uploaded = weather.upload("x0,x1,x2,x3,y\n" + "".join(lines), name="digits").json()
    parameters = {"formula_tests": "m-of-n", "max_depth": 1}
    train(weather, uploaded["id"], target="y", name="digits", parameters=parameters)
    return "digits"


def ask(api: Api, what: str, body: dict[str, Any], name: str = "weather") -> dict[str, Any]:
    response = api.post(f"/api/v1/models/{name}/{what}", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    (Counterfactuals if what == "counterfactuals" else Questions).model_validate(answer)
    return answer


def predicted(api: Api, row: dict[str, Any], name: str = "weather") -> Any:
    (answer,) = api.post(f"/api/v1/models/{name}/predictions", json={"rows": [row]}).json()["predictions"]
    return answer.get("label", answer.get("value"))


def changed(row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    return row | {change["column"]: change["after"] for change in found["changes"]}


def test_every_counterfactual_is_predicted_as_wanted(weather: Api) -> None:
    answer = ask(weather, "counterfactuals", {"rows": [SUNNY, RAINY], "wanted": "yes", "count": 5})
    assert (answer["model"], answer["version"], answer["classes"]) == ("weather", 1, ["no", "yes"])
    for row, found in zip((SUNNY, RAINY), answer["rows"], strict=True):
        assert (found["status"], found["label"]) == ("found", "no")
        assert len(found["counterfactuals"]) == 3  # the tree has three leaves of this class
        for one in found["counterfactuals"]:
            assert one["label"] == "yes"
            assert predicted(weather, changed(row, one)) == "yes"
        assert found["why_not"]["leaf"] == found["counterfactuals"][0]["leaf"]
        unmet = [asked["condition"]["column"] for asked in found["why_not"]["conditions"]]
        assert unmet == [change["column"] for change in found["counterfactuals"][0]["changes"]]
    humidity = answer["rows"][0]["counterfactuals"][0]["changes"]
    assert [(change["column"], change["before"], change["after"]) for change in humidity] == [("humidity", 85, 77)]
    assert humidity[0]["distance"] == pytest.approx((85 - 77) / (96 - 65))  # whole numbers, over the training range


def test_what_is_fixed_directed_dear_or_not_allowed_is_kept(weather: Api) -> None:
    def changes(**options: Any) -> list[str]:
        (row,) = ask(weather, "counterfactuals", {"rows": [SUNNY], "wanted": "yes", **options})["rows"]
        return [change["column"] for one in row["counterfactuals"] for change in one["changes"]]

    assert changes() == ["humidity"]
    assert changes(fixed=["humidity"]) == ["outlook"]
    assert changes(costs={"humidity": 5}) == ["outlook"]
    assert changes(directions={"humidity": "up"}) == ["outlook"]
    assert changes(allowed={"humidity": {"minimum": 80}}) == ["outlook"]
    assert changes(order="distance") == ["humidity"]
    assert changes(fixed=["humidity", "outlook"]) == []
    body = {"rows": [SUNNY], "wanted": "yes", "fixed": ["humidity", "outlook"]}
    (row,) = ask(weather, "counterfactuals", body)["rows"]
    assert row["status"] == "unreachable"
    assert [change["column"] for change in row["why_not"]["changes"]] == ["humidity"]
    allowed = {"outlook": ["overcast"], "humidity": {"minimum": 80}}
    body = {"rows": [RAINY], "wanted": "yes", "fixed": ["windy"], "allowed": allowed}
    (row,) = ask(weather, "counterfactuals", body)["rows"]
    assert [change["after"] for change in row["counterfactuals"][0]["changes"]] == ["overcast"]


def test_a_row_that_has_the_answer_needs_no_change(weather: Api) -> None:
    (row,) = ask(weather, "counterfactuals", {"rows": [SUNNY], "wanted": "no"})["rows"]
    assert (row["status"], row["counterfactuals"], row["why_not"]) == ("already", [], None)


def test_a_regression_wants_a_range(weather: Api) -> None:
    body = {"rows": [{"x": 1}], "wanted": {"minimum": 20, "maximum": 30}}
    (row,) = ask(weather, "counterfactuals", body, "speed")["rows"]
    assert row["value"] == 1
    assert [(one["value"], one["changes"][0]["after"]) for one in row["counterfactuals"]] == [(25, 5)]
    assert predicted(weather, {"x": 5}, "speed") == 25
    for wanted in (25, "25", {}, {"least": 3}, {"minimum": 9, "maximum": 1}, {"minimum": "many"}, None, []):
        refused = weather.post("/api/v1/models/speed/counterfactuals", json={"rows": [{"x": 1}], "wanted": wanted})
        assert problem(refused, 422)["errors"][0]["parameter"] == "wanted"


def test_a_missing_value_may_stay_or_be_chosen(weather: Api) -> None:
    row = {"outlook": "sunny", "humidity": None}
    (found,) = ask(weather, "counterfactuals", {"rows": [row], "wanted": "yes"})["rows"]
    assert found["warnings"] == [{"kind": "missing", "columns": ["temperature", "humidity", "windy"]}]
    (one,) = found["counterfactuals"]
    assert predicted(weather, changed(row, one)) == "yes"
    assert [change["before"] for change in one["changes"]] in ([None], ["sunny"])


def test_bad_rows_fail_alone(weather: Api) -> None:
    rows = [SUNNY, {"humidity": "wet"}, 7]
    for what, more in (("counterfactuals", {"wanted": "yes"}), ("question", {})):
        answer = ask(weather, what, {"rows": rows, **more})
        assert answer["summary"] == {"rows": 3, "failed": 2}
        assert "error" not in answer["rows"][0]
        assert answer["rows"][1]["error"]["errors"][0]["column"] == "humidity"
        assert answer["rows"][2]["error"]["errors"][0]["row"] == 2
        refused = weather.post(f"/api/v1/models/weather/{what}", json={"rows": rows[1:], **more})
        assert [fault["row"] for fault in problem(refused, 422)["errors"]] == [0, 1]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"wanted": "perhaps"}, "wanted"),
        ({"wanted": None}, "wanted"),
        ({"wanted": ["yes"]}, "wanted"),
        ({"wanted": {"minimum": 1}}, "wanted"),
        ({"fixed": ["wind"]}, "fixed"),
        ({"fixed": "windy"}, "fixed"),
        ({"directions": {"outlook": "up"}}, "directions.outlook"),
        ({"directions": {"humidity": "sideways"}}, "directions.humidity"),
        ({"directions": {"wind": "up"}}, "directions"),
        ({"costs": {"humidity": -1}}, "costs.humidity"),
        ({"costs": {"humidity": "dear"}}, "costs.humidity"),
        ({"costs": {"wind": 1}}, "costs"),
        ({"allowed": {"humidity": ["sunny"]}}, "allowed.humidity"),
        ({"allowed": {"humidity": 3}}, "allowed.humidity"),
        ({"allowed": {"humidity": {"minimum": 3, "maximum": 1}}}, "allowed.humidity"),
        ({"allowed": {"humidity": {"least": 3}}}, "allowed.humidity"),
        ({"allowed": {"outlook": ["foggy"]}}, "allowed.outlook"),
        ({"allowed": {"outlook": {"minimum": "sunny"}}}, "allowed.outlook"),
        ({"count": 0}, "count"),
        ({"count": 21}, "count"),
        ({"count": 1.5}, "count"),
        ({"order": "best"}, "order"),
        ({"diverse": "yes"}, "diverse"),
        ({"unseen": "guess"}, "unseen"),
        ({"price": 3}, "price"),
        ({"rows": []}, "rows"),
        ({"rows": {}}, "rows"),
    ],
)
def test_bad_options_are_named(weather: Api, options: dict[str, Any], parameter: str) -> None:
    body = {"rows": [SUNNY], "wanted": "yes", **options}
    refused = problem(weather.post("/api/v1/models/weather/counterfactuals", json=body), 422)
    assert refused["errors"][0]["parameter"] == parameter
    assert refused["errors"][0]["message"]


def test_what_is_allowed_is_told(weather: Api) -> None:
    def allowed(**options: Any) -> Any:
        body = {"rows": [SUNNY], "wanted": "yes", **options}
        refused = problem(weather.post("/api/v1/models/weather/counterfactuals", json=body), 422)
        return refused["errors"][0]["allowed"]

    assert allowed(wanted="perhaps") == ["no", "yes"]
    assert allowed(fixed=["wind"]) == ["outlook", "temperature", "humidity", "windy"]


def test_importances_are_shares(weather: Api) -> None:
    response = weather.get("/api/v1/models/weather/importances")
    assert response.status_code == 200
    answer = response.json()
    Importances.model_validate(answer)
    assert [one["column"] for one in answer["importances"]] == list(SUNNY)
    assert sum(one["importance"] for one in answer["importances"]) == pytest.approx(1)
    assert {one["column"] for one in answer["importances"] if one["importance"] > 0} == {"outlook", "humidity", "windy"}


def test_limits_and_absent_models(weather: Api) -> None:
    many = [SUNNY] * 101
    for what, more in (("counterfactuals", {"wanted": "yes"}), ("question", {})):
        path = f"/api/v1/models/weather/{what}"
        assert problem(weather.post(path, json={"rows": many, **more}), 413)["errors"][0]["allowed"] == 100
        problem(weather.post(f"/api/v1/models/nobody/{what}", json={"rows": [SUNNY], **more}), 404)
        problem(weather.post(path, content="rows", headers={"content-type": "text/plain"}), 415)
        content = json.dumps({"rows": [{"humidity": "HERE"}], **more}).replace('"HERE"', "NaN")
        strange = weather.post(path, content=content, headers={"content-type": "application/json"})
        assert problem(strange, 422)["errors"][0]["column"] == "humidity"
    problem(weather.get("/api/v1/models/nobody/importances"), 404)


@pytest.mark.parametrize(("what", "more"), [("counterfactuals", {"wanted": "yes"}), ("question", {})])
def test_a_number_that_no_double_holds_fails_its_row_alone(weather: Api, what: str, more: dict[str, Any]) -> None:
    rows = json.dumps({"rows": [SUNNY, {"humidity": "HERE"}], **more}).replace('"HERE"', "1e999")
    headers = {"content-type": "application/json"}
    found = weather.post(f"/api/v1/models/weather/{what}", content=rows, headers=headers).json()
    assert found["summary"] == {"rows": 2, "failed": 1}
    (fault,) = found["rows"][1]["error"]["errors"]
    assert (fault["row"], fault["column"]) == (1, "humidity")
    plain = {"rows": [SUNNY], **more}
    assert found["rows"][0] == weather.post(f"/api/v1/models/weather/{what}", json=plain).json()["rows"][0]


def test_conditions_that_name_thousands_of_levels_are_limited(weather: Api) -> None:
    """5,000 levels in 21 sets of conditions a row: 9 rows name almost a million labels."""
    table = "code,y\n" + "".join(f"c{code},{'ab'[code % 2]}\n" for code in range(5000))
    uploaded = weather.upload(table, name="codes").json()
    train(weather, uploaded["id"], target="y", name="codes")
    body = {"rows": [{"code": "c4"}] * 10, "wanted": "b", "count": 20}
    refused = problem(weather.post("/api/v1/models/codes/counterfactuals", json=body), 413)
    assert refused["errors"][0]["allowed"] == 9
    (row,) = ask(weather, "counterfactuals", body | {"rows": body["rows"][:1]}, "codes")["rows"]
    (one,) = row["counterfactuals"]
    assert one["changes"] == [{"column": "code", "before": "c4", "after": "c1", "distance": 1}]


def test_models_without_a_tree_say_so(weather: Api) -> None:
    uploaded = weather.upload(table_path("weather-nominal.csv").read_bytes(), name="nominal").json()
    train(weather, uploaded["id"], target="play", name="rules", learner="rule-set-classifier")
    row = {"outlook": "sunny"}
    for refused in (
        weather.post("/api/v1/models/rules/question", json={"rows": [row]}),
        weather.get("/api/v1/models/rules/importances"),
    ):
        assert "rule-set-classifier" in problem(refused, 409)["errors"][0]["message"]


def test_counterfactuals_of_a_rule_set_name_the_rule_that_answers_them(weather: Api) -> None:
    uploaded = weather.upload(table_path("weather-numeric.csv").read_bytes(), name="numeric").json()
    train(weather, uploaded["id"], target="play", name="ordered", learner="rule-set-classifier")
    body = {"rows": [SUNNY, {**SUNNY, "outlook": "foggy"}, {"humidity": None}], "wanted": "no", "count": 3}
    answer = ask(weather, "counterfactuals", body, "ordered")
    other = ask(weather, "counterfactuals", body | {"wanted": "yes"}, "ordered")
    rules = {rule["id"] for rule in weather.get("/api/v1/models/ordered/rules").json()["rules"]}
    for row, *found in zip(body["rows"], answer["rows"], other["rows"], strict=True):
        assert {one["status"] for one in found} == {"already", "found"}
        for one in found[0]["counterfactuals"] + found[1]["counterfactuals"]:
            assert predicted(weather, changed(row, one), "ordered") == one["label"]
            assert one["rule"] in rules
            told = {"rows": [changed(row, one)]}
            (reason,) = weather.post("/api/v1/models/ordered/explanations", json=told).json()["explanations"]
            assert (reason["rule"], reason["rank"]) == (one["rule"], one["rank"])


def test_decisions_by_utility_are_what_counterfactuals_lead_to(weather: Api) -> None:
    """With a lost day 10 times as dear, only an answer of more than 10/11 is "yes"."""
    uploaded = weather.upload(table_path("weather-numeric.csv").read_bytes(), name="careful").json()
    utility = {"yes": {"no": -10}, "no": {"yes": -1}}
    train(weather, uploaded["id"], target="play", name="careful", parameters={"utility": utility, "max_depth": 1})
    body = {"rows": [SUNNY], "wanted": "yes", "count": 5}
    (row,) = ask(weather, "counterfactuals", body, "careful")["rows"]
    for one in row["counterfactuals"]:
        assert one["label"] == predicted(weather, changed(SUNNY, one), "careful") == "yes"
        assert one["probabilities"][1] > 10 / 11


def test_the_client_has_them_all(weather: Api) -> None:
    from service.client import Rulewood

    with Rulewood(weather.address) as client:
        found = client.counterfactuals("weather", [SUNNY], "yes", fixed=["humidity"])
        assert found["rows"][0]["counterfactuals"][0]["changes"][0]["after"] == "overcast"
        assert client.question("weather", [{}])["rows"][0]["ask"] == "outlook"
        assert client.importances("weather")["kind"] == "impurity"


def test_a_counterfactual_is_towards_the_decision_of_the_request(weather: Api) -> None:
    """One test on the outlook: 2 of 5 sunny, 4 of 4 overcast and 3 of 5 rainy days are played on."""
    dataset = weather.get("/api/v1/models/weather:1").json()["lineage"]["dataset"]
    parameters = {"nominal": "multiway", "criterion": "entropy", "max_depth": 1}
    train(weather, dataset, target="play", name="outlook", parameters=parameters)
    body: dict[str, Any] = {"rows": [RAINY, SUNNY], "wanted": "yes"}
    assert [row["status"] for row in ask(weather, "counterfactuals", body, "outlook")["rows"]] == ["already", "found"]
    decision = {"threshold": {"class": "yes", "at": 0.7}}
    answer = ask(weather, "counterfactuals", body | {"decision": decision}, "outlook")
    assert answer["decision"] == decision
    rainy, sunny = answer["rows"]
    assert (rainy["status"], rainy["label"], rainy["model_label"]) == ("found", "no", "yes")
    assert (sunny["status"], sunny["label"], "model_label" in sunny) == ("found", "no", False)
    for row in (rainy, sunny):
        assert [change["after"] for change in row["counterfactuals"][0]["changes"]] == ["overcast"]
        assert row["counterfactuals"][0]["label"] == "yes"
    for bad in ({"threshold": {"class": "yes", "at": 2}}, {"costs": {"maybe": {"no": 1}}}, 7):
        refused = weather.post("/api/v1/models/outlook/counterfactuals", json=body | {"decision": bad})
        assert problem(refused, 422)["errors"][0]["parameter"].startswith("decision")
    refused = weather.post(
        "/api/v1/models/speed/counterfactuals",
        json={"rows": [{"x": 1}], "wanted": {"minimum": 20}, "decision": decision},
    )
    assert problem(refused, 422)["errors"][0]["parameter"] == "decision"


def test_one_of_two_missing_values_is_set_while_the_other_stays_missing(weather: Api) -> None:
    counts = {"pu": (9, 1), "pv": (8, 2), "pw": (4, 6), "qu": (1, 9), "qv": (0, 10), "qw": (1, 9)}
    lines = [f"{a},{b},{'yes' if n < yes else 'no'}\n" for (a, b), (yes, no) in counts.items() for n in range(yes + no)]
    uploaded = weather.upload("a,b,y\n" + "".join(lines), name="mixes").json()
    train(weather, uploaded["id"], target="y", name="mixes", parameters={"nominal": "multiway"})
    row = {"a": None, "b": None}
    answer = ask(weather, "counterfactuals", {"rows": [row], "wanted": "yes", "fixed": ["b"]}, "mixes")
    assert answer["rows"][0]["status"] == "found"
    (found,) = answer["rows"][0]["counterfactuals"]
    assert [(change["column"], change["after"]) for change in found["changes"]] == [("a", "p")]
    assert (found["cost"], found["exact"]) == (1, True)
    assert predicted(weather, changed(row, found), "mixes") == "yes"


def test_a_row_that_is_too_hard_keeps_no_other_from_its_answer(
    weather: Api, at_least_two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least two of four digits shall be 1: of 1000 one has to change; 1100 has it; no cut is allowed then."""
    rows = [{f"x{place}": digit for place, digit in enumerate(digits)} for digits in ((1, 0, 0, 0), (1, 1, 0, 0))]
    body = {"rows": rows, "wanted": "yes"}
    found = ask(weather, "counterfactuals", body, at_least_two)["rows"]
    assert [row["status"] for row in found] == ["found", "already"]
    monkeypatch.setattr("learners.reasons.searches.combined_search.MAX_CUTS", 0)
    hard, already = ask(weather, "counterfactuals", body, at_least_two)["rows"]
    assert (hard["row"], hard["status"], hard["counterfactuals"], hard["why_not"]) == (0, "unfinished", [], None)
    assert "more than 0 regions" in hard["unfinished"]
    assert (hard["label"], hard["probabilities"]) == (found[0]["label"], found[0]["probabilities"])
    assert already == found[1]


def test_the_rows_of_a_request_share_a_bound(weather: Api, at_least_two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut counts as 1,000 nodes. A fixed column has why-not searched besides, which shares the bound too."""
    rows = [{f"x{place}": digit for place, digit in enumerate(digits)} for digits in ((1, 0, 0, 0), (0, 0, 0, 1))]
    for body in ({"rows": rows, "wanted": "yes"}, {"rows": rows, "wanted": "yes", "fixed": ["x1"]}):
        monkeypatch.setattr("learners.reasons.work.MAX_WORK", 20_000)
        found = ask(weather, "counterfactuals", body, at_least_two)["rows"]
        assert [row["status"] for row in found] == ["found", "found"]
        monkeypatch.setattr("learners.reasons.work.MAX_WORK", 0)
        ended = ask(weather, "counterfactuals", body, at_least_two)["rows"]
        assert [(row["status"], row["why_not"]) for row in ended] == [("unfinished", None)] * 2
        assert all("ask for fewer rows at once" in row["unfinished"] for row in ended)
