"""Sequences fed in pieces over HTTP: trained from a file with sequences, asked step by step."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from service.schemas.predictions import Explanations
from service.schemas.steps import Steps
from tests.service.running import Api, problem
from tests.service.working import do_job, train

BITS = [[0, 1, 1, 1, 0, 1], [1, 1, 0], [0, 0], [1, 0, 1, 0], [1], [0, 1, 1]]


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    """A service with networks that learn the parity of bits, and what follows in a word and a series."""
    bits = [{"bits": row, "side": row[0] * 2.5, "odd": "yes" if sum(row) % 2 else "no"} for row in BITS]
    series = [{"past": [[k % 3, 1], [(k + 1) % 3, 2]], "next": (k + 2) % 3 + 0.5} for k in range(9)]
    words = [{"word": "abcab"[: k % 4 + 1], "next": "abcab"[k % 4 + 1]} for k in range(12)]
    for name, rows, target, learner, kinds, parameters in (
        ("parity", bits, "odd", "recurrent-network-classifier", {}, {"epochs": 20, "taught": "every-step"}),
        ("series", series, "next", "time-delay-network-regressor", {}, {"window": 3, "epochs": 20}),
        ("words", words, "next", "recurrent-network-classifier", {"word": "text"}, {"epochs": 30}),
    ):
        body = json.dumps(rows).encode()
        made = shared_api.upload(body, name=name, format="json", options=json.dumps({"kinds": kinds}))
        assert made.status_code == 201, made.text
        train(shared_api, made.json()["id"], target=target, name=name, learner=learner, parameters=parameters)
    return shared_api


ROWS: dict[str, dict[str, Any]] = {
    "parity": {"bits": [1, 0, 1, 1, 0], "side": 2.5},
    "series": {"past": [[0, 1], [2, 1], [1, 5], [9, 9]]},
    "words": {"word": "abcabxca"},
}


def cut(row: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    return {name: value[begin:end] if isinstance(value, list | str) else value for name, value in row.items()}


@pytest.mark.parametrize("name", ROWS)
def test_steps_fed_in_pieces_are_predictions_of_the_beginnings_to_the_bit(api: Api, name: str) -> None:
    row = ROWS[name]
    length = max(len(value) for value in row.values() if isinstance(value, list | str))
    beginnings = [cut(row, 0, end) for end in range(1, length + 1)]
    whole = api.post(f"/api/v1/models/{name}/predictions", json={"rows": beginnings}).json()["predictions"]
    state, found = None, []
    for begin, end in ((0, 1), (1, 3), (3, length)):
        sent = {"row": cut(row, begin, end)} | ({} if state is None else {"state": state})
        response = api.post(f"/api/v1/models/{name}/steps", json=sent)
        assert response.status_code == 200, response.text
        answer = response.json()
        Steps.model_validate(answer)
        found += answer["steps"]
        state = answer["state"]
        assert state["steps"] == end
    assert [one.pop("step") for one in found] == list(range(length))
    wanted = [{key: value for key, value in one.items() if key not in ("row", "warnings")} for one in whole]
    assert found == wanted


def test_symbols_that_training_did_not_know_are_told(api: Api) -> None:
    path = "/api/v1/models/words"
    rows = [{"word": "abxya"}, {"word": "abc"}]
    answers = api.post(f"{path}/predictions", json={"rows": rows}).json()["predictions"]
    assert answers[0]["warnings"] == [{"kind": "unseen", "column": "word", "value": "abxya", "treated_as": "other"}]
    assert "warnings" not in answers[1]
    refused = api.post(f"{path}/predictions", json={"rows": rows, "unseen": "reject"}).json()["predictions"][0]["error"]
    (fault,) = refused["errors"]
    assert fault["message"] == "the model does not know the symbols 'x', 'y', and 'unseen' is 'reject'"
    assert fault["allowed"] == ["a", "b", "c"]
    missing = api.post(f"{path}/predictions", json={"rows": rows[:1], "unseen": "missing"}).json()["predictions"][0]
    absent = api.post(f"{path}/predictions", json={"rows": [{"word": None}]}).json()["predictions"][0]
    assert missing["probabilities"] == absent["probabilities"]
    fed = api.post(f"{path}/steps", json={"row": rows[0]}).json()
    assert fed["warnings"] == answers[0]["warnings"]
    problem(api.post(f"{path}/steps", json={"row": rows[0], "unseen": "reject"}), 422)


def test_a_piece_with_another_value_for_the_whole_sequence_is_refused(api: Api) -> None:
    path = "/api/v1/models/parity/steps"
    state = api.post(path, json={"row": {"bits": [1], "side": 2.5}}).json()["state"]
    assert api.post(path, json={"row": {"bits": [0], "side": 2.5}, "state": state}).status_code == 200
    for row in ({"bits": [0], "side": 3}, {"bits": [0]}):
        refused = problem(api.post(path, json={"row": row, "state": state}), 422)
        assert refused["errors"][0]["column"] == "side"
        assert refused["errors"][0]["parameter"] == "row"
        assert "column 'side' is not as it was in the steps before" in refused["detail"]


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"features": ["side"]}, "features", "no column is of kind sequence or text"),
        ({"parameters": {"taught": "next-step"}}, "features", "there are 2: 'bits', 'more'"),
        ({"parameters": {"hidden_units": [1_000] * 9}}, "parameters.hidden_units", "at most 10000000 are learned"),
        (
            {"learner": "neural-network-classifier", "features": ["side"], "parameters": {"hidden_units": [5_000] * 2}},
            "parameters.hidden_units",
            "1 inputs and hidden_units = [5000, 5000] make 25020001 weights; at most 20000000",
        ),
        (
            {
                "learner": "autoencoder",
                "target": None,
                "features": ["side"],
                "parameters": {"hidden_units": [5_000, 3_000]},
            },
            "parameters.hidden_units",
            "at most 20000000",
        ),
        (
            {
                "learner": "autoencoder",
                "target": None,
                "features": ["side"],
                "evaluation": {"method": "k-fold", "stratified": True},
            },
            "evaluation.stratified",
            "learns no classes",
        ),
    ],
)
def test_what_no_training_could_do_is_refused_at_once(
    api: Api, changes: dict[str, Any], parameter: str, words: str
) -> None:
    rows = [{"bits": row, "more": row, "side": row[0] * 2.5, "odd": "ny"[sum(row) % 2]} for row in BITS]
    dataset = api.upload(json.dumps(rows).encode(), name="impossible", format="json").json()["id"]
    asked = {"kind": "train", "dataset": dataset, "target": "odd", "learner": "recurrent-network-classifier"} | changes
    refused = problem(api.post("/api/v1/jobs", json=asked), 422)
    assert words in refused["detail"]
    assert refused["errors"][0]["parameter"] == parameter


def test_importances_of_two_sequences_are_measured_among_rows_of_one_length(api: Api) -> None:
    rows = [{"a": row, "b": row[::-1], "y": float(row[-1])} for row in BITS * 3]
    dataset = api.upload(json.dumps(rows).encode(), name="pair", format="json").json()["id"]
    train(api, dataset, target="y", name="pair", learner="recurrent-network-regressor", parameters={"epochs": 40})
    path, query = "/api/v1/models/pair/importances", {"kind": "permutation", "dataset": dataset}
    found = api.get(path, params=query)
    assert found.status_code == 200, found.text
    assert [one["column"] for one in found.json()["importances"]] == ["a", "b"]


@pytest.mark.parametrize("name", ROWS)
def test_reasons_tell_what_each_step_adds(api: Api, name: str) -> None:
    response = api.post(f"/api/v1/models/{name}/explanations", json={"rows": [ROWS[name]]})
    assert response.status_code == 200, response.text
    Explanations.model_validate(response.json())
    (told,) = response.json()["explanations"]
    for score in told["scores"]:
        first = score["contributions"][0]
        assert first["observed"] == next(iter(ROWS[name].values()))
        assert len(first["steps"]) == len(first["observed"])
        assert sum(first["steps"]) == pytest.approx(first["contribution"], rel=1e-9, abs=1e-12)
        assert all("steps" not in other for other in score["contributions"][1:])


def test_the_schema_of_a_row_allows_any_sequence_and_any_text(api: Api) -> None:
    numbers = api.get("/api/v1/models/parity/schema").json()["json_schema"]["properties"]["bits"]
    assert [form.get("type") for form in numbers["anyOf"]] == ["array", "array", None]
    assert api.get("/api/v1/models/words/schema").json()["json_schema"]["properties"]["word"] == {
        "type": ["string", "number", "boolean", "null"]
    }


def test_what_is_no_state_is_refused(api: Api) -> None:
    path, row = "/api/v1/models/parity/steps", {"bits": [1], "side": 0}
    state = api.post(path, json={"row": row}).json()["state"]
    for changes in ({"units": [0]}, {"steps": -1}, {"window": 3}, {"more": 1}, {"units": ["a"] * 8}):
        refused = problem(api.post(path, json={"row": row, "state": state | changes}), 422)
        assert refused["errors"][0]["parameter"] == "state", refused
    for wrong in (7, [], {}, "x", {"units": []}):
        assert problem(api.post(path, json={"row": row, "state": wrong}), 422)["errors"][0]["parameter"] == "state"
    for changes in ({"version": 2}, {"model": "words"}, {"version": True}, {"fingerprint": "of a deleted one"}):
        refused = problem(api.post(path, json={"row": row, "state": state | changes}), 409)
        assert "parity:1 answers here" in refused["detail"]
    body = b'{"row":{"bits":[1],"side":0},"state":{"units":[1e400]}}'
    problem(api.post(path, content=body, headers={"Content-Type": "application/json"}), 422)


def test_what_is_no_piece_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/api/v1/models/parity/steps"
    for row in ({"bits": [[1, 2]]}, {"bits": "a b"}, {"bits": []}, {"bits": 3}, 5, {"bits": [1], "side": "far"}):
        refused = problem(api.post(path, json={"row": row}), 422)
        assert refused["errors"], refused
    problem(api.post(path, json={}), 422)
    problem(api.post(path, json={"row": {"bits": [1]}, "rows": []}), 422)
    absent = api.post(path, json={"row": {"bits": [1], "colour": 3}}).json()
    assert absent["absent_columns"] == ["side"]
    assert absent["ignored_columns"] == ["colour"]
    most = 20_000
    many = problem(api.post(path, json={"row": {"bits": [0] * most + [1]}}), 413)
    allowed = many["errors"][0]["allowed"]
    assert 0.99 * most < allowed < most
    assert f"at most {allowed} steps" in many["detail"]


def test_long_sequences_are_refused_before_the_work(api: Api) -> None:
    sent = {"rows": [{"bits": [0, 1], "side": 2.5}, {"bits": [0] * 20_001, "side": 2.5}]}
    answer = api.post("/api/v1/models/parity/predictions", json=sent).json()
    assert answer["summary"] == {"rows": 2, "failed": 1}
    assert "20001 steps" in str(answer["predictions"][1]["error"])
    sent = {"rows": [{"bits": [0, 1] * 3_000}], "explain": True}
    refused = problem(api.post("/api/v1/models/parity/predictions", json=sent), 413)
    assert refused["errors"][0]["parameter"] == "explain"
    most = int(re.search(r"a row of (\d+) steps fits alone", refused["detail"])[1])  # type: ignore[index]
    assert 1_000 < most < 6_000
    for steps, status in ((most, 200), (most + 1, 413)):
        sent = {"rows": [{"bits": [0] * steps}]}
        assert api.post("/api/v1/models/parity/explanations", json=sent).status_code == status


def test_a_model_without_steps_says_so(api: Api) -> None:
    body = b"x,y\n1,a\n2,b\n3,a\n"
    train(api, api.upload(body, name="stepless").json()["id"], target="y", name="stepless")
    refused = problem(api.post("/api/v1/models/stepless/steps", json={"row": {"x": 1}}), 409)
    assert "decision-tree-classifier does not go through sequences step by step" in refused["detail"]


def test_rows_whose_sequences_differ_in_length_are_no_fault_of_the_service(api: Api) -> None:
    rows = [{"a": [1, 2], "b": [3, 4], "y": 1.0}, {"a": [1], "b": [2], "y": 2.0}]
    dataset = api.upload(json.dumps(rows).encode(), name="two", format="json").json()["id"]
    train(api, dataset, target="y", name="two", learner="recurrent-network-regressor", parameters={"epochs": 2})
    sent = {"a": [1, 2], "b": [3]}
    for what in ("predictions", "explanations"):
        answer = api.post(f"/api/v1/models/two/{what}", json={"rows": [sent, rows[0]]}).json()
        assert answer["summary"] == {"rows": 2, "failed": 1}
        (fault,) = answer[what][0]["error"]["errors"]
        assert (fault["column"], fault["row"]) == ("b", 0)
        assert "has 1 steps, where another of the row has 2" in fault["message"]
        problem(api.post(f"/api/v1/models/two/{what}", json={"rows": [sent]}), 422)
    refused = problem(api.post("/api/v1/models/two/steps", json={"row": sent}), 422)
    assert refused["errors"][0]["column"] == "b"


def test_folds_in_time_order_judge_a_time_delay_network(api: Api) -> None:
    rows = [{"t": k, "past": [k % 4, (k + 1) % 4], "next": (k + 2) % 4} for k in range(40)]
    dataset = api.upload(json.dumps(rows).encode(), name="clock", format="json").json()["id"]
    request = {
        "kind": "cross-validate",
        "dataset": dataset,
        "target": "next",
        "learner": "time-delay-network-regressor",
        "parameters": {"window": 2, "epochs": 60},
        "evaluation": {"folds": 3, "time": "t"},
    }
    made = api.post("/api/v1/jobs", json=request)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    found = api.get(made.headers["location"]).json()["result"]
    assert found["evaluation"]["metrics"]["mean_absolute_error"]["mean"] < 1.0


def test_rules_in_place_of_a_model_of_sequences_speak_of_their_facts(api: Api) -> None:
    found = api.get("/api/v1/models/series/rules", params={"surrogate": 3})
    assert found.status_code == 200, found.text
    told = found.json()
    assert told["surrogate"]["measure"] == "r_squared"
    assert "past[" in str(told["rules"])


def test_a_surrogate_of_rows_without_the_models_columns_is_refused(api: Api) -> None:
    other = api.upload(b"x,y\n1,2\n2,3\n", name="otherwise").json()["id"]
    problem(api.get("/api/v1/models/series/rules", params={"surrogate": 3, "dataset": other}), 422)
