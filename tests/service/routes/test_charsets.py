"""The charset that an upload declares, and reading options that have no effect."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.service.running import Api, problem

TEXT = "größe,y\n1,ä\n2,é\n"


def post(api: Api, content: bytes, content_type: str, *, form: bool = False, **query: str) -> httpx.Response:
    if form:
        return api.post("/api/v1/datasets", params=query, files={"file": ("t.csv", content, content_type)})
    return api.post("/api/v1/datasets", params=query, content=content, headers={"Content-Type": content_type})


@pytest.mark.parametrize("form", [False, True])
@pytest.mark.parametrize("charset", ["iso-8859-1", '"Latin1"', "windows-1252", "utf-16", "UTF-8"])
def test_a_declared_charset_is_read(shared_api: Api, form: bool, charset: str) -> None:
    made = post(shared_api, TEXT.encode(charset.strip('"')), f"text/csv; charset={charset}", form=form)
    assert made.status_code == 201, made.text
    dataset = made.json()
    assert dataset["columns"][0]["name"] == "größe"
    assert sorted(dataset["columns"][1]["levels"]) == ["ä", "é"]
    revised = shared_api.post(f"/api/v1/datasets/{dataset['id']}/revisions", json={"kinds": {"größe": "nominal"}})
    assert revised.status_code == 201, revised.text
    assert revised.json()["columns"][0]["name"] == "größe"


@pytest.mark.parametrize("form", [False, True])
def test_a_charset_that_is_not_known_is_refused(shared_api: Api, form: bool) -> None:
    refusal = problem(post(shared_api, TEXT.encode(), "text/csv; charset=klingon", form=form), 415)
    (fault,) = refusal["errors"]
    assert fault["parameter"] == "Content-Type"
    assert "utf-8" in fault["allowed"]
    assert "klingon" in refusal["detail"]


@pytest.mark.parametrize("form", [False, True])
def test_a_charset_that_contradicts_the_option_is_refused(shared_api: Api, form: bool) -> None:
    options = json.dumps({"encoding": "cp1252"})
    refusal = problem(
        post(shared_api, TEXT.encode("cp1252"), "text/csv; charset=utf-8", form=form, options=options), 422
    )
    assert "utf-8" in refusal["detail"]
    assert "cp1252" in refusal["detail"]
    agreed = post(shared_api, TEXT.encode("cp1252"), "text/csv; charset=Windows-1252", form=form, options=options)
    assert agreed.status_code == 201, agreed.text


def test_bytes_have_no_charset(shared_api: Api) -> None:
    made = post(shared_api, TEXT.encode(), "application/octet-stream; charset=binary", format="csv")
    assert made.status_code == 201, made.text


@pytest.mark.parametrize(
    ("format_name", "content", "option", "value"),
    [
        ("json", b'[{"a": 1, "y": 2}]', "delimiter", ";"),
        ("json", b'[{"a": 1, "y": 2}]', "header", False),
        ("ndjson", b'{"a": 1, "y": 2}', "quote", None),
        ("arff", b"@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n", "delimiter", ","),
        ("parquet", b"PAR1", "encoding", "cp1252"),
        ("arrow", b"ARROW1", "encoding", "utf-16"),
    ],
)
def test_an_option_without_effect_is_refused(
    shared_api: Api, format_name: str, content: bytes, option: str, value: object
) -> None:
    refusal = problem(shared_api.upload(content, format=format_name, options=json.dumps({option: value})), 422)
    (fault,) = refusal["errors"]
    assert fault["parameter"] == f"options.{option}"
    assert "csv" in fault["allowed"]
    assert format_name not in fault["allowed"]


def test_a_revision_with_an_option_without_effect_is_refused(shared_api: Api) -> None:
    dataset = shared_api.upload('[{"a": 1, "y": 2}]', format="json").json()
    address = f"/api/v1/datasets/{dataset['id']}/revisions"
    refusal = problem(shared_api.post(address, json={"header": False}), 422)
    assert refusal["errors"][0]["parameter"] == "options.header"
    assert shared_api.post(address, json={"kinds": {"a": "nominal"}}).status_code == 201


def test_the_evidence_counts_levels_not_spellings(shared_api: Api) -> None:
    options = json.dumps({"kinds": {"y": "nominal"}})
    dataset = shared_api.upload("a,y\n1,7\n2,8.0\n3,7.0\n4,7.00\n", format="csv", options=options).json()
    assert dataset["columns"][1]["evidence"] == "as asked: 2 distinct numbers"
