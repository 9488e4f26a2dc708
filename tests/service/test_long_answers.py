"""Answers that take long, however few bytes ask for them: nobody else waits meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.types import Message

from learners.table import Table
from learners.types import FloatArray
from service.app import create_app
from service.front import PREFIX, SUFFIX, Front
from service.operations.answering import IN_THREAD
from service.operations.served import ServedModel
from service.settings import Settings
from service.web.long_answers import LongAnswers
from service.web.protocol import ProblemProtocol
from tests.service.running import Api
from tests.service.serving import served_app
from tests.service.working import train
from tests.shared import table_path

FOREST, EXPLANATIONS = PREFIX + "forest" + SUFFIX, PREFIX + "forest/explanations"
JSON, CSV = {"content-type": "application/json"}, {"content-type": "text/csv"}
#: Rows that go through all nodes of all members: as the front reads them, and as only the route does.
GAPS = b'{"rows":[' + b",".join([b'{"temperature":null,"humidity":null}'] * 900) + b"]}"
ABSENT = b'{"rows":[' + b",".join([b"{}"] * 900) + b"]}"
LINES = b"temperature,humidity\n" + b",\n" * 900


@pytest.fixture(scope="module")
def trained(shared_api: Api) -> Settings:
    uploaded = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="weather").json()
    learner = {"learner": "random-forest-classifier", "parameters": {"members": 20, "seed": 1}}
    train(shared_api, uploaded["id"], target="play", name="forest", features=["temperature", "humidity"], **learner)
    for features in (["temperature", "humidity"], ["humidity", "outlook"]):
        train(shared_api, uploaded["id"], target="play", name="tree", features=features)
    return Settings(data=shared_api.settings.data)


@pytest.fixture(scope="module")
def front(trained: Settings) -> Iterator[Front]:
    made = create_app(trained)
    assert isinstance(made, Front)
    with served_app(made, "on") as client:
        client.post(FOREST, json={"rows": [{"temperature": 70, "humidity": 80}]})  # the route loads the model
        yield made


@pytest.fixture(params=[ProblemProtocol, "httptools"], ids=["ours", "httptools"])
def client(front: Front, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Asks by the server that may answer before ASGI, or by another."""
    with served_app(front, "on" if request.param is ProblemProtocol else "off", request.param) as client:
        yield client


@pytest.mark.parametrize(
    ("address", "sent", "headers"),
    [
        (FOREST, GAPS, JSON),
        (FOREST, ABSENT, JSON),
        (FOREST, LINES, CSV),
        (EXPLANATIONS, GAPS, JSON),
        (FOREST, GAPS[:-1] + b',"explain":true}', JSON),
    ],
    ids=["gaps", "absent", "csv", "explanations", "explained"],
)
def test_others_are_answered_while_a_long_answer_is_made(
    client: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    sent: bytes,
    headers: dict[str, str],
) -> None:
    """The answer is held back until another request was answered, which on the event loop would be never."""
    begun, may_go_on = threading.Event(), threading.Event()
    original = ServedModel.answers

    def answers(self: ServedModel, *arguments: Any) -> list[bytes]:
        begun.set()
        assert may_go_on.wait(60)
        return original(self, *arguments)

    monkeypatch.setattr(ServedModel, "answers", answers)
    found: list[httpx.Response] = []
    with httpx.Client(base_url=client.base_url, trust_env=False, timeout=120) as other:
        asking = threading.Thread(target=lambda: found.append(other.post(address, content=sent, headers=headers)))
        asking.start()
        assert begun.wait(60)
        try:
            assert client.get("/health/live").status_code == 200
        finally:
            may_go_on.set()
            asking.join()
    assert found[0].status_code == 200


def test_few_rows_of_the_same_model_are_answered_at_once(front: Front) -> None:
    headers = [(b"content-type", b"application/json")]
    asked = front.admit(FOREST.encode(), headers)
    assert asked is not None
    few = b'{"rows":[{"temperature":70,"humidity":80},{"temperature":70,"humidity":null}]}'
    assert front.at_once(asked, headers, few) is not None
    assert front.at_once(asked, headers, GAPS) is None


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (GAPS, JSON),
        (b'{"temperature":null}\n' * 900, {"content-type": "application/x-ndjson"}),
        (GAPS + b" " * IN_THREAD, JSON),
    ],
    ids=["json", "streamed", "large"],
)
def test_the_answer_of_a_caller_who_has_gone_away_is_not_made(
    front: Front, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, sent: bytes, headers: dict[str, str]
) -> None:
    begun, may_go_on, parts = threading.Event(), threading.Event(), []
    original = ServedModel._answered

    def answered(self: ServedModel, table: Table) -> FloatArray:
        parts.append(table.n_rows)
        begun.set()
        assert may_go_on.wait(60)
        return original(self, table)

    monkeypatch.setattr(ServedModel, "_answered", answered)
    monkeypatch.setattr(ServedModel, "rows_at_once", 1)
    turns, in_flight = front.services.long_answers._turns, front.services.in_flight
    free = turns._free
    with httpx.Client(base_url=client.base_url, trust_env=False) as other:
        with pytest.raises(httpx.ReadTimeout):
            other.post(FOREST, content=sent, headers=headers, timeout=0.5)
        assert begun.wait(60)
    while in_flight.count:  # until the caller's leaving is noticed, and waited for no more
        time.sleep(0.01)
    may_go_on.set()
    while turns._free < free:
        time.sleep(0.01)
    assert parts == [1]


