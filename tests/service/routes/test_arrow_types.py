"""An Arrow table that was uploaded is answered as it was read: decimal numbers, dates, times and codes."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.running import Api, problem
from tests.service.working import train

STREAM = {"Content-Type": "application/vnd.apache.arrow.stream"}
DAYS = [dt.datetime(2024, 1, day, 8, 30) for day in (1, 2, 3)]
#: Each column alone tells the class, so that each model needs its own.
AT = np.arange(30) % 3
TABLE = pa.table(
    {
        "dec": pa.array([Decimal(100 + int(at)) / 100 for at in AT], pa.decimal128(4, 2)),
        "day": pa.array([DAYS[at].date() for at in AT], pa.date32()),
        "when": pa.array([DAYS[at] for at in AT], pa.timestamp("us")),
        "hour": pa.array([dt.time(int(at), 30) for at in AT], pa.time64("us")),
        "code": pa.array([Decimal(int(at)) for at in AT], pa.decimal128(3, 0)).dictionary_encode(),
        "flag": pa.array([bool(at == 1) for at in AT]),
        "y": pa.array([["a", "b", "c"][at] for at in AT]),
    }
)


def arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


@pytest.fixture(scope="module")
def models(shared_api: Api) -> dict[str, Any]:
    """One model of each column, and the columns as the upload read them."""
    uploaded = shared_api.upload(parquet(TABLE), name="typed.parquet").json()
    for name in TABLE.column_names[:-1]:
        train(shared_api, uploaded["id"], target="y", features=[name], name=f"by-{name}", parameters={"min_leaf": 1})
    return {column["name"]: column for column in uploaded["columns"]}


def answers(api: Api, name: str, table: pa.Table, **query: Any) -> pa.Table:
    answer = api.post(f"/api/v1/models/by-{name}/predictions", content=arrow(table), headers=STREAM, params=query)
    assert answer.status_code == 200, answer.text
    return pa.ipc.open_stream(answer.content).read_all()


@pytest.mark.parametrize(
    ("name", "kind", "levels"),
    [
        ("dec", "numeric", None),
        ("code", "numeric", None),
        ("day", "nominal", ["2024-01-01", "2024-01-02", "2024-01-03"]),
        ("when", "nominal", [f"2024-01-0{day} 08:30:00.000000" for day in (1, 2, 3)]),
        ("hour", "nominal", [f"0{hour}:30:00.000000" for hour in range(3)]),
    ],
)
def test_the_rows_of_an_upload_are_answered_as_it_was_read(
    shared_api: Api, models: dict[str, Any], name: str, kind: str, levels: list[str] | None
) -> None:
    assert models[name]["kind"] == kind
    if levels is not None:
        assert models[name]["levels"] == levels
    expected = TABLE["y"].to_pylist()
    assert answers(shared_api, name, TABLE.select([name]))["label"].to_pylist() == expected
    found = answers(shared_api, name, TABLE)  # the others are ignored, and named
    assert found["label"].to_pylist() == expected
    others = [other for other in TABLE.column_names if other != name]
    assert found["warnings"].to_pylist() == [f"ignored columns: {', '.join(others)}"] * 30


def test_a_type_that_no_upload_takes_is_ignored_where_the_model_has_no_such_column(
    shared_api: Api, models: dict[str, Any]
) -> None:
    strange = TABLE.append_column("pair", pa.array([{"a": 1}] * 30)).append_column("raw", pa.array([b"x"] * 30))
    assert answers(shared_api, "dec", strange)["label"].to_pylist() == TABLE["y"].to_pylist()
    body = arrow(pa.table({"dec": [{"a": 1}]}))
    refused = shared_api.post("/api/v1/models/by-dec/predictions", content=body, headers=STREAM)
    assert problem(refused, 422)["errors"][0]["column"] == "dec"


def test_a_zone_that_nobody_knows_is_told_with_its_column(shared_api: Api, models: dict[str, Any]) -> None:
    table = pa.table({"when": pa.array([0, 1], pa.timestamp("us", "Mars/City")), "y": ["a", "b"]})
    upload = shared_api.upload(arrow(table), name="mars.arrow")
    asked = shared_api.post("/api/v1/models/by-when/predictions", content=arrow(table), headers=STREAM)
    for refused in (problem(upload, 422), problem(asked, 422)):
        assert refused["errors"][0]["column"] == "when"
        assert "Mars/City" in refused["detail"]


def test_a_decimal_number_has_no_marks_of_the_file(shared_api: Api) -> None:
    """Of CSV ``1.500`` may be a thousand and a half, of a decimal number it is one and a half."""
    table = pa.table({"dec": pa.array([Decimal("1.500"), Decimal("2.500")], pa.decimal128(4, 3)), "y": ["a", "b"]})
    options = '{"decimal": ",", "thousands": "."}'
    made = shared_api.upload(parquet(table), name="marks.parquet", options=options).json()
    rows = shared_api.get(f"/api/v1/datasets/{made['id']}/rows").json()
    assert [row["dec"] for row in rows["rows"]] == [1.5, 2.5]
    train(shared_api, made["id"], target="y", name="by-marks", parameters={"min_leaf": 1})
    assert answers(shared_api, "marks", table.select(["dec"]))["label"].to_pylist() == ["a", "b"]
