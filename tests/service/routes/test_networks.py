"""Networks over HTTP: trained from text as it is, asked, explained, read as rules; epochs told, cancelled, diverged."""

from __future__ import annotations

import math
from typing import Any

import pytest

from learners.errors import Cancelled, ParameterError
from service.jobs.outcomes import error_record
from service.schemas.predictions import Explanations, Predictions
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

CLASSIFIER, REGRESSOR = "neural-network-classifier", "neural-network-regressor"


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    """A service with networks of two classes, of three and of a number, trained on tables with names and gaps."""
    for name, target, learner, parameters in (
        ("vote", "Class", CLASSIFIER, {"hidden_units": [6], "validation_fraction": 0.2, "epochs": 60}),
        ("iris", "class", CLASSIFIER, {"hidden_units": [5, 4], "optimizer": "rprop", "epochs": 60}),
        ("servo", "class", REGRESSOR, {"optimizer": "lbfgs", "activation": "relu", "epochs": 40}),
    ):
        dataset = shared_api.upload(table_path(f"{name}.csv").read_bytes(), name=name).json()["id"]
        train(shared_api, dataset, target=target, name=name, learner=learner, parameters=parameters)
    parameters = {"hidden_units": [4, 2], "optimizer": "rprop", "epochs": 80}
    own = {"excluded": ["class"], "learner": "autoencoder", "parameters": parameters, "evaluation": {"folds": 3}}
    train(shared_api, dataset_of(shared_api, "iris"), target=None, name="codes", **own)
    return shared_api


def dataset_of(api: Api, name: str) -> str:
    found: str = next(one["id"] for one in api.get("/api/v1/datasets").json()["items"] if one["name"] == name)
    return found


ROWS: dict[str, list[dict[str, Any]]] = {
    "vote": [
        {"physician-fee-freeze": "y", "el-salvador-aid": "n"},
        {"physician-fee-freeze": "perhaps", "el-salvador-aid": "y", "crime": "n"},
    ],
    "iris": [
        {"sepallength": 5.1, "sepalwidth": 3.5, "petallength": 1.4, "petalwidth": 0.2},
        {"sepallength": 1e12, "sepalwidth": 3.0, "petallength": 5.5, "petalwidth": 2.1},
    ],
    "servo": [
        {"motor": "A", "screw": "B", "pgain": 3, "vgain": 1},
        {"motor": "Z", "screw": None, "pgain": 5, "vgain": 4},
    ],
}


def test_a_training_tells_its_epochs_and_its_history(api: Api) -> None:
    version = api.get("/api/v1/models/vote:1").json()
    notes = version["lineage"]["training_notes"]
    assert notes["epochs"] == len(notes["history"]) <= 60
    assert notes["stopped"] in ("epochs", "patience")
    first, last = notes["history"][0], notes["history"][-1]
    assert set(first) == {"epoch", "training_error", "validation_error"}
    assert last["training_error"] < first["training_error"]


