"""Numbers with their interval over HTTP: that of the reason, to the bit, in every format, alone and among others."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as student

from service.schemas.learners import LearnerList
from service.schemas.predictions import Predictions
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

COLUMNS = ("low", "high", "level")
NAMES = ("sepallength", "sepalwidth", "petallength")
ARROW = "application/vnd.apache.arrow.stream"
LEARNERS = {
    "mean": ("nearest-neighbors-regressor", {}),
    "median": ("nearest-neighbors-regressor", {"answer": "median", "kernel": "inverse", "interval_level": 0.8}),
    "line": ("local-linear-regressor", {"kernel": "gaussian"}),
    "alone": ("nearest-neighbors-regressor", {"k": 1}),
    "tree": ("decision-tree-regressor", {}),
}
MODELS = ("mean", "median", "line")


@pytest.fixture(scope="module")
def iris(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris-numbers").json()
    shared_api.dataset = uploaded["id"]
    for name, (learner, parameters) in LEARNERS.items():
        options = {"learner": learner, "parameters": parameters, "features": list(NAMES)}
        train(shared_api, uploaded["id"], target="petalwidth", name=f"width-{name}", **options)
    kind = {"learner": "nearest-neighbors-classifier", "features": list(NAMES)}
    train(shared_api, uploaded["id"], target="class", name="width-kind", **kind)
    return shared_api


def cells() -> list[list[float | None]]:
    """Rows in training and between, one far off, one with a gap."""
    steps = [[4.4 + step / 10, 2.2 + step % 7 / 5, 1.1 + step / 8] for step in range(40)]
    return [*steps, [5.1, 3.5, 1.4], [900.0, -3.0, 1e6], [None, 3.0, 4.0]]


def rows() -> list[dict[str, Any]]:
    return [dict(zip(NAMES, row, strict=True)) for row in cells()]


def ask(api: Api, model: str, body: Any, route: str = "predictions", **query: Any) -> Any:
    response = api.post(f"/api/v1/models/width-{model}/{route}", json=body, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def of_reasons(api: Api, model: str) -> list[Any]:
    return [one["interval"] for one in ask(api, model, {"rows": rows()}, "explanations")["explanations"]]


def told(answer: Any) -> list[Any]:
    return [one["interval"] for one in answer["predictions"]]


def in_lines(bounds: Any) -> tuple[float | None, ...]:
    return tuple((bounds or {}).get(name) for name in COLUMNS)


def of_lines(content: str, delimiter: str = ",") -> list[tuple[float | None, ...]]:
    lines = csv.DictReader(io.StringIO(content), delimiter=delimiter)
    return [tuple(float(line[name]) if line[name] else None for name in COLUMNS) for line in lines]


def of_arrow(content: bytes) -> list[tuple[float | None, ...]]:
    columns = pa.ipc.open_stream(content).read_all().to_pydict()
    return list(zip(*(columns[name] for name in COLUMNS), strict=True))


def written(delimiter: str = ",") -> str:
    lines = [delimiter.join("" if cell is None else repr(cell) for cell in row) for row in cells()]
    return "\n".join([delimiter.join(NAMES), *lines])


@pytest.mark.parametrize("model", MODELS)
def test_json_tells_the_interval_of_the_reason_alone_and_in_company(iris: Api, model: str) -> None:
    wanted = of_reasons(iris, model)
    assert [row for row, one in enumerate(wanted) if one is None] == ([41] if model == "line" else [])  # far off
    answer = ask(iris, model, {"rows": rows(), "interval": True})
    Predictions.model_validate(answer)
    assert told(answer) == wanted
    for row in answer["predictions"]:
        assert row["interval"] is None or row["interval"]["low"] <= row["value"] <= row["interval"]["high"]
    assert answer["predictions"][-1]["warnings"] == [{"kind": "missing", "columns": ["sepallength"]}]
    assert told(ask(iris, model, {"rows": rows()}, interval=True)) == wanted
    assert told(ask(iris, model, {"columns": NAMES, "data": cells(), "interval": True})) == wanted
    assert [told(ask(iris, model, {"rows": [row], "interval": True}))[0] for row in rows()] == wanted
    both = ask(iris, model, {"rows": rows(), "interval": True, "explain": True})["predictions"]
    assert [one["interval"] for one in both] == [one["explanation"]["interval"] for one in both] == wanted


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_the_same_without_their_intervals(iris: Api, model: str) -> None:
    plain = ask(iris, model, {"rows": rows()})
    for wish, query in (({"interval": True}, {}), ({}, {"interval": True})):
        answer = ask(iris, model, {"rows": rows()} | wish, **query)
        for one in answer["predictions"]:
            del one["interval"]
        assert answer == plain
    stronger = ask(iris, model, {"rows": rows(), "interval": False}, interval=True)
    assert stronger == plain


@pytest.mark.parametrize("model", MODELS)
def test_lines_and_columns_tell_the_same(iris: Api, model: str) -> None:
    wanted = of_reasons(iris, model)
    ends, query = [in_lines(one) for one in wanted], {"interval": True}
    address = f"/api/v1/models/width-{model}/predictions"
    for media, delimiter in (("text/csv", ","), ("text/tab-separated-values", "\t")):
        sent = iris.post(address, params=query, content=written(delimiter), headers={"content-type": media})
        assert sent.text.split(delimiter, 6)[:6] == ["row", "value", *COLUMNS, "model"]
        assert of_lines(sent.text, delimiter) == ends
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    sent = iris.post(address, params=query, content=lines, headers={"content-type": "application/x-ndjson"})
    assert [json.loads(line)["interval"] for line in sent.text.splitlines()] == wanted
    arrow = iris.post(address, params=query, json={"rows": rows()}, headers={"accept": ARROW})
    schema = pa.ipc.open_stream(arrow.content).schema
    assert {schema.field(name).type for name in COLUMNS} == {pa.float64()}
    assert of_arrow(arrow.content) == ends


def test_the_mean_of_five_has_the_textbooks_interval(iris: Api) -> None:
    """mean -+ t s sqrt(1 + 1/5), Student's t with 4 degrees of freedom, of the rows that the reason names."""
    answers = ask(iris, "mean", {"rows": rows(), "interval": True, "explain": True})["predictions"]
    for one in answers:
        numbers = np.array([voter["answer"] for voter in one["explanation"]["neighbours"]])
        half = student.ppf(0.95, 4) * numbers.std(ddof=1) * np.sqrt(1 + 1 / 5)
        assert len(numbers) == 5
        ends = (one["interval"]["low"], one["interval"]["high"])
        assert ends == pytest.approx((numbers.mean() - half, numbers.mean() + half))
        assert (one["interval"]["level"], one["interval"]["method"]) == (0.9, "student-t")


