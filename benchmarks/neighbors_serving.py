"""One-row predictions over HTTP by nearest neighbours beside those by a tree, both of 50,000 rows, in turns with wrk.

    python benchmarks/neighbors_serving.py [--rounds 3] [--seconds 3] [--columns 2,3]

Both models are served by one process. 500 different rows are asked in turn, so no answer is ready: once before the
process has taken up machine code, if that is compiled on this machine, and once after. All answers are compared with
the library's, and the process's memory is told. What the search alone takes, and how many rows it looks at, is told
beside scipy's cKDTree, which is asked for all 500 rows in one call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.serving import free_port, memory, process, processor_seconds
from learners.base import Learner
from learners.catalog import dump_model
from learners.compilation import compile_native, marks
from learners.neighbors import NearestNeighborsClassifier
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from service import registry
from service.operations.keys import DEFAULT_WORKSPACE
from service.settings import Settings
from service.store.blobs import Blobs
from service.store.session import Store

ROWS, ASKED = 50_000, 500
#: Seconds in which a process takes up machine code that is there.
_TAKING_UP = 2.0
WRK = """
local bodies = {{}}
for line in io.lines("{bodies}") do bodies[#bodies + 1] = line end
local place = 0
request = function()
  place = place % #bodies + 1
  return wrk.format("POST", nil, {{["Content-Type"] = "application/json"}}, bodies[place])
end
done = function(summary, latency, requests)
  io.write(string.format("RESULT %f %d\\n", summary.requests / (summary.duration / 1e6), summary.errors.status))
end
"""


def register(settings: Settings, models: dict[str, Learner]) -> None:
    store = Store(settings.store_url)
    store.upgrade()
    blobs = Blobs(store, settings.cache, settings.cache_bytes)
    for name, model in models.items():
        sha256 = blobs.put_bytes(dump_model(model))
        with store.begin() as session:
            registry.register(
                session,
                DEFAULT_WORKSPACE,
                name,
                f"job_{name}",
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


def measure(n_columns: int, rounds: int, seconds: int, folder: Path) -> None:
    generator = np.random.default_rng(0)
    rows = generator.random((ROWS, n_columns))
    names = [f"x{index}" for index in range(n_columns)]
    codes = (rows.sum(axis=1) + generator.normal(0, 0.2, ROWS) > n_columns / 2).astype(float)
    target = Series(Column("side", Kind.NOMINAL, ("low", "high")), codes)
    table = Table.from_array(rows, names)
    models = {
        "tree": DecisionTreeClassifier(min_leaf=20).fit(table, target),
        "neighbours": NearestNeighborsClassifier().fit(table, target),
    }
    asked = generator.random((ASKED, n_columns))
    search_alone(n_columns, rows, asked, models["neighbours"])
    settings = Settings(data=folder / "data")
    register(settings, models)
    bodies = [json.dumps({"rows": [dict(zip(names, row, strict=True))]}) for row in asked.tolist()]
    (folder / "bodies").write_text("\n".join(bodies) + "\n")
    (folder / "wrk.lua").write_text(WRK.format(bodies=folder / "bodies"))
    port = free_port()
    command = [str(Path(sys.executable).with_name("rulewood")), "serve", "--no-worker", "--port", str(port)]
    with process([*command, "--data", str(folder / "data")], port, "/health/ready", {}) as (pid, _):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
            for name, wait in (("tree", 0.0), ("neighbours", _TAKING_UP), ("neighbours", 0.0)):
                start = time.perf_counter()
                compare(client, name, models[name], bodies, Table.from_array(asked, names))
                spent = time.perf_counter() - start
                print(
                    f"d = {n_columns}, {name}: {ASKED} answers in {spent:.1f} s, equal to the library's; "
                    f"{memory(pid):.0f} MB"
                )
                time.sleep(wait)
        for connections in (1, 16):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
            for _ in range(rounds):
                for name in models:
                    found[name].append(ask(folder, port, pid, name, connections, seconds))
            ratios = [mine[0] / tree[0] for mine, tree in zip(found["neighbours"], found["tree"], strict=True)]
            costs = [tree[1] / mine[1] for mine, tree in zip(found["neighbours"], found["tree"], strict=True)]
            rates = {name: statistics.median(rate for rate, _ in turns) for name, turns in found.items()}
            print(
                f"d = {n_columns}, {connections:2d} conn.: tree {rates['tree']:8.1f}/s, neighbours "
                f"{rates['neighbours']:8.1f}/s, rate {statistics.median(ratios):.1%} ({min(ratios):.1%} to "
                f"{max(ratios):.1%}), by processor time {statistics.median(costs):.1%}",
                flush=True,
            )


def compare(client: httpx.Client, name: str, model: Learner, bodies: list[str], rows: Table) -> None:
    address = f"/api/v1/models/{name}/predictions"
    answers = [client.post(address, content=body, headers=JSON).json() for body in bodies]
    told = [answer["predictions"][0]["probabilities"] for answer in answers]
    assert told == model.predict_proba(rows).tolist()


def search_alone(n_columns: int, rows: np.ndarray, asked: np.ndarray, model: NearestNeighborsClassifier) -> None:
    """Processor time of the search for all asked rows at once, ours and scipy's, the least of 15."""
    index, peer, k = model.index_, cKDTree(rows), int(model.k_)
    points = model.coordinates_.of(Table.from_array(asked, [column.name for column in model.columns_]))
    seen = index.tree.visits(points, k)[1]
    spent = {name: float("inf") for name in ("ours", "scipy")}
    for _ in range(15):
        for name, search in (("ours", lambda: index.nearest(points, k)), ("scipy", lambda: peer.query(asked, k))):
            start = time.process_time()
            search()
            spent[name] = min(spent[name], (time.process_time() - start) / ASKED * 1e6)
    print(
        f"d = {n_columns}, the search alone: {spent['ours']:.1f} us, scipy's {spent['scipy']:.1f} us; "
        f"{seen.mean():.0f} rows compared"
    )


JSON = {"content-type": "application/json"}


def ask(folder: Path, port: int, pid: int, name: str, connections: int, seconds: int) -> tuple[float, float]:
    """Requests a second, and processor seconds of the server per request."""
    address = f"http://127.0.0.1:{port}/api/v1/models/{name}/predictions"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(folder / "wrk.lua"), address]
    before = processor_seconds(pid)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spent = processor_seconds(pid) - before
    rate, errors = next(line.split()[1:] for line in said.splitlines() if line.startswith("RESULT"))
    assert errors == "0", said
    return float(rate), spent / (float(rate) * seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--columns", default="2,3")
    arguments = parser.parse_args()
    folder = marks()
    if folder is None:
        print("no folder of machine code (NUMBA_CACHE_DIR): all is answered without")
    else:
        compile_native(folder)
    for n_columns in map(int, arguments.columns.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            measure(n_columns, arguments.rounds, arguments.seconds, Path(folder))


if __name__ == "__main__":
    main()
