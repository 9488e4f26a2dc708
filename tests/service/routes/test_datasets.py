"""Datasets over HTTP: streaming, forms, every trap file, revisions, rows, deletion."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from service.settings import Limits, Settings
from tests.service.running import Api, problem, running
from tests.shared import table_path, trap_path

SMALL = "x,c,y\n1,red,a\n2,blue,b\n,red,a\n"


def test_an_upload_is_answered_with_what_was_understood(api: Api) -> None:
    answer = api.upload(SMALL, name="small.csv")
    assert answer.status_code == 201
    made = answer.json()
    assert answer.headers["location"] == f"/api/v1/datasets/{made['id']}"
    assert (made["name"], made["n_rows"], made["n_columns"], made["format"]) == ("small.csv", 3, 3, "csv")
    assert [(c["name"], c["kind"], c["missing"]) for c in made["columns"]] == [
        ("x", "numeric", 1),
        ("c", "nominal", 0),
        ("y", "nominal", 0),
    ]
    assert all(column["evidence"] for column in made["columns"])
    assert api.get(answer.headers["location"]).json() == made
    rows = api.get(f"{answer.headers['location']}/rows").json()
    assert rows["rows"] == [
        {"x": 1, "c": "red", "y": "a"},
        {"x": 2, "c": "blue", "y": "b"},
        {"x": None, "c": "red", "y": "a"},
    ]
    back = api.get(f"{answer.headers['location']}/download")
    assert back.content == SMALL.encode()
    assert "attachment" in back.headers["content-disposition"]


def test_lists_page_and_filter(api: Api) -> None:
    ids = [api.upload(SMALL, name=f"n{number % 2}").json()["id"] for number in range(5)]
    seen, cursor = [], None
    while True:
        page = api.get("/api/v1/datasets", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]
    named = api.get("/api/v1/datasets", params={"name": "n1"}).json()["items"]
    assert [item["id"] for item in named] == [ids[3], ids[1]]


def test_deleting_leaves_nothing(api: Api) -> None:
    before = api.counts()
    made = api.upload(SMALL, name="gone").json()["id"]
    assert api.delete(f"/api/v1/datasets/{made}").status_code == 204
    problem(api.get(f"/api/v1/datasets/{made}"), 404)
    problem(api.delete(f"/api/v1/datasets/{made}"), 404)
    after = api.counts()
    assert after["datasets"] == before["datasets"]


def test_a_dataset_that_a_job_needs_is_kept_unless_its_name_is_given(api: Api) -> None:
    made = api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    request = {
        "kind": "cross-validate",
        "dataset": made,
        "target": "class",
        "learner": "decision-tree-classifier",
    }
    job = api.post("/api/v1/jobs", json=request).json()["id"]
    refused = problem(api.delete(f"/api/v1/datasets/{made}"), 409)
    assert job in json.dumps(refused["errors"])
    problem(api.delete(f"/api/v1/datasets/{made}", params={"force": "wrong"}), 422)
    assert api.delete(f"/api/v1/datasets/{made}", params={"force": "iris"}).status_code == 204
    assert api.get(f"/api/v1/jobs/{job}").json()["state"] == "cancelled"


def test_a_stream_without_a_length_is_taken(shared_api: Api) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x,y\n"
        for number in range(1000):
            yield f"{number},{'ab'[number % 2]}\n".encode()

    answer = shared_api.post("/api/v1/datasets", params={"name": "stream"}, content=pieces())
    assert answer.status_code == 201
    assert answer.json()["n_rows"] == 1000


def test_a_form_with_its_fields_is_taken(shared_api: Api) -> None:
    content = b"a;y\n1,5;u\n2,5;v\n"
    answer = shared_api.post(
        "/api/v1/datasets",
        files={"file": ("größe €.csv", content, "text/csv")},
        data={"options": json.dumps({"delimiter": ";", "decimal": ","})},
    )
    assert answer.status_code == 201
    assert answer.json()["name"] == "größe €.csv"
    assert answer.json()["columns"][0]["kind"] == "numeric"
    assert shared_api.get(f"/api/v1/datasets/{answer.json()['id']}/download").content == content


def test_a_form_streams_a_file_that_looks_like_a_boundary(shared_api: Api) -> None:
    lines = [f"--{'-' * (number % 40)}x,{'ab'[number % 2]}" for number in range(50_000)]
    content = ("x,y\n" + "\n".join(lines) + "\n").encode()
    answer = shared_api.post("/api/v1/datasets", files={"file": ("dashes.csv", content)})
    assert answer.status_code == 201
    assert shared_api.get(f"/api/v1/datasets/{answer.json()['id']}/download").content == content


def test_a_file_in_another_field_is_told_which_is_its_own(shared_api: Api) -> None:
    for field in ("upload", "Files", ""):
        answer = shared_api.post("/api/v1/datasets", files={field: ("a.csv", b"x,y\n1,a\n2,b\n")})
        refused = problem(answer, 422)
        assert refused["detail"].endswith("The file itself goes in the field file")
        assert refused["errors"][0]["allowed"] == ["file", "name", "format", "options"]


def test_a_field_that_comes_as_a_file_is_still_that_field(shared_api: Api) -> None:
    """As ``curl -F options=@options.json`` sends it."""
    files = {"file": ("a.csv", b"x;y\n1;a\n2;b\n"), "options": ("options.json", b'{"delimiter": ";"}')}
    answer = shared_api.post("/api/v1/datasets", files=files)
    assert answer.status_code == 201, answer.text
    assert [column["name"] for column in answer.json()["columns"]] == ["x", "y"]
    assert answer.json()["name"] == "a.csv"


#: The beginning of a part of a form, to be filled with its name.
FIELD = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n'


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("multipart/form-data", b"x", 400),
        ("multipart/form-data; boundary=", b"x", 400),
        ("multipart/mixed; boundary=b", b"--b\r\n\r\nx\r\n--b--\r\n", 400),
        ("multipart/form-data; boundary=b", b"", 400),
        ("multipart/form-data; boundary=b", b"--b\r\n", 400),
        ("multipart/form-data; boundary=b", b"not a form", 400),
        ("multipart/form-data; boundary=b", b"--b\r\nbad header\r\n\r\nx\r\n--b--\r\n", 400),
        ("multipart/form-data; boundary=b", FIELD % b"name" + b"\xff\r\n--b--\r\n", 400),
        ("multipart/form-data; boundary=b", FIELD % b'file"; filename="a' + b"x,y\n1,a\n", 400),
        ("multipart/form-data; boundary=b", FIELD % b"path" + b"/etc/passwd\r\n--b--\r\n", 422),
        ("multipart/form-data; boundary=b", FIELD % b"name" + b"a\r\n--b--\r\n", 422),
        ("multipart/form-data; boundary=b", 2 * (FIELD % b"name" + b"a\r\n") + b"--b--\r\n", 422),
        ("multipart/form-data; boundary=b", 2 * (FIELD % b"file" + b"x,y\n1,a\n\r\n") + b"--b--\r\n", 422),
        ("multipart/form-data; boundary=b", FIELD % b"name" + 2_000_000 * b"a" + b"\r\n--b--\r\n", 413),
    ],
)
def test_a_broken_form_is_refused(shared_api: Api, content_type: str, body: bytes, status: int) -> None:
    before = shared_api.counts()
    answer = shared_api.post("/api/v1/datasets", content=body, headers={"Content-Type": content_type})
    refused = problem(answer, status)
    assert status == 400 or [fault["parameter"] for fault in refused["errors"]]
    assert shared_api.counts() == before


#: What each trap file must come to: rows, or the status of its refusal and what the problem must name.
TAKEN = {
    "all_missing_col.csv": 4,
    "alternating.csv": 4000,
    "big_values.csv": 6,
    "blank_lines.csv": 2,
    "bom_crlf.csv": 4,
    "bool_mix.csv": 6,
    "class_words.csv": 12,
    "close_floats.csv": 6,
    "dates.csv": 6,
    "formula_cells.csv": 6,
    "huge_ints.csv": 7,
    "leading_zeros.csv": 6,
    "na_words.csv": 6,
    "quoted_newline.csv": 4,
    "quoted_qmark.arff": None,
    "rare_class.csv": 41,
    "single_class.csv": 3,
    "spaces_in_braces.arff": 3,
    "target_missing.csv": 6,
    "thousands.csv": 4,
    "threshold_ties.csv": 6,
    "ties_knn.csv": 4,
    "tiny_scale.csv": 60,
    "xor.csv": 4,
    "zero_distance.csv": 4,
}
REFUSED = {
    "dup_headers.csv": (422, "column", "a"),
    "trailing_comma.csv": (422, "line", 2),
    "ragged.csv": (422, "line", 3),
    "inf_words.csv": (422, "line", 3),
    "neg_weights.csv": (422, "line", 4),
    "latin1.csv": (415, "line", 2),
    "nul_byte.csv": (422, "line", 3),
    "long_name.csv": (422, "allowed", 200),
    "header_only.csv": (422, None, None),
    "empty.csv": (422, None, None),
    "one_column.csv": (422, None, None),
    "string_date.arff": (422, "line", None),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_trap_file_that_is_legal_is_taken_whole(shared_api: Api, name: str) -> None:
    answer = shared_api.upload(trap_path(name).read_bytes(), name=name)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    if TAKEN[name] is not None:
        assert made["n_rows"] == TAKEN[name]
    rows = shared_api.get(f"/api/v1/datasets/{made['id']}/rows", params={"limit": 1000})
    assert rows.status_code == 200
    json.loads(rows.text, parse_constant=pytest.fail)
    profile = shared_api.get(f"/api/v1/datasets/{made['id']}/profile", params={"target": made["columns"][-1]["name"]})
    assert profile.status_code == 200
    json.loads(profile.text, parse_constant=pytest.fail)


@pytest.mark.parametrize("name", REFUSED)
def test_a_trap_file_that_is_not_is_refused_with_the_place_and_leaves_the_store_as_it_was(
    shared_api: Api, name: str
) -> None:
    status, member, value = REFUSED[name]
    before = shared_api.counts()
    refused = problem(shared_api.upload(trap_path(name).read_bytes(), name=name), status)
    assert shared_api.counts() == before
    assert len(json.dumps(refused)) < 10_000
    if member is not None:
        named = [fault[member] for fault in refused["errors"] if member in fault]
        assert named, refused
        if value is not None:
            assert str(value) in str(named)


def test_bodies_of_the_json_traps_are_no_tables(shared_api: Api) -> None:
    for path in trap_path("").glob("*.json"):
        answer = shared_api.upload(path.read_bytes(), name=path.name)
        assert answer.status_code in (201, 400, 422), answer.text


def test_words_for_missing_are_declared_by_the_caller(shared_api: Api) -> None:
    options = json.dumps({"missing_tokens": ["", "NA"]})
    made = shared_api.upload(trap_path("na_words.csv").read_bytes(), options=options).json()
    assert made["columns"][0]["missing"] > 0
    undeclared = shared_api.upload(trap_path("na_words.csv").read_bytes()).json()
    assert undeclared["columns"][0]["missing"] == 0


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"options": "{"}, None),
        ({"options": "[]"}, "options"),
        ({"options": '{"nonsense": 1}'}, "options.nonsense"),
        ({"options": '{"delimiter": "ab"}'}, "options.delimiter"),
        ({"options": '{"kinds": {"x": "wrong"}}'}, "options.kinds.x"),
        ({"options": '{"encoding": "no-such"}'}, "options.encoding"),
        ({"options": '{"decimal": NaN}'}, "decimal"),
        ({"format": "xlsx"}, "format"),
        ({"name": "n" * 500}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": ""}, None),
    ],
)
def test_options_that_are_not_allowed_are_named(shared_api: Api, query: dict[str, str], parameter: str | None) -> None:
    before = shared_api.counts()
    answer = shared_api.upload(SMALL, **query)
    if query == {"name": ""}:
        assert answer.status_code == 201  # as if no name had been given
        return
    assert answer.status_code in (400, 422)
    refused = problem(answer, answer.status_code)
    assert shared_api.counts() == before
    if parameter is not None:
        assert parameter in [fault.get("parameter") for fault in refused["errors"]]


def test_a_revision_reads_the_same_bytes_anew(api: Api) -> None:
    first = api.upload("code,y\n1,a\n2,b\n3,a\n", name="codes").json()
    answer = api.post(f"/api/v1/datasets/{first['id']}/revisions", json={"kinds": {"code": "nominal"}})
    assert answer.status_code == 201
    second = answer.json()
    assert second["parent_id"] == first["id"]
    assert second["sha256"] == first["sha256"]
    assert [column["kind"] for column in second["columns"]] == ["nominal", "nominal"]
    third = api.post(
        f"/api/v1/datasets/{second['id']}/revisions", json={"kinds": {"y": "ordinal"}, "orders": {"y": ["b", "a"]}}
    ).json()
    assert [column["kind"] for column in third["columns"]] == ["nominal", "ordinal"]
    assert third["columns"][1]["levels"] == ["b", "a"]
    assert api.get(f"/api/v1/datasets/{first['id']}").json() == first


@pytest.mark.parametrize(
    "body", [{"kinds": {"code": "wrong"}}, {"kinds": {"nowhere": "nominal"}}, {"header": "yes"}, {"unknown": 1}]
)
def test_a_revision_that_makes_no_sense_changes_nothing(shared_api: Api, body: dict[str, object]) -> None:
    first = shared_api.upload("code,y\n1,a\n2,b\n", name="codes").json()
    before = shared_api.counts()
    problem(shared_api.post(f"/api/v1/datasets/{first['id']}/revisions", json=body), 422)
    assert shared_api.counts() == before


@pytest.mark.parametrize("query", [{"offset": -1}, {"limit": 0}, {"limit": 1001}, {"offset": "x"}, {"offset": 10**30}])
def test_pages_of_rows_have_bounds(shared_api: Api, query: dict[str, object]) -> None:
    made = shared_api.upload(SMALL, name="small").json()["id"]
    problem(shared_api.get(f"/api/v1/datasets/{made}/rows", params=query), 422)
    assert shared_api.get(f"/api/v1/datasets/{made}/rows", params={"offset": 2**40}).json()["rows"] == []


def test_the_profile_relates_to_any_target(shared_api: Api) -> None:
    made = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    plain = shared_api.get(f"/api/v1/datasets/{made}/profile").json()
    assert plain["target"] is None
    related = shared_api.get(f"/api/v1/datasets/{made}/profile", params={"target": "class"}).json()
    relations = [column["relation"] for column in related["columns"]]
    assert relations[-1] is None
    assert relations[2]["value"] == pytest.approx(0.9182958, abs=1e-6)  # petal length cuts off setosa: H(1/3)
    refused = problem(shared_api.get(f"/api/v1/datasets/{made}/profile", params={"target": "nowhere"}), 422)
    assert refused["errors"][0]["column"] == "nowhere"


def test_limits_of_the_upload_are_told(tmp_path, migrated_sqlite) -> None:
    import shutil

    shutil.copy(migrated_sqlite, tmp_path / "store.sqlite3")
    limits = Limits(upload_bytes=2000, columns=3, levels=3, rows=50, name_length=10)
    with running(Settings(data=tmp_path, limits=limits)) as api:
        assert problem(api.upload("x,y\n" + "1,a\n" * 1000), 413)["errors"][0]["allowed"] == 2000
        assert problem(api.upload("a,b,c,d\n1,2,3,4\n"), 413)["errors"][0]["allowed"] == 3
        refused = api.upload("x,y\n" + "1,a\n" * 60)
        assert refused.status_code in (413, 422)
        assert "50" in refused.text
        assert "10" in problem(api.upload("x," + "n" * 11 + "\n1,a\n"), 422)["detail"]
        assert api.counts()["datasets"] == 0


def test_two_uploads_at_once_do_not_mix(shared_api: Api) -> None:
    made: dict[str, httpx.Response] = {}

    def one(letter: str) -> None:
        content = "x,y\n" + f"1,{letter}\n2,{letter}{letter}\n" * 2000
        made[letter] = httpx.post(
            f"{shared_api.address}/api/v1/datasets", params={"name": letter}, content=content.encode(), timeout=60
        )

    threads = [threading.Thread(target=one, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for letter, answer in made.items():
        assert answer.status_code == 201
        assert answer.json()["columns"][1]["levels"] == [letter, letter * 2]


def test_no_file_is_left_behind(shared_api: Api) -> None:
    assert shared_api.upload("a,b\n1,2\n", name="kept").status_code == 201
    problem(shared_api.upload("a,a\n1,2\n3\n", name="refused"), 422)
    assert list((shared_api.settings.data / "scratch").iterdir()) == []
