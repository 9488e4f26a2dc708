"""What to ask next over HTTP: the gain of each question, costs and utilities."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.routes.test_reasons import SUNNY, ask, predicted, taught
from tests.service.running import Api, problem


@pytest.fixture(scope="module")
def weather(shared_api: Api) -> Api:
    return taught(shared_api)


def test_questions_lead_to_the_prediction(weather: Api) -> None:
    """Nothing known, the outlook tells most (Quinlan's 0.246 bits); then what the answer leaves open, and no more."""
    row: dict[str, Any] = {}
    answer = ask(weather, "question", {"rows": [row]})
    (first,) = answer["rows"]
    assert answer["absent_columns"] == list(SUNNY)
    assert (first["ask"], first["possible"]) == ("outlook", ["no", "yes"])
    assert first["candidates"][0]["gain"] == pytest.approx(0.2467, abs=1e-4)
    assert first["uncertainty"] == pytest.approx(0.9403, abs=1e-4)
    row["outlook"] = "sunny"
    (second,) = ask(weather, "question", {"rows": [row]})["rows"]
    assert second["ask"] == "humidity"
    assert [one["column"] for one in second["candidates"]] == ["humidity", "temperature", "windy"]
    assert second["candidates"][0]["gain"] == pytest.approx(second["uncertainty"])
    assert second["candidates"][1] == {"column": "temperature", "gain": 0, "cost": 1, "score": 0}
    row["humidity"] = 85
    (last,) = ask(weather, "question", {"rows": [row]})["rows"]
    assert (last["ask"], last["possible"], last["leaves"], last["uncertainty"]) == (None, ["no"], 1, 0)
    assert last["label"] == predicted(weather, row) == "no"


def test_costs_and_utilities_rank_the_questions(weather: Api) -> None:
    (dear,) = ask(weather, "question", {"rows": [{}], "costs": {"outlook": 1000}})["rows"]
    assert dear["ask"] != "outlook"
    (free,) = ask(weather, "question", {"rows": [{}], "costs": {"windy": 0}})["rows"]
    assert (free["ask"], free["candidates"][0]["score"]) == ("windy", None)
    utility = {"yes": {"yes": 1, "no": -100}}
    (careful,) = ask(weather, "question", {"rows": [{}], "utility": utility})["rows"]
    # only an overcast day (4 of 14) is surely played on: 4/14 of a utility of 1
    assert careful["ask"] == "outlook"
    assert careful["candidates"][0]["gain"] == pytest.approx(4 / 14)
    (decided,) = ask(weather, "question", {"rows": [{}], "decision": {"utility": utility}})["rows"]
    assert decided["candidates"] == careful["candidates"]
    (never,) = ask(weather, "question", {"rows": [{}], "decision": {"threshold": {"class": "no", "at": 0}}})["rows"]
    assert never["possible"] == ["no"]
    assert never["candidates"][0]["gain"] == 0


def test_a_regression_is_asked_for_its_variance(weather: Api) -> None:
    (row,) = ask(weather, "question", {"rows": [{"x": None}]}, "speed")["rows"]
    assert (row["ask"], row["minimum"], row["maximum"], row["leaves"]) == ("x", 0, 49, 8)
    assert row["value"] == pytest.approx(140 / 8)
    assert row["candidates"][0]["gain"] == pytest.approx(row["uncertainty"])


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"costs": {"wind": 1}}, "costs"),
        ({"costs": {"windy": -1}}, "costs.windy"),
        ({"utility": {"perhaps": {"yes": 1}}}, "utility"),
        ({"utility": {"yes": {"perhaps": 1}}}, "utility"),
        ({"utility": {"yes": 1}}, "utility.yes"),
        ({"utility": {"yes": {"yes": 1}}, "decision": {"costs": {"yes": {"no": 2}}}}, "utility"),
        ({"decision": {"threshold": {"class": "perhaps", "at": 0.5}}}, "decision.threshold"),
        ({"wanted": "yes"}, "wanted"),
        ({"strict": 1}, "strict"),
    ],
)
def test_bad_options_of_a_question_are_named(weather: Api, options: dict[str, Any], parameter: str) -> None:
    refused = problem(weather.post("/api/v1/models/weather/question", json={"rows": [{}], **options}), 422)
    assert refused["errors"][0]["parameter"] == parameter


def test_utilities_are_refused_of_a_regression(weather: Api) -> None:
    body = {"rows": [{"x": None}], "utility": {"yes": {"yes": 1}}}
    refused = problem(weather.post("/api/v1/models/speed/question", json=body), 422)
    assert refused["errors"][0]["parameter"] == "utility"
