"""The one envelope of every error."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from service import errors
from service.errors import Fault, Invalid, ServiceError, TooManyRequests, Unauthenticated, Unavailable
from service.problems import PROBLEM_BASE, document, render

SECRET = "patient 4711"


def all_errors() -> list[type[ServiceError]]:
    found = [errors.ServiceError]
    for kind in found:
        found.extend(kind.__subclasses__())
    return found


def test_every_error_has_a_type_of_its_own_and_a_status_of_the_right_kind() -> None:
    kinds = all_errors()
    for kind in kinds:
        made = document(kind("what happened"), "id-1")
        assert made["type"] == PROBLEM_BASE + kind.slug
        assert made == {
            "type": PROBLEM_BASE + kind.slug,
            "title": kind.title,
            "status": kind.status,
            "detail": "what happened",
            "request_id": "id-1",
        }
        assert 400 <= kind.status < 600
    slugs = {(kind.slug, kind.status) for kind in kinds}
    assert len({slug for slug, _ in slugs}) == len(slugs)


def test_a_fault_names_where_it_is_and_what_is_allowed() -> None:
    fault = Fault("must be a number", row=3, line=5, column="age", parameter="rows.3.age", allowed="number", value="x")
    made = document(Invalid("bad row", [fault]), "id")
    assert made["errors"] == [
        {
            "message": "must be a number",
            "row": 3,
            "line": 5,
            "column": "age",
            "parameter": "rows.3.age",
            "allowed": "number",
            "value": "x",
        }
    ]
    assert made["errors_total"] == 1


def test_long_lists_are_cut_and_counted() -> None:
    faults = [Fault(f"row {row}", row=row) for row in range(1000)]
    made = document(Invalid("many", faults), "id")
    assert len(made["errors"]) == errors.MAX_FAULTS
    assert made["errors_total"] == 1000
    levels = document(Invalid("level", [Fault("unknown", allowed=[f"l{i}" for i in range(500)])]), "id")
    assert len(levels["errors"][0]["allowed"]) == 21
    assert levels["errors"][0]["allowed"][-1] == "... 480 more"


def test_long_texts_are_cut() -> None:
    made = document(Invalid("d" * 10**6, [Fault("m" * 10**6, column="c" * 10**6, value="v" * 10**6)]), "id")
    assert len(json.dumps(made)) < 6000


def test_quiet_mode_shows_places_and_no_data() -> None:
    fault = Fault(f"{SECRET} is no number", row=1, column="name", value=SECRET, allowed="number")
    made = document(Invalid(f"row 1: {SECRET}", [fault]), "id", minimal=True)
    assert SECRET not in json.dumps(made)
    assert made["errors"][0]["row"] == 1
    assert made["errors"][0]["column"] == "name"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.builds(pow, st.just(10), st.just(6000))
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=10,
)


@given(value=anything, text=st.text(), column=st.text())
def test_whatever_was_sent_the_answer_is_strict_json(value: object, text: str, column: str) -> None:
    body = render(Invalid(text, [Fault(text, column=column, value=value, allowed=value)]), "id").body
    json.loads(body, parse_constant=lambda word: math.nan / 0)


def test_headers_that_belong_to_a_status_are_sent() -> None:
    assert render(Unavailable("locked"), "id").headers["retry-after"] == "1"
    assert render(TooManyRequests("busy", headers={"Retry-After": "7"}), "id").headers["retry-after"] == "7"
    assert render(Unauthenticated("no key"), "id").headers["www-authenticate"].startswith("Bearer")
    assert render(Invalid("x"), "id").headers["content-type"] == "application/problem+json"
