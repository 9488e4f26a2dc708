"""Answers out of fold, downloaded: every metric of a cross-validation is scikit-learn's on them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as peer

from service.client import Rulewood, RulewoodError
from service.operations.work import answers
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.running import Api, problem
from tests.service.working import do_job

ROWS = 60
MEDIA = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}


def uploaded(api: Api) -> tuple[str, list[dict[str, Any]]]:
    """Rows with a target of three classes and one of numbers, of which some are missing."""
    generator = np.random.default_rng(11)
    rows = []
    for row in range(ROWS):
        x, w = round(float(generator.random()), 3), int(generator.integers(1, 4))
        label = ["high, or so", "low", "middle"][int(3 * x) if generator.random() > 0.2 else row % 3]
        rows.append({"x": x, "w": w, "when": row // 2, "y": "" if row % 15 == 4 else label, "v": round(x * x, 4)})
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return api.upload(text.getvalue(), name="rows.csv").json()["id"], rows


def request(dataset: str, evaluation: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "kind": "cross-validate",
        "dataset": dataset,
        "target": "y",
        "learner": "nearest-neighbors-classifier",
        "parameters": {"k": 5},
        "features": ["x"],
        "seed": 2,
        "evaluation": evaluation,
        "output": {"format": "csv"},
        **more,
    }


def done(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    made = api.post("/api/v1/jobs", json=body)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    return ended


def downloaded(api: Api, job: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a download in any format; ``probabilities`` as a list."""
    row_format = job["request"]["output"]["format"]
    got = api.get(job["links"]["download"])
    assert got.status_code == 200, got.text
    assert got.headers["content-type"].split(";")[0] == MEDIA[row_format]
    assert len(got.content) == job["result"]["predictions"]["size"] == int(got.headers["content-length"])
    if row_format == "ndjson":
        return [json.loads(line) for line in got.text.splitlines()]
    if row_format == "arrow":
        records = pa.ipc.open_stream(io.BytesIO(got.content)).read_all().to_pylist()
    else:
        records = list(csv.DictReader(io.StringIO(got.text), delimiter={"csv": ",", "tsv": "\t"}[row_format]))
    found = []
    for record in records:
        one = {name: value for name, value in record.items() if not name.startswith("probability_")}
        shares = [float(value) for name, value in record.items() if name.startswith("probability_")]
        numbers = {name: int(one[name]) for name in ("row", "repetition", "fold")}
        found.append(one | numbers | ({"probabilities": shares} if shares else {}))
    return found


