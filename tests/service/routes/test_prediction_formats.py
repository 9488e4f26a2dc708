"""Predictions of rows that come as CSV, NDJSON or an Arrow stream, and go back in the same form."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.service.routes.test_predictions import SUNNY, predict, taught
from tests.service.running import Api, problem
from tests.service.working import train


@pytest.fixture(scope="module")
def weather(shared_api: Api) -> Api:
    return taught(shared_api)


def test_json_csv_tsv_and_ndjson_give_one_answer(weather: Api) -> None:
    rows = [SUNNY, {"outlook": "rainy", "temperature": 65, "humidity": None, "windy": "TRUE"}]
    expected = predict(weather, {"rows": rows})["predictions"]
    text = "windy,outlook,humidity,temperature\nFALSE,sunny,85,85\nTRUE,rainy,,65\n"
    for media_type, body in (
        ("text/csv", text),
        ("text/tab-separated-values", text.replace(",", "\t")),
        ("application/x-ndjson", "\n".join(json.dumps(row) for row in rows)),
    ):
        headers = {"content-type": media_type, "accept": "application/json"}
        answered = weather.post("/api/v1/models/weather/predictions", content=body, headers=headers)
        assert answered.status_code == 200, answered.text
        assert answered.json()["predictions"] == expected


@pytest.mark.parametrize(
    "media_type", ["text/csv", "text/tab-separated-values", "application/x-ndjson", "application/json"]
)
@pytest.mark.parametrize("form", ["predictions", "explanations"])
@pytest.mark.parametrize("charset", ["iso-8859-1", '"Windows-1252"', "utf-16", "klingon", ""])
def test_rows_in_another_charset_are_refused(weather: Api, media_type: str, form: str, charset: str) -> None:
    headers = {"content-type": f"{media_type}; charset={charset}"}
    refusal = problem(weather.post(f"/api/v1/models/weather/{form}", content=b"outlook\n\xfc\n", headers=headers), 415)
    (fault,) = refusal["errors"]
    assert fault["parameter"] == "Content-Type"
    assert fault["allowed"] == ["utf-8"]
    assert charset.strip('"') in refusal["detail"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "us-ascii"])
def test_rows_may_name_the_charset_that_they_have(weather: Api, charset: str) -> None:
    headers = {"content-type": f"text/csv; Charset={charset}", "accept": "application/json"}
    body = "outlook,temperature,humidity,windy\nsunny,85,85,FALSE\n"
    answered = weather.post("/api/v1/models/weather/predictions", content=body, headers=headers)
    assert answered.json()["predictions"] == predict(weather, {"rows": [SUNNY]})["predictions"]


def test_csv_comes_back_as_csv_with_the_answer_of_each_row(weather: Api) -> None:
    body = "outlook,temperature,humidity,windy,extra\nsunny,85,85,FALSE,1\nsunny,hot,85,FALSE,1\nrainy,65\n"
    answered = weather.post(
        "/api/v1/models/weather@nobody/predictions", content=body, headers={"content-type": "text/csv"}
    )
    problem(answered, 404)
    answered = weather.post("/api/v1/models/weather:1/predictions", content=body, headers={"content-type": "text/csv"})
    assert answered.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answered.text)))
    assert [row["label"] for row in rows] == ["no", "", ""]
    assert rows[0]["probability_no"] == "1.0"
    assert rows[0]["version"] == "1"
    assert rows[0]["warnings"] == "ignored columns: extra"
    assert rows[1]["error"] == "line 3: column 'temperature' takes finite numbers, not 'hot'"
    assert "5 values" in rows[2]["error"]


def arrow(rows: list[dict[str, Any]]) -> bytes:
    """Rows as an Arrow stream."""
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


ARROW = "application/vnd.apache.arrow.stream"


def test_arrow_comes_back_as_arrow_with_the_cells_of_csv_in_their_types(weather: Api) -> None:
    rows = [SUNNY | {"extra": 1}, SUNNY | {"outlook": "foggy"}, {"outlook": "rainy"}, {}]
    names = [*SUNNY, "extra"]
    sent = arrow([dict.fromkeys(names) | row for row in rows])
    answered = weather.post("/api/v1/models/weather/explanations", content=sent, headers={"content-type": ARROW})
    assert answered.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(answered.content).read_all()
    lines = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    as_csv = weather.post(
        "/api/v1/models/weather/explanations", content="\n".join(lines), headers={"content-type": "text/csv"}
    )
    records = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert table.column_names == list(records[0])
    texts = [
        {
            name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
            for name, value in row.items()
        }
        for row in table.to_pylist()
    ]
    assert texts == records
    assert table.schema.field("row").type == table.schema.field("version").type == pa.int64()
    assert table.schema.field("probability_no").type == pa.float64()


def test_arrow_gives_the_answer_of_json_and_json_that_of_arrow(weather: Api) -> None:
    rows = [{"sepallength": 5.0, "sepalwidth": None, "petallength": 1.4 + at, "petalwidth": 0.2} for at in range(5)]
    expected = predict(weather, {"rows": rows}, "iris")
    headers = {"content-type": ARROW, "accept": "application/json"}
    answered = weather.post("/api/v1/models/iris/predictions", content=arrow(rows), headers=headers)
    assert answered.json() == expected
    for sent, media_type in ((arrow(rows), ARROW), (json.dumps({"rows": rows}).encode(), "application/json")):
        headers = {"content-type": media_type, "accept": ARROW}
        answered = weather.post("/api/v1/models/iris/predictions", content=sent, headers=headers)
        table = pa.ipc.open_stream(answered.content).read_all()
        assert table["label"].to_pylist() == [one["label"] for one in expected["predictions"]]
        shares = [table[name].to_pylist() for name in table.column_names if name.startswith("probability_")]
        assert [list(row) for row in zip(*shares, strict=True)] == [
            one["probabilities"] for one in expected["predictions"]
        ]


@pytest.mark.parametrize(("sent", "status"), [(b"", 400), (b"no stream", 400), (arrow([{"outlook": ["a"]}]), 422)])
def test_what_is_no_arrow_stream_of_values_is_a_problem(weather: Api, sent: bytes, status: int) -> None:
    answered = weather.post("/api/v1/models/weather/predictions", content=sent, headers={"content-type": ARROW})
    problem(answered, status)


def test_ndjson_comes_back_line_by_line_and_says_what_was_wrong_with_which(weather: Api) -> None:
    lines = [json.dumps(SUNNY), "{broken", json.dumps(SUNNY | {"outlook": "foggy", "more": 1})]
    headers = {"content-type": "application/x-ndjson"}
    answered = weather.post("/api/v1/models/weather/predictions", content="\n".join(lines), headers=headers)
    assert answered.headers["content-type"] == "application/x-ndjson"
    first, second, third = (json.loads(line) for line in answered.text.splitlines())
    assert first == {"row": 0, "label": "no", "probabilities": [1.0, 0.0], "model": "weather", "version": 1}
    assert second["error"]["errors"][0]["line"] == 2
    assert third["ignored_columns"] == ["more"]
    assert third["warnings"][0] == {"kind": "unseen", "column": "outlook", "value": "foggy", "treated_as": "other"}


@pytest.fixture(scope="module")
def comma(shared_api: Api) -> Api:
    """A service with the model ``comma``, whose training data had a decimal comma and groups of thousands."""
    rows = "\n".join(f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in np.linspace(0, 3000, 61))
    lines = [f"{row}\t{'low' if place < 31 else 'high'}" for place, row in enumerate(rows.splitlines())]
    options = json.dumps({"decimal": ",", "thousands": "."})
    content = "amount\tclass\n" + "\n".join(lines)
    uploaded = shared_api.upload(content, name="comma", format="csv", options=options).json()
    assert [column["kind"] for column in uploaded["columns"]] == ["numeric", "nominal"]
    train(shared_api, uploaded["id"], target="class", name="comma")
    return shared_api


def test_texts_mean_the_numbers_that_they_meant_in_the_upload(comma: Api) -> None:
    texts, numbers = ["1.234,5", "1524,75", "1.525,25", "-3e2"], [1234.5, 1524.75, 1525.25, -300]
    expected = predict(comma, {"rows": [{"amount": number} for number in numbers]}, "comma")["predictions"]
    assert [answer["label"] for answer in expected] == ["low", "low", "high", "low"]
    assert predict(comma, {"rows": [{"amount": text} for text in texts]}, "comma")["predictions"] == expected
    matrix = {"columns": ["amount"], "data": [[text] for text in texts]}
    assert predict(comma, matrix, "comma")["predictions"] == expected
    for media_type, quote in (("text/csv", '"'), ("text/tab-separated-values", "")):
        sent = "\n".join(["amount", *(f"{quote}{text}{quote}" for text in texts)])
        headers = {"content-type": media_type, "accept": "application/json"}
        answered = comma.post("/api/v1/models/comma/predictions", content=sent, headers=headers)
        assert answered.json()["predictions"] == expected
    schema = comma.get("/api/v1/models/comma/schema").json()
    assert schema["numbers"] == {"decimal": ",", "thousands": "."}


@pytest.mark.parametrize("media_type", ["text/csv", "application/json"])
def test_a_text_that_was_no_number_in_the_upload_is_none_in_a_prediction(comma: Api, media_type: str) -> None:
    """A point marks thousands there, and 3.5 is no group of them: it is not guessed which mark was meant."""
    sent = "amount\n3.5\n7\n" if media_type == "text/csv" else '{"rows":[{"amount":"3.5"},{"amount":7}]}'
    headers = {"content-type": media_type, "accept": "application/json"}
    first, second = comma.post("/api/v1/models/comma/predictions", content=sent, headers=headers).json()["predictions"]
    assert first["error"]["errors"][0]["column"] == "amount"
    assert second["label"] == "low"
