"""Every refusal of a file says where: a row or a line, a column, or the parameter to change."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.errors import Fault, ServiceError
from service.settings import Limits
from tests.service.formats.reading_files import read, refused
from tests.shared import trap_path

TRAPS = sorted(path.name for path in trap_path("README.md").parent.iterdir() if path.name != "README.md")
SMALL = Limits(rows=3, columns=3, name_length=20, levels=4)
ARFF = "@relation r\n@attribute a numeric\n@attribute 'b c' {x,y}\n@attribute d string\n@data\n1,x,p\n"
MANY = "".join(f'{{"a":{n},"b":"t"}},\n' for n in range(300_000))  # longer than what is decoded at a time


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def where(fault: Fault) -> dict[str, Any]:
    names = ("row", "line", "column", "parameter")
    return {name: getattr(fault, name) for name in names if getattr(fault, name) is not None}


#: File name, content, options, and where the first fault is.
BROKEN: list[tuple[str, str | bytes, dict[str, Any], dict[str, Any]]] = [
    # JSON arrays
    ("a.json", '[{"a":1,"b":2},\n{"a":NaN,"b":2}]', {}, {"row": 1, "line": 2, "column": "a"}),
    ("a.json", '[{"a":1,"b":2},\n{"a":1,"b":}]', {}, {"row": 1, "line": 2, "column": "b"}),
    ("a.json", '[{"a":1,"b":2}\n{"a":1,"b":2}]', {}, {"row": 0, "line": 2}),
    ("a.json", '[{"a":1,"b":2},\n\n{"a":1,"b":2', {}, {"row": 1, "line": 3, "column": "b"}),
    ("a.json", '[{"a":"x,]}\\"{","b":2},{"a":1e400,"b":2}]', {}, {"row": 1, "line": 1, "column": "a"}),
    ("a.json", '[{"a":1,"b":2},{"a":"\\ud800","b":2}]', {}, {"row": 1, "line": 1, "column": "a"}),
    ("a.json", '[{"a":1,"b":2},\n{"a":1,"b":2,"a":3}]', {}, {"row": 1, "line": 2, "column": "a"}),
    ("a.json", '[{"a":1,"b":2},{"a":' + "[" * 20_000, {}, {"row": 1, "line": 1, "column": "a"}),
    ("a.json", '[{"a":1,"b":2},{"a":[1],"b":2}]', {}, {"row": 1, "column": "a", "parameter": "options.kinds.a"}),
    ("a.json", '[{"a":1,"b":2},7]', {}, {"row": 1}),
    ("a.json", f"[\n{MANY}" + '{"a":1,"b":tru}]', {}, {"row": 300_000, "line": 300_002, "column": "b"}),
    ("a.json", f"[\n{MANY}" + '{"a":1,"b":2,"b":3}]', {}, {"row": 300_000, "line": 300_002, "column": "b"}),
    ("a.json", '[{"a":1,"b":2}]]', {}, {"row": 0, "line": 1}),
    ("a.json", '{"rows":[{"a":1,"b":2}],\n"more":1}', {}, {"line": 2, "parameter": "rows"}),
    ("a.json", '\n{"a":1}', {"format": "json"}, {"line": 2}),
    ("a.json", " \n ", {"format": "json"}, {"parameter": "file"}),
    ("a.json", "[]", {}, {"parameter": "file"}),
    ("a.json", '[{"a":1,"b":"\\u0000"}]', {}, {"row": 0, "column": "b"}),
    ("a.json", '[{"a":1,"":2}]', {}, {"parameter": "columns.2"}),
    ("a.json", '[{"a":1}]', {}, {"column": "a", "parameter": "file"}),
    # NDJSON
    ("a.ndjson", '{"a":1,"b":2}\n{"a":NaN,"b":2}\n', {}, {"line": 2, "column": "a"}),
    ("a.ndjson", '{"a":1,"b":2}\n\n{"a":1,"b":\n', {}, {"line": 3, "column": "b"}),
    ("a.ndjson", '{"a":1,"b":2}\n{"b":1,"b":2}\n', {}, {"line": 2, "column": "b"}),
    ("a.ndjson", '{"a":1,"b":2}\n{"a":1,"b":1e400}\n', {}, {"line": 2, "column": "b"}),
    ("a.ndjson", '{"a":1,"b":2}\n{"a":1,"b":2} 7\n', {}, {"line": 2}),
    ("a.json", '[{"a":1,"b":2},{"a":1,"b":' + "9" * 5000 + "}]", {}, {"row": 1, "line": 1, "column": "b"}),
    ("a.ndjson", '{"a":1,"b":2}\n[1]\n', {}, {"row": 1, "line": 2}),
    ("a.ndjson", '{"a":1,"b":2}\n' + "[" * 20_000 + "\n", {}, {"line": 2}),
    # ARFF
    ("a.arff", ARFF + "?,y,'q\n", {}, {"row": 1, "line": 7, "column": "d"}),
    ("a.arff", ARFF + ",y,q\n", {"missing_tokens": []}, {"row": 1, "line": 7, "column": "a"}),
    ("a.arff", ARFF + "1,z,q\n", {}, {"row": 1, "line": 7, "column": "b c"}),
    ("a.arff", ARFF + "one,x,q\n", {}, {"row": 1, "line": 7, "column": "a"}),
    ("a.arff", ARFF + "1,x\n", {}, {"row": 1, "line": 7}),
    ("a.arff", ARFF + "{0 1}\n", {}, {"row": 1, "line": 7, "column": "d"}),
    ("a.arff", ARFF + "{9 1}\n", {}, {"row": 1, "line": 7}),
    ("a.arff", ARFF + "{0 1,2 'q'\n", {}, {"row": 1, "line": 7}),
    ("a.arff", ARFF + "1,x,q,{2}\n", {}, {"row": 1, "line": 7}),
    ("a.arff", "@relation r\n@attribute a nonsense\n@data\n1\n", {}, {"line": 2}),
    ("a.arff", "@relation r\n@attribute a {x,x}\n@data\nx\n", {}, {"line": 2}),
    ("a.arff", "@relation r\n@attribute a numeric\n", {}, {"line": 2}),
    ("a.arff", "@relation r\nnonsense\n", {}, {"line": 2}),
    ("a.arff", ARFF.replace("'b c'", "a"), {}, {"column": "a"}),
    ("a.arff", "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n", {}, {"parameter": "file"}),
    # CSV
    ("a.csv", "x,y\n1,2\n3\n", {}, {"row": 1, "line": 3}),
    ("a.csv", 'x,y\n1,2\n3,"4\n', {}, {"line": 3, "row": 1, "column": "y"}),
    ("a.csv", 'x,"y\n1,2\n', {}, {"line": 1}),
    ("a.csv", "x,x\n1,2\n", {}, {"column": "x"}),
    ("a.csv", "x,\n1,2\n", {}, {"parameter": "columns.2"}),
    ("a.csv", "x,y\n1,2\n3,a\x00\n", {}, {"line": 3}),
    ("a.csv", b"x,y\n1,2\n3,\xe9\n", {}, {"line": 3, "parameter": "options.encoding"}),
    ("a.csv", "x,y\n", {}, {"parameter": "file"}),
    ("a.csv", "", {}, {"parameter": "file"}),
    ("a.csv", "\n\n", {}, {"parameter": "file"}),
    ("a.csv", "x\n1\n", {}, {"column": "x", "parameter": "options.delimiter"}),
    ("a.csv", "x,y\n1,2\na,2\n", {"kinds": {"x": "numeric"}}, {"row": 1, "line": 3, "column": "x"}),
    ("a.csv", "x,y\n1,2\n", {"kinds": {"z": "numeric"}}, {"parameter": "options.kinds.z"}),
    ("a.csv", "x,y\n1,2\n", {"target": "z"}, {"parameter": "options.target"}),
    # limits
    ("a.csv", "x,y\n1,2\n1,2\n1,2\n1,2\n", {}, {"row": 3}),
    ("a.csv", "a,b,c,d\n1,2,3,4\n", {}, {"column": "d"}),
    ("a.csv", "x," + "y" * 30 + "\n1,2\n", {}, {"column": "y" * 30}),
    # binary
    ("a.parquet", b"PAR1 nothing else PAR1", {}, {"parameter": "format"}),
    ("a.parquet", parquet(a=[1], b=[[[["a"]]]]), {}, {"column": "b"}),
    ("a.parquet", parquet(a=[1, 2], b=[[1, 2], [1, None]]), {}, {"row": 1, "column": "b"}),
    ("a.json", '[{"a":1,"b":[1]},{"a":1,"b":[[1],[2,3]]}]', {}, {"row": 1, "column": "b"}),
    ("a.json", '[{"a":1,"b":"x"},{"a":1,"b":[1]}]', {}, {"row": 1, "column": "b", "parameter": "options.kinds.b"}),
    ("a.csv", "a,b\n1,1 2\n2,1 x\n", {"kinds": {"b": "sequence"}}, {"row": 1, "line": 3, "column": "b"}),
    (
        "a.csv",
        "a,b\n1,u\n",
        {"kinds": {"b": "text"}, "orders": {"b": ["u"]}},
        {"column": "b", "parameter": "options.orders.b"},
    ),
    ("a.parquet", parquet(a=[1, 2], b=[1.0, float("inf")]), {}, {"row": 1, "column": "b"}),
    ("a.parquet", parquet(a=[1, 2, 3, 4], b=[1, 2, 3, 4]), {}, {"row": 3}),
    ("a.arrow", b"ARROW1\0\0nothing", {}, {"parameter": "format"}),
    ("a.csv", b"PK\x03\x04rest", {}, {"parameter": "format"}),
]


@pytest.mark.parametrize(
    ("name", "content", "options", "place"), BROKEN, ids=[f"{n}-{one[0]}" for n, one in enumerate(BROKEN)]
)
def test_a_refusal_says_where(name: str, content: str | bytes, options: dict[str, Any], place: dict[str, Any]) -> None:
    limits = Limits() if len(content) > 10_000 else SMALL
    error = refused(ServiceError, content, limits=limits, name=name, **options)
    assert where(error.faults[0]) == place, error.detail
    assert all(where(fault) for fault in error.faults)


@pytest.mark.parametrize("name", TRAPS)
def test_every_trap_that_is_refused_is_told_where(name: str) -> None:
    try:
        read(Path(trap_path(name)))
    except ServiceError as error:
        refusal = error
    else:
        return
    assert refusal.faults
    assert all(where(fault) for fault in refusal.faults), refusal.faults
