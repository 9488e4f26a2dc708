"""Every way of judging, over HTTP on both stores: groups, time, repeats, leave-one-out, utilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners import catalog
from learners.evaluation import Judging, Plan, cross_validate
from learners.table import Table
from tests.service.running import Api, problem
from tests.service.working import do_job

ROWS = 40


def columns() -> dict[str, list[Any]]:
    generator = np.random.default_rng(5)
    x = generator.normal(size=ROWS).round(3)
    return {
        "x": x.tolist(),
        "who": [f"p{row % 8}" for row in range(ROWS)],
        "when": [float(row // 2) for row in range(ROWS)],
        "y": ["yes" if one else "no" for one in x + generator.normal(size=ROWS) > 0],
        "same": ["s"] * ROWS,
        "once": [7.0] * ROWS,
    }


def uploaded(api: Api) -> str:
    given = columns()
    lines = [",".join(given), *(",".join(map(str, row)) for row in zip(*given.values(), strict=True))]
    made: str = api.upload("\n".join(lines), name="small.csv").json()["id"]
    return made


def request(dataset: str, evaluation: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "kind": "cross-validate",
        "dataset": dataset,
        "target": "y",
        "learner": "decision-tree-classifier",
        "parameters": {"max_depth": 2},
        "seed": 3,
        "evaluation": evaluation,
        **more,
    }


def judged(api: Api, dataset: str, evaluation: dict[str, Any]) -> dict[str, Any]:
    made = api.post("/api/v1/jobs", json=request(dataset, evaluation, features=["x"]))
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    return ended


def in_library(plan: Plan, **judging: Any) -> dict[str, Any]:
    table = Table.from_columns(columns())
    series = {name: table.column(column) for name, column in judging.items() if isinstance(column, str)}
    rest = {name: value for name, value in judging.items() if name not in series}
    learner = catalog.make("decision-tree-classifier", {"max_depth": 2})
    return cross_validate(
        learner, table.select(["x"]), table.column("y"), plan, 3, judging=Judging(**series, **rest)
    ).summary


def test_each_way_gives_what_the_library_gives(api: Api) -> None:
    dataset = uploaded(api)
    utility = {"yes": {"no": -5}, "no": {"yes": -1}}
    matrix = np.array([[0.0, -1], [-5, 0]])  # levels no, yes
    ways: list[tuple[dict[str, Any], dict[str, Any], int]] = [
        ({"method": "k-fold", "folds": 4, "groups": "who"}, in_library(Plan(folds=4), groups="who"), 4),
        ({"method": "k-fold", "folds": 3, "time": "when"}, in_library(Plan(folds=3), times="when"), 3),
        (
            {"method": "hold-out", "repeats": 2, "fraction": 0.3},
            in_library(Plan("hold-out", fraction=0.3, repeats=2)),
            2,
        ),
        ({"folds": 2, "repeats": 2, "utility": utility}, in_library(Plan(folds=2, repeats=2), utility=matrix), 4),
        ({"method": "leave-one-out"}, in_library(Plan("leave-one-out")), ROWS + 1),
        ({"method": "leave-one-out", "groups": "who"}, in_library(Plan("leave-one-out"), groups="who"), ROWS + 1),
    ]
    for evaluation, expected, n_parts in ways:
        ended = judged(api, dataset, evaluation)
        assert len(ended["parts"]) == n_parts, evaluation
        found = ended["result"]["evaluation"]
        found.pop("stability", None)
        assert found == expected, evaluation
    assert "mean_utility" in ways[3][1]["metrics"]


def test_what_parts_the_rows_is_not_learned_from_by_itself(api: Api) -> None:
    dataset = uploaded(api)
    normal = api.post("/api/v1/jobs", json=request(dataset, {"groups": "who", "folds": 8})).json()["request"]
    assert normal["features"] == ["x", "when", "same", "once"]
    asked = api.post("/api/v1/jobs", json=request(dataset, {"time": "when"}, features=["x", "when"])).json()["request"]
    assert asked["features"] == ["x", "when"]


@pytest.mark.parametrize(
    ("evaluation", "parameter", "words"),
    [
        ({"groups": "nobody"}, "evaluation.groups", "is not in the dataset"),
        ({"groups": "y"}, "evaluation.groups", "the target cannot be the groups"),
        ({"time": "who"}, "evaluation.time", "nominal; time is numeric or ordinal"),
        ({"time": "when", "groups": "who", "folds": 5}, "evaluation.groups", "beside time"),
        ({"time": "when", "repeats": 2}, "evaluation.repeats", "beside time"),
        ({"time": "when", "stratified": True}, "evaluation.stratified", "beside time"),
        ({"method": "leave-one-out", "folds": 5}, "evaluation.folds", "no effect"),
        ({"method": "leave-one-out", "time": "when"}, "evaluation.time", "no effect"),
        ({"method": "leave-one-out", "repeats": 3}, "evaluation.repeats", "no effect"),
        ({"folds": 10, "repeats": 101}, "evaluation.repeats", "<= 100"),
        ({"folds": 1}, "evaluation.folds", ">= 2"),
        ({"groups": "who", "folds": 9}, "evaluation.folds", "<= 8 (the number of groups); it is 9"),
        ({"time": "when", "folds": 20}, "evaluation.folds", "<= 19 (one less than the different times); it is 20"),
        ({"method": "hold-out", "groups": "same"}, "evaluation.groups", "2 groups are needed; the column 'same' has 1"),
        ({"method": "leave-one-out", "groups": "same"}, "evaluation.groups", "the column 'same' has 1"),
        ({"groups": "same", "folds": 2}, "evaluation.groups", "2 groups are needed; the column 'same' has 1"),
        *(
            ({"time": "once"} | how, "evaluation.time", "2 different times are needed; the column 'once' has 1")
            for how in ({"folds": 3}, {"folds": 1}, {"method": "hold-out"})
        ),
        ({"utility": {"maybe": {"no": 1}}}, "evaluation.utility", "the classes are 'no', 'yes'"),
        (
            {"utility": {"yes": {"no": 1, "yes": 1}, "no": {"no": 1, "yes": 1}}},
            "evaluation.utility",
            "nothing to decide",
        ),
    ],
)
def test_a_bad_evaluation_is_refused_by_name(
    shared_api: Api, evaluation: dict[str, Any], parameter: str, words: str
) -> None:
    refused = problem(shared_api.post("/api/v1/jobs", json=request(uploaded(shared_api), evaluation)), 422)
    assert [fault["parameter"] for fault in refused["errors"]] == [parameter]
    assert words in refused["errors"][0]["message"]


def test_what_only_the_rows_can_tell_fails_the_job_by_name(api: Api) -> None:
    from learners.errors import ParameterError

    lines = ["x,who,y", *(f"{row},p{row % 8},{'' if row % 8 == 3 else 'ab'[row % 2]}" for row in range(ROWS))]
    dataset = api.upload("\n".join(lines), name="gaps.csv").json()["id"]
    made = api.post("/api/v1/jobs", json=request(dataset, {"groups": "who", "folds": 8}))
    with pytest.raises(ParameterError, match=r"<= 7 .the number of groups") as caught:
        do_job(api, made.json()["id"])
    assert caught.value.field == "evaluation.folds"


def test_utilities_are_of_classes_alone(shared_api: Api) -> None:
    body = request(uploaded(shared_api), {"utility": {"a": {"b": 1}}}, target="x", learner="decision-tree-regressor")
    refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    assert refused["errors"][0]["parameter"] == "evaluation.utility"
