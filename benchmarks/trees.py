"""Growing an exact, unpruned tree: ours and scikit-learn's, side by side in one run.

    python benchmarks/trees.py [--rounds 3] [--quick] [--only adult]

Each case is run in interleaved rounds; the table shows medians, the ratio of medians and the least
and greatest ratio of a round. scikit-learn gets the same rows as float32 in row order, as it wants
them. Nominal columns it gets as one 0/1 column a level, which lets it ask what we ask, or as ordinal codes,
which makes it ask other questions; a missing number as NaN, which it sends to one side of a test, as
our ``missing="most-likely"`` does, and a missing level as one more level. Peak memory is that of a process of
its own, less what the process held before ``fit``. Compilation is not counted: it is done once and cached.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier as Peer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.table import Column, Kind, Series, Table, nominal_levels, parse_number
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.traverse import pack
from learners.types import FloatArray, IntArray
from tests.shared import table_path

CASES = {"1,000 x 20": (1_000, 20), "100,000 x 20": (100_000, 20), "500,000 x 10": (500_000, 10)}
PLAIN = ({}, {"criterion": "entropy"})
THREADS = (*PLAIN, {"threads": 2})
#: What is done with missing values, by criterion.
GAPS = tuple({"missing": rule} | params for rule in ("fractional", "most-likely", "as-value") for params in PLAIN)
#: Every case and the parameters that it is run with.
RUNS = dict.fromkeys(CASES, THREADS) | {
    "100,000 x 20, weights": PLAIN,
    "100,000 x 20, gaps": GAPS,
    "100,000 x 20, gaps and weights": GAPS[:4],
    "adult, one-hot": THREADS,
    "adult, codes": PLAIN,
    "adult, all codes": PLAIN,
    "adult, gaps": GAPS,
    "adult, gaps and weights": GAPS[:4],
    "adult, gaps as codes": GAPS[:4],
}
#: Share of the cells that are missing in a made table with gaps.
MISSING_SHARE = 0.1


class Data(NamedTuple):
    """What both learn from; ``X`` is the peer's."""

    table: Table
    target: Series
    X: FloatArray
    y: IntArray
    weights: FloatArray | None = None


def made(rows: int, columns: int, extra: str = "") -> Data:
    """Random classification data: ten informative columns, the rest noise; ``extra`` asks for gaps and weights."""
    X, y = make_classification(
        rows, columns, n_informative=min(10, columns), n_redundant=0, flip_y=0.05, random_state=0
    )
    if "gaps" in extra:
        X[np.random.default_rng(0).random(X.shape) < MISSING_SHARE] = np.nan
    target = Series(Column("y", Kind.NOMINAL, ("0", "1")), y.astype(float))
    return Data(Table.from_array(X), target, X, y, weights_of(rows, extra))


def weights_of(rows: int, extra: str) -> FloatArray | None:
    """Weights between 1/2 and 3/2 where they are asked for."""
    return np.random.default_rng(1).uniform(0.5, 1.5, rows) if "weights" in extra else None


