"""True and false however a format writes them: one value at every door, whatever the model learned from."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.running import Api
from tests.service.working import do_job, train

#: The flag alone tells the class.
ROWS = [{"flag": flag, "x": x, "y": "up" if flag else "down"} for x in range(10) for flag in (True, False)]
ARROW = "application/vnd.apache.arrow.stream"


def _csv(false: str, true: str) -> str:
    return "flag,x,y\n" + "".join(f"{true if row['flag'] else false},{row['x']},{row['y']}\n" for row in ROWS)


def _arff(false: str, true: str) -> str:
    """Its header names the true one first, as Weka's files do."""
    header = (
        f"@relation r\n@attribute flag {{{true}, {false}}}\n@attribute x numeric\n@attribute y {{down, up}}\n@data\n"
    )
    return header + _csv(false, true).partition("\n")[2]


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


#: By model, what it learns from and how it is read.
UPLOADS: dict[str, tuple[bytes | str, dict[str, str]]] = {
    "json": (json.dumps(ROWS), {"format": "json"}),
    "pandas": (_csv("False", "True"), {"format": "csv"}),
    "excel": (_csv("FALSE", "TRUE"), {"format": "csv"}),
    "lower": (_csv("false", "true"), {"format": "csv"}),
    "parquet": (_parquet(), {"format": "parquet"}),
    "words": (_csv("no", "Yes"), {"format": "csv", "options": '{"kinds": {"flag": "boolean"}}'}),
    "numbers": (_csv("0", "1"), {"format": "csv", "options": '{"kinds": {"flag": "boolean"}}'}),
    "arff": (_arff("FALSE", "TRUE"), {"format": "arff"}),
    "weka": (_arff("no", "yes"), {"format": "arff", "options": '{"kinds": {"flag": "boolean"}}'}),
}
SPELLINGS = [
    *(("False", "True"), ("FALSE", "TRUE"), ("false", "true"), ("No", "yes"), ("n", "Y"), ("F", "t"), ("off", "ON")),
    *((0, 1), (0.0, 1.0), ("0", "1"), ("0.0", "1.0")),
]


@pytest.fixture(scope="module")
def datasets(shared_api: Api) -> dict[str, str]:
    """The id of each upload; a model of each is named as it is."""
    made = {}
    for name, (content, query) in UPLOADS.items():
        uploaded = shared_api.upload(content, name=name, **query)
        assert uploaded.status_code == 201, uploaded.text
        made[name] = uploaded.json()["id"]
        kinds = {column["name"]: column["kind"] for column in uploaded.json()["columns"]}
        assert kinds["flag"] == "boolean"
        train(shared_api, made[name], target="y", features=["flag"], name=f"flag-{name}")
    return made


def _arrow(values: list[Any]) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"flag": values})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def bodies(false: Any, true: Any) -> dict[str, tuple[bytes | str, str]]:
    """The rows true, false, true as each format writes them, with its media type."""
    values = [true, false, true]
    lines = [str(value) for value in values]
    return {
        "rows": (json.dumps({"rows": [{"flag": value} for value in values]}), "application/json"),
        "data": (json.dumps({"columns": ["flag"], "data": [[value] for value in values]}), "application/json"),
        "ndjson": ("\n".join(json.dumps({"flag": value}) for value in values), "application/x-ndjson"),
        "csv": ("\n".join(["flag", *lines]), "text/csv"),
        "tsv": ("\n".join(["flag", *lines]), "text/tab-separated-values"),
        "arrow": (_arrow(values), ARROW),
        "coded": (_arrow(pa.array(values).dictionary_encode()), ARROW),
    }


@pytest.mark.parametrize("model", UPLOADS)
@pytest.mark.parametrize("spelling", [(False, True), *SPELLINGS])
def test_every_spelling_is_the_same_in_every_format(
    shared_api: Api, datasets: dict[str, str], model: str, spelling: tuple[Any, Any]
) -> None:
    for written, (body, media_type) in bodies(*spelling).items():
        headers = {"Content-Type": media_type, "Accept": "application/json"}
        answer = shared_api.post(f"/api/v1/models/flag-{model}/predictions", content=body, headers=headers)
        assert answer.status_code == 200, (written, answer.text)
        found = answer.json()["predictions"]
        assert [row["label"] for row in found] == ["up", "down", "up"], written
        assert not any("warnings" in row for row in found), written


def test_one_row_is_answered_as_many_are(shared_api: Api, datasets: dict[str, str]) -> None:
    for spelling in (False, "False", "FALSE", "false"):
        answer = shared_api.post("/api/v1/models/flag-json/predictions", json={"rows": [{"flag": spelling}]})
        (row,) = answer.json()["predictions"]
        assert (row["label"], row["probabilities"]) == ("down", [1.0, 0.0])


@pytest.mark.parametrize("value", [2, -1, 0.5, "2", "maybe", "truth", " true"])
def test_what_is_neither_true_nor_false_stays_unseen(shared_api: Api, datasets: dict[str, str], value: Any) -> None:
    answer = shared_api.post("/api/v1/models/flag-json/predictions", json={"rows": [{"flag": value}]})
    (row,) = answer.json()["predictions"]
    assert [warning["kind"] for warning in row["warnings"]] == ["unseen"]


@pytest.mark.parametrize("name", UPLOADS)
def test_whole_datasets_and_targets_are_read_alike(shared_api: Api, datasets: dict[str, str], name: str) -> None:
    """A model judged on the same rows in another spelling is as right as on its own, of the flag or by it."""
    for model, version in (
        ("json", "flag-json"),
        ("words", "flag-words"),
        ("weka", "flag-weka"),
        ("json", "is-json"),
        ("pandas", "is-pandas"),
    ):
        if version.startswith("is-") and shared_api.get(f"/api/v1/models/{version}").status_code == 404:
            train(shared_api, datasets[model], target="flag", features=["y"], name=version)
        made = shared_api.post("/api/v1/jobs", json={"kind": "evaluate", "dataset": datasets[name], "version": version})
        assert made.status_code == 202, made.text
        do_job(shared_api, made.json()["id"])
        result = shared_api.get(made.headers["location"]).json()["result"]
        assert result["evaluation"]["metrics"]["accuracy"]["mean"] == 1.0
        assert (result["dropped_rows"], result["evaluation"].get("warnings", [])) == (0, [])


@pytest.mark.parametrize("form", ["select", "case"])
@pytest.mark.parametrize("name", UPLOADS)
def test_sql_of_a_version_reads_any_table(
    shared_api: Api, datasets: dict[str, str], name: str, form: Literal["select", "case"]
) -> None:
    asked = {"format": "sql", "form": form} | ({"source": "t"} if form == "select" else {})
    text = shared_api.get(f"/api/v1/models/flag-{name}/rules", params=asked).text
    statement = text if form == "select" else f"SELECT {text} FROM t"
    for held, (false, true) in [*(("TEXT", pair) for pair in SPELLINGS), ("INTEGER", (0, 1)), ("REAL", (0, 1))]:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f"CREATE TABLE t (flag {held})")
            connection.executemany("INSERT INTO t VALUES (?)", [(true,), (false,), (true,)])
            assert [row[-1] for row in connection.execute(statement)] == ["up", "down", "up"], (held, true)
