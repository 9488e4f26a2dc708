"""The client against answers made here: what it sends, and how its errors read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

import httpx
import numpy as np
import pytest

from service.client import Rulewood, RulewoodError


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Rulewood:
    return Rulewood("http://service", transport=httpx.MockTransport(answer))


def sent_by(call: Callable[[Rulewood], Any]) -> Any:
    """The JSON that a call sends."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    with client(answer) as rulewood:
        call(rulewood)
    assert seen[0].headers["content-type"] == "application/json"
    return json.loads(seen[0].content)


def test_values_of_numpy_are_sent_as_numbers_and_nan_as_missing() -> None:
    row = {
        "count": np.int64(3),
        "share": np.float32(0.5),
        "wide": np.float64(1e300),
        "flag": np.bool_(True),
        "name": np.str_("ä"),
        "gone": np.nan,
        "small": np.float32("nan"),
    }
    expected = {"count": 3, "share": 0.5, "wide": 1e300, "flag": True, "name": "ä", "gone": None, "small": None}
    assert sent_by(lambda rulewood: rulewood.predict("m", [row])) == {"rows": [expected]}
    told = {"rows": [expected], "interval": True}
    assert sent_by(lambda rulewood: rulewood.predict("m", [row], interval=True)) == told
    assert sent_by(lambda rulewood: rulewood.explain("m", [MappingProxyType(row)])) == {"rows": [expected]}
    assert sent_by(lambda rulewood: rulewood.question("m", [row], costs={"x": np.int8(2)}))["costs"] == {"x": 2}
    fed = sent_by(lambda rulewood: rulewood.steps("m", {"x": [np.float64(1.5), 2]}, {"units": [0.1]}))
    assert fed == {"row": {"x": [1.5, 2]}, "state": {"units": [0.1]}}


def test_a_forced_deletion_repeats_the_name() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(204)

    with client(answer) as rulewood:
        rulewood.delete_model("m")
        rulewood.delete_model("m", force="m")
    assert [url.partition("/models/")[2] for url in seen] == ["m", "m?force=m"]


def test_what_is_no_json_value_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"object .* cannot be sent as JSON"):
        sent_by(lambda rulewood: rulewood.predict("m", [{"x": object()}]))


def refused(status: int, problem: dict[str, Any]) -> str:
    with client(lambda _: httpx.Response(status, json=problem)) as rulewood, pytest.raises(RulewoodError) as caught:
        rulewood.model("m")
    assert (caught.value.status, caught.value.problem) == (status, problem)
    return str(caught.value)


def test_a_refusal_says_of_each_fault_where_it_is() -> None:
    faults = [
        {"message": "the value is missing", "row": 0, "column": "a"},
        {"message": "column 'b' takes numbers", "row": 3, "column": "b"},
        {"message": "must be given", "parameter": "wanted"},
        {"message": "a quote is never closed", "line": 7},
    ]
    problem = {"title": "Not valid", "detail": "No row can be answered", "errors": faults, "errors_total": 30}
    assert refused(422, problem).splitlines() == [
        "Not valid (422): No row can be answered",
        "  - row 0, column a: the value is missing",
        "  - row 3: column 'b' takes numbers",
        "  - parameter wanted: must be given",
        "  - line 7: a quote is never closed",
        "  and 26 more",
    ]


@pytest.mark.parametrize(
    ("state", "error", "told"),
    [
        ("failed", {"type": "data", "detail": "the target is constant"}, "job job_1 failed: the target is constant"),
        ("cancelled", None, "job job_1 cancelled"),
    ],
)
def test_a_job_that_ended_badly_is_told_by_its_state(state: str, error: Any, told: str) -> None:
    job = {"id": "job_1", "state": state, "error": error, "message": ""}
    with client(lambda _: httpx.Response(200, json=job)) as rulewood:
        with pytest.raises(RulewoodError) as caught:
            rulewood.wait("job_1")
        assert (caught.value.status, str(caught.value)) == (0, told)
        assert rulewood.wait("job_1", check=False) == job


def test_waiting_goes_on_over_late_answers_and_lost_connections() -> None:
    losses: list[Exception | int] = [
        httpx.ReadTimeout("late"),
        httpx.ConnectTimeout("late"),
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("closed without an answer"),
        429,
        503,
    ]
    states = [*losses, "running", "succeeded"]

    def answer(request: httpx.Request) -> httpx.Response:
        state = states.pop(0)
        if isinstance(state, Exception):
            raise state
        if isinstance(state, int):
            return httpx.Response(state, json={"title": "Not just now"})
        return httpx.Response(200, json={"id": "jb_1", "state": state})

    with client(answer) as rulewood:
        assert rulewood.wait("jb_1")["state"] == "succeeded"
    assert not states


def test_waiting_ends_by_its_own_time_with_the_last_loss_and_at_once_where_it_is_refused() -> None:
    def lost(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    with client(lost) as rulewood, pytest.raises(TimeoutError, match="jb_1: no answer") as caught:
        rulewood.wait("jb_1", timeout=0)
    assert isinstance(caught.value.__cause__, httpx.ReadTimeout)
    gone = client(lambda _: httpx.Response(404, json={"title": "There is no such thing"}))
    with gone as rulewood, pytest.raises(RulewoodError) as refused:
        rulewood.wait("jb_1")
    assert refused.value.status == 404


def test_a_server_that_is_slower_than_one_look_may_take_is_asked_again() -> None:
    """Each answer but the last is held back for longer than the client waits for one."""
    hold, asked = threading.Event(), 0

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal asked
            asked += 1
            if asked < 3:
                hold.wait()
                return
            body = b'{"id": "jb_1", "state": "succeeded"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with Rulewood(f"http://127.0.0.1:{server.server_port}", timeout=2.0) as rulewood:
                assert rulewood.wait("jb_1")["state"] == "succeeded"
        finally:
            hold.set()
            server.shutdown()
            thread.join()
    assert asked >= 3