def adult(encoding: str) -> Data:
    """Adult: ours as typed columns, the peer as it can take them.

    Without rows that have a missing cell: ``one-hot``: a 0/1 column for each level, the usual way. ``codes``: the
    position of the level, which makes the peer ask for ranges of codes in alphabetical order. ``all codes``: ours
    gets the codes too.

    All rows: ``gaps``, ``gaps and weights``: the peer gets a 0/1 column for each level and one for missing.
    ``gaps as codes``: it gets codes, and -1 for a missing cell.
    """
    with table_path("adult-train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns, cells = [], {}
    for name in rows[0]:
        texts = [row[name] or None for row in rows]
        known = [text for text in texts if text is not None]
        numeric = name != "income" and all(parse_number(text) is not None for text in known)
        columns.append(Column(name) if numeric else Column(name, Kind.NOMINAL, nominal_levels(name, known)))
        cells[name] = texts
    table = Table.from_columns(cells, columns)
    X, y = table.drop(["income"]), table.column("income")
    if encoding == "gaps as codes":
        return Data(X, y, np.nan_to_num(X.values, nan=-1.0), y.cells.astype(int))
    if encoding.startswith("gaps"):
        peer = np.column_stack([one_hot(X, index) for index in range(X.n_columns)])
        return Data(X, y, peer, y.cells.astype(int), weights_of(X.n_rows, encoding))
    kept = ~np.isnan(X.values).any(axis=1)
    X, y = X.take(kept), y.take(kept)
    peer = np.column_stack([one_hot(X, index) for index in range(X.n_columns)]) if encoding == "one-hot" else X.values
    return Data(Table.from_array(X.values) if encoding == "all codes" else X, y, peer, y.cells.astype(int))


def one_hot(table: Table, index: int):
    """A nominal column as one 0/1 column a level, and one for missing if any cell is; a numeric one as it is."""
    levels = len(table.columns[index].levels)
    cells = table.values[:, index]
    if levels == 0:
        return cells
    missing = np.isnan(cells)
    known = (cells[:, None] == np.arange(levels)).astype(float)
    return np.column_stack((known, missing.astype(float))) if missing.any() else known


def timed(run, clock=time.thread_time) -> float:
    """Seconds of processor time, which what else runs on the machine disturbs less; of several threads, real time."""
    start = clock()
    run()
    return clock() - start


def compare(data, rounds: int, **params):
    """Median seconds of both, and the ratios by round; small cases repeat within a round."""
    table, target, X, y, weights = data
    peer_X = np.ascontiguousarray(X, dtype=np.float32)
    criterion = params.get("criterion", "gini")
    ours, peers = [], []
    repeats = 20 if len(y) <= 2000 else 1
    clock = time.thread_time if params.get("threads", 1) == 1 else time.perf_counter
    DecisionTreeClassifier(**params).fit(table, target, weights)
    for _ in range(rounds):
        own, peer = DecisionTreeClassifier(**params), Peer(criterion=criterion, random_state=0)
        ours.append(min(timed(partial(own.fit, table, target, weights), clock) for _ in range(repeats)))
        peers.append(min(timed(partial(peer.fit, peer_X, y, weights), clock) for _ in range(repeats)))
    ratios = [peer / own for own, peer in zip(ours, peers, strict=True)]
    return statistics.median(ours), statistics.median(peers), ratios


def peak(case: str, which: str) -> float:
    """Greatest memory of one fit in MB beyond what the process held before, in a process of its own."""
    program = [sys.executable, __file__, "--peak", case, "--which", which]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def measure_peak(case: str, which: str) -> None:
    table, target, X, y, _ = data_of(case)
    small = np.arange(200)
    if which == "ours":
        del X
        DecisionTreeClassifier().fit(table.take(small), target.take(small))
        model, arguments = DecisionTreeClassifier(), (table, target)
    else:
        X = np.ascontiguousarray(X, dtype=np.float32)
        del table
        Peer().fit(X[small], y[small])
        model, arguments = Peer(random_state=0), (X, y)
    before = resident()
    reset_peak()
    model.fit(*arguments)
    print((high_water() - before) / 1e6)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def high_water() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def data_of(case: str):
    if case.startswith("adult"):
        return adult(case.split(", ")[1])
    size, _, extra = case.partition(", ") if case not in CASES else (case, "", "")
    return made(*CASES[size], extra)


def asked_for(params) -> str:
    """Parameters in words."""
    said = [params.get("criterion", "gini")]
    said += [params["missing"]] if "missing" in params else []
    return ", ".join([*said, f"{params['threads']} threads"] if "threads" in params else said)


def growth_table(rounds: int) -> None:
    print("\n| rows | columns | seconds | ns per row, column and log2(rows) |\n|---|---|---|---|")
    shapes = [(n, 20) for n in (2_000, 8_000, 32_000, 128_000)] + [(32_000, d) for d in (5, 10, 40)]
    for rows, columns in shapes:
        table, target, *_ = made(rows, columns)
        seconds = statistics.median(timed(partial(DecisionTreeClassifier().fit, table, target)) for _ in range(rounds))
        print(f"| {rows:,} | {columns} | {seconds:.3f} | {seconds * 1e9 / (rows * columns * np.log2(rows)):.2f} |")


def prediction_table(rounds: int) -> None:
    table, target, X, y, _ = made(100_000, 20)
    model = DecisionTreeClassifier(max_leaves=1000).fit(table, target)
    peer = Peer(max_leaf_nodes=1000, random_state=0).fit(X, y)
    peer_X = np.ascontiguousarray(X, dtype=np.float32)
    packed = pack(model.tree_, model.columns_, regression=False)
    row, out = X[0].copy(), np.empty(2)
    packed.predict_row(row, out)
    packed.predict(np.ascontiguousarray(X.T))
    calls = 20_000
    one = statistics.median(timed(lambda: [packed.predict_row(row, out) for _ in range(calls)]) for _ in range(rounds))
    ours = statistics.median(timed(lambda: model.predict_proba(table)) for _ in range(rounds))
    theirs = statistics.median(timed(lambda: peer.predict_proba(peer_X)) for _ in range(rounds))
    print(f"\nOne row through a tree of {model.n_leaves_} leaves, in the process: {one / calls * 1e6:.2f} us a call.")
    print(f"Batch of 100,000 rows: {ours * 1e3:.1f} ms, scikit-learn {theirs * 1e3:.1f} ms, ratio {theirs / ours:.2f}.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="leave out the largest case and the curves")
    parser.add_argument("--only", default="", help="only cases whose name holds this text, and no curves")
    parser.add_argument("--peak")
    parser.add_argument("--which")
    asked = parser.parse_args()
    if asked.peak:
        measure_peak(asked.peak, asked.which)
        return
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__},")
    print(f"scikit-learn {sklearn.__version__}, {asked.rounds} interleaved rounds, load {os.getloadavg()[0]:.1f}\n")
    print("| data | asked | ours s | scikit-learn s | ratio | least-greatest | peak MB ours / peer / data |")
    print("|---|---|---|---|---|---|---|")
    for case, runs in RUNS.items():
        if (asked.quick and case == "500,000 x 10") or asked.only not in case:
            continue
        data = data_of(case)
        size = data.table.values.nbytes / 1e6
        for params in runs:
            ours, peer, ratios = compare(data, asked.rounds, **params)
            memory = f"{peak(case, 'ours'):.0f} / {peak(case, 'peer'):.0f} / {size:.0f}" if not params else ""
            figures = f"{ours:.4f} | {peer:.4f} | {peer / ours:.1f} | {min(ratios):.1f}-{max(ratios):.1f} | {memory}"
            print(f"| {case} | {asked_for(params)} | {figures} |", flush=True)
    if asked.only:
        return
    if not asked.quick:
        growth_table(asked.rounds)
    prediction_table(asked.rounds)


if __name__ == "__main__":
    main()
