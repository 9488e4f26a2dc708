"""10-fold cross-validation of a tree on adult as a job, from POST to finished, against scikit-learn's on two cores.

    python benchmarks/evaluation.py [--rounds 3] [--processes 2]

Ours: a service of its own with two training processes; `POST /jobs`, then the job is asked for until it has ended.
Its result has ten metrics with two intervals each, the pooled confusion matrix, calibration and how stable the rules
are. The peer: `cross_validate(DecisionTreeClassifier(), ..., cv=StratifiedKFold(10, shuffle=True), n_jobs=2)` with
accuracy alone, its processes started before. It gets nominal columns one-hot, or as ordinal codes, by which it
asks other questions. Rows without a missing cell, and all rows with their gaps. Rounds are interleaved; the times are
real time, so quote ratios, and only from a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import sklearn
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier as Peer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.trees import adult
from service.client import Rulewood
from service.demo.road import started_service
from tests.shared import table_path

#: By table, the peer's encodings.
TABLES = {"complete": ("one-hot", "codes"), "gaps": ("gaps", "gaps as codes")}
LEARNER = "decision-tree-classifier"


def upload_of(table: str) -> bytes:
    """Adult as it is uploaded: all rows, or those without a missing cell."""
    with table_path("adult-train.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    kept = [row for row in rows if table == "gaps" or all(row)]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *kept])
    return out.getvalue().encode()


def ours(client: Rulewood, dataset: str, seed: int) -> tuple[float, float]:
    """Seconds from submission to the end, and the mean accuracy."""
    start = time.perf_counter()
    job = client.cross_validate(dataset, target="income", learner=LEARNER, seed=seed)
    while (ended := client.job(job["id"]))["state"] in ("queued", "running"):
        time.sleep(0.01)
    seconds = time.perf_counter() - start
    assert ended["state"] == "succeeded", ended
    return seconds, ended["result"]["evaluation"]["metrics"]["accuracy"]["mean"]


def peers(data, seed: int) -> tuple[float, float]:
    start = time.perf_counter()
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    found = cross_validate(Peer(random_state=seed), data.X, data.y, cv=folds, n_jobs=2)
    return time.perf_counter() - start, float(found["test_score"].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    os.environ["RULEWOOD_PROCESSES"] = str(chosen.processes)
    versions = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    print(f"{platform.platform()}, {versions}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{chosen.rounds} interleaved rounds; medians of seconds and of accuracy, and the least and greatest ratio\n")
    print("| rows | peer's encoding | ours | peer | ratio | accuracy, ours | peer |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, started_service(Path(folder)) as address:
        measure(address, chosen.rounds)


def measure(address: str, rounds: int) -> None:
    with Rulewood(address) as client:
        for table, encodings in TABLES.items():
            dataset = client.upload(upload_of(table), name=f"adult-{table}.csv")["id"]
            ours(client, dataset, 0)  # kernels are compiled and loaded
            for encoding in encodings:
                data = adult(encoding)
                peers(data, 0)
                report(table, encoding, [(ours(client, dataset, n), peers(data, n)) for n in range(1, rounds + 1)])


def report(table: str, encoding: str, pairs: list) -> None:
    mine, other = ([pair[side] for pair in pairs] for side in (0, 1))
    ratios = [b[0] / a[0] for a, b in pairs]
    seconds = [statistics.median(one[0] for one in side) for side in (mine, other)]
    accuracy = [statistics.median(one[1] for one in side) for side in (mine, other)]
    ratio = f"{seconds[1] / seconds[0]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    told = f"| {table} | {encoding} | {seconds[0]:.2f} | {seconds[1]:.2f} | {ratio} "
    print(f"{told}| {accuracy[0]:.4f} | {accuracy[1]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