@pytest.mark.parametrize("name", ROWS)
def test_attributions_and_link_are_the_answer(api: Api, name: str) -> None:
    response = api.post(f"/api/v1/models/{name}/explanations", json={"rows": ROWS[name]})
    assert response.status_code == 200, response.text
    Explanations.model_validate(response.json())
    for told, row in zip(response.json()["explanations"], ROWS[name], strict=True):
        assert told["kind"] == "attributions"
        sums = []
        for score in told["scores"]:
            for part in score["contributions"]:
                assert part["observed"] == row.get(part["column"])  # an unseen level as it was sent
            total = score["baseline"] + sum(part["contribution"] for part in score["contributions"]) + score["gap"]
            assert total == pytest.approx(score["score"], rel=1e-12, abs=1e-12)
            assert abs(score["gap"]) <= 1.01e-6 * max(1, abs(score["score"] - score["baseline"]))
            sums.append(score["score"])
        if told["link"] == "identity":
            assert told["value"] == pytest.approx(sums[0], rel=1e-12)
            continue
        if told["link"] == "logistic":
            label, share = told["scores"][0]["label"], 1 / (1 + math.exp(-sums[0]))
            assert told["probabilities"][response.json()["classes"].index(label)] == pytest.approx(share, rel=1e-9)
        else:
            powers = [math.exp(score - max(sums)) for score in sums]
            labels = [score["label"] for score in told["scores"]]
            found = dict(zip(response.json()["classes"], told["probabilities"], strict=True))
            shares = [power / sum(powers) for power in powers]
            assert [found[label] for label in labels] == pytest.approx(shares, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", ROWS)
def test_one_row_many_rows_and_other_formats_answer_alike(api: Api, name: str) -> None:
    full = ROWS[name][0]
    response = api.post(f"/api/v1/models/{name}/predictions", json={"rows": [full]})
    Predictions.model_validate(response.json())
    (one,) = response.json()["predictions"]
    many = api.post(f"/api/v1/models/{name}/predictions", json={"rows": [full] * 50}).json()["predictions"]
    assert {str({**answer, "row": 0}) for answer in many} == {str(one)}
    text = ",".join(full) + "\n" + ",".join(map(str, full.values())) + "\n"
    headers = {"Content-Type": "text/csv"}
    lines = api.post(f"/api/v1/models/{name}/explanations", content=text, headers=headers).text.splitlines()
    assert len(lines) == 2
    assert " = " in lines[1]


def test_rules_in_place_of_a_network_tell_their_fidelity(api: Api) -> None:
    found = api.get("/api/v1/models/vote/rules", params={"surrogate": 4}).json()
    assert 1 <= len(found["rules"]) <= 4
    assert found["surrogate"]["measure"] == "agreement"
    assert found["surrogate"]["fidelity"] > 0.9
    numbers = api.get("/api/v1/models/servo/rules", params={"surrogate": 12}).json()
    assert numbers["surrogate"]["measure"] == "r_squared"
    assert numbers["surrogate"]["fidelity"] > 0.5
    for what in ("rules", "tree", "coefficients"):
        problem(api.get(f"/api/v1/models/vote/{what}"), 409)


def request(dataset: str, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "train",
        "dataset": dataset,
        "target": "class",
        "learner": CLASSIFIER,
        "model": {"name": "x"},
    } | changes


def test_the_progress_of_a_training_is_its_epochs_and_it_is_cancelled_between_them(api: Api) -> None:
    parameters = {"hidden_units": [60, 60], "epochs": 100_000}
    job = api.post("/api/v1/jobs", json=request(dataset_of(api, "iris"), parameters=parameters)).json()["id"]
    told: list[tuple[float, str]] = []

    def progress(share: float, message: str) -> None:
        told.append((share, message))
        if len(told) == 4:
            raise Cancelled("asked to stop")

    with pytest.raises(Cancelled):
        do_job(api, job, progress=progress)
    assert "of 100000, error" in told[-1][1]
    assert 0 < told[-2][0] < told[-1][0] < 0.5


def test_a_training_that_diverges_fails_with_what_to_do(api: Api) -> None:
    parameters = {"optimizer": "sgd", "rate": 100, "activation": "linear"}
    asked = request(dataset_of(api, "servo"), learner=REGRESSOR, parameters=parameters)
    job = api.post("/api/v1/jobs", json=asked).json()["id"]
    with pytest.raises(ParameterError) as caught:
        do_job(api, job)
    record = error_record(caught.value)
    assert (record.type, record.parameter) == ("invalid", "rate")
    assert record.detail == "training diverged at epoch 1: lower the rate (100)"


@pytest.mark.parametrize(
    ("parameters", "parameter", "words"),
    [
        ({"hidden_units": "10"}, "hidden_units", "an array of 0 to 10 whole numbers >= 1 and <= 5000"),
        ({"hidden_units": [0]}, "hidden_units", "an array of 0 to 10 whole numbers"),
        ({"batch": 0}, "batch", "a whole number >= 1"),
        ({"optimizer": "lbfgs", "rate": 0.1}, "rate", "only for optimizer"),
        ({"patience": 7}, "patience", "give validation_fraction"),
    ],
)
def test_bad_parameters_are_named(api: Api, parameters: dict[str, Any], parameter: str, words: str) -> None:
    refused = problem(api.post("/api/v1/jobs", json=request(dataset_of(api, "iris"), parameters=parameters)), 422)
    assert refused["errors"][0]["parameter"] == f"parameters.{parameter}"
    assert words in refused["errors"][0]["message"]


def test_numbers_of_units_are_searched_for(api: Api) -> None:
    selection = {"grid": {"hidden_units": [[], [3], [3, 3]]}}
    asked = request(
        dataset_of(api, "iris"), kind="select", parameters={"epochs": 20}, selection=selection, evaluation={"folds": 2}
    )
    made = api.post("/api/v1/jobs", json=asked)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    found = api.get(made.headers["location"]).json()["result"]["selection"]
    assert [one["parameters"]["hidden_units"] for one in found["candidates"]] == [[], [3], [3, 3]]
    assert found["parameters"]["hidden_units"] in ([], [3], [3, 3])


def test_an_autoencoder_is_trained_without_a_target_and_tells_code_and_errors(api: Api) -> None:
    version = api.get("/api/v1/models/codes:1").json()
    assert version["lineage"]["target"] is None
    assert version["metrics"]["metrics"]["mean_absolute_error"]["mean"] < 0.3  # of the folds' reconstruction errors
    response = api.post("/api/v1/models/codes/explanations", json={"rows": ROWS["iris"][:1]})
    Explanations.model_validate(response.json())
    (told,) = response.json()["explanations"]
    assert (told["kind"], len(told["code"]), len(told["reconstructed"])) == ("reconstruction", 2, 4)
    assert told["value"] == pytest.approx(sum(one["error"] for one in told["reconstructed"]), rel=1e-12)
    assert told["reconstructed"][2]["reconstructed"] == pytest.approx(1.4, abs=0.6)
    text = ",".join(ROWS["iris"][0]) + "\n" + ",".join(map(str, ROWS["iris"][0].values())) + "\n"
    lines = api.post("/api/v1/models/codes/explanations", content=text, headers={"Content-Type": "text/csv"}).text
    assert "code (" in lines
    rows = [{**row, "sepalwidth": width} for row in ROWS["iris"][:1] for width in (3.5, 30.0)]
    answers = api.post("/api/v1/models/codes/predictions", json={"rows": rows}).json()["predictions"]
    assert answers[1]["value"] > 50 * answers[0]["value"]  # a row unlike those of the training
    rules = api.get("/api/v1/models/codes/rules", params={"surrogate": 4}).json()
    assert rules["surrogate"]["measure"] == "r_squared"


def test_an_autoencoder_is_judged_and_answers_whole_datasets(api: Api) -> None:
    dataset = dataset_of(api, "iris")
    for job in (
        {"kind": "evaluate", "dataset": dataset, "version": "codes"},
        {"kind": "predict", "dataset": dataset, "version": "codes"},
    ):
        made = api.post("/api/v1/jobs", json=job)
        assert made.status_code == 202, made.text
        do_job(api, made.json()["id"])
        assert api.get(made.headers["location"]).json()["state"] == "succeeded"
    found = api.get("/api/v1/models/codes/importances", params={"kind": "permutation", "dataset": dataset}).json()
    assert {one["column"] for one in found["importances"]} == {
        "sepallength",
        "sepalwidth",
        "petallength",
        "petalwidth",
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learner": "autoencoder"}, "autoencoder learns without a target"),
        ({"target": None}, "a job train needs target"),
        ({"target": None, "learner": None}, "a job train needs target"),
    ],
)
def test_a_target_where_there_is_none_and_none_where_one_is_needed_are_refused(
    api: Api, changes: dict[str, Any], words: str
) -> None:
    refused = problem(api.post("/api/v1/jobs", json=request(dataset_of(api, "iris"), **changes)), 422)
    (fault,) = [fault for fault in refused["errors"] if fault["parameter"] == "target"]
    assert words in fault["message"]
