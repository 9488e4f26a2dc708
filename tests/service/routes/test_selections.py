"""Searches and learning curves as jobs, on both stores: what they look at, choose, register and tell."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from learners import catalog
from learners.errors import ParameterError
from learners.evaluation import Plan
from learners.evaluation.choosing import Convergence
from learners.evaluation.crossval import cross_validate
from learners.evaluation.learning_curve import learning_curve
from learners.evaluation.search import grid_search, nested, select, size_search
from learners.table import Table
from service.errors import Invalid
from service.jobs.outcomes import error_record
from service.operations import work
from service.operations.work.part import make_learner
from tests.service.running import Api, problem
from tests.service.working import do_job

ROWS = 90


def columns() -> dict[str, list[Any]]:
    generator = np.random.default_rng(8)
    x, z = generator.random(ROWS).round(3), generator.random(ROWS).round(3)
    y = ((x > 0.5) ^ (z > 0.5)) ^ (generator.random(ROWS) < 0.1)
    return {"x": x.tolist(), "z": z.tolist(), "y": ["yes" if one else "no" for one in y]}


def uploaded(api: Api) -> str:
    given = columns()
    lines = [",".join(given), *(",".join(map(str, row)) for row in zip(*given.values(), strict=True))]
    made: str = api.upload("\n".join(lines), name="xor.csv").json()["id"]
    return made


def request(dataset: str, kind: str = "select", **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "dataset": dataset,
        "target": "y",
        "learner": "decision-tree-classifier",
        "seed": 4,
        "evaluation": {"folds": 3},
        **more,
    }


def done(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    made = api.post("/api/v1/jobs", json=body)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    return ended


def data() -> tuple[Any, Any]:
    table = Table.from_columns(columns())
    return table.select(["x", "z"]), table.column("y")


GRID = {"max_depth": [1, 2, 3], "min_leaf": [1, 8]}


def test_a_grid_is_searched_nested_and_its_winner_registered(api: Api) -> None:
    selection = {"grid": GRID, "nested": 2}
    ended = done(api, request(uploaded(api), selection=selection, model={"name": "xor", "aliases": ["best"]}))
    learner = catalog.make("decision-tree-classifier")
    searcher = grid_search(learner, GRID, Plan(folds=3), 4)
    own = select(learner, searcher, *data())
    found = ended["result"]["selection"]
    assert found["parameters"] == own.search.parameters
    assert (found["chosen"], found["metric"], len(found["candidates"])) == (own.search.chosen, "error", 6)
    for told, candidate in zip(found["candidates"], own.search.candidates, strict=True):
        assert told == {"parameters": candidate.parameters, "metrics": candidate.summary["metrics"]}
    outer = nested(learner, searcher, *data(), Plan(folds=2), 4).summary
    evaluation = ended["result"]["evaluation"]
    assert evaluation["metrics"] == outer["metrics"]
    assert len(evaluation["nested"]) == 2
    # 6 candidates in 3 folds, in all rows and in two outer folds, and what concludes each search
    assert len(ended["parts"]) == 6 * 3 * 3 + 2 + 1
    version = api.get("/api/v1/models/xor@best").json()
    assert version["parameters"] == own.search.parameters
    assert version["metrics"]["metrics"] == outer["metrics"]
    assert version["lineage"]["rows"] == ROWS
    answer = api.post("/api/v1/models/xor/predictions", json={"rows": [{"x": 0.9, "z": 0.1}]}).json()
    assert answer["predictions"][0]["label"] == own.model.predict(Table.from_columns({"x": [0.9], "z": [0.1]}))[0]


def test_sizes_are_looked_at_until_the_training_error_converges(api: Api) -> None:
    selection = {"method": "size", "size": "max_leaves", "patience": 2, "tolerance": 0.0, "test_fraction": 0.3}
    ended = done(api, request(uploaded(api), selection=selection, model={"name": "sized"}))
    learner = catalog.make("decision-tree-classifier")
    searcher = size_search(learner, "max_leaves", Plan(folds=3), 4, most=50, convergence=Convergence(2, 0.0))
    own = select(learner, searcher, *data(), test=Plan("hold-out", fraction=0.3), seed=4)
    found = ended["result"]["selection"]
    assert found["converged"] is True
    assert [one["parameters"] for one in found["candidates"]] == [one.parameters for one in own.search.candidates]
    assert [one["training"] for one in found["candidates"]] == [
        one.summary["training"] for one in own.search.candidates
    ]
    assert found["parameters"] == own.search.parameters
    judged = ended["result"]["evaluation"]
    assert judged["method"] == "hold-out"
    assert judged["metrics"]["error"]["mean"] == own.test.metrics["error"]
    version = api.get("/api/v1/models/sized").json()
    assert version["latest"] == 1
    assert api.get("/api/v1/models/sized:1").json()["lineage"]["rows"] == ROWS - judged["rows"]


#: Networks that take steps too long for a large decay run away.
NETWORK = {
    "learner": "neural-network-classifier",
    "parameters": {"optimizer": "sgd", "rate": 1, "epochs": 20, "hidden_units": [2], "batch": None},
}
DECAYS = {"decay": [1000.0, 0.01]}


def test_a_candidate_that_diverges_is_told_of_and_the_job_goes_on(api: Api) -> None:
    body = request(uploaded(api), selection={"grid": DECAYS, "nested": 2}, model={"name": "net"}, **NETWORK)
    body["evaluation"] = {"folds": 2, "repeats": 2}
    job = api.post("/api/v1/jobs", json=body).json()["id"]
    do_job(api, job, parts=9)  # as if the worker died here: what is done is kept, failures too
    shown = {one["part"]: one["result"] for one in api.get(f"/api/v1/jobs/{job}").json()["parts"]}
    assert shown["outer-1-point-1-fold-1"]["failure"]["parameter"] == "decay"
    do_job(api, job)
    ended = api.get(f"/api/v1/jobs/{job}").json()
    assert ended["state"] == "succeeded", ended
    found = ended["result"]["selection"]
    assert (found["chosen"], found["parameters"], found["failed"]) == (1, {"decay": 0.01}, 1)
    learner = catalog.make(NETWORK["learner"], NETWORK["parameters"] | {"seed": 4})
    searcher = grid_search(learner, DECAYS, Plan(folds=2, repeats=2), 4)
    own = select(learner, searcher, *data()).search
    assert found["candidates"][0] == {
        "parameters": {"decay": 1000.0},
        "failure": {"detail": own.candidates[0].failed.detail, "parameter": "decay", "fold": 1},
    }
    assert "diverged at epoch" in own.candidates[0].failed.detail
    assert found["candidates"][1]["metrics"] == own.candidates[1].summary["metrics"]
    outer = nested(learner, searcher, *data(), Plan(folds=2), 4).summary
    assert ended["result"]["evaluation"]["metrics"] == outer["metrics"]
    assert ended["result"]["evaluation"]["nested"] == [{"decay": 0.01}] * 2
    events = api.get(f"/api/v1/jobs/{job}/events").text
    assert events.count('"failure":{"detail":"training diverged') == 4 * 3
    assert api.get("/api/v1/models/net:1").json()["parameters"]["decay"] == 0.01


def test_a_job_whose_candidates_all_fail_has_failed_with_the_reasons(api: Api) -> None:
    body = request(uploaded(api), selection={"grid": {"decay": [1000.0, 500.0]}}, **NETWORK)
    job = api.post("/api/v1/jobs", json=body).json()["id"]
    with pytest.raises(Invalid, match=r"None of the 2 candidates can be learned with: with .*diverged") as caught:
        do_job(api, job)
    error = error_record(caught.value).to_json()
    assert (error["type"], error["parameter"]) == ("invalid", "decay")
    assert [fault["message"].split(":")[0] for fault in error["errors"]] == ['with {"decay"', 'with {"decay"']


def test_a_share_that_cannot_be_learned_from_says_so_in_the_curve(shared_api: Api) -> None:
    x = [1e300, *np.random.default_rng(1).random(23).round(3).tolist()]
    y = ["a", "b"] * 12
    lines = ["x,y", *(f"{one},{label}" for one, label in zip(x, y, strict=True))]
    made = shared_api.upload("\n".join(lines)).json()["id"]
    parameters = {"scaling": "none", "k": 1}
    body = request(made, "learning-curve", learner="nearest-neighbors-classifier", parameters=parameters)
    body |= {"evaluation": {"method": "hold-out"}, "seed": 0}
    curve = done(shared_api, body | {"shares": [0.2, 1.0]})["result"]["curve"]
    table = Table.from_columns({"x": x, "y": y})
    learner = catalog.make("nearest-neighbors-classifier", parameters)
    own = learning_curve(learner, table.select(["x"]), table.column("y"), (0.2, 1.0), Plan("hold-out"), 0)
    assert curve == [{name: point[name] for name in found} for found, point in zip(curve, own, strict=True)]
    assert "metrics" in curve[0]
    assert set(curve[1]) == {"share", "train_rows", "failure"}
    assert curve[1]["failure"]["column"] == "x"
    job = shared_api.post("/api/v1/jobs", json=body | {"shares": [1.0]}).json()["id"]
    says = r"None of the 1 shares can be learned from: with .* column 'x' reaches 1e\+300"
    with pytest.raises(Invalid, match=says) as caught:
        do_job(shared_api, job)
    assert [fault.column for fault in caught.value.faults] == ["x"]


def test_a_search_that_is_not_judged_apart_says_among_how_many_it_chose(shared_api: Api) -> None:
    ended = done(shared_api, request(uploaded(shared_api), selection={"grid": {"max_depth": [1, 2]}}))
    assert ended["result"]["evaluation"]["chosen_among"] == 2
    assert "model" not in ended["result"]


def test_what_was_found_so_far_can_be_seen(shared_api: Api) -> None:
    body = request(uploaded(shared_api), selection={"grid": {"max_depth": [1, 2]}, "metric": "brier_score"})
    job = shared_api.post("/api/v1/jobs", json=body).json()["id"]
    do_job(shared_api, job, parts=4)
    shown = shared_api.get(f"/api/v1/jobs/{job}").json()
    assert [part["part"] for part in shown["parts"]] == [
        f"point-{p}-fold-{f}" for p, f in ((1, 1), (1, 2), (1, 3), (2, 1))
    ]
    assert shown["parts"][3]["result"]["parameters"] == {"max_depth": 2}
    assert shown["parts"][3]["result"]["metrics"]["brier_score"] >= 0


def test_a_plan_never_takes_back_what_it_has_named(shared_api: Api) -> None:
    selection = {"method": "size", "size": "max_leaves", "nested": 2, "most": 10, "patience": 2}
    job = shared_api.post("/api/v1/jobs", json=request(uploaded(shared_api), selection=selection)).json()
    assert work.expected(job["request"]) == 10 * 3 * 3 + 3
    do_job(shared_api, job["id"])
    parts = {one["part"]: one["result"] for one in shared_api.get(f"/api/v1/jobs/{job['id']}").json()["parts"]}
    names = work.plan(job["request"], lambda: parts)
    assert set(names) == set(parts)
    before = work.plan(job["request"])
    for count in range(len(names) + 1):
        known = {name: parts[name] for name in names[:count]}
        now = work.plan(job["request"], lambda known=known: known)
        assert now[: len(before)] == before
        before = now


def test_a_learning_curve_is_the_librarys(api: Api) -> None:
    ended = done(api, request(uploaded(api), "learning-curve", shares=[0.2, 1.0]))
    own = learning_curve(catalog.make("decision-tree-classifier"), *data(), (0.2, 1.0), Plan(folds=3), 4)
    found = ended["result"]["curve"]
    assert found == [{name: point[name] for name in found[0]} for point in own]
    assert {"share", "train_rows", "metrics", "training"} <= set(found[0])
    assert len(ended["parts"]) == 6


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"selection": {}}, "selection.grid", "at least one parameter"),
        ({"selection": {"grid": {}}}, "selection.grid", "at least one parameter"),
        ({"selection": {"grid": {"depth": [1]}}}, "selection.grid.depth", "no parameter 'depth'"),
        ({"selection": {"grid": {"max_depth": []}}}, "selection.grid.max_depth", "no value"),
        ({"selection": {"grid": {"max_depth": [1, -1]}}}, "selection.grid.max_depth", ">= 0"),
        ({"selection": {"grid": {"confidence": [0.1, 0.2]}}}, "selection.grid.confidence", "no effect with pruning"),
        (
            {"selection": {"grid": {"max_depth": [1]}}, "parameters": {"max_depth": 2}},
            "selection.grid.max_depth",
            "given as a parameter already",
        ),
        ({"selection": {"grid": {"max_depth": list(range(1000))}}}, "selection.grid", "at most 2000"),
        ({"selection": {"grid": {"max_depth": [1]}, "size": "max_leaves"}}, "selection.size", "it is of size"),
        ({"selection": {"method": "size"}}, "selection.size", "how large a hypothesis is"),
        ({"selection": {"method": "size", "size": "min_gain"}}, "selection.size", "how large a hypothesis is"),
        ({"selection": {"method": "size", "size": "seed"}}, "selection.size", "how large a hypothesis is"),
        ({"selection": {"method": "size", "size": "max_terms", "most": 65}}, "selection.most", "<= 64"),
        ({"selection": {"method": "luck", "grid": {"max_depth": [1]}}}, "selection.method", "'grid' or 'size'"),
        ({"selection": {"grid": {"max_depth": [1]}, "metric": "r2"}}, "selection.metric", "one of error"),
        ({"selection": {"grid": {"max_depth": [1]}, "metric": "mean_utility"}}, "selection.metric", "one of error"),
        (
            {"selection": {"grid": {"max_depth": [1]}, "nested": 2, "test_fraction": 0.2}},
            "selection.nested",
            "not both",
        ),
        (
            {"selection": {"grid": {"max_depth": [1]}, "nested": 3}, "evaluation": {"folds": 61}},
            "evaluation.folds",
            "<= 60; it is 61: a search in 3 outer folds knows at most 60 of the 90 rows",
        ),
        (
            {"selection": {"grid": {"max_depth": [1]}, "test_fraction": 0.5}, "evaluation": {"folds": 46}},
            "evaluation.folds",
            "<= 45; it is 46: a search beside what is locked away",
        ),
        (
            {"selection": {"grid": {"max_depth": [1]}, "nested": 91}},
            "selection.nested",
            "<= 90 (the rows that have a target); it is 91",
        ),
        ({"selection": {"grid": {"preset": ["c45", "c46"]}}}, "selection.grid.preset", "no preset 'c46'"),
        (
            {"selection": {"grid": {"preset": ["c45"]}}, "parameters": {"preset": "cart"}},
            "selection.grid.preset",
            "given as a parameter already",
        ),
        (
            {"selection": {"grid": {"max_depth": [1]}}, "evaluation": {"method": "leave-one-out"}},
            "evaluation.method",
            "k-fold, hold-out",
        ),
        ({"kind": "train", "selection": {"grid": {"max_depth": [1]}}}, "selection", "it is of select"),
        ({"kind": "learning-curve", "shares": [0.5, 0.1]}, "shares", "ascend"),
        ({"kind": "learning-curve", "shares": [0.5, 1.5]}, "shares.1", "1"),
        ({"kind": "learning-curve", "model": {"name": "x"}}, "model", "it is of train, select"),
        ({"kind": "select", "selection": {"grid": {"max_depth": [1]}}, "learner": None}, "learner", "needs learner"),
    ],
)
def test_a_bad_selection_is_refused_by_name(
    shared_api: Api, changes: dict[str, Any], parameter: str, words: str
) -> None:
    body = {name: value for name, value in request("", **changes).items() if value is not None}
    refused = problem(shared_api.post("/api/v1/jobs", json=body | {"dataset": uploaded(shared_api)}), 422)
    faults = {fault["parameter"]: fault["message"] for fault in refused["errors"]}
    assert parameter in faults, faults
    assert words in faults[parameter]


def with_groups(api: Api, name: str) -> str:
    """Forty rows: ten groups ``g``, as many times ``t`` as rows; where named so, group 3 has no target."""
    gone = 3 if name == "gaps" else -1
    lines = [
        "x,g,t,y",
        *(f"{row / 7:.3f},g{row % 10},{row},{'' if row % 10 == gone else 'ab'[row % 3 > 0]}" for row in range(40)),
    ]
    made: str = api.upload("\n".join(lines), name=f"{name}.csv").json()["id"]
    return made


@pytest.mark.parametrize(
    ("evaluation", "selection", "parameter", "words"),
    [
        (
            {"folds": 7, "groups": "g"},
            {"nested": 3},
            "evaluation.folds",
            "<= 6; it is 7: .* at most 6 of the 10 groups",
        ),
        ({"folds": 10, "groups": "g"}, {"test_fraction": 0.1}, "evaluation.folds", "<= 9; it is 10"),
        ({"folds": 9, "groups": "g"}, {"nested": 11}, "selection.nested", "<= 10 .the groups.; it is 11"),
        ({"folds": 10, "time": "t"}, {"nested": 3}, "evaluation.folds", "<= 9; it is 10: .* 10 of the 40 different"),
        ({"folds": 20, "time": "t"}, {"test_fraction": 0.5}, "evaluation.folds", "<= 19; it is 20"),
        ({"folds": 1, "time": "t"}, {"nested": 40}, "selection.nested", "<= 39 .one less than the different times"),
        ({"folds": 1, "time": "t"}, {"nested": 39}, "selection.nested", "at most 1 .* cannot be parted into 2"),
        ({"method": "hold-out", "groups": "g"}, {"test_fraction": 0.1}, None, ""),
        ({"folds": 6, "groups": "g"}, {"nested": 3}, None, ""),
        ({"folds": 9, "time": "t"}, {"nested": 3}, None, ""),
    ],
)
def test_folds_that_what_a_search_knows_cannot_have_are_refused(
    shared_api: Api, evaluation: dict[str, Any], selection: dict[str, Any], parameter: str | None, words: str
) -> None:
    body = request(
        with_groups(shared_api, "whole"), evaluation=evaluation, selection={"grid": {"max_depth": [1]}, **selection}
    )
    answer = shared_api.post("/api/v1/jobs", json=body)
    if parameter is None:
        assert answer.status_code == 202, answer.text
        do_job(shared_api, answer.json()["id"])
        return
    (fault,) = problem(answer, 422)["errors"]
    assert fault["parameter"] == parameter
    assert re.search(words, fault["message"]), fault


def test_what_only_the_rows_tell_of_a_search_names_its_option(api: Api) -> None:
    dataset = with_groups(api, "gaps")
    for folds, outer, field, words in [
        (2, 10, "selection.nested", "parameter nested .* <= 9 .the number of groups"),
        (9, 10, "selection.nested", "parameter nested"),
        (6, 3, None, ""),
        (5, 2, "evaluation.folds", "<= 4 .the number of groups.*within outer fold 1 knows"),
    ]:
        selection = {"grid": {"max_depth": [1]}, "nested": outer}
        made = api.post(
            "/api/v1/jobs", json=request(dataset, evaluation={"folds": folds, "groups": "g"}, selection=selection)
        )
        assert made.status_code == 202, made.text
        if field is None:
            do_job(api, made.json()["id"])
            continue
        with pytest.raises(ParameterError, match=words) as caught:
            do_job(api, made.json()["id"])
        assert caught.value.field == field


def test_a_candidate_tells_what_its_folds_warn_of(shared_api: Api) -> None:
    """Of 90 rows each of three folds learns from 60, so 61 neighbours are more than there are."""
    body = request(uploaded(shared_api), learner="nearest-neighbors-classifier", selection={"grid": {"k": [60, 61]}})
    fitting, wide = done(shared_api, body)["result"]["selection"]["candidates"]
    assert "warnings" not in fitting
    assert [text.partition(":")[0] for text in wide["warnings"]] == ["fold 1", "fold 2", "fold 3"]
    assert all("60 rows" in text and "61" in text for text in wide["warnings"])


def test_presets_are_searched_over_as_parameters_are(api: Api) -> None:
    selection = {"grid": {"preset": ["c45", "cart"], "max_depth": [2, 3]}}
    ended = done(api, request(uploaded(api), selection=selection, model={"name": "preset"}))
    found = ended["result"]["selection"]
    assert [one["parameters"] for one in found["candidates"]] == [
        {"preset": preset, "max_depth": depth} for preset in ("c45", "cart") for depth in (2, 3)
    ]
    made = {"learner": "decision-tree-classifier", "parameters": {}, "seed": 4}
    learned = make_learner(made, found["parameters"]).fit(*data())
    assert api.get("/api/v1/models/preset:1").json()["parameters"] == found["parameters"]
    assert len(api.get("/api/v1/models/preset/rules").json()["rules"]) == learned.n_leaves_
    for one in found["candidates"]:
        own = cross_validate(partial(make_learner, made, one["parameters"]), *data(), Plan(folds=3), 4)
        assert one["metrics"] == own.summary["metrics"]
