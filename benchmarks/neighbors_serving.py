"""One-row predictions over HTTP by nearest neighbours beside those by a tree, both of 50,000 rows, in turns with wrk.

    python benchmarks/neighbors_serving.py [--rounds 3] [--seconds 3] [--tables 2,3,adult,gaps] [--explain]
                                           [--processors 0,1]

A number stands for so many uniform numbers, ``adult`` for rows of adult drawn again, their numbers moved a little, as
those that are asked are, and ``gaps`` for the same asked with one cell missing. Both models are served by one process.
500 different rows are asked in turn, so no answer is ready: once before the process has taken up machine code, if that
is compiled on this machine, and once after. All answers, and reasons, are compared with the library's, and the
process's memory is told. What the search alone takes, and how many rows it looks at, is told beside scipy's cKDTree,
which is asked for all 500 rows in one call.

The server and wrk are each kept on a processor: left alone they are on one at times, where no processor waits for
another and rates are twice as high, and a turn of that kind beside one of the other says nothing of either model.
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
from tests.learners.tables import read

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


def uniform(n_columns: int) -> tuple[Table, Series, Table]:
    """Rows, their classes and rows to ask."""
    generator = np.random.default_rng(0)
    rows = generator.random((ROWS, n_columns))
    names = [f"x{index}" for index in range(n_columns)]
    codes = (rows.sum(axis=1) + generator.normal(0, 0.2, ROWS) > n_columns / 2).astype(float)
    target = Series(Column("side", Kind.NOMINAL, ("low", "high")), codes)
    return Table.from_array(rows, names), target, Table.from_array(generator.random((ASKED, n_columns)), names)


def adult(*, gaps: bool) -> tuple[Table, Series, Table]:
    """The same of adult, numbers moved by a hundredth of their deviation; asked are complete rows, or with a gap."""
    generator = np.random.default_rng(0)
    table, target = read("adult-train", "income")

    def drawn(among: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        rows = generator.choice(among, n_rows)
        values = table.values[rows].copy()
        for place, column in enumerate(table.columns):
            if column.is_numeric:
                values[:, place] += np.round(generator.normal(0, np.nanstd(values[:, place]) / 100, n_rows), 2)
        return values, rows

    values, rows = drawn(np.arange(table.n_rows), ROWS)
    asked, _ = drawn(np.flatnonzero(~np.isnan(table.values).any(axis=1)), ASKED)
    if gaps:
        asked[np.arange(ASKED), generator.integers(0, table.n_columns, ASKED)] = np.nan
    trained = Table(table.columns, np.asfortranarray(values))
    return trained, Series(target.column, target.cells[rows]), Table(table.columns, np.asfortranarray(asked))


def measure(said: str, options: argparse.Namespace, folder: Path) -> None:
    table, target, asked = adult(gaps=said == "gaps") if said in ("adult", "gaps") else uniform(int(said))
    models = {
        "tree": DecisionTreeClassifier(min_leaf=20).fit(table, target),
        "neighbours": NearestNeighborsClassifier().fit(table, target),
    }
    if said.isdigit():
        search_alone(table.values, asked, models["neighbours"])
    names = [column.name for column in table.columns]
    cells = zip(*(decoded(column, asked.values[:, place]) for place, column in enumerate(table.columns)), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    more = {"explain": True} if options.explain else {}
    bodies = [json.dumps({"rows": [row], **more}) for row in rows]
    settings = Settings(data=folder / "data")
    register(settings, models)
    (folder / "bodies").write_text("\n".join(bodies) + "\n")
    (folder / "wrk.lua").write_text(WRK.format(bodies=folder / "bodies"))
    port = free_port()
    serve = [str(Path(sys.executable).with_name("rulewood")), "serve", "--no-worker", "--port", str(port)]
    command = [*kept_on(options.processors[0]), *serve]
    with process([*command, "--data", str(folder / "data")], port, "/health/ready", {}) as (pid, _):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
            for name, wait in (("tree", 0.0), ("neighbours", _TAKING_UP), ("neighbours", 0.0)):
                start = time.perf_counter()
                compare(client, name, models[name], bodies, asked)
                spent = time.perf_counter() - start
                print(f"{said}, {name}: {ASKED} answers in {spent:.1f} s, equal to the library's; {memory(pid):.0f} MB")
                time.sleep(wait)
        for connections in (1, 16):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
            for _ in range(options.rounds):
                for name in models:
                    found[name].append(ask(folder, port, pid, name, connections, options))
            ratios = [mine[0] / tree[0] for mine, tree in zip(found["neighbours"], found["tree"], strict=True)]
            costs = [tree[1] / mine[1] for mine, tree in zip(found["neighbours"], found["tree"], strict=True)]
            least = {name: min(cost for _, cost in turns) for name, turns in found.items()}
            rates = {name: statistics.median(rate for rate, _ in turns) for name, turns in found.items()}
            print(
                f"{said}, {connections:2d} conn.: tree {rates['tree']:8.1f}/s, neighbours "
                f"{rates['neighbours']:8.1f}/s, rate {statistics.median(ratios):.1%} ({min(ratios):.1%} to "
                f"{max(ratios):.1%}), by processor time {statistics.median(costs):.1%}; of the quickest turns "
                f"{least['tree'] / least['neighbours']:.1%} ({1e6 * least['neighbours']:.0f} us)",
                flush=True,
            )


def compare(client: httpx.Client, name: str, model: Learner, bodies: list[str], rows: Table) -> None:
    address = f"/api/v1/models/{name}/predictions"
    answers = [client.post(address, content=body, headers=JSON).json() for body in bodies]
    told = [answer["predictions"][0] for answer in answers]
    assert [one["probabilities"] for one in told] == model.predict_proba(rows).tolist()
    if "explanation" in told[0]:
        reasons = json.loads(json.dumps([reason.to_json() for reason in model.explain(rows)]))
        assert [one["explanation"] for one in told] == reasons


def decoded(column: Column, cells: np.ndarray) -> list:
    return [None if np.isnan(cell) else column.decode(cell) for cell in cells.tolist()]


def search_alone(rows: np.ndarray, asked: Table, model: NearestNeighborsClassifier) -> None:
    """Processor time of the search for all asked rows at once, ours and scipy's, the least of 15."""
    index, k, n_columns = model.index_, int(model.k_), rows.shape[1]
    peer, points, asked = cKDTree(rows), model.coordinates_.of(asked), asked.values
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


