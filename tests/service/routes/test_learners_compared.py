"""Learners compared on the same folds, as a job on both stores: against the library, scipy and hand formulas."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from learners import catalog
from learners.evaluation import Judging, Plan, cross_validate
from learners.table import Table
from service.client import Rulewood
from service.errors import Invalid
from service.jobs.outcomes import error_record
from tests.service.running import Api, problem
from tests.service.working import do_job

ROWS = 60
TREE, NEAR = "decision-tree-classifier", "nearest-neighbors-classifier"
LEARNERS: list[dict[str, Any]] = [
    {"learner": TREE, "parameters": {"max_depth": 1}, "name": "stump"},
    {"learner": TREE, "parameters": {"max_depth": 3}},
    {"learner": NEAR, "parameters": {"k": 3}},
]
NAMES = ["stump", TREE, NEAR]


def columns() -> dict[str, list[Any]]:
    generator = np.random.default_rng(8)
    x, z = generator.random((2, ROWS)).round(3)
    y = (x > 0.5) ^ (z > 0.5) ^ (generator.random(ROWS) < 0.1)
    return {
        "x": x.tolist(),
        "z": z.tolist(),
        "y": ["yes" if one else "no" for one in y],
        "who": [f"p{row % 12}" for row in range(ROWS)],
        "when": [float(row // 2) for row in range(ROWS)],
    }


def uploaded(api: Api) -> str:
    given = columns()
    lines = [",".join(given), *(",".join(map(str, row)) for row in zip(*given.values(), strict=True))]
    made: str = api.upload("\n".join(lines), name="xor.csv").json()["id"]
    return made


def request(dataset: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "compare",
        "dataset": dataset,
        "target": "y",
        "learners": LEARNERS,
        "features": ["x", "z"],
        "seed": 4,
        "evaluation": {"folds": 5},
        **more,
    }


def done(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    made = api.post("/api/v1/jobs", json=body)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    return ended


def in_library(plan: Plan, *names: str, **judging: Any) -> list[dict[str, Any]]:
    table = Table.from_columns(columns())
    own = Judging(**{name: table.column(column) for name, column in judging.items()})
    learners = [catalog.make(one["learner"], one["parameters"]) for one in LEARNERS]
    return [
        cross_validate(one, table.select(["x", "z"]), table.column("y"), plan, 4, judging=own).summary
        for one in learners
    ]


def nadeau_bengio(first: list[float], second: list[float], share: float) -> tuple[float, float]:
    """The mean difference and its p value, by hand."""
    gaps = np.array(first) - np.array(second)
    error = math.sqrt((1 / len(gaps) + share) * gaps.var(ddof=1))
    return float(gaps.mean()), float(2 * stats.t.sf(abs(gaps.mean()) / error, len(gaps) - 1))


def test_all_pairs_of_a_few_learners_are_compared_on_the_same_folds(api: Api) -> None:
    job = done(api, request(uploaded(api), output={"format": "csv"}))
    result = job["result"]
    assert [one["name"] for one in result["learners"]] == NAMES
    parts = [one["part"] for one in job["parts"]]
    assert parts[:15] == [f"learner-{number}-fold-{fold}" for number in (1, 2, 3) for fold in range(1, 6)]
    assert parts[15:] == ["learner-1-answers-1", "learner-2-answers-1", "learner-3-answers-1", "compare"]
    for found, own in zip(result["learners"], in_library(Plan(folds=5)), strict=True):
        found["evaluation"].pop("stability", None)
        assert found["evaluation"] == own
    assert [(one["learner"], one["against"]) for one in result["comparisons"]] == [
        (TREE, "stump"),
        (NEAR, "stump"),
        (NEAR, TREE),
    ]
    metrics = {one["name"]: one["evaluation"]["metrics"] for one in result["learners"]}
    for name in metrics["stump"]:
        tests = [one["metrics"][name] for one in result["comparisons"]]
        for one, test in zip(result["comparisons"], tests, strict=True):
            values = [metrics[one[side]][name]["values"] for side in ("learner", "against")]
            assert (test["difference"], test["p_value"]) == pytest.approx(nadeau_bengio(*values, 1 / 4)), name
        holm, largest = {}, 0.0
        for rank, place in enumerate(np.argsort([test["p_value"] for test in tests])):
            largest = holm[place] = max(largest, min(1.0, (3 - rank) * tests[place]["p_value"]))
        assert [test["adjusted_p_value"] for test in tests] == pytest.approx([holm[place] for place in range(3)])
    answers = list(csv.DictReader(io.StringIO(api.get(job["links"]["download"]).text)))
    assert [one["learner"] for one in answers] == [name for name in NAMES for _ in range(ROWS)]
    right = {
        name: {one["row"]: one["actual"] == one["label"] for one in answers if one["learner"] == name} for name in NAMES
    }
    for one in result["comparisons"]:
        mine, theirs = right[one["learner"]], right[one["against"]]
        only = [sum(mine[row] > theirs[row] for row in mine), sum(mine[row] < theirs[row] for row in mine)]
        told = one["mcnemar"]
        assert [told["rows"], told["only_first_right"], told["only_second_right"]] == [ROWS, *only]
        assert told["p_value"] == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)


def test_all_others_are_compared_against_the_reference(shared_api: Api) -> None:
    evaluation = {"method": "hold-out", "fraction": 0.3, "repeats": 4}
    result = done(shared_api, request(uploaded(shared_api), reference=TREE, evaluation=evaluation))["result"]
    assert [(one["learner"], one["against"]) for one in result["comparisons"]] == [("stump", TREE), (NEAR, TREE)]
    own = in_library(Plan("hold-out", fraction=0.3, repeats=4))
    values = [own[place]["metrics"]["brier_score"]["values"] for place in (0, 1)]
    test = result["comparisons"][0]["metrics"]["brier_score"]
    assert (test["difference"], test["p_value"]) == pytest.approx(nadeau_bengio(*values, 18 / 42))
    assert (test["count"], test["degrees_of_freedom"], test["test_share"]) == (4, 3, 18 / 42)
    assert "repeats answer them again" in result["comparisons"][0]["mcnemar"]["untested"]


@pytest.mark.parametrize(
    ("evaluation", "plan", "judging", "test"),
    [
        ({"method": "leave-one-out"}, Plan("leave-one-out"), {}, "paired-t"),
        ({"method": "leave-one-out", "groups": "who"}, Plan("leave-one-out"), {"groups": "who"}, "paired-t"),
        ({"method": "hold-out"}, Plan("hold-out"), {}, "paired-t"),
        ({"folds": 3, "time": "when"}, Plan(folds=3), {"times": "when"}, None),
        ({"folds": 4, "groups": "who"}, Plan(folds=4), {"groups": "who"}, "corrected-resampled-t"),
    ],
)
def test_each_way_of_judging_has_the_tests_that_hold_there(
    shared_api: Api, evaluation: dict[str, Any], plan: Plan, judging: dict[str, str], test: str | None
) -> None:
    result = done(shared_api, request(uploaded(shared_api), evaluation=evaluation))["result"]
    for found, own in zip(result["learners"], in_library(plan, **judging), strict=True):
        found["evaluation"].pop("stability", None)
        assert found["evaluation"] == own
    for one in result["comparisons"]:
        found = one["metrics"]["log_loss"]
        assert found["test"] == test
        assert (found["untested"] is None) == (test is not None)
        assert one["mcnemar"]["untested"] is None
        assert bool(one["notes"]) == (bool(judging))


#: Steps too long for a large decay run away.
NETWORK: dict[str, Any] = {
    "learner": "neural-network-classifier",
    "name": "net",
    "parameters": {
        "optimizer": "sgd", "rate": 1, "epochs": 20, "hidden_units": [2], "batch": None, "decay": 1000.0,
    },
}  # fmt: skip


def test_a_learner_that_fails_is_told_of_by_its_place_and_the_job_goes_on(api: Api) -> None:
    learners = [LEARNERS[0], NETWORK, LEARNERS[2]]
    body = request(uploaded(api), learners=learners, evaluation={"folds": 2}, output={"format": "ndjson"})
    job = api.post("/api/v1/jobs", json=body).json()["id"]
    do_job(api, job, parts=3)  # as if the worker died here: what is done is kept, failures too
    shown = {one["part"]: one["result"] for one in api.get(f"/api/v1/jobs/{job}").json()["parts"]}
    failure = shown["learner-2-fold-1"]["failure"]
    assert (failure["parameter"], failure["fold"]) == ("learners.1.parameters.decay", 1)
    do_job(api, job)
    ended = api.get(f"/api/v1/jobs/{job}").json()
    result = ended["result"]
    assert result["learners"][1]["failure"] == failure
    assert "evaluation" not in result["learners"][1]
    untested, tested, also = result["comparisons"]
    assert untested["metrics"] == also["metrics"] == {}
    assert "could not be learned with" in untested["mcnemar"]["untested"]
    assert (tested["learner"], tested["against"]) == (NEAR, "stump")
    error = tested["metrics"]["error"]
    assert error["adjusted_p_value"] == error["p_value"]
    assert result["predictions"]["rows"] == 2 * ROWS
    assert '"failure":{"detail":"training diverged' in api.get(f"/api/v1/jobs/{job}/events").text


def test_a_job_whose_learners_all_fail_has_failed_with_the_reasons(shared_api: Api) -> None:
    learners = [NETWORK, NETWORK | {"name": "other"}]
    body = request(uploaded(shared_api), learners=learners, evaluation={"folds": 2})
    job = shared_api.post("/api/v1/jobs", json=body).json()["id"]
    with pytest.raises(Invalid, match=r"None of the 2 learners can be learned with: .*diverged") as caught:
        do_job(shared_api, job)
    error = error_record(caught.value).to_json()
    assert [one["parameter"] for one in error["errors"]] == [f"learners.{place}.parameters.decay" for place in (0, 1)]
    assert '"name": "other"' in error["errors"][1]["message"]


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"learners": None}, "learners", "needs learners"),
        ({"learners": LEARNERS[:1]}, "learners", "2"),
        ({"learners": LEARNERS * 4}, "learners", "10"),
        ({"learners": [LEARNERS[0], {"parameters": {}}]}, "learners.1.learner", ""),
        ({"learners": [LEARNERS[0], {"learner": "no-such"}]}, "learners.1.learner", "there is no learner 'no-such'"),
        ({"learners": [LEARNERS[0], {"learner": TREE, "x": 1}]}, "learners.1.x", "there is no member 'x'"),
        (
            {"learners": [LEARNERS[0], {"learner": TREE, "parameters": {"max_depth": -1}}]},
            "learners.1.parameters.max_depth",
            "max_depth",
        ),
        ({"learners": [LEARNERS[0], {"learner": NEAR, "parameters": {"k": 99}}]}, "learners.1.parameters.k", "60"),
        ({"learners": [LEARNERS[0], LEARNERS[0]]}, "learners.1.name", "two learners are called 'stump'"),
        ({"learners": [LEARNERS[0], {"learner": "decision-tree-regressor"}]}, "learners.1.learner", "learns numbers"),
        ({"learners": [LEARNERS[0], {"learner": "autoencoder"}]}, "learners.1.learner", "learns without a target"),
        ({"target": None}, "target", "needs target"),
        ({"target": "nobody"}, "target", "is not in the dataset"),
        ({"reference": "best"}, "reference", "reference is one of 'stump', 'decision-tree"),
        ({"learner": TREE}, "learner", "no effect in a job compare"),
        ({"evaluation": {"method": "none"}}, "evaluation.method", "it is 'none'"),
        ({"evaluation": {"folds": 61}}, "evaluation.folds", "it is 61"),
        ({"evaluation": {"folds": 10, "repeats": 67}}, "learners", "2010 fits; at most 2000"),
        ({"output": {"explain": True}}, "output.explain", "no effect"),
        ({"kind": "select", "learner": TREE}, "learners", "it is of compare"),
    ],
)
def test_a_bad_comparison_is_refused_by_name(
    shared_api: Api, changes: dict[str, Any], parameter: str, words: str
) -> None:
    body = {name: value for name, value in (request(uploaded(shared_api)) | changes).items() if value is not None}
    refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    faults = {fault["parameter"]: fault["message"] for fault in refused["errors"]}
    assert parameter in faults, faults
    assert words in faults[parameter]
    assert [one["parameter"] for one in refused["errors"]].count(parameter) == 1


def test_left_out_rows_count_as_fits_where_they_are_fits(shared_api: Api) -> None:
    dataset = shared_api.upload("x,y\n" + "\n".join(f"{row},{'ab'[row % 2]}" for row in range(1001))).json()["id"]
    trees = [LEARNERS[0], LEARNERS[1]]
    body = request(dataset, learners=trees, evaluation={"method": "leave-one-out"}, features=["x"])
    refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    assert "asks for 2002 fits" in refused["errors"][0]["message"]
    at_once = {"learner": NEAR, "parameters": {"k": 3, "scaling": "none"}}
    made = shared_api.post("/api/v1/jobs", json=body | {"learners": [LEARNERS[0], at_once]}).json()
    assert [one["parts"] for one in made["request"]["learners"]] == [50, 1]


def test_a_comparison_tried_again_is_the_same(api: Api) -> None:
    learners = [{"learner": TREE}, {"learner": TREE, "parameters": {"max_depth": 2}}, *LEARNERS]
    dataset = uploaded(api)
    with Rulewood(api.address) as client:
        ways: list[dict[str, Any]] = [{"method": "leave-one-out"}, {"folds": 3, "repeats": 2}]
        for evaluation in ways:
            job = client.compare_learners(
                dataset, target="y", learners=learners, reference="stump", evaluation=evaluation, output={},
                idempotency_key=str(evaluation),
            )  # fmt: skip
            names = [one["name"] for one in job["request"]["learners"]]
            assert names == [f"{TREE}-1", f"{TREE}-2", "stump", f"{TREE}-4", NEAR]
            again = client.compare_learners(
                dataset, target="y", learners=learners, reference="stump", evaluation=evaluation, output={},
                idempotency_key=str(evaluation),
            )  # fmt: skip
            assert again["id"] == job["id"]
            client.cancel(job["id"])
            assert client.retry(job["id"])["request"] == job["request"]
        assert len(list(client.jobs(kind="compare"))) == 4
