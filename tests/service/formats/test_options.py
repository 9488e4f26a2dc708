"""Reading options: checked once, with the option named."""

from __future__ import annotations

import pytest

from service.errors import Invalid, UnsupportedMediaType
from service.formats.detect import detect_format
from service.formats.options import FORMATS, ReadOptions


def test_options_survive_json():
    options = ReadOptions(
        format="csv", delimiter=";", decimal=",", missing_tokens=("", "?"), kinds={"a": "nominal"}, orders={"b": ("x",)}
    )
    assert ReadOptions.from_json(options.to_json()) == options
    assert ReadOptions.from_json({}) == ReadOptions()


@pytest.mark.parametrize(
    ("record", "parameter"),
    [
        ({"nope": 1}, "options.nope"),
        ({"format": "xls"}, "options.format"),
        ({"delimiter": ",,"}, "options.delimiter"),
        ({"delimiter": "\n"}, "options.delimiter"),
        ({"delimiter": 5}, "options.delimiter"),
        ({"quote": ","}, None),
        ({"quote": ",", "delimiter": ","}, "options.quote"),
        ({"encoding": "klingon"}, "options.encoding"),
        ({"encoding": "\0"}, "options.encoding"),
        ({"decimal": ";"}, "options.decimal"),
        ({"decimal": None}, "options.decimal"),
        ({"thousands": "."}, "options.thousands"),
        ({"header": "yes"}, "options.header"),
        ({"missing_tokens": "NA"}, "options.missing_tokens"),
        ({"missing_tokens": [1]}, "options.missing_tokens"),
        ({"kinds": {"a": "number"}}, "options.kinds.a"),
        ({"kinds": ["a"]}, "options.kinds"),
        ({"orders": {"a": "xy"}}, "options.orders"),
        ({"orders": {"a": ["x", "x"]}}, "options.orders.a"),
        ({"orders": {"a": []}}, "options.orders.a"),
        ({"target": 3}, "options.target"),
    ],
)
def test_bad_options_are_named(record, parameter):
    if parameter is None:
        assert ReadOptions.from_json(record).quote == ","
        return
    with pytest.raises(Invalid) as caught:
        ReadOptions.from_json(record)
    assert caught.value.faults[0].parameter == parameter


def test_marks_that_are_allowed_stand_in_quotes():
    with pytest.raises(Invalid, match=r"decimal must be one of '\.', ','$"):
        ReadOptions.from_json({"decimal": ";"})
    with pytest.raises(Invalid, match=r"""thousands must be one of ',', '\.', ' ', "'", '_'$"""):
        ReadOptions.from_json({"thousands": ";"})


@pytest.mark.parametrize(
    ("head", "name", "content_type", "wanted"),
    [
        (b"a,b\n1,2\n", None, None, "csv"),
        (b"a\tb\n", None, None, "tsv"),
        (b' \n[{"a":1}]', None, None, "json"),
        (b'{"rows": [', None, None, "json"),
        (b'{"a": 1}\n', None, None, "ndjson"),
        (b"PAR1....", None, None, "parquet"),
        (b"ARROW1\0\0", None, None, "arrow"),
        (b"% hello\n@RELATION x\n", None, None, "arff"),
        (b"\xef\xbb\xbf@relation x\n", None, None, "arff"),
        (b"a,b\n", "x.TSV", None, "tsv"),
        (b"a,b\n", "x.jsonl", "text/csv", "ndjson"),
        (b"a,b\n", "x.unknown", "text/csv; charset=utf-8", "csv"),
        (b"[1]", "x", "application/octet-stream", "json"),
    ],
)
def test_formats_are_told(tmp_path, head, name, content_type, wanted):
    path = tmp_path / "file"
    path.write_bytes(head)
    assert detect_format(path, None, name, content_type) == wanted
    for declared in FORMATS:
        assert detect_format(path, declared, name, content_type) == declared


def test_foreign_files(tmp_path):
    path = tmp_path / "file"
    for head in (b"PK\x03\x04rest", b"\x1f\x8brest", b"%PDF-1.7"):
        path.write_bytes(head)
        with pytest.raises(UnsupportedMediaType):
            detect_format(path, "csv", "a.csv", None)
