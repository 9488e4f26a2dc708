"""Sequences that come in Arrow's lists are answered as those in JSON."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import httpx
import pyarrow as pa
import pytest

from tests.service.running import Api, problem
from tests.service.working import train

ARROW = {"content-type": "application/vnd.apache.arrow.stream", "accept": "application/json"}
CURVES = [[0.1, 2, 2.5, 3], [3, 3, 1e-7]]
PATHS = [[[1, 2], [3, 4.5]], [[0.1, 0.2]]]


@pytest.fixture(scope="module")
def curves(shared_api: Api) -> Api:
    """A model of sequences of numbers and of steps of two numbers each."""
    records = [{"curve": [1.5, 2, 3], "path": [[1, 2], [2, 3]], "kind": "m"}]
    records += [{"curve": [3, 2], "path": [[9, 1]], "kind": "s"}]
    uploaded = shared_api.upload(json.dumps(records * 2), format="json").json()
    options = {"learner": "nearest-neighbors-classifier", "parameters": {"k": 1}}
    train(shared_api, uploaded["id"], target="kind", name="curves", **options)
    return shared_api


def ask(api: Api, rows: list[dict[str, Any]]) -> Any:
    response = api.post("/api/v1/models/curves/explanations", json={"rows": rows})
    assert response.status_code == 200, response.text
    return response.json()


def stream(curves: pa.Array, paths: pa.Array) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"curve": curves, "path": paths})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def sent_as_arrow(api: Api, curves: pa.Array, paths: pa.Array) -> httpx.Response:
    return api.post("/api/v1/models/curves/explanations", content=stream(curves, paths), headers=ARROW)


@pytest.mark.parametrize("listed", [pa.list_, pa.large_list])
@pytest.mark.parametrize("number", [pa.float64(), pa.float32(), pa.float16()])
def test_lists_in_arrow_are_sequences_as_in_json(curves: Api, listed: Any, number: pa.DataType) -> None:
    steps = pa.array([*CURVES, None], pa.list_(pa.float64())).cast(listed(number))
    paths = pa.array([*PATHS, PATHS[0]], pa.list_(pa.list_(pa.float64()))).cast(listed(listed(number)))
    written = [
        {"curve": curve, "path": path}
        for curve, path in zip(
            steps.cast(pa.list_(pa.float64())).to_pylist(),
            paths.cast(pa.list_(pa.list_(pa.float64()))).to_pylist(),
            strict=True,
        )
    ]
    answered = sent_as_arrow(curves, steps, paths)
    assert answered.status_code == 200, answered.text
    assert answered.json() == ask(curves, written)


def test_fixed_lists_of_integers_are_sequences_too(curves: Api) -> None:
    fixed = pa.array([[1, 2, 3]], pa.list_(pa.int8(), 3))
    paths = pa.array([[[1, 2], [3, 4]]], pa.list_(pa.list_(pa.uint16(), 2)))
    answered = sent_as_arrow(curves, fixed, paths)
    expected = ask(curves, [{"curve": [1, 2, 3], "path": [[1, 2], [3, 4]]}])
    assert answered.json() == expected


@pytest.mark.parametrize("curve", [[1.0, None], [], [None]])
def test_a_list_that_is_no_sequence_spoils_its_row_as_in_json(curves: Api, curve: list[float | None]) -> None:
    answered = sent_as_arrow(curves, pa.array([curve, [1.0]], pa.list_(pa.float64())), pa.array([PATHS[0]] * 2))
    rows = [{"curve": curve, "path": PATHS[0]}, {"curve": [1.0], "path": PATHS[0]}]
    assert answered.status_code == 200, answered.text
    assert answered.json() == ask(curves, rows)
    assert answered.json()["explanations"][0]["error"]["errors"][0]["column"] == "curve"


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_in_lists_are_finite(curves: Api, number: float) -> None:
    answered = sent_as_arrow(curves, pa.array([[1.0, number], [1.0]]), pa.array([PATHS[0]] * 2))
    spoiled, good = answered.json()["explanations"]
    assert spoiled["error"]["errors"][0]["column"] == "curve"
    assert good["label"] == "m"


@pytest.mark.parametrize(
    "strange",
    [
        pa.array([["a"]]),
        pa.array([[True]]),
        pa.array([], pa.list_(pa.float64(), 0)),
    ],
)
def test_other_lists_are_refused_as_they_are_in_files(curves: Api, strange: pa.Array) -> None:
    refused = problem(sent_as_arrow(curves, strange, strange), 422)
    assert "which is not read here" in refused["detail"]
    refused = problem(curves.upload(stream(strange, strange), format="arrow"), 422)
    assert "which is not read here" in str(refused)