def of_classes(rows: list[dict[str, Any]], classes: list[str]) -> dict[str, float]:
    truth, label = ([one[name] for one in rows] for name in ("actual", "label"))
    weights = [float(one.get("weight", 1)) for one in rows]
    shares = np.array([one["probabilities"] for one in rows])
    places = np.array([classes.index(one) for one in truth])
    by = {"sample_weight": weights}
    brier = np.average(((shares - np.eye(len(classes))[places]) ** 2).sum(axis=1), weights=weights)
    areas = [peer.roc_auc_score(places == code, shares[:, code], **by) for code in range(len(classes))]
    return {
        "accuracy": peer.accuracy_score(truth, label, **by),
        "error": 1 - peer.accuracy_score(truth, label, **by),
        "balanced_accuracy": peer.balanced_accuracy_score(truth, label, **by),
        "macro_f1": peer.f1_score(truth, label, average="macro", **by),
        "kappa": peer.cohen_kappa_score(truth, label, **by),
        "log_loss": peer.log_loss(truth, np.clip(shares, np.finfo(float).eps, 1), labels=classes, **by),
        "brier_score": brier,
        "roc_auc": float(np.mean(areas)),
    }


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("row_format", ["csv", "tsv", "ndjson", "arrow"])
def test_every_metric_of_every_fold_is_scikit_learns_on_the_answers(
    shared_api: Api, row_format: str, weights: str | None, monkeypatch: Any
) -> None:
    monkeypatch.setattr(answers, "PART_ROWS", 25)  # so that the file has several pieces
    dataset, rows = uploaded(shared_api)
    parameters = {"k": 15, "kernel": "gaussian"}  # so that no class has probability 0
    more = {"output": {"format": row_format}, "weights": weights, "parameters": parameters}
    job = done(shared_api, request(dataset, {"folds": 3, "repeats": 2}, **more))
    found, result = downloaded(shared_api, job), job["result"]
    known = [row for row in range(ROWS) if rows[row]["y"]]
    assert (result["dropped_rows"], result["predictions"]["rows"]) == (ROWS - len(known), 2 * len(known))
    assert [one["part"] for one in job["parts"]][6:] == [f"answers-{number}" for number in range(1, 6)]
    for repetition in (1, 2):
        assert sorted(one["row"] for one in found if one["repetition"] == repetition) == known
    assert all(str(one["actual"]) == rows[one["row"]]["y"] for one in found)
    assert all(float(one.get("weight", 0)) == (rows[one["row"]]["w"] if weights else 0) for one in found)
    evaluation = result["evaluation"]
    for fold in range(1, 7):
        tested = [one for one in found if one["fold"] == fold]
        assert {one["repetition"] for one in tested} == {(fold + 2) // 3}
        expected = of_classes(tested, evaluation["classes"])
        values = {name: metric["values"][fold - 1] for name, metric in evaluation["metrics"].items()}
        assert values == pytest.approx(expected), fold


def test_numbers_by_time_are_answered_from_the_past(shared_api: Api) -> None:
    dataset, rows = uploaded(shared_api)
    more = {"target": "v", "learner": "decision-tree-regressor", "parameters": {"max_depth": 2}}
    job = done(shared_api, request(dataset, {"folds": 4, "time": "when"}, **more))
    found = downloaded(shared_api, job)
    assert list(found[0]) == ["row", "repetition", "fold", "actual", "value"]
    metrics = job["result"]["evaluation"]["metrics"]
    for fold in range(1, 5):
        tested = [one for one in found if one["fold"] == fold]
        truth, value = ([float(one[name]) for one in tested] for name in ("actual", "value"))
        first = min(one["row"] for one in tested)
        centre = np.mean([row["v"] for row in rows[:first]])
        assert truth == [rows[one["row"]]["v"] for one in tested]
        squared = peer.mean_squared_error(truth, value)
        expected = {
            "mean_absolute_error": peer.mean_absolute_error(truth, value),
            "mean_squared_error": squared,
            "root_mean_squared_error": squared**0.5,
            "r2": peer.r2_score(truth, value),
            "relative_absolute_error": peer.mean_absolute_error(truth, value) / np.abs(np.array(truth) - centre).mean(),
        }
        assert {name: metrics[name]["values"][fold - 1] for name in expected} == pytest.approx(expected)
    assert sorted(one["row"] for one in found) == list(range(min(one["row"] for one in found), ROWS))


@pytest.mark.parametrize("learner", ["nearest-neighbors-classifier", "decision-tree-classifier"])
def test_what_was_left_out_is_answered_row_by_row(api: Api, learner: str) -> None:
    """By the fast path in one part, and by a fit for each row in several."""
    dataset, rows = uploaded(api)
    is_fast = learner.startswith("nearest")
    parameters = {"k": 5, "scaling": "none"} if is_fast else {"max_depth": 1}
    more = {"learner": learner, "parameters": parameters}
    job = done(api, request(dataset, {"method": "leave-one-out"}, **more))
    assert len(job["parts"]) == (1 if is_fast else 50) + 2
    found = downloaded(api, job)
    known = [row for row in range(ROWS) if rows[row]["y"]]
    assert sorted(one["row"] for one in found) == known
    assert {one["row"]: one["fold"] for one in found} == {row: place for place, row in enumerate(known, 1)}
    evaluation = job["result"]["evaluation"]
    expected = peer.accuracy_score([one["actual"] for one in found], [one["label"] for one in found])
    assert evaluation["metrics"]["accuracy"]["mean"] == pytest.approx(expected)
    confusion = peer.confusion_matrix(*([one[name] for one in found] for name in ("actual", "label")))
    assert evaluation["pooled"]["confusion"] == confusion.tolist()


def test_answers_are_kept_as_long_as_their_job(api: Api, tmp_path: Any) -> None:
    dataset, _ = uploaded(api)
    with Rulewood(api.address) as client:
        job = client.submit(request(dataset, {"folds": 3}))
        with pytest.raises(RulewoodError, match="is queued, so there is nothing to download"):
            client.download(job, tmp_path / "answers.csv")
        do_job(api, job["id"])
        store = Store(api.settings.store_url)
        blobs = Blobs(store, api.settings.cache, api.settings.cache_bytes)
        blobs.collect(grace_seconds=-1)  # the folds' arrays go, the file stays
        size = client.download(job, tmp_path / "answers.csv")
        assert size == client.job(job["id"])["result"]["predictions"]["size"]
        client.delete_job(job["id"])
        assert blobs.collect(grace_seconds=-1) >= 1
        store.dispose()


def test_without_output_there_is_nothing_to_download(shared_api: Api) -> None:
    dataset, _ = uploaded(shared_api)
    job = done(shared_api, request(dataset, {"folds": 2}, output=None))
    assert "download" not in job["links"]
    assert [one["part"] for one in job["parts"]] == ["fold-1", "fold-2"]
    assert all("blob_sha256" not in one["result"] for one in job["parts"])
    refused = problem(shared_api.get(f"/api/v1/jobs/{job['id']}/download"), 409)
    assert "is a job cross-validate without output" in refused["detail"]


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"output": {"format": "xml"}}, "output.format", "'csv', 'tsv', 'ndjson' or 'arrow'"),
        ({"output": {"explain": True}}, "output.explain", "no effect on the answers out of fold"),
        ({"output": {"missing": "reject"}}, "output.missing", "it is of predict"),
        ({"kind": "learning-curve"}, "output", "it is of cross-validate, compare, predict"),
    ],
)
def test_an_output_that_has_no_effect_is_refused_by_name(
    shared_api: Api, changes: dict[str, Any], parameter: str, words: str
) -> None:
    dataset, _ = uploaded(shared_api)
    refused = problem(shared_api.post("/api/v1/jobs", json=request(dataset, {"folds": 2}) | changes), 422)
    assert [one["parameter"] for one in refused["errors"]] == [parameter]
    assert words in refused["errors"][0]["message"]


def test_a_request_with_output_tried_again_is_the_same(shared_api: Api) -> None:
    dataset, _ = uploaded(shared_api)
    made = shared_api.post("/api/v1/jobs", json=request(dataset, {"folds": 2}, output={})).json()
    assert made["request"]["output"] == {"format": "csv"}
    shared_api.post(f"/api/v1/jobs/{made['id']}/cancel")
    assert shared_api.post(f"/api/v1/jobs/{made['id']}/retry").json()["request"] == made["request"]
