"""Predictions over HTTP beside a bare uvicorn app that reads the body and returns a constant.

Both run as one process each and are measured in turns with wrk, so that both meet the same machine. The
model is a tree on scikit-learn's breast-cancer data (30 numeric columns); every answer is compared with
the library's, rows on thresholds and with missing values included.

    python benchmarks/serving.py [--rounds 3] [--seconds 3] [--only 1,explain,100,matrix,named,csv,arrow]
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import psutil
import pyarrow as pa
from sklearn.datasets import load_breast_cancer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.catalog import dump_model
from learners.compilation import compile_native, marks
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from service import registry
from service.operations.keys import DEFAULT_WORKSPACE
from service.settings import Settings
from service.store.blobs import Blobs
from service.store.session import Store

ARROW = "application/vnd.apache.arrow.stream"
ADDRESS = "/api/v1/models/cancer/predictions"
BARE = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})
"""
WRK = """
wrk.method = "POST"
local file = io.open("{body}", "rb")
wrk.body = file:read("*all")
file:close()
wrk.headers["Content-Type"] = "{media_type}"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %f %f %f %d %d %d\\n", summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    summary.requests, summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write))
end
"""


@dataclass(frozen=True)
class Case:
    """One kind of request, and the share of bare that it should reach."""

    name: str
    title: str
    body: bytes
    connections: tuple[int, ...]
    bar: float
    media_type: str = "application/json"


