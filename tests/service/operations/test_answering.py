"""Which format an answer has, and requests that have nothing that the model takes."""

from __future__ import annotations

import json
import re

import pytest

from service.errors import Invalid, NotAcceptable
from service.operations.answering import Call, Format, answer, format_wanted
from service.operations.decision import parse_decision
from service.operations.predict import Bounds
from service.operations.rows import Options
from tests.service.operations.serving_models import MIXED, describe, general, mixed_classifier

ARROW = "application/vnd.apache.arrow.stream"


@pytest.mark.parametrize(
    ("accept", "sent", "wanted"),
    [
        ("", "tsv", "tsv"),
        ("*/*", "ndjson", "ndjson"),
        ("text/html, */*;q=0.8", "csv", "csv"),
        ("application/json, text/csv", "ndjson", "json"),
        ("text/csv;q=0.5, application/json;q=0.9", "ndjson", "json"),
        ("text/csv;q=0, application/json", "csv", "json"),
        ("text/csv;q=0, */*;q=0.1", "csv", "json"),
        ("application/*;q=0, */*", "json", "csv"),
        ("application/*, application/json;q=0", "ndjson", "ndjson"),
        ("*/*, text/csv;q=0.9", "json", "json"),
        ("*/*, text/csv", "json", "csv"),
        ("text/*", "json", "csv"),
        ("application/*", "csv", "json"),
        ("text/csv;charset=utf-8; Q=0.2, application/jsonl ; q=0.3", "json", "ndjson"),
        (f"text/csv;q=0.999,{ARROW};q=1.000", "json", "arrow"),
        ("text/csv;q=.5, application/json;q=.6", "csv", "json"),
    ],
)
def test_the_format_of_the_greatest_weight_is_given(accept: str, sent: Format, wanted: Format) -> None:
    assert format_wanted(accept, sent) == wanted


@pytest.mark.parametrize("accept", ["text/csv;q=0", "*/*;q=0", "text/html", "text/csv;q=0.000, image/*"])
def test_what_has_no_weight_is_never_given(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        format_wanted(accept, "csv")


STRANGE: list[tuple[Format, str]] = [
    ("csv", "SIZE,Colour\n1,blue\n"),
    ("tsv", "SIZE\tColour\n1\tblue\n"),
    ("json", '{"columns":["SIZE","Colour"],"data":[[1,"blue"]]}'),
    ("json", '{"rows":[{"SIZE":1,"Colour":"blue"}]}'),
]


@pytest.mark.parametrize(("form", "body"), STRANGE)
def test_columns_of_which_none_is_the_models_are_refused_by_name(form: Format, body: str) -> None:
    with pytest.raises(Invalid, match="sent 'SIZE', 'Colour'; the model takes 'size', 'a:b'") as caught:
        answer(mixed_classifier(), body.encode(), Call(form, "json"), Bounds(), describe, lambda rows: None)
    assert caught.value.faults[0].allowed == [column.name for column in MIXED]


@pytest.mark.parametrize(
    ("form", "body", "said"),
    [
        ("csv", "size;on\n1;true\n", "';'"),
        ("csv", "size\ton\n1\ttrue\n", "a tab"),
        ("tsv", "size,on\n1,true\n", "comma"),
    ],
)
def test_a_header_with_another_separator_is_told(form: Format, body: str, said: str) -> None:
    with pytest.raises(Invalid, match=f"holds .*{said}"):
        answer(mixed_classifier(), body.encode(), Call(form, form), Bounds(), describe, lambda rows: None)


def test_among_objects_only_the_strange_row_fails_and_an_empty_one_lacks_all() -> None:
    model = mixed_classifier()
    body = json.dumps({"rows": [{"SIZE": 1}, {}, {"size": 1, "other": 2}]}).encode()
    found = json.loads(general(model, body))
    assert "none of the columns sent is one of the model's" in found["predictions"][0]["error"]["errors"][0]["message"]
    assert found["predictions"][0]["error"]["errors"][0]["value"] == ["SIZE"]
    assert "label" in found["predictions"][1]
    assert found["ignored_columns"] == ["other"]
    assert found["summary"] == {"rows": 3, "failed": 1}
    lines = b'{"SIZE":1}\n{}\n'
    answered = [json.loads(line) for line in general(model, lines, sent="ndjson", wanted="ndjson").splitlines()]
    assert ["error" in line for line in answered] == [True, False]


def test_csv_tells_unseen_values_and_what_was_made_of_them() -> None:
    told = general(mixed_classifier(), b"size,colour\n1,mauve\n", sent="csv", wanted="csv").decode()
    assert 'unseen: colour = ""mauve"" (treated as other)' in told
    told = general(
        mixed_classifier(), b"size,colour\n1,\n", Options(missing="most-likely"), sent="csv", wanted="csv"
    ).decode()
    assert "missing: colour (treated as most-likely)" in told


def test_the_value_of_a_bad_cell_is_told_as_it_was_sent() -> None:
    for value, told in [("many", "many"), (True, True), ([1, None], [1, None]), ([[[[1]]]], [[["list of 1"]]])]:
        body = json.dumps({"rows": [{"size": value}, {"size": 1}]}).encode()
        (fault,) = json.loads(general(mixed_classifier(), body))["predictions"][0]["error"]["errors"]
        assert (fault["column"], fault["value"], fault["allowed"]) == ("size", told, "finite numbers")


def test_a_broken_line_is_called_a_line_and_names_its_column() -> None:
    lines = b'{"size":NaN}\n{"size":"\xff"}\n{"size":"\\u0000"}\n{\n{"size":1}\n'
    answered = [
        json.loads(line) for line in general(mixed_classifier(), lines, sent="ndjson", wanted="ndjson").splitlines()
    ]
    faults = [line["error"]["errors"][0] for line in answered[:4]]
    assert [(fault.get("column"), fault["line"]) for fault in faults] == [
        ("size", 1),
        ("size", 2),
        ("size", 3),
        (None, 4),
    ]
    assert [fault["message"].split(" ", 3)[:2] for fault in faults[1:]] == [["The", "line"]] * 3
    assert "label" in answered[4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "^The parameter decision is not strict JSON"),
        ("", "^The parameter decision is empty"),
        ('{"x":NaN}', "x is NaN"),
    ],
)
def test_a_decision_in_the_query_is_called_by_its_name(text: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_decision(text, 32)
    assert re.search(said, caught.value.faults[0].message)
    assert caught.value.faults[0].parameter == "decision"
