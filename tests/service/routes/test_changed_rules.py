"""Comparing versions and the stability of rules over HTTP, on tables so small that all of it is known by hand."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, mean_absolute_error, root_mean_squared_error

from learners.evaluation.folds import k_fold
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.tables import read
from tests.service.running import Api
from tests.service.working import do_job, train
from tests.shared import table_path

COLOURS = ("blue", "green", "red")
#: Beyond which size things of a colour are wanted, before and after.
LIMITS: tuple[dict[str, int], ...] = ({"red": 4}, {"red": 5, "blue": 8})
FLOWERS: tuple[dict[str, Any], ...] = ({"max_leaves": 3}, {"max_leaves": 6, "criterion": "entropy"})


def things(limits: dict[str, int]) -> list[tuple[int, str, str]]:
    small = [(size, colour) for size in range(1, 11) for colour in COLOURS]
    rows = [(size, colour, "yes" if size > limits.get(colour, 99) else "no") for size, colour in small]
    return rows + [(30, colour, "maybe") for colour in COLOURS] * 4


@pytest.fixture(scope="module")
def things_api(shared_api: Api) -> Api:
    """``things:1`` and ``things:2``, each learned from what was wanted then."""
    for limits in LIMITS:
        lines = [f"{size},{colour},{wanted}" for size, colour, wanted in things(limits)]
        uploaded = shared_api.upload("\n".join(["size,colour,wanted", *lines]), name="things").json()["id"]
        train(shared_api, uploaded, target="wanted", name="things", parameters={"nominal": "multiway"})
    return shared_api


@pytest.fixture(scope="module")
def flowers_api(shared_api: Api) -> Api:
    """``petals`` twice, judged in the same five folds; ``widths`` twice, trees of numbers."""
    dataset = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    more = {"evaluation": {"method": "k-fold", "folds": 5}, "seed": 3}
    for parameters in FLOWERS:
        train(shared_api, dataset, target="class", name="petals", parameters=parameters, **more)
    for depth in (2, 3):
        how: dict[str, Any] = {"learner": "decision-tree-regressor", "parameters": {"max_depth": depth}}
        train(shared_api, dataset, target="petalwidth", name="widths", **how)
    return shared_api


def compared(api: Api, ref: str, other: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/models/{ref}/comparison", params={"with": other} | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def said(rule: dict[str, Any]) -> tuple[str, Any]:
    return " and ".join(sorted(condition["text"] for condition in rule["conditions"])), rule["answer"]


def test_rules_that_came_went_and_moved_are_told_one_by_one(things_api: Api) -> None:
    found = compared(things_api, "things:1", "things:2")["rules"]
    assert {said(rule) for rule in found["removed"]} == {
        ("colour = blue and size <= 20", "no"),
        ("colour = green and size <= 20", "no"),
        ("colour = red and size <= 4.5", "no"),
    }
    assert {said(rule) for rule in found["added"]} == {
        ("size <= 5.5", "no"),
        ("5.5 < size <= 8.5 and colour = blue", "no"),
        ("8.5 < size <= 20 and colour = blue", "yes"),
        ("5.5 < size <= 20 and colour = green", "no"),
    }
    (moved,) = found["moved"]
    assert said(moved["before"]) == ("4.5 < size <= 20 and colour = red", "yes")
    assert said(moved["after"]) == ("5.5 < size <= 20 and colour = red", "yes")
    ((before, after),) = ((one["before"], one["after"]) for one in moved["moved"])
    assert (before["low"], before["high"], after["low"], after["high"]) == (4.5, 20, 5.5, 20)
    assert (moved["before"]["weight"], moved["after"]["weight"]) == (6, 5)
    assert found["same_total"] == 1  # size > 20: maybe
    assert [found[f"{name}_total"] for name in ("removed", "added", "moved")] == [3, 4, 1]
    back = compared(things_api, "things:2", "things:1")["rules"]
    assert [said(rule) for rule in back["added"]] == [said(rule) for rule in found["removed"]]
    assert [said(rule) for rule in back["removed"]] == [said(rule) for rule in found["added"]]
    assert said(back["moved"][0]["before"]) == said(moved["after"])


def test_rows_are_told_whose_answer_changes(things_api: Api) -> None:
    """A red thing of size 5 is wanted no more, blue ones of 9 and 10 are; of the rows of today all are right."""
    found = compared(things_api, "things:1", "things:2")["rows"]
    assert found["changed"] == [
        {"row": 14, "before": "yes", "after": "no"},
        {"row": 24, "before": "no", "after": "yes"},
        {"row": 27, "before": "no", "after": "yes"},
    ]
    assert found["changes"] == [
        {"before": "no", "after": "yes", "rows": 2},
        {"before": "yes", "after": "no", "rows": 1},
    ]
    right = {"rows": 42, "both_right": 39, "only_before_right": 0, "only_after_right": 3, "both_wrong": 0}
    assert found["target"] == right
    some = compared(things_api, "things:1", "things:2", first_row=20, n_rows=6)["rows"]
    assert [change["row"] for change in some["changed"]] == [24]
    assert some["target"] == right | {"rows": 6, "both_right": 5, "only_after_right": 1}


def test_metrics_are_those_of_folds_that_are_learned_anew(flowers_api: Api) -> None:
    table, target = read("iris", "class")
    accuracies = []
    for parameters in FLOWERS:
        own = []
        for split in k_fold(150, 5, 3, target.cells.astype(np.int64)):
            model = DecisionTreeClassifier(**parameters).fit(table.take(split.train), target.take(split.train))
            truth = np.array(target.column.labels, object)[target.cells[split.test].astype(int)]
            own.append(accuracy_score(truth.tolist(), model.predict(table.take(split.test)).tolist()))
        accuracies.append(np.array(own))
    found = compared(flowers_api, "petals:1", "petals:2")["metrics"]["accuracy"]
    for when, own in zip(("before", "after"), accuracies, strict=True):
        assert found[when]["values"] == pytest.approx(own.tolist())
        assert found[when]["mean"] == pytest.approx(own.mean())
    gaps = accuracies[1] - accuracies[0]
    assert found["difference"] == pytest.approx(gaps.mean())
    assert gaps.any()
    # Nadeau and Bengio (2003): each fold is tested on a quarter as many rows as it learned from
    error, paired = np.sqrt((1 / 5 + 1 / 4) * gaps.var(ddof=1)), found["paired"]
    assert (paired["test"], paired["count"]) == ("corrected-resampled-t", 5)
    assert (paired["difference"], paired["standard_error"]) == pytest.approx((gaps.mean(), error))
    assert paired["p_value"] == pytest.approx(2 * stats.t.sf(abs(gaps.mean()) / error, 4))
    wide = stats.t.ppf(0.975, 4) * error
    assert (paired["interval"]["low"], paired["interval"]["high"]) == pytest.approx(
        (gaps.mean() - wide, gaps.mean() + wide)
    )


def test_numbers_that_change_most_come_first_with_both_answers(flowers_api: Api) -> None:
    with table_path("iris.csv").open() as file:
        rows = list(csv.DictReader(file))
    asked = [
        {name: float(cell) if name != "class" else cell for name, cell in row.items() if name != "petalwidth"}
        for row in rows
    ]
    answers = []
    for number in (1, 2):
        told = flowers_api.post(f"/api/v1/models/widths:{number}/predictions", json={"rows": asked}).json()
        answers.append(np.array([one["value"] for one in told["predictions"]]))
    before, after = answers
    truth = np.array([float(row["petalwidth"]) for row in rows])
    found = compared(flowers_api, "widths:1", "widths:2", listed=200)["rows"]
    order = sorted(np.flatnonzero(before != after), key=lambda row: (-abs(before[row] - after[row]), row))
    assert len(order) > 50
    expected = [{"row": int(row), "before": before[row], "after": after[row]} for row in order]
    assert found["changed"] == expected
    assert found["changed_total"] == len(order)
    for when, own in (("before", before), ("after", after)):
        assert found["target"][when] == pytest.approx(
            {
                "mean_absolute_error": mean_absolute_error(truth, own),
                "root_mean_squared_error": root_mean_squared_error(truth, own),
            }
        )


#: Who is left out leaves others behind: without a, b or c the tree asks twice, and without d once.
GROUPS = "x,group,y\n1,a,no\n10,a,yes\n2,b,no\n8,b,yes\n3,c,no\n6,c,yes\n20,d,no\n"


def test_how_often_rules_come_back_is_what_is_counted_by_hand(shared_api: Api) -> None:
    """Without a: x <= 4.5, then x <= 14; without b: 4.5 and 15; without c: 5 and 15; without d: 4.5 alone."""
    request = {
        "kind": "cross-validate",
        "dataset": shared_api.upload(GROUPS, name="groups").json()["id"],
        "target": "y",
        "learner": "decision-tree-classifier",
        "features": ["x"],
        "evaluation": {"method": "k-fold", "folds": 4, "groups": "group"},
    }
    job = shared_api.post("/api/v1/jobs", json=request).json()["id"]
    do_job(shared_api, job)
    found = shared_api.get(f"/api/v1/jobs/{job}").json()["result"]["evaluation"]["stability"]
    assert found["fits"] == 4
    assert found["rules_mean"] == (3 + 3 + 3 + 2) / 4
    assert found["roots"] == [{"column": "x", "fits": 4, "tests": {"x <= 4.5": 3, "x <= 5": 1}}]
    rules = [
        ("x <= …: no", 4, 3, (3 * 2 / 5 + 3 / 6) / 4, [(4.5, 5)]),
        ("… < x <= …: yes", 3, 1, 2 / 5, [(4.5, 5), (14, 15)]),
        ("x > …: no", 3, 2, 1 / 5, [(14, 15)]),
        ("x > …: yes", 1, 1, 3 / 6, [(4.5, 4.5)]),
    ]
    assert found["rules_total"] == len(rules)
    for rule, (structure, fits, identical, support, bounds) in zip(found["rules"], rules, strict=True):
        assert (rule["structure"], rule["fits"], rule["identical"]) == (structure, fits, identical)
        assert rule["support"] == pytest.approx(support)
        assert rule["bounds"] == {"x": [{"least": low, "greatest": high} for low, high in bounds]}
    # of six pairs of fits three have all rules in common, and three the first alone, with 2/5 of the rows and 3/6
    assert found["agreement"] == pytest.approx((3 * 1 + 3 * 2 / 5) / 6)