def make_model(folder: Path) -> tuple[DecisionTreeClassifier, list[str], np.ndarray]:
    """Train on the data and register the model in a new store in the folder."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    target = Series(Column("diagnosis", Kind.NOMINAL, ("malignant", "benign")), data.target.astype(float))
    model = DecisionTreeClassifier().fit(Table.from_array(data.data, names), target)
    settings = Settings(data=folder)
    store = Store(settings.store_url)
    store.upgrade()
    sha256 = Blobs(store, settings.cache, settings.cache_bytes).put_bytes(dump_model(model))
    with store.begin() as session:
        registry.register(
            session,
            DEFAULT_WORKSPACE,
            "cancer",
            "job_benchmark",
            dataset_id=None,
            blob_sha256=sha256,
            learner=model.name,
            task="classification",
            parameters={},
            schema={"missing_tokens": [""]},
            lineage={},
            metrics={},
        )
    store.dispose()
    return model, names, data.data


def make_cases(names: list[str], data: np.ndarray) -> list[Case]:
    many = np.tile(data, (18, 1))[:10_000]
    rows = [dict(zip(names, row, strict=True)) for row in many.tolist()]
    table = "\n".join([",".join(names), *(",".join(map(str, row)) for row in many.tolist())]).encode()
    few = (1, 16, 64)
    return [
        Case("1", "1 named row", _json(rows=rows[:1]), few, 0.50),
        Case("explain", "1 named row, explained", _json(rows=rows[:1], explain=True), few, 0.375),
        Case("100", "100 named rows", _json(rows=rows[:100]), (1, 16), 0.20),
        Case("matrix", "10,000 rows, columns + data", _json(columns=names, data=many.tolist()), (1, 4), 0.25),
        Case("named", "10,000 named rows", _json(rows=rows), (1, 4), 0.15),
        Case("csv", "10,000 rows of CSV", table, (1,), 0.0, "text/csv"),
        Case("arrow", "10,000 rows of Arrow", arrow_stream(names, many), (1,), 0.0, ARROW),
    ]


def arrow_stream(names: list[str], rows: np.ndarray) -> bytes:
    """The rows as an Arrow IPC stream."""
    table, sink = pa.table(dict(zip(names, rows.T, strict=True))), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _json(**body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def compare_answers(client: httpx.Client, model: DecisionTreeClassifier, names: list[str], data: np.ndarray) -> int:
    """Ask for all rows, all thresholds and rows with gaps, in every form; the number of answers compared."""
    rows = [*data.tolist()]
    for node in np.flatnonzero(model.tree_.feature >= 0):
        for value in (model.tree_.threshold[node], np.nextafter(model.tree_.threshold[node], np.inf)):
            row = data[0].tolist()
            row[model.tree_.feature[node]] = float(value)
            rows.append(row)
    gaps = np.random.default_rng(0).random((200, data.shape[1])) < 0.2
    rows += np.where(gaps, np.nan, data[:200]).tolist()
    expected = model.predict_proba(Table(model.columns_, np.asfortranarray(rows))).tolist()
    sent = [[None if cell != cell else cell for cell in row] for row in rows]
    named = [dict(zip(names, row, strict=True)) for row in sent]
    answers = [client.post(ADDRESS, json={"rows": [row]}).json()["predictions"][0] for row in named[::5]]
    assert [one["probabilities"] for one in answers] == expected[::5]
    for body in (
        {"rows": named},
        {"columns": names, "data": sent},
        {"rows": named * 3},
        {"rows": named, "explain": True},
    ):
        answered = client.post(ADDRESS, json=body).json()["predictions"]
        times = len(answered) // len(rows)
        assert [one["probabilities"] for one in answered] == expected * times
    lines = [",".join("" if cell is None else repr(cell) for cell in row) for row in sent * 3]
    table = "\n".join([",".join(names), *lines])
    read = csv.reader(io.StringIO(client.post(ADDRESS, content=table, headers={"content-type": "text/csv"}).text))
    header = next(read)
    places = [header.index(f"probability_{level}") for level in model.target_.levels]
    assert [[float(record[place]) for place in places] for record in read] == expected * 3
    return len(answers) + 9 * len(rows)


@contextmanager
def process(command: list[str], port: int, path: str, environment: dict[str, str]) -> Iterator[tuple[int, float]]:
    """A server and the seconds until it answered."""
    start = time.perf_counter()
    server = subprocess.Popen(
        command, env=os.environ | environment, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1]
    )
    try:
        while True:
            assert server.poll() is None, f"{command} ended"
            try:
                if httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False).status_code < 500:
                    break
            except httpx.TransportError:
                time.sleep(0.005)
        yield server.pid, time.perf_counter() - start
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Server(NamedTuple):
    """Where a server listens, and its process."""

    port: int
    pid: int


class Measured(NamedTuple):
    """Requests a second, 99th percentile of latency in ms, processor seconds of the server per request."""

    rate: float
    p99: float
    cost: float


def run_wrk(folder: Path, case: Case, server: Server, connections: int, seconds: float) -> Measured:
    """Let wrk ask for a while; every answer must have a good status."""
    body, script = folder / "body", folder / "wrk.lua"
    body.write_bytes(case.body)
    script.write_text(WRK.replace("{body}", str(body)).replace("{media_type}", case.media_type))
    address = f"http://127.0.0.1:{server.port}{ADDRESS}"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "30s", "-s", str(script), address]
    before = processor_seconds(server.pid)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spent = processor_seconds(server.pid) - before
    found = next(line.split() for line in said.splitlines() if line.startswith("RESULT"))
    assert found[5:] == ["0", "0"], said
    return Measured(float(found[1]), float(found[3]), spent / max(1.0, float(found[4])))


def processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def memory(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    native = marks()
    if native is not None:  # as a worker does; without a folder (NUMBA_CACHE_DIR) CSV is read by yyjson
        compile_native(native)
    model, names, data = make_model(folder / "data")
    (folder / "bare.py").write_text(BARE)
    ours, bare = free_port(), free_port()
    uvicorn = [sys.executable, "-m", "uvicorn", "--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    bare_command = [*uvicorn, "--app-dir", str(folder), "--port", str(bare), "bare:app"]
    our_command = [str(Path(sys.executable).with_name("rulewood")), "serve", "--no-worker", "--port", str(ours)]
    our_command += ["--data", str(folder / "data")]
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, ", end="")
    print(
        ", ".join(
            f"{name} {version(name)}" for name in ("uvicorn", "uvloop", "httptools", "msgspec", "yyjson", "numba")
        ),
        end=f", {arguments.rounds} rounds of {arguments.seconds} s\n",
    )
    starts = []
    # An installed package has its bytecode; a checkout may not, so it is kept here by a start that is not counted.
    compiled = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(arguments.rounds + 1):
        with process(our_command, ours, "/health/ready", compiled) as (pid, seconds):
            starts.append((seconds, processor_seconds(pid), memory(pid)))
    waited, spent, megabytes = zip(*starts[1:], strict=True)
    print(
        f"ready after {statistics.median(waited):.2f} s ({min(waited):.2f} to {max(waited):.2f}), "
        f"{statistics.median(spent):.2f} s of them processor time ({min(spent):.2f} to {max(spent):.2f}), "
        f"with {statistics.median(megabytes):.0f} MB"
    )
    with (
        process(bare_command, bare, "/", {}) as (bare_pid, _),
        process(our_command, ours, "/health/ready", {}) as (pid, _),
        httpx.Client(base_url=f"http://127.0.0.1:{ours}", trust_env=False, timeout=60) as client,
    ):
        client.post(ADDRESS, content=make_cases(names, data)[0].body, headers={"content-type": "application/json"})
        for case in make_cases(names, data):
            if arguments.only and case.name not in arguments.only.split(","):
                continue
            for connections in case.connections:
                measure_case(arguments, folder, case, connections, (Server(bare, bare_pid), Server(ours, pid)))
            print(f"{'':30s} memory {memory(pid):.0f} MB")
            if case.name in ("explain", "named"):  # comparing sends large bodies, so not before the memory is told
                print(f"{'':30s} {compare_answers(client, model, names, data)} answers equal the library's")


def measure_case(
    arguments: argparse.Namespace, folder: Path, case: Case, connections: int, servers: tuple[Server, Server]
) -> None:
    rounds = []
    for _ in range(arguments.rounds):
        theirs, mine = (run_wrk(folder, case, server, connections, arguments.seconds) for server in servers)
        rounds.append((theirs, mine))
    ratios = [mine.rate / theirs.rate for theirs, mine in rounds]
    costs = [theirs.cost / mine.cost for theirs, mine in rounds]
    theirs, mine = ([statistics.median(column) for column in zip(*of, strict=True)] for of in zip(*rounds, strict=True))
    print(
        f"{case.title:28s} {connections:3d} conn.: bare {theirs[0]:8.1f}/s p99 {theirs[1]:6.2f} ms | "
        f"ours {mine[0]:8.1f}/s p99 {mine[1]:6.2f} ms | rate {statistics.median(ratios):6.1%} "
        f"({min(ratios):.1%} to {max(ratios):.1%}), by processor time {statistics.median(costs):6.1%} "
        f"({min(costs):.1%} to {max(costs):.1%}), bar {case.bar:.0%}; p99 x{mine[1] / theirs[1]:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="of each turn")
    parser.add_argument("--only", default="")
    with tempfile.TemporaryDirectory() as folder:
        measure(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