def test_where_nothing_tells_it_the_interval_is_null(iris: Api) -> None:
    assert told(ask(iris, "alone", {"rows": rows(), "interval": True})) == [None] * len(rows())
    bad = [rows()[0], {"sepalwidth": "wide"}]
    query = {"interval": True}
    answer = ask(iris, "mean", {"rows": bad, "interval": True})["predictions"]
    assert [sorted(one) for one in answer] == [["interval", "row", "value"], ["error", "row"]]
    for model, there in (("alone", [False, False]), ("mean", [True, False])):
        address = f"/api/v1/models/width-{model}/predictions"
        sent = iris.post(address, params=query, json={"rows": bad}, headers={"accept": "text/csv"})
        assert [None not in one for one in of_lines(sent.text)] == there
        assert list(csv.DictReader(io.StringIO(sent.text)))[1]["error"]
        arrow = iris.post(address, params=query, json={"rows": bad}, headers={"accept": ARROW})
        assert of_arrow(arrow.content) == of_lines(sent.text)


@pytest.mark.parametrize("row_format", ["csv", "tsv", "ndjson", "arrow"])
def test_a_whole_dataset_gets_its_intervals(iris: Api, row_format: str) -> None:
    output = {"format": row_format, "interval": True}
    submitted = {"kind": "predict", "dataset": iris.dataset, "version": "width-median", "output": output}
    job = iris.post("/api/v1/jobs", json=submitted).json()["id"]
    do_job(iris, job)
    done = iris.get(f"/api/v1/jobs/{job}").json()
    content = iris.get(done["links"]["download"]).content
    training = list(csv.DictReader(table_path("iris.csv").read_text().splitlines()))
    asked = [{name: float(row[name]) for name in NAMES} for row in training]
    wanted = [in_lines(one) for one in told(ask(iris, "median", {"rows": asked, "interval": True}))]
    if row_format == "arrow":
        found = of_arrow(content)
    elif row_format == "ndjson":
        found = [in_lines(json.loads(line)["interval"]) for line in content.splitlines()]
    else:
        found = of_lines(content.decode(), "\t" if row_format == "tsv" else ",")
    assert len(found) == 150
    assert found == wanted


@pytest.mark.parametrize("model", ["tree", "kind"])
def test_learners_without_intervals_refuse_them_by_name(iris: Api, model: str) -> None:
    address = f"/api/v1/models/width-{model}/predictions"
    asked = [
        iris.post(address, json={"rows": rows(), "interval": True}),
        iris.post(address, params={"interval": True}, json={"rows": rows()}),
        iris.post(address, params={"interval": True}, content=written(), headers={"content-type": "text/csv"}),
    ]
    for response in asked:
        (fault,) = problem(response, 422)["errors"]
        assert (fault["parameter"], fault["allowed"]) == ("interval", [False])
    request = {"kind": "predict", "dataset": iris.dataset, "version": f"width-{model}", "output": {"interval": True}}
    (fault,) = problem(iris.post("/api/v1/jobs", json=request), 422)["errors"]
    assert (fault["parameter"], fault["allowed"]) == ("output.interval", [False])
    assert "interval" not in ask(iris, model, {"rows": rows(), "interval": False})["predictions"][0]


def test_what_is_no_wish_for_an_interval_is_refused(iris: Api) -> None:
    address = "/api/v1/models/width-mean"
    for response in (
        iris.post(f"{address}/predictions", json={"rows": rows(), "interval": 0.9}),
        iris.post(f"{address}/predictions", json={"rows": rows()}, params={"interval": "wide"}),
        iris.post(f"{address}/explanations", json={"rows": rows(), "interval": True}),
        iris.post(f"{address}/explanations", json={"rows": rows()}, params={"interval": True}),
    ):
        (fault,) = problem(response, 422)["errors"]
        assert fault["parameter"] == "interval"
    folds = {"kind": "cross-validate", "dataset": iris.dataset, "target": "petalwidth", "features": list(NAMES)}
    wish = {"learner": "nearest-neighbors-regressor", "output": {"interval": True}}
    (fault,) = problem(iris.post("/api/v1/jobs", json=folds | wish), 422)["errors"]
    assert fault["parameter"] == "output.interval"


def test_learners_say_whether_they_have_intervals(iris: Api) -> None:
    found = LearnerList.model_validate(iris.get("/api/v1/learners").json()).items
    assert {one.name for one in found if one.intervals} == {"nearest-neighbors-regressor", "local-linear-regressor"}
