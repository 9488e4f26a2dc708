"""The fast door and the route behind it: one answer, to the byte, whichever of them gives it."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from service import front as front_module
from service.app import create_app
from service.front import PREFIX, ROUTE, SUFFIX, Front
from service.operations.serving import Serving
from service.settings import Limits, Settings
from service.web.protocol import ProblemProtocol
from tests.service.jobs.conftest import wait_for
from tests.service.running import Api
from tests.service.serving import served_app
from tests.service.working import train
from tests.shared import table_path

ADDRESS = PREFIX + "weather" + SUFFIX
NUMBERS = PREFIX + "numbers" + SUFFIX
ROW = {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}
JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}
#: What differs from answer to answer.
CHANGING = {"x-request-id", "date"}


class Doors:
    """A service's doors, and whether the last request went through to the route.

    Args:
        front: the fast door, in front of ``behind``.
        client, asgi: ask the front, which may answer before ASGI, and which may not.
        route: asks what is behind.
    """

    def __init__(
        self, front: Front, behind: ASGIApp, client: httpx.Client, asgi: httpx.Client, route: httpx.Client
    ) -> None:
        self.front = front
        self.behind = behind
        self.client = client
        self.asgi = asgi
        self.route = route
        self.passed = 0
        front.app = self._watch

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.passed += 1
        await self.behind(scope, receive, send)

    def both(
        self, body: bytes | str, headers: dict[str, str] | None = None, address: str = ADDRESS
    ) -> tuple[Any, bool]:
        """Send a request to all doors, compare the answers; the answer, and whether the front gave it."""
        sent = JSON | (headers or {})
        before = self.passed
        first = self.client.post(address, content=body, headers=sent)
        by_front = self.passed == before
        before = self.passed
        through_asgi = self.asgi.post(address, content=body, headers=sent)
        assert by_front == (self.passed == before)
        for second in (through_asgi, self.route.post(address, content=body, headers=sent)):
            assert first.status_code == second.status_code
            assert _comparable(first) == _comparable(second)
            assert first.headers.keys() == second.headers.keys()
            assert {n: v for n, v in first.headers.items() if n not in CHANGING} == {
                n: v for n, v in second.headers.items() if n not in CHANGING
            }
        return first, by_front


def _comparable(response: Any) -> bytes:
    return response.content.replace(response.headers["x-request-id"].encode(), b"ID")


@pytest.fixture(scope="module")
def trained(shared_api: Api) -> Settings:
    uploaded = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    train(shared_api, uploaded["id"], target="play", name="weather")
    train(shared_api, uploaded["id"], target="play", name="numbers", features=["temperature", "humidity"])
    return Settings(data=shared_api.settings.data, limits=Limits(body_bytes=200_000, batch_rows=2_000))


@pytest.fixture(scope="module")
def doors(trained: Settings) -> Iterator[Doors]:
    front = create_app(trained)
    assert isinstance(front, Front)
    behind = front.app
    with (
        served_app(front, "on", ProblemProtocol) as client,
        served_app(front, "off") as asgi,
        served_app(behind, "off") as route,
    ):
        for address in (ADDRESS, NUMBERS):
            route.post(address, json={"rows": [ROW]})  # the route loads the model
        yield Doors(front, behind, client, asgi, route)


def body(*rows: Any, **more: Any) -> str:
    return json.dumps({"rows": list(rows), **more})


def test_the_front_answers_plain_requests(doors: Doors) -> None:
    rainy = {"windy": "TRUE", "humidity": None, "temperature": 7.25, "outlook": "rainy"}
    for sent in (
        body(ROW),
        body(ROW, explain=True),
        body(ROW, explain=False),
        body(rainy),
        body(rainy, explain=True),
        body(ROW, rainy, ROW),
        body(*[ROW] * 700),
        body(*[ROW, rainy] * 900),
        json.dumps({"rows": [ROW]}, indent=2),
    ):
        answered, by_front = doors.both(sent)
        assert answered.status_code == 200
        assert by_front, sent[:200]


@pytest.mark.parametrize(
    "more",
    [
        {"decision": {"threshold": {"class": "yes", "at": 0.9}}},
        {"decision": {"costs": {"no": {"yes": 5}, "yes": {"no": 1}}}, "missing": "most-likely", "explain": True},
        {"missing": "as-model"},
        {"missing": "fractional", "unseen": "missing"},
    ],
)
def test_requests_with_policies_go_to_the_route(doors: Doors, more: dict[str, Any]) -> None:
    answered, by_front = doors.both(body(ROW, {**ROW, "humidity": None}, **more))
    assert answered.status_code == 200
    assert not by_front
    plain, by_front = doors.both(body(ROW))
    assert by_front
    if "decision" not in more:
        assert plain.json()["predictions"] == answered.json()["predictions"][:1]


@pytest.mark.parametrize(
    "sent",
    [
        body(),
        body(ROW, strict=True),
        body(ROW | {"more": 1}),
        body(ROW | {"outlook": "foggy"}),
        body(ROW | {"temperature": "85"}),
        body(ROW, {"outlook": "sunny"}),
        body(ROW, 7),
        body(7),
        body(ROW | {"humidity": True}),
        body(ROW | {"humidity": 10**400}),
        json.dumps({"columns": list(ROW), "data": [list(ROW.values())]}),
        '{"rows":[{"outlook":"sunny","outlook":"sunny","temperature":85,"humidity":85,"windy":"FALSE"}]}',
        '{"rows":[{"outlook":"sunny","temperature":NaN,"humidity":85,"windy":"FALSE"}]}',
        '{"rows":' + "[" * 2000 + "]" * 2000 + "}",
        "",
        "null",
        "{",
        b"\xff\xfe",
        body(*[ROW] * 2001),
        body(*[ROW] * 4000),
    ],
)
def test_whatever_is_not_plain_is_answered_by_the_route(doors: Doors, sent: str | bytes) -> None:
    _, by_front = doors.both(sent)
    assert not by_front


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ({"content-type": "text/csv"}, ADDRESS),
        ({"content-type": "text/plain"}, ADDRESS),
        ({"accept": "text/csv"}, ADDRESS),
        ({"accept": "image/png"}, ADDRESS),
        ({"content-encoding": "gzip"}, ADDRESS),
        ({"authorization": "Bearer rk_wrong_key"}, ADDRESS),
        ({"host": "rebound.example.org"}, ADDRESS),
        ({}, ADDRESS + "?unseen=missing"),
        ({}, PREFIX + "nobody" + SUFFIX),
        ({}, PREFIX + "weather:99" + SUFFIX),
    ],
)
def test_other_headers_and_addresses_are_for_the_route(doors: Doors, headers: dict[str, str], address: str) -> None:
    _, by_front = doors.both(body(ROW), headers, address)
    assert not by_front


@pytest.mark.parametrize(
    "sent",
    [
        "temperature,humidity\n85,85\n",
        "humidity,temperature\r\n85,7.5e1\r\n-0.0,0.1",
        "temperature,humidity\n85,\n,\n,90\n",
        "temperature,humidity\n" + "85,85\n64,65\n" * 900,
    ],
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"accept": "text/csv"},
        {"content-type": "Text/CSV; charset=utf-8"},
        {"content-type": "text/csv;charset=US-ASCII"},
    ],
)
def test_the_front_answers_csv_of_numbers(doors: Doors, sent: str, headers: dict[str, str]) -> None:
    answered, by_front = doors.both(sent, CSV | headers, NUMBERS)
    assert answered.status_code == 200
    assert answered.text.count("\n") == len(sent.splitlines())
    assert by_front


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "temperature,humidity\n",
        "temperature\n85\n",
        "temperature,humidity\n85,85,1\n",
        "temperature,humidity\n85\n85,90,1\n",
        "temperature,humidity\n85,hot\n",
        "temperature,humidity\n85,null\n",
        "temperature,humidity\n85, 90\n",
        'temperature,humidity\n85,"90"\n',
        "temperature,humidity\n85,1],[85,90\n",
        "temperature,humidity\n85\r,90\n",
        "temperature,humidity\n85,NaN\n",
        "temperature,humidity\n" + "85,85\n" * 2001,
    ],
)
def test_other_csv_is_answered_by_the_route(doors: Doors, sent: str) -> None:
    _, by_front = doors.both(sent, CSV, NUMBERS)
    assert not by_front


def arrow(**columns: list[Any]) -> bytes:
    table, sink = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("sent", "plain"),
    [
        (arrow(humidity=[85, 70], temperature=[64.5, 2.0]), True),
        (arrow(temperature=[85, None], humidity=[None, None]), False),
        (arrow(temperature=[85.0, None], humidity=[None, 3.0]), True),
        (arrow(temperature=[85.0], humidity=["70"]), False),
        (arrow(temperature=[85.0]), False),
        (arrow(temperature=[float("inf")], humidity=[1.0]), False),
        (arrow(temperature=pa.array([], pa.float64()), humidity=pa.array([], pa.float64())), False),
        (b"broken", False),
    ],
)
def test_arrow_is_answered_alike_at_both_doors(doors: Doors, sent: bytes, plain: bool) -> None:
    answered, by_front = doors.both(sent, {"content-type": "application/vnd.apache.arrow.stream"}, NUMBERS)
    assert answered.status_code == (400 if sent == b"broken" else 200)
    assert by_front == plain


def test_a_body_in_pieces_is_put_together(doors: Doors) -> None:
    sent = body(ROW).encode()
    before = doors.passed
    for client in (doors.client, doors.asgi):
        answered = client.post(ADDRESS, content=iter([sent[:10], sent[10:50], sent[50:]]), headers=JSON)
        assert answered.status_code == 200
        assert answered.content == client.post(ADDRESS, content=sent, headers=JSON).content
    assert doors.passed == before


def test_small_answers_for_models_in_memory_are_given_before_asgi(doors: Doors) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-request-id", b"abc-1")]
    front, sent = doors.front, body(ROW).encode()
    asked = front.admit(ADDRESS.encode(), headers)
    assert asked is not None
    answer = front.at_once(asked, headers, sent)
    assert answer is not None
    lines, answered = answer
    assert lines.endswith(b"content-length: %d\r\nx-request-id: abc-1\r\n" % len(answered))
    assert answered == doors.route.post(ADDRESS, content=sent, headers=JSON).content
    for target in (ADDRESS + "?explain=true", ADDRESS + "/", ADDRESS.replace("weather", "nobody"), "/", ""):
        assert front.admit(target.encode(), headers) is None
    assert front.admit(ADDRESS.replace("weather", "we%61ther").encode(), headers) is None
    assert front.admit(ADDRESS.replace("weather", "w\xe9").encode("latin-1"), headers) is None
    assert front.admit(ADDRESS.encode(), [*headers, (b"authorization", b"Bearer rk_wrong")]) is None
    assert front.at_once(asked, headers, sent + b" " * 150_000) is None
    assert front.at_once(("default", "nobody", b"application/json"), headers, sent) is None


@pytest.mark.parametrize("types", [("text/csv; header=absent", "application/json"), ("*/*", "application/json")])
def test_two_content_types_are_refused_at_all_doors(doors: Doors, types: tuple[str, str]) -> None:
    """By the server where it is ours, else by the route, whichever door is asked."""
    headers = [("content-type", one) for one in types]
    clients = (doors.client, doors.asgi, doors.route)
    first, *others = [client.post(ADDRESS, content=body(ROW), headers=headers).status_code for client in clients]
    assert first == 400
    assert others[0] == others[1] != 200


def test_a_body_in_pieces_beyond_the_limit_is_refused(doors: Doors) -> None:
    for client in (doors.client, doors.asgi):
        pieces = iter([b'{"rows":[' + b" " * 90_000] * 3)
        assert client.post(ADDRESS, content=pieces, headers=JSON).status_code == 413


def test_the_request_id_of_the_caller_comes_back(doors: Doors) -> None:
    for client in (doors.client, doors.asgi):
        answered = client.post(ADDRESS, content=body(ROW), headers=JSON | {"x-request-id": "abc-1"})
        assert answered.headers["x-request-id"] == "abc-1"


def test_as_many_requests_as_allowed_are_let_in(doors: Doors) -> None:
    in_flight = doors.front.services.in_flight
    count, in_flight.count = in_flight.count, in_flight.limit
    try:
        answered = [client.post(ADDRESS, content=body(ROW), headers=JSON) for client in (doors.client, doors.asgi)]
    finally:
        in_flight.count = count
    assert [one.status_code for one in answered] == [429, 429]


def test_requests_and_rows_are_counted_at_both_doors(doors: Doors) -> None:
    def counted() -> tuple[float, float]:
        lines = doors.client.get("/metrics").text.splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        requests = values[f'rulewood_requests_total{{route="{ROUTE}",status="200"}}']
        return float(requests), float(values["rulewood_predicted_rows_total"])

    requests, rows = counted()
    doors.client.post(ADDRESS, content=body(ROW, ROW), headers=JSON)
    doors.asgi.post(ADDRESS, content=body(*[ROW] * 4), headers=JSON)
    doors.route.post(ADDRESS, content=body(ROW, ROW, ROW), headers=JSON)
    assert counted() == (requests + 3, rows + 9)
    assert doors.front.services.in_flight.count == 0


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS + "?explain=false"])
def test_who_goes_away_in_the_middle_of_a_body_is_no_defect(doors: Doors, address: str) -> None:
    def counted(status: int) -> int:
        statuses = doors.front.services.metrics.snapshot()["routes"].get(ROUTE, {"statuses": {}})["statuses"]
        return int(statuses.get(str(status), 0))

    before = counted(400), counted(500)
    place = doors.client.base_url
    head = f"POST {address} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    with socket.create_connection((place.host, int(place.port or 0)), timeout=30) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{".encode())
        time.sleep(0.2)
    wait_for(lambda: counted(400) == before[0] + 1)
    assert counted(500) == before[1]


def test_a_defect_in_the_fast_way_is_left_to_the_route(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("defect")

    monkeypatch.setitem(front_module._ON_LOOP, b"application/json", broken)
    for client in (doors.client, doors.asgi):
        with caplog.at_level(logging.DEBUG, "rulewood"):
            answered = client.post(ADDRESS, content=body(ROW), headers=JSON)
        assert answered.status_code == 200
        assert "left to the route" in caplog.text
        caplog.clear()


def test_a_key_of_another_workspace_finds_nothing(trained: Settings, tmp_path: Path) -> None:
    front = create_app(trained)
    assert isinstance(front, Front)
    serving = front.services.serving
    assert isinstance(serving, Serving)
    assert serving.known("elsewhere", "weather") is None