def kept_on(processor: str) -> list[str]:
    """What keeps a command on one of the machine's processors."""
    return ["taskset", "-c", processor]


def ask(
    folder: Path, port: int, pid: int, name: str, connections: int, options: argparse.Namespace
) -> tuple[float, float]:
    """Requests a second, and processor seconds of the server per request."""
    address = f"http://127.0.0.1:{port}/api/v1/models/{name}/predictions"
    wrk = ["wrk", "-t1", f"-c{connections}", f"-d{options.seconds}s", "-s", str(folder / "wrk.lua"), address]
    command = [*kept_on(options.processors[1]), *wrk]
    before = processor_seconds(pid)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spent = processor_seconds(pid) - before
    rate, errors = next(line.split()[1:] for line in said.splitlines() if line.startswith("RESULT"))
    assert errors == "0", said
    return float(rate), spent / (float(rate) * options.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--tables", default="2,3")
    parser.add_argument("--explain", action="store_true", help="with the reason of each answer")
    parser.add_argument(
        "--processors",
        type=lambda said: said.split(","),
        default=["0", "1"],
        help="of the server and of wrk; may be the same",
    )
    options = parser.parse_args()
    folder = marks()
    if folder is None:
        print("no folder of machine code (NUMBA_CACHE_DIR): all is answered without")
    else:
        compile_native(folder)
    for said in options.tables.split(","):
        with tempfile.TemporaryDirectory() as folder:
            measure(said, options, Path(folder))


if __name__ == "__main__":
    main()
