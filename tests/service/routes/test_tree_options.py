"""Presets, utilities and leaf estimates of trees over HTTP: offered, checked, trained with and answered by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

COSTS = {"democrat": {"republican": -500}, "republican": {"democrat": -1}}
#: Its leaf has 3.75 republicans among 253.41 rows (J48's numbers): a democrat, but at these costs no risk is taken.
ROW = {"physician-fee-freeze": "n"}


@pytest.fixture(scope="module")
def votes(shared_api: Api) -> str:
    made: str = shared_api.upload(table_path("vote.csv").read_bytes(), name="vote").json()["id"]
    return made


def trained(api: Api, dataset: str, name: str, **parameters: Any) -> Api:
    train(api, dataset, target="Class", name=name, parameters=parameters)
    return api


def test_the_catalogue_shows_the_presets(shared_api: Api) -> None:
    learner = shared_api.get("/api/v1/learners/decision-tree-classifier").json()
    assert set(learner["presets"]) >= {"id3", "c45", "cart", "stump"}
    assert learner["presets"]["c45"]["parameters"]["criterion"] == "gain-ratio"
    assert "Quinlan" in learner["presets"]["c45"]["source"]
    assert set(learner["presets"]) <= set(learner["parameters"]["properties"]["preset"]["enum"])


def test_a_job_takes_a_preset_and_overrides_it(shared_api: Api, votes: str) -> None:
    trained(shared_api, votes, "c45", preset="c45")
    tree = shared_api.get("/api/v1/models/c45/tree").json()
    assert tree["n_leaves"] == 6  # as J48 has it
    trained(shared_api, votes, "wide", preset="c45", min_leaf=60)
    trained(shared_api, votes, "unpruned", preset="c45", pruning="none")
    assert shared_api.get("/api/v1/models/wide/tree").json()["n_leaves"] < 6
    assert shared_api.get("/api/v1/models/wide:1").json()["parameters"] == {"preset": "c45", "min_leaf": 60}


@pytest.mark.parametrize(
    ("parameters", "named", "said"),
    [
        ({"preset": "c5"}, "preset", "one of id3, c45, cart, stump"),
        ({"preset": 3}, "preset", "one of id3"),
        ({"alpha": 0.1}, "alpha", "no effect with pruning = 'none'; it is only for pruning = cost-complexity"),
        ({"preset": "c45", "pruning": "none", "subtree_raising": True}, "subtree_raising", "no effect with pruning"),
        ({"preset": "cart", "alpha": 0.1}, "alpha", "no effect with alpha_choice = 'cv-1se'"),
        ({"subtree_raising": True}, "subtree_raising", "only for pruning = error-based"),
        ({"m": 3}, "m", "only for leaf_estimate = m-estimate"),
        ({"threshold_penalty": True}, "threshold_penalty", "only for criterion = entropy or gain-ratio"),
        ({"utility": {"whig": {"democrat": 1}}}, "utility", "'whig', which is no class"),
        ({"utility": {"democrat": 1}}, "utility", "an object of objects of finite numbers"),
        ({"utility": {}}, "utility", "does not depend on the class that is decided"),
        ({"pruning": "mdl"}, "pruning", "one of none, collapse"),
    ],
)
def test_what_has_no_sense_is_refused_at_submission(
    shared_api: Api, votes: str, parameters: dict[str, Any], named: str, said: str
) -> None:
    body = {
        "kind": "train",
        "dataset": votes,
        "target": "Class",
        "learner": "decision-tree-classifier",
        "parameters": parameters,
        "model": {"name": "refused"},
    }
    answer = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    (fault,) = answer["errors"]
    assert fault["parameter"] == f"parameters.{named}"
    assert said in fault["message"]


def test_a_pruning_of_classes_is_none_of_a_learner_of_numbers(shared_api: Api) -> None:
    dataset = shared_api.upload(table_path("machine-cpu.csv").read_bytes(), name="cpu").json()["id"]
    body = {"kind": "train", "dataset": dataset, "target": "class", "learner": "decision-tree-regressor"}
    answer = problem(shared_api.post("/api/v1/jobs", json=body | {"parameters": {"pruning": "error-based"}}), 422)
    assert answer["errors"][0]["parameter"] == "parameters.pruning"
    assert answer["errors"][0]["allowed"] == "one of none, reduced-error, cost-complexity"


def test_costs_decide_in_answers_trees_and_rules_and_probabilities_stay(shared_api: Api, votes: str) -> None:
    trained(shared_api, votes, "likely", preset="c45", leaf_estimate="laplace")
    trained(shared_api, votes, "careful", preset="c45", leaf_estimate="laplace", utility=COSTS)
    likely, careful = (
        shared_api.post(f"/api/v1/models/{name}/predictions", json={"rows": [ROW], "explain": True}).json()
        for name in ("likely", "careful")
    )
    one, other = likely["predictions"][0], careful["predictions"][0]
    assert one["probabilities"] == other["probabilities"]
    assert (one["label"], other["label"]) == ("democrat", "republican")
    leaf = other["explanation"]["branches"][0]["leaf"]
    node = shared_api.get("/api/v1/models/careful/tree").json()["nodes"][leaf]
    rules = {rule["leaf"]: rule for rule in shared_api.get("/api/v1/models/careful/rules").json()["rules"]}
    assert node["label"] == rules[leaf]["answer"] == "republican"
    shares = [share["share"] for share in other["explanation"]["branches"][0]["distribution"]]
    assert shares == [share["share"] for share in node["distribution"]] == rules[leaf]["distribution"]
    np.testing.assert_allclose(sum(shares), 1)
    svg = shared_api.get("/api/v1/models/careful/tree", params={"format": "svg"}).text
    assert f"node {leaf}: republican, " in svg
