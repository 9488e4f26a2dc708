"""Two versions compared over HTTP, against what their own rules and predictions say."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from learners.evaluation.comparison import corrected_t
from service.schemas.comparisons import Comparison
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

IRIS = table_path("iris.csv")


@pytest.fixture(scope="module")
def versions(shared_api: Api) -> Api:
    """``flowers:1`` and ``flowers:2`` learned from the same rows, ``sizes:1`` a regression."""
    uploaded = shared_api.upload(IRIS.read_bytes(), name="iris").json()["id"]
    evaluation = {"method": "k-fold", "folds": 5}
    for parameters in ({"max_leaves": 3}, {"max_leaves": 6, "criterion": "entropy"}):
        train(shared_api, uploaded, target="class", name="flowers", parameters=parameters, evaluation=evaluation)
    for depth in (2, 3):
        train(
            shared_api,
            uploaded,
            target="petalwidth",
            name="sizes",
            learner="decision-tree-regressor",
            parameters={"max_depth": depth},
        )
    return shared_api


def compared(api: Api, ref: str, other: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/models/{ref}/comparison", params={"with": other} | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    Comparison.model_validate(found)
    return found


def answers(api: Api, ref: str, key: str) -> list[Any]:
    with IRIS.open() as file:
        rows = [{name: float(row[name]) for name in row if name != "class"} for row in csv.DictReader(file)]
    return [
        one[key] for one in api.post(f"/api/v1/models/{ref}/predictions", json={"rows": rows}).json()["predictions"]
    ]


def test_whose_answer_changes_is_what_the_predictions_say(versions: Api) -> None:
    found = compared(versions, "flowers:1", "flowers:2")["rows"]
    old, new = answers(versions, "flowers:1", "label"), answers(versions, "flowers:2", "label")
    differing = [row for row in range(150) if old[row] != new[row]]
    assert differing
    assert [change["row"] for change in found["changed"]] == differing
    assert [(change["before"], change["after"]) for change in found["changed"]] == [(old[r], new[r]) for r in differing]
    assert sum(change["rows"] for change in found["changes"]) == found["changed_total"] == len(differing)
    with IRIS.open() as file:
        truth = [row["class"] for row in csv.DictReader(file)]
    assert found["target"] == {
        "rows": 150,
        "both_right": sum(o == n == t for o, n, t in zip(old, new, truth, strict=True)),
        "only_before_right": sum(o == t != n for o, n, t in zip(old, new, truth, strict=True)),
        "only_after_right": sum(n == t != o for o, n, t in zip(old, new, truth, strict=True)),
        "both_wrong": sum(t not in (o, n) for o, n, t in zip(old, new, truth, strict=True)),
    }
    assert found["learned_from"] == ["before", "after"]


def test_rules_parameters_and_metrics_are_compared(versions: Api) -> None:
    found = compared(versions, "flowers:1", "flowers:2")
    rules = found["rules"]
    old, new = (len(versions.get(f"/api/v1/models/flowers:{n}/rules").json()["rules"]) for n in (1, 2))
    assert rules["same_total"] + rules["moved_total"] + rules["removed_total"] == old
    assert rules["same_total"] + rules["moved_total"] + rules["added_total"] == new
    assert found["parameters"]["max_leaves"] == {"before": 3, "after": 6}
    assert found["parameters"]["criterion"]["after"] == "entropy"
    accuracy = found["metrics"]["accuracy"]
    assert accuracy["difference"] == pytest.approx(accuracy["after"]["mean"] - accuracy["before"]["mean"])
    assert found["lineage"] == {}
    # judged in the same 5 folds, each with a quarter as many rows tested as learned from
    values = [accuracy[when]["values"] for when in ("after", "before")]
    assert accuracy["paired"] == json.loads(json.dumps(corrected_t(*values, 1 / 4).to_json()))


def test_versions_judged_otherwise_are_not_compared_in_pairs(versions: Api) -> None:
    dataset = versions.get("/api/v1/models/flowers:1").json()["lineage"]["dataset"]
    evaluation = {"method": "k-fold", "folds": 5}
    train(versions, dataset, target="class", name="reseeded", evaluation=evaluation, seed=9)
    found = compared(versions, "flowers:1", "reseeded")["metrics"]
    assert {one["paired"] for one in found.values()} == {None}
    assert compared(versions, "sizes:1", "sizes:2")["metrics"] == {}


def test_a_version_equals_itself(versions: Api) -> None:
    found = compared(versions, "flowers:1", "flowers")  # the bare name is the latest
    assert found["after"]["version"] == 2
    found = compared(versions, "flowers:2", "flowers")
    assert found["rows"]["changed_total"] == 0
    assert (found["rules"]["added_total"], found["rules"]["removed_total"], found["rules"]["moved_total"]) == (0, 0, 0)
    assert found["parameters"] == {}


def test_regressions_are_compared_by_size_of_change(versions: Api) -> None:
    found = compared(versions, "sizes:1", "sizes:2", listed=5)["rows"]
    gaps = [abs(change["before"] - change["after"]) for change in found["changed"]]
    assert len(gaps) == 5
    assert gaps == sorted(gaps, reverse=True)
    assert found["target"]["after"]["mean_absolute_error"] < found["target"]["before"]["mean_absolute_error"]


def test_some_rows_of_another_dataset(versions: Api) -> None:
    content = "sepallength,sepalwidth,petallength,petalwidth,extra\n" + "5,3,4.9,1.6,a\n" * 10 + "5,3,1,0.1,b\n" * 10
    other = versions.upload(content, name="other").json()["id"]
    found = compared(versions, "flowers:1", "flowers:2", dataset=other, first_row=8, n_rows=4)["rows"]
    assert (found["compared"], found["total"], found["learned_from"], found["target"]) == (4, 20, [], None)
    assert all(8 <= change["row"] < 12 for change in found["changed"])
    beyond = compared(versions, "flowers:1", "flowers:2", dataset=other, first_row=100)["rows"]
    assert (beyond["compared"], beyond["changed_total"]) == (0, 0)


@pytest.mark.parametrize(
    ("ref", "query", "status"),
    [
        ("flowers:1", {}, 422),
        ("flowers:1", {"with": "flowers:9"}, 404),
        ("nobody", {"with": "flowers:1"}, 404),
        ("flowers:1", {"with": "sizes:1"}, 409),
        ("flowers:1", {"with": "flowers:2", "dataset": "ds_none"}, 404),
        ("flowers:1", {"with": "flowers:2", "n_rows": 0}, 422),
        ("flowers:1", {"with": "flowers:2", "listed": -1}, 422),
    ],
)
def test_what_cannot_be_compared_is_told(versions: Api, ref: str, query: dict[str, Any], status: int) -> None:
    problem(versions.get(f"/api/v1/models/{ref}/comparison", params=query), status)


def test_a_dataset_that_does_not_fit_is_told(versions: Api) -> None:
    other = versions.upload("a,b\n1,2\n3,4\n", name="misfit").json()["id"]
    answer = versions.get("/api/v1/models/flowers:1/comparison", params={"with": "flowers:2", "dataset": other})
    assert problem(answer, 422)["errors"][0]["parameter"] == "dataset"


def test_an_evaluation_tells_how_stable_the_rules_are(versions: Api) -> None:
    uploaded = versions.upload(IRIS.read_bytes(), name="again").json()["id"]
    request = {
        "kind": "cross-validate",
        "dataset": uploaded,
        "target": "class",
        "learner": "decision-tree-classifier",
        "evaluation": {"method": "k-fold", "folds": 5},
    }
    job = versions.post("/api/v1/jobs", json=request).json()["id"]
    do_job(versions, job)
    ended = versions.get(f"/api/v1/jobs/{job}").json()
    stability = ended["result"]["evaluation"]["stability"]
    assert stability["fits"] == 5
    assert sum(root["fits"] for root in stability["roots"]) == 5
    assert 0 < stability["agreement"] <= 1
    assert max(rule["fits"] for rule in stability["rules"]) == 5
    assert all("rules" not in part["result"] for part in ended["parts"])


def test_a_preset_is_compared_by_what_it_stands_for(versions: Api) -> None:
    uploaded = versions.upload(IRIS.read_bytes(), name="iris").json()["id"]
    for parameters in ({"preset": "c45"}, {"preset": "c45", "min_leaf": 20}, {"preset": "c45", "min_leaf": 2.0}):
        train(versions, uploaded, target="class", name="named", parameters=parameters)
    train(versions, uploaded, target="class", name="named", learner="rule-set-classifier", parameters={"max_rules": 2})
    assert compared(versions, "named:1", "named:2")["parameters"] == {"min_leaf": {"before": 2, "after": 20}}
    assert compared(versions, "named:1", "named:3")["parameters"] == {}
    other = compared(versions, "named:2", "named:4")["parameters"]
    assert other["learner"] == {"before": "decision-tree-classifier", "after": "rule-set-classifier"}
    assert other["max_rules"] == {"before": None, "after": 2}
    assert other["min_leaf"] == {"before": 20, "after": 2}
    assert other["pruning"] == {"before": "error-based", "after": None}
    assert "theory_weight" not in other


def test_versions_of_different_targets_are_not_compared(versions: Api) -> None:
    uploaded = versions.upload(IRIS.read_bytes(), name="iris").json()["id"]
    train(versions, uploaded, target="petallength", name="sizes", learner="decision-tree-regressor")
    refused = versions.get("/api/v1/models/sizes:1/comparison", params={"with": "sizes:3"})
    told = "a regression of 'petalwidth' and a regression of 'petallength' cannot be compared"
    assert problem(refused, 409)["detail"] == told


@pytest.mark.parametrize(("classes", "is_same"), [(("good", "bad"), False), (("Iris-setosa", "bad"), True)])
def test_targets_of_one_name_without_a_common_class_are_different(
    versions: Api, classes: tuple[str, str], is_same: bool
) -> None:
    content = "petallength,class\n" + "".join(f"{size},{classes[size > 5]}\n" for size in range(12))
    other, name = versions.upload(content, name="other").json()["id"], f"other-{is_same}".lower()
    train(versions, other, target="class", name=name)
    compared_ = versions.get("/api/v1/models/flowers:1/comparison", params={"with": f"{name}:1"})
    body = {"kind": "evaluate", "dataset": versions.upload(IRIS.read_bytes(), name="iris").json()["id"]}
    judged = versions.post("/api/v1/jobs", json=body | {"version": "flowers:1", "against": f"{name}:1"})
    if is_same:
        assert (compared_.status_code, judged.status_code) == (200, 202)
        return
    told = (
        "a classification of 'class' with the classes 'Iris-setosa', 'Iris-versicolor', 'Iris-virginica' and a "
        "classification of 'class' with the classes 'bad', 'good' cannot be compared: no class is common to both"
    )
    assert problem(compared_, 409)["detail"] == told
    assert [fault["message"] for fault in problem(judged, 422)["errors"]] == [told]


def test_versions_of_different_tasks_are_refused_alike(versions: Api) -> None:
    refused = versions.get("/api/v1/models/flowers:1/comparison", params={"with": "sizes:1"})
    told = "a classification of 'class' and a regression of 'petalwidth' cannot be compared"
    assert problem(refused, 409)["detail"] == told
