"""Refusals of a submission name the dataset's row, and ask for nothing that cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from learners.errors import DataError
from service.errors import Invalid
from service.jobs.outcomes import error_record
from tests.service.running import Api, problem
from tests.service.working import do_job

BAD = 17


def rows(**changed: Any) -> list[dict[str, Any]]:
    """30 rows, of which the one at ``BAD`` is changed."""
    made: list[dict[str, Any]] = [{"x": float(row), "g": "ab"[row % 2], "w": 1.0, "y": float(row)} for row in range(30)]
    made[BAD] |= changed
    return made


def submit(api: Api, table: list[dict[str, Any]], **asked: Any) -> Any:
    dataset = api.upload(json.dumps(table).encode(), name="named", format="json").json()["id"]
    body = {"kind": "train", "dataset": dataset, "target": "y", "learner": "decision-tree-regressor"}
    return api.post("/api/v1/jobs", json=body | asked)


def fault(answer: Any) -> dict[str, Any]:
    (found,) = problem(answer, 422)["errors"]
    assert "some row" not in found["message"]
    return dict(found)


def folds(**how: Any) -> dict[str, Any]:
    return {"method": "k-fold", **how}


@pytest.mark.parametrize(
    ("changed", "asked", "words"),
    [
        ({"y": 1e150}, {}, "is 1e+150 in row 17"),
        ({"y": -1e150}, {}, "is -1e+150 in row 17"),
        ({"w": -1.0}, {"weights": "w"}, "are -1 in row 17"),
        ({"w": 1e-120}, {"weights": "w"}, "are 1e-120 in row 17"),
        ({"w": None}, {"weights": "w"}, "missing in row 17;"),
        ({"x": None}, {"evaluation": folds(folds=2, time="x")}, "missing in row 17;"),
        ({"g": None}, {"evaluation": folds(folds=2, groups="g")}, "missing in row 17;"),
    ],
)
def test_the_row_at_fault_is_named(shared_api: Api, changed: dict[str, Any], asked: dict[str, Any], words: str) -> None:
    found = fault(submit(shared_api, rows(**changed), **asked))
    assert words in found["message"]
    assert found["row"] == BAD
    assert found["column"] == next(iter(changed))


@pytest.mark.parametrize(
    ("value", "words", "row"),
    [(-2.0, "negative in 3 rows, the least, -3, in row 25;", 25), (None, "in 3 rows, the first of them row 17;", 17)],
)
def test_of_several_rows_the_number_is_told(shared_api: Api, value: float | None, words: str, row: int) -> None:
    table = rows(w=value)
    table[20]["w"], table[25]["w"] = value, value and value - 1
    found = fault(submit(shared_api, table, weights="w"))
    assert words in found["message"]
    assert found["row"] == row


def test_a_single_row_of_weight_cannot_be_judged(shared_api: Api) -> None:
    table = [row | {"w": float(at == BAD)} for at, row in enumerate(rows())]
    found = fault(submit(shared_api, table, weights="w", evaluation=folds(folds=3)))
    assert (found["row"], found["column"]) == (BAD, "w")
    assert "at least 2 rows with a weight above 0" in found["message"]
    assert fault(submit(shared_api, table, weights="w", kind="cross-validate"))["column"] == "w"
    assert submit(shared_api, table, weights="w").status_code == 202


@pytest.mark.parametrize("kind", ["train", "learning-curve"])
def test_a_fold_without_weight_names_the_column(api: Api, kind: str) -> None:
    """Both rows that count are of one group, so one of the folds has none to learn from."""
    table = [row | {"g": "ab"[at > BAD], "w": float(at < 2)} for at, row in enumerate(rows())]
    asked = {"kind": kind, "evaluation": folds(folds=2, groups="g")}
    if kind == "train":
        asked["model"] = {"name": "unweighted"}
    answer = submit(api, table, weights="w", **asked)
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    with pytest.raises((DataError, Invalid)) as refused:
        do_job(api, job)
    error = error_record(refused.value).to_json()
    told = json.dumps(error)
    assert "the weights 'w': every weight is zero" in told
    assert error["column"] == "w"
    assert "sample_weight" not in told


@pytest.mark.parametrize(
    ("table", "asked", "words"),
    [
        ([row | {"y": row["y"] if at == 0 else None} for at, row in enumerate(rows())], {"evaluation": folds(folds=3)},
         "needs at least 2 rows that have a target; there is 1"),
        ([row | {"x": at // 15} for at, row in enumerate(rows())], {"evaluation": folds(folds=2, time="x")},
         "folds must be 1 (one less than the different times); it is 2"),
        ([row | {"x": 1} for row in rows()], {"evaluation": folds(folds=2, time="x")},
         "at least 2 different times are needed"),
        (rows(), {"evaluation": folds(folds=3, groups="g")}, "folds must be 2 (the number of groups); it is 3"),
        (
            [row | {"x": at // 15} for at, row in enumerate(rows())],
            {"kind": "select", "selection": {"grid": {"min_leaf": [1, 2]}, "nested": 2},
             "evaluation": folds(folds=1, time="x")},
            "outer folds need at least 3 different times; there are 2",
        ),
    ],
)  # fmt: skip
def test_what_is_allowed_can_be(shared_api: Api, table: Any, asked: dict[str, Any], words: str) -> None:
    assert words in fault(submit(shared_api, table, **asked))["message"]


def test_a_date_of_an_arff_file_names_its_row_and_line(shared_api: Api) -> None:
    lines = ["@relation r", "@attribute d date yyyy-MM-dd", "@attribute y numeric", "@data"]
    lines += ["% a comment", *(f"2020-01-{row + 1:02d},{row}" for row in range(30))]
    lines[5 + BAD] = "2020-13-01,1"
    answer = shared_api.upload("\n".join(lines), name="dates.arff", format="arff")
    (found,) = problem(answer, 422)["errors"]
    assert (found["row"], found["line"], found["column"]) == (BAD, 6 + BAD, "d")
