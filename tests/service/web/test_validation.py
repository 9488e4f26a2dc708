"""What is said of a request of the wrong form, and which query parameters a route takes."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from service.schemas.jobs import JobRequest
from service.web.validation import members_at, refusal
from tests.service.running import Api, problem

ROUTES = [
    ("GET", "/api/v1/datasets", ["cursor", "limit", "name"]),
    ("POST", "/api/v1/datasets", ["format", "name", "options"]),
    ("DELETE", "/api/v1/datasets/ds_none", ["force"]),
    ("GET", "/api/v1/learners", []),
    ("GET", "/api/v1/jobs", ["cursor", "kind", "limit", "state"]),
    ("POST", "/api/v1/jobs", []),
    ("GET", "/api/v1/models/none/versions", ["cursor", "limit"]),
    (
        "GET",
        "/api/v1/models/none/rules",
        ["cursor", "dataset", "form", "format", "limit", "simplify", "source", "surrogate"],
    ),
    ("GET", "/api/v1/models/none/tree", ["format", "layout", "levels", "max_depth", "max_leaves", "node"]),
    ("POST", "/api/v1/models/none/predictions", ["decision", "explain", "interval", "missing", "strict", "unseen"]),
    ("POST", "/api/v1/models/none/explanations", ["decision", "missing", "strict", "unseen"]),
    ("GET", "/api/v1/models/none/importances", ["dataset", "kind", "metric", "n_rows", "repeats", "seed"]),
    ("GET", "/api/v1/keys", []),
]


@pytest.mark.parametrize(("method", "path", "allowed"), ROUTES)
def test_an_unknown_query_parameter_is_refused_with_those_allowed(
    shared_api: Api, method: str, path: str, allowed: list[str]
) -> None:
    before = shared_api.counts()
    refused = problem(shared_api.request(method, path, params={"explian": "true"}), 422)
    fault = refused["errors"][0]
    assert fault["parameter"] == "explian"
    assert sorted(fault["allowed"]) == allowed
    assert "there is no query parameter 'explian'" in refused["detail"]
    assert all(name in fault["message"] for name in allowed)
    assert shared_api.counts() == before


def test_a_query_parameter_is_given_once(shared_api: Api) -> None:
    refused = problem(shared_api.get("/api/v1/jobs?limit=5&limit=6&kind=train&state&bogus"), 422)
    assert [fault["parameter"] for fault in refused["errors"]] == ["limit", "bogus"]
    assert "given 2 times; it may be given once" in refused["errors"][0]["message"]


def test_the_document_names_the_same_parameters(shared_api: Api) -> None:
    paths = shared_api.get("/openapi.json").json()["paths"]
    for method, path, allowed in ROUTES:
        template = path.replace("ds_none", "{dataset_id}")
        operation = next(
            item[method.lower()]
            for known, item in paths.items()
            if known in (template, path.replace("none", "{ref}"), path.replace("none", "{name}"))
        )
        named = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"]
        assert sorted(named) == allowed
        assert "422" in operation["responses"]


@pytest.mark.parametrize(
    ("path", "first"), [((), "kind"), (("evaluation",), "method"), (("model",), "name"), (("dataset",), None)]
)
def test_members_are_found_beneath_unions(path: tuple[str, ...], first: str | None) -> None:
    assert next(iter(members_at(JobRequest, path)), None) == first


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"type": "missing", "loc": ("body", "kind"), "msg": "Field required", "input": {}}, "kind must be given"),
        (
            {"type": "less_than_equal", "loc": ("query", "limit"), "msg": "Input should be less than or equal to 200"},
            "limit must be less than or equal to 200",
        ),
        ({"type": "value_error", "loc": ("body", "x"), "msg": "Value error, odd"}, "x: odd"),
    ],
)
def test_messages_say_what_must_be(error: dict[str, Any], message: str) -> None:
    assert refusal([error], JobRequest).faults[0].message == message


class _Inner(BaseModel):
    x: float


class _Asked(BaseModel):
    word: Literal["a", "b c", "it's", 3] = "a"
    least: int = Field(0, ge=0, lt=5)
    some: list[int] = Field([1], min_length=1, max_length=2)
    text: str = Field("a", pattern="^a+$", max_length=3)
    flag: bool = True
    by_name: dict[str, float] = {}
    inner: _Inner | None = None
    finite: float = Field(0.0, allow_inf_nan=False)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"least": "many"}, "least must be a whole number"),
        ({"least": 1.5}, "least must be a whole number"),
        ({"least": None}, "least must be a whole number"),
        ({"least": "9" * 5000}, "least must be a whole number of fewer digits"),
        ({"some": []}, "some must have at least 1 item, not 0"),
        ({"some": [1, 2, 3]}, "some must have at most 2 items, not 3"),
        ({"some": {}}, "some must be an array"),
        ({"text": 1}, "text must be a text"),
        ({"text": "aaaa"}, "text must have at most 3 characters"),
        ({"flag": "perhaps"}, "flag must be true or false"),
        ({"flag": []}, "flag must be true or false"),
        ({"by_name": 1}, "by_name must be an object"),
        ({"by_name": {"x": "y"}}, "by_name.x must be a number"),
        ({"inner": 1}, "inner must be an object"),
        ({"finite": float("inf")}, "finite must be a finite number"),
        ({"word": "c"}, """word must be 'a', 'b c', "it's" or 3"""),
    ],
)
def test_messages_say_nothing_of_python(sent: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _Asked.model_validate(sent)
    (error,) = caught.value.errors()
    (fault,) = refusal([{**error, "loc": ("body", *error["loc"])}], _Asked).faults
    assert fault.message == message


@pytest.mark.parametrize(
    ("sent", "allowed"),
    [
        ({"word": "c"}, ["a", "b c", "it's", 3]),
        ({"least": -1}, ">= 0"),
        ({"least": 5}, "< 5"),
        ({"least": "many"}, "whole numbers"),
        ({"some": []}, "a length >= 1"),
        ({"some": [1, 2, 3]}, "a length <= 2"),
        ({"some": 1}, "an array"),
        ({"text": "b"}, "texts of the pattern ^a+$"),
        ({"text": "aaaa"}, "a length <= 3"),
        ({"text": 1}, "texts"),
        ({"flag": "perhaps"}, [True, False]),
        ({"by_name": 1}, "an object"),
        ({"by_name": {"x": "y"}}, "numbers"),
    ],
)
def test_what_is_allowed_is_a_list_or_words(sent: dict[str, Any], allowed: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        _Asked.model_validate(sent)
    (error,) = caught.value.errors()
    (fault,) = refusal([{**error, "loc": ("body", *error["loc"])}], _Asked).faults
    assert fault.allowed == allowed