def test_an_answer_that_takes_too_much_is_refused_with_the_rows_that_fit(
    front: Front, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front.services.long_answers, "_seconds", 0.0)
    monkeypatch.setattr(ServedModel, "rows_at_once", 7)
    refused = client.post(FOREST, content=GAPS, headers=JSON)
    assert refused.status_code == 413
    assert refused.json()["detail"].startswith("7 of the 900 rows took 0 seconds of a processor, which is the most")
    assert refused.json()["errors"][0]["allowed"] == 7


@pytest.mark.parametrize(
    ("path", "sent", "parameter"),
    [
        ("forest/importances?kind=permutation&dataset={dataset}", None, "n_rows"),
        ("tree/question", {"rows": [{}] * 3}, "rows"),
        ("tree/counterfactuals", {"rows": [{}] * 3, "wanted": "yes"}, "rows"),
        ("tree:1/comparison?with=tree:2", None, "with"),
        ("forest/comparison?with=tree:2&dataset={dataset}", None, "n_rows"),
        ("tree/rules?simplify=true", None, "simplify"),
        ("tree/rules?dataset={dataset}", None, "dataset"),
        ("tree/rules/{rule}/rows", None, "dataset"),
        ("forest/rules?surrogate=4", None, "dataset"),
    ],
)
def test_every_long_answer_that_takes_too_much_is_refused_by_what_asks_for_less(
    front: Front,
    client: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    sent: dict[str, Any] | None,
    parameter: str,
) -> None:
    dataset = client.get("/api/v1/datasets").json()["items"][0]["id"]
    rule = client.get(f"{PREFIX}tree/rules").json()["rules"][0]["id"]
    address = PREFIX + path.format(dataset=dataset, rule=rule)

    def asked() -> httpx.Response:
        return client.get(address) if sent is None else client.post(address, json=sent)

    answer = asked()
    assert answer.status_code == 200
    monkeypatch.setattr(ServedModel, "rows_at_once", 1)
    assert asked().content == answer.content
    monkeypatch.setattr(front.services.long_answers, "_seconds", -1.0)
    refused = asked()
    assert refused.status_code == 413
    assert [fault["parameter"] for fault in refused.json()["errors"]] == [parameter]
    assert "-1 seconds of a processor, which is the most for one request" in refused.json()["detail"]


def test_what_takes_no_pause_is_made_in_turns_too(
    front: Front, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    original = LongAnswers.make

    async def noting(self: LongAnswers, receive: Any, make: Any, seconds: float | None = None) -> Any:
        made.append(make.__qualname__)
        return await original(self, receive, make, seconds)

    monkeypatch.setattr(LongAnswers, "make", noting)
    for path in ("tree/rules?format=sql", "tree/tree", "tree/tree?format=svg"):
        assert client.get(PREFIX + path).status_code == 200
    assert client.post(f"{PREFIX}tree/tree", json={"row": {}}).status_code == 200
    assert client.get(f"{PREFIX}tree/coefficients").status_code == 409
    assert client.post(f"{PREFIX}tree/steps", json={"row": {}}).status_code == 409
    assert len(made) == 6


@pytest.mark.parametrize(
    ("path", "sent"),
    [(FOREST, GAPS), (FOREST, GAPS + b" " * IN_THREAD), (EXPLANATIONS, GAPS)],
    ids=["route", "large", "explanations"],
)
def test_what_is_not_answered_when_the_process_ends_is_told_to_ask_again(
    front: Front, monkeypatch: pytest.MonkeyPatch, path: str, sent: bytes
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    original = ServedModel._answered

    def answered(self: ServedModel, table: Table) -> FloatArray:
        begun.set()
        assert may_go_on.wait(60)
        return original(self, table)

    monkeypatch.setattr(ServedModel, "_answered", answered)
    messages: list[Message] = []

    async def run() -> None:
        waiting, bodies = asyncio.Event(), [{"type": "http.request", "body": sent, "more_body": False}]

        async def receive() -> Message:
            if not bodies:
                await waiting.wait()
            return bodies.pop()

        async def send(message: Message) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"x"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        asked = asyncio.ensure_future(front(scope, receive, send))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        asked.cancel()
        await asked

    try:
        asyncio.run(run())
    finally:
        may_go_on.set()
    start, body = messages
    assert start["status"] == 503
    assert dict(start["headers"])[b"retry-after"]
    assert b"The service ended before this was answered" in body["body"]
