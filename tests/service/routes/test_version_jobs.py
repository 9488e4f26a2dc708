"""Versions judged on datasets and answering whole datasets, as jobs on both stores."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import metrics as peer

from service.client import Rulewood, RulewoodError
from service.operations.submission import version as submission
from service.operations.work import predicting
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.running import Api, problem
from tests.service.working import do_job, train

HEADER = "x,colour,y"


def text(seed: int, rows: int = 60, header: str = HEADER) -> str:
    generator = np.random.default_rng(seed)
    lines = [header]
    for _ in range(rows):
        x, colour = generator.random(), generator.choice(["red", "blue", ""])
        label = "yes" if (x > 0.5) ^ (generator.random() < 0.2) else "no"
        lines.append(f"{x:.3f},{colour},{label}")
    return "\n".join(lines)


def uploaded(api: Api, content: str, name: str = "rows.csv") -> str:
    made: str = api.upload(content, name=name).json()["id"]
    return made


def trained(api: Api) -> str:
    dataset = uploaded(api, text(1), "training.csv")
    train(api, dataset, target="y", name="m", parameters={"max_depth": 1})
    train(api, dataset, target="y", name="m", parameters={"min_leaf": 2, "leaf_estimate": "laplace"})
    return dataset


def done(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    made = api.post("/api/v1/jobs", json=body)
    assert made.status_code == 202, made.text
    do_job(api, made.json()["id"])
    ended: dict[str, Any] = api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    return ended


def test_a_version_is_judged_on_rows_it_has_not_seen_against_another(api: Api) -> None:
    trained(api)
    content = text(2) + "\n0.5,red,\n0.7,red,maybe"
    dataset = uploaded(api, content)
    utility = {"yes": {"no": -5}}
    body = {
        "kind": "evaluate",
        "dataset": dataset,
        "version": "m",
        "against": "m:1",
        "evaluation": {"utility": utility},
    }
    result = done(api, body)["result"]
    assert (result["version"], result["learned_from"], result["dropped_rows"]) == ("m:2", False, 2)
    (warning,) = result["evaluation"]["warnings"]
    assert warning.startswith("1 rows have a 'y' that the version does not know ('maybe')")
    rows = [dict(zip(HEADER.split(","), line.split(","), strict=True)) for line in text(2).split("\n")[1:]]
    asked = [{"x": float(row["x"]), "colour": row["colour"] or None} for row in rows]
    answers = [
        api.post(f"/api/v1/models/m:{v}/predictions", json={"rows": asked}).json()["predictions"] for v in (2, 1)
    ]
    labels, other = ([one["label"] for one in found] for found in answers)
    truth = [row["y"] for row in rows]
    share = [one["probabilities"][1] for one in answers[0]]
    metrics = result["evaluation"]["metrics"]
    assert metrics["accuracy"]["mean"] == pytest.approx(peer.accuracy_score(truth, labels))
    assert metrics["roc_auc"]["mean"] == pytest.approx(peer.roc_auc_score([t == "yes" for t in truth], share))
    assert metrics["accuracy"]["interval"]["method"] == "wilson"
    wrong = sum(t == "no" and one == "yes" for t, one in zip(truth, labels, strict=True))
    assert metrics["mean_utility"]["mean"] == pytest.approx(-5 * wrong / 60)
    (curves,) = result["curves"]
    assert curves["roc"]["area"] == pytest.approx(metrics["roc_auc"]["mean"])
    assert result["evaluation"]["pooled"]["calibration"]["bins"]
    right = [[one == t for one, t in zip(found, truth, strict=True)] for found in (labels, other)]
    only = [sum(a and not b for a, b in zip(*pair, strict=True)) for pair in (right, right[::-1])]
    found = result["comparison"]
    assert (found["against"], found["rows"]) == ("m:1", 60)
    assert [found["mcnemar"][name] for name in ("only_first_right", "only_second_right")] == only
    places = [["no", "yes"].index(t) for t in truth]
    given = [np.array([one["probabilities"] for one in side]) for side in answers]
    losses = {
        "error": [[one != t for one, t in zip(side, truth, strict=True)] for side in (labels, other)],
        "log_loss": [-np.log(side[range(60), places]) for side in given],
        "brier_score": [((side - np.eye(2)[places]) ** 2).sum(axis=1) for side in given],
        "mean_utility": [[-5 * (one > t) for one, t in zip(side, truth, strict=True)] for side in (labels, other)],
    }
    assert set(found) == {"against", "rows", "mcnemar", *losses}
    for name, pair in losses.items():
        theirs = stats.ttest_rel(*(np.array(side, dtype=float) for side in pair))
        assert found[name]["p_value"] == pytest.approx(theirs.pvalue), name
        ends = theirs.confidence_interval()
        assert [found[name]["interval"][end] for end in ("low", "high")] == pytest.approx([ends.low, ends.high])
        assert found[name]["difference"] == pytest.approx(np.subtract(*np.array(pair, dtype=float)).mean())


def test_versions_that_know_other_classes_are_compared_on_the_rows_of_both(shared_api: Api) -> None:
    """The one knows no `b`, the other no `c`; what is given to a class that the row cannot be of counts as wrong."""
    for name, labels in (("without-b", "ac"), ("without-c", "ab")):
        lines = ["x,y", *(f"{x},{labels[x % 3 > 0]}" for x in range(30))]
        dataset = uploaded(shared_api, "\n".join(lines))
        train(shared_api, dataset, target="y", name=name, parameters={"max_depth": 0})
    dataset = uploaded(shared_api, "x,y\n" + "\n".join(f"{x},{'aabc'[x % 4]}" for x in range(40)))
    result = done(shared_api, {"kind": "evaluate", "dataset": dataset, "version": "without-b", "against": "without-c"})
    found = result["result"]["comparison"]
    assert found["rows"] == 20  # those of class a, which both answer alike: 1/3 and 2/3 for another
    assert found["mcnemar"]["p_value"] == 1.0
    assert [found[name]["difference"] for name in ("error", "log_loss", "brier_score")] == [0.0, 0.0, 0.0]
    for labels, n_both in (("abb", 1), ("bb", 0)):  # too few for a test
        dataset = uploaded(shared_api, "x,y\n" + "\n".join(f"{x},{label}" for x, label in enumerate(labels)))
        body = {"kind": "evaluate", "dataset": dataset, "version": "without-c", "against": "without-b"}
        found = done(shared_api, body)["result"]["comparison"]
        assert found["rows"] == n_both
        assert found["mcnemar"] == {"only_first_right": 0, "only_second_right": 0, "p_value": 1.0}
        if n_both:
            assert found["log_loss"]["difference"] == 0.0
            assert found["log_loss"]["p_value"] is found["log_loss"]["interval"] is None
        else:
            assert found["error"] is found["log_loss"] is found["brier_score"] is None


def test_a_version_of_numbers_is_judged_with_weights(shared_api: Api) -> None:
    content = "\n".join(["x,w,v", *(f"{x},{1 + x % 2},{x * x % 17}" for x in range(40))])
    dataset = uploaded(shared_api, content)
    train(
        shared_api, dataset, target="v", name="number", learner="decision-tree-regressor", parameters={"max_depth": 2},
        features=["x"],
    )  # fmt: skip
    result = done(shared_api, {"kind": "evaluate", "dataset": dataset, "version": "number", "weights": "w"})["result"]
    assert result["learned_from"] is True
    assert "curves" not in result
    values = [
        one["value"]
        for one in shared_api.post(
            "/api/v1/models/number/predictions", json={"rows": [{"x": x} for x in range(40)]}
        ).json()["predictions"]
    ]
    actual, weights = [x * x % 17 for x in range(40)], [1 + x % 2 for x in range(40)]
    expected = peer.mean_squared_error(actual, values, sample_weight=weights)
    assert result["evaluation"]["metrics"]["mean_squared_error"]["mean"] == pytest.approx(expected)


@pytest.mark.parametrize("row_format", ["csv", "tsv", "ndjson", "arrow"])
def test_a_whole_dataset_is_answered_as_its_rows_are(api: Api, row_format: str, monkeypatch: Any) -> None:
    for module in (submission, predicting):
        monkeypatch.setattr(module, "PART_ROWS", 25)
    trained(api)
    content = text(3, header="x,colour,y").replace("blue", "green")  # a level that training never saw
    dataset = uploaded(api, content)
    output = {"format": row_format, "unseen": "reject"}
    job = done(api, {"kind": "predict", "dataset": dataset, "version": "m", "output": output})
    assert [part["part"] for part in job["parts"]] == ["rows-1", "rows-2", "rows-3"]
    told = job["result"]["predictions"]
    got = api.get(job["links"]["download"])
    assert got.status_code == 200
    assert len(got.content) == told["size"] == int(got.headers["content-length"])
    sent = "\n".join(line.rsplit(",", 1)[0] for line in content.split("\n"))  # without the target
    media = {"csv": "text/csv", "tsv": "text/tab-separated-values", "ndjson": "application/x-ndjson"}
    accept = media.get(row_format, "application/vnd.apache.arrow.stream")
    assert got.headers["content-type"].split(";")[0] == accept
    headers = {"Content-Type": "text/csv", "Accept": accept}
    asked = api.post("/api/v1/models/m/predictions", params={"unseen": "reject"}, content=sent, headers=headers)
    if row_format == "arrow":
        mine, theirs = (pa.ipc.open_stream(io.BytesIO(one.content)).read_all() for one in (got, asked))
        drop = ["error"]
        assert mine.drop(drop).equals(theirs.drop(drop))
        failed = mine.num_rows - mine["label"].drop_null().__len__()
    else:
        mine, theirs = (_without_lines(one.text) for one in (got, asked))
        assert mine == theirs
        failed = sum(line.count('"error":') or line.split(",\t"[row_format == "tsv"])[1:2] == [""] for line in mine)
    assert (told["rows"], told["failed"]) == (60, failed)
    assert failed > 0


def _without_lines(content: str) -> list[str]:
    """Faults of rows that were sent as text name their line; stored rows have none."""
    lines = content.split("\n")
    if not lines[0].startswith("{"):
        return lines
    records = [json.loads(line) for line in lines if line]
    for record in records:
        for fault in record.get("error", {}).get("errors", []):
            fault.pop("line", None)
            fault.pop("row", None)
    return [json.dumps(record) for record in records]


def test_answers_are_kept_as_long_as_their_job(api: Api, tmp_path: Path) -> None:
    dataset = trained(api)
    with Rulewood(api.address) as client:
        job = client.predict_dataset("m:1", dataset, explain=True)
        with pytest.raises(RulewoodError, match="nothing to download"):
            client.download(job, tmp_path / "answers.csv")
        do_job(api, job["id"])
        store = Store(api.settings.store_url)
        blobs = Blobs(store, api.settings.cache, api.settings.cache_bytes)
        blobs.collect(grace_seconds=-1)
        size = client.download(job, tmp_path / "answers.csv")
        lines = (tmp_path / "answers.csv").read_text().split("\n")
        assert size == (tmp_path / "answers.csv").stat().st_size
        assert lines[0].endswith("warnings,error,explanation")
        assert len(lines) == 62
        client.delete_job(job["id"])
        assert blobs.collect(grace_seconds=-1) >= 1
        store.dispose()
        with pytest.raises(RulewoodError, match="404"):
            client.download(job["id"], tmp_path / "more.csv")


def test_the_clients_methods_submit_what_they_say(shared_api: Api) -> None:
    dataset = trained(shared_api)
    with Rulewood(shared_api.address) as client:
        job = client.evaluate("m", dataset, against="m:1", utility={"yes": {"no": -1}})
        assert job["request"]["version"]["version"] == 2
        assert job["request"]["against"]["version"] == 1
        job = client.learning_curve(dataset, target="y", learner="decision-tree-classifier", shares=[0.5, 1.0])
        assert job["request"]["shares"] == [0.5, 1.0]
        job = client.bias_variance(dataset, target="y", learner="decision-tree-classifier", rounds=9, seed=3)
        assert (job["request"]["rounds"], job["request"]["seed"]) == (9, 3)
        job = client.description_length(dataset, target="y", learner="decision-tree-classifier")
        assert job["request"]["kind"] == "description-length"
        selection = {"method": "size", "size": "max_leaves"}
        job = client.select(
            dataset, target="y", learner="decision-tree-classifier", selection=selection, model="n",
            idempotency_key="once",
        )  # fmt: skip
        assert job["request"]["selection"]["test_fraction"] == 0.25
        again = client.select(
            dataset, target="y", learner="decision-tree-classifier", selection=selection, model="n",
            idempotency_key="once",
        )  # fmt: skip
        assert again["id"] == job["id"]


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"version": "nobody"}, "version", "no model 'nobody'"),
        ({"version": "m:9"}, "version", "m"),
        ({"version": None}, "version", "needs version"),
        ({"against": "other"}, "against", "cannot be compared"),
        ({"against": "m"}, "against", "same version"),
        ({"target": "y"}, "target", "has no effect in a job evaluate"),
        ({"weights": "colour"}, "weights", "must be numeric"),
        ({"evaluation": {"folds": 3}}, "evaluation.folds", "no effect"),
        ({"evaluation": {"utility": {"no-one": {"no": 1}}}}, "evaluation.utility", "no class"),
        ({"kind": "predict", "output": {"format": "xml"}}, "output.format", "'csv', 'tsv', 'ndjson' or 'arrow'"),
        ({"kind": "predict", "output": {"decision": {"costs": {"q": {"no": 1}}}}}, "output.decision.costs", "no class"),
        ({"kind": "predict", "against": "m:1"}, "against", "it is of evaluate"),
    ],
)
def test_what_a_version_cannot_do_is_refused_by_name(
    shared_api: Api, changes: dict[str, Any], parameter: str, words: str
) -> None:
    if shared_api.get("/api/v1/models/other").status_code == 404:
        dataset = trained(shared_api)
        train(shared_api, dataset, target="colour", name="other", parameters={"max_depth": 1})
    dataset = uploaded(shared_api, text(5))
    body: dict[str, Any] = {"kind": "evaluate", "dataset": dataset, "version": "m", **changes}
    body = {name: value for name, value in body.items() if value is not None}
    refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    faults = {fault["parameter"]: fault["message"] for fault in refused["errors"]}
    assert parameter in faults, faults
    assert words in faults[parameter]


def test_a_dataset_without_what_the_version_needs_is_refused_by_column(shared_api: Api) -> None:
    trained(shared_api)
    for kind, content, column in [
        ("evaluate", "x,y\n1,yes\n0,no", "colour"),
        ("evaluate", "x,colour\n1,red\n0,blue", "y"),
        ("evaluate", "x,colour,y\n1,red,3\n0,blue,4", "y"),
        ("predict", "q,r\n1,red\n0,blue", "x"),
    ]:
        body = {"kind": kind, "dataset": uploaded(shared_api, content), "version": "m"}
        refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
        assert [fault.get("column") for fault in refused["errors"]] == [column], (kind, content)


def test_a_dataset_without_what_the_other_version_needs_names_it(shared_api: Api) -> None:
    dataset = trained(shared_api)
    train(shared_api, dataset, target="y", name="narrow", features=["x"])
    body = {
        "kind": "evaluate",
        "dataset": uploaded(shared_api, "x,y\n1,yes\n0,no"),
        "version": "narrow",
        "against": "m",
    }
    (fault,) = problem(shared_api.post("/api/v1/jobs", json=body), 422)["errors"]
    assert (fault["parameter"], fault["column"]) == ("against", "colour")
    assert "against learned from: 'colour'" in fault["message"]


def test_only_predictions_have_a_download(shared_api: Api) -> None:
    dataset = trained(shared_api)
    job = done(shared_api, {"kind": "evaluate", "dataset": dataset, "version": "m"})
    assert "download" not in job["links"]
    problem(shared_api.get(f"/api/v1/jobs/{job['id']}/download"), 409)
    problem(shared_api.get("/api/v1/jobs/job_nowhere/download"), 404)
