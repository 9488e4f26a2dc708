"""Cascade correlation over HTTP: grown from text as it is, its growth told, its answers explained, its faults named."""

from __future__ import annotations

from typing import Any

import pytest

from learners.errors import ParameterError
from service.jobs.outcomes import error_record
from service.schemas.predictions import Explanations
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

CLASSIFIER, REGRESSOR = "cascade-correlation-classifier", "cascade-correlation-regressor"
ROWS: dict[str, list[dict[str, Any]]] = {
    "grown-vote": [{"physician-fee-freeze": "y", "el-salvador-aid": "n"}, {"physician-fee-freeze": "perhaps"}],
    "grown-servo": [{"motor": "A", "screw": "B", "pgain": 3, "vgain": 1}],
}


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    for name, target, learner, parameters in (
        ("vote", "Class", CLASSIFIER, {"validation_fraction": 0.25, "placement": "both", "max_hidden": 4}),
        ("servo", "class", REGRESSOR, {"max_hidden": 3}),
    ):
        dataset = shared_api.upload(table_path(f"{name}.csv").read_bytes(), name=f"of-{name}").json()["id"]
        train(shared_api, dataset, target=target, name=f"grown-{name}", learner=learner, parameters=parameters)
    return shared_api


def request(api: Api, **changes: Any) -> dict[str, Any]:
    dataset = next(one["id"] for one in api.get("/api/v1/datasets").json()["items"] if one["name"] == "of-servo")
    return {
        "kind": "train",
        "dataset": dataset,
        "target": "class",
        "learner": REGRESSOR,
        "model": {"name": "x"},
    } | changes


def test_a_training_tells_how_the_network_grew(api: Api) -> None:
    notes = api.get("/api/v1/models/grown-servo:1").json()["lineage"]["training_notes"]
    assert (notes["hidden_units"], notes["stopped"]) == (3, "max_hidden")
    assert [step["hidden_units"] for step in notes["history"]] == [0, 1, 2, 3]
    assert notes["unit_layers"] == [1, 2, 3]
    held = api.get("/api/v1/models/grown-vote:1").json()["lineage"]["training_notes"]
    losses = [step["validation_error"] for step in held["history"]]
    assert held["hidden_units"] == losses.index(min(losses))


@pytest.mark.parametrize("name", ROWS)
def test_attributions_add_up_to_the_answer(api: Api, name: str) -> None:
    response = api.post(f"/api/v1/models/{name}/explanations", json={"rows": ROWS[name]})
    assert response.status_code == 200, response.text
    Explanations.model_validate(response.json())
    for told in response.json()["explanations"]:
        assert told["kind"] == "attributions"
        for score in told["scores"]:
            total = score["baseline"] + sum(part["contribution"] for part in score["contributions"]) + score["gap"]
            assert total == pytest.approx(score["score"], rel=1e-12, abs=1e-12)
            assert abs(score["gap"]) <= 1.01e-6 * max(1, abs(score["score"] - score["baseline"]))


def test_rules_in_place_of_the_network_tell_their_fidelity(api: Api) -> None:
    found = api.get("/api/v1/models/grown-vote/rules", params={"surrogate": 4}).json()
    assert found["surrogate"]["fidelity"] > 0.9


def test_a_training_that_diverges_fails_with_what_to_lower(api: Api) -> None:
    job = api.post("/api/v1/jobs", json=request(api, parameters={"output_rate": 1e6})).json()["id"]
    with pytest.raises(ParameterError) as caught:
        do_job(api, job)
    record = error_record(caught.value)
    assert (record.type, record.parameter) == ("invalid", "output_rate")
    assert "diverged at epoch" in record.detail


@pytest.mark.parametrize(
    ("parameters", "parameter", "words"),
    [
        ({"candidates": 0}, "candidates", "a whole number >= 1"),
        ({"activation": "relu"}, "activation", "sigmoid, tanh, gaussian, mixed"),
        ({"descendant_factor": 0.5}, "descendant_factor", "only for placement = both"),
        ({"growth_patience": 9}, "growth_patience", "give validation_fraction"),
    ],
)
def test_bad_parameters_are_named(api: Api, parameters: dict[str, Any], parameter: str, words: str) -> None:
    refused = problem(api.post("/api/v1/jobs", json=request(api, parameters=parameters)), 422)
    assert refused["errors"][0]["parameter"] == f"parameters.{parameter}"
    assert words in refused["errors"][0]["message"]
