"""10-fold cross-validation of a tree on adult as a job, from POST to finished, against scikit-learn's on two cores.

    python benchmarks/evaluation.py [--rounds 3] [--processes 2] [--library]

Ours: a service of its own with two training processes; from the job's creation by `POST /jobs` to its end.
Its result has ten metrics with two intervals each, the pooled confusion matrix, calibration and how stable the rules
are. The peer: `cross_validate(DecisionTreeClassifier(), ..., cv=StratifiedKFold(10, shuffle=True), n_jobs=2)` with
accuracy alone, its processes started before. It gets nominal columns one-hot, or as ordinal codes, by which it
asks other questions. Rows without a missing cell, and all rows with their gaps. Rounds are interleaved. Real time is
what a user waits; training processes stand behind all others in line (`nice`), so on a busy machine only the
processor's time, of all processes of each side, says anything.

``--library`` tells instead how many single fits ten folds take in one process, by processor time: fitted, answered
and judged.
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
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import psutil
import sklearn
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier as Peer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.trees import adult, made
from learners.evaluation import cross_validate as ten_folds
from learners.trees import DecisionTreeClassifier
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


class Taken(NamedTuple):
    """Real seconds, the processor's seconds, and the mean accuracy."""

    real: float
    processor: float
    accuracy: float


def processor_seconds(*, of_peer: bool) -> float:
    """Time of the processor that this process's children have taken: the service's, or the peer's."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            if ("loky" in " ".join(child.cmdline())) == of_peer:
                times = child.cpu_times()
                total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


def wait_until_idle() -> None:
    """The service compiles or loads the kernels of every learner beside its first work: that is not measured."""
    busy = True
    while busy:
        before = processor_seconds(of_peer=False)
        time.sleep(2.0)
        busy = processor_seconds(of_peer=False) - before > 0.5


def ours(client: Rulewood, dataset: str, seed: int) -> Taken:
    """Real seconds are from the job's own times: asking for it again and again would be work of its own."""
    before = processor_seconds(of_peer=False)
    job = client.wait(client.cross_validate(dataset, target="income", learner=LEARNER, seed=seed))
    processor = processor_seconds(of_peer=False) - before
    created, finished = (datetime.fromisoformat(job[name]) for name in ("created_at", "finished_at"))
    accuracy = job["result"]["evaluation"]["metrics"]["accuracy"]["mean"]
    return Taken((finished - created).total_seconds(), processor, accuracy)


def peers(data, seed: int) -> Taken:
    before, start = processor_seconds(of_peer=True), time.perf_counter()
    own = time.process_time()
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    found = cross_validate(Peer(random_state=seed), data.X, data.y, cv=folds, n_jobs=2)
    seconds, own = time.perf_counter() - start, time.process_time() - own
    return Taken(seconds, processor_seconds(of_peer=True) - before + own, float(found["test_score"].mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--library", action="store_true")
    chosen = parser.parse_args()
    os.environ["RULEWOOD_PROCESSES"] = str(chosen.processes)
    versions = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    print(f"{platform.platform()}, {versions}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if chosen.library:
        in_one_process(chosen.rounds)
        return
    print(f"{chosen.rounds} interleaved rounds; medians of seconds and of accuracy, and the least and greatest ratio\n")
    print(
        "| rows | peer's encoding | ours, s | peer, s | ratio | ours, processor s | peer | ratio | accuracy | peer's |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder, started_service(Path(folder)) as address:
        measure(address, chosen.rounds)


def in_one_process(rounds: int) -> None:
    print("| table | tree | one fit, ms | ten folds, ms | single fits |\n|---|---|---|---|---|")
    tables = {
        "adult": adult("one-hot"),
        "adult with gaps": adult("gaps"),
        "20,000 x 20": made(20_000, 20),
        "20,000 x 20 with gaps": made(20_000, 20, "gaps"),
        "100,000 x 20": made(100_000, 20),
    }
    for table, data in tables.items():
        for params in ({}, {"criterion": "entropy"}, {"max_depth": 5}):
            tree = DecisionTreeClassifier(**params)

            def fit(tree=tree, data=data) -> None:
                tree.fit(data.table, data.target)

            def folds(tree=tree, data=data) -> None:
                ten_folds(tree, data.table, data.target)

            fit(), folds()
            pairs = [(processor(fit), processor(folds)) for _ in range(rounds)]
            one, ten = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(b / a for a, b in pairs)
            print(f"| {table} | {params or 'unpruned'} | {one * 1e3:.1f} | {ten * 1e3:.1f} | {ratio:.2f} |", flush=True)


def processor(work: Callable[[], None]) -> float:
    """The processor's seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(address: str, rounds: int) -> None:
    with Rulewood(address) as client:
        for table, encodings in TABLES.items():
            dataset = client.upload(upload_of(table), name=f"adult-{table}.csv")["id"]
            ours(client, dataset, 0)
            wait_until_idle()
            for encoding in encodings:
                data = adult(encoding)
                peers(data, 0)
                report(table, encoding, [(ours(client, dataset, n), peers(data, n)) for n in range(1, rounds + 1)])


def report(table: str, encoding: str, pairs: list[tuple[Taken, Taken]]) -> None:
    cells = [table, encoding]
    for name in ("real", "processor"):
        mine, other = ([getattr(pair[side], name) for pair in pairs] for side in (0, 1))
        ratios = [b / a for a, b in zip(mine, other, strict=True)]
        medians = statistics.median(mine), statistics.median(other)
        cells += [f"{medians[0]:.2f}", f"{medians[1]:.2f}"]
        cells.append(f"{medians[1] / medians[0]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    cells += [f"{statistics.median(pair[side].accuracy for pair in pairs):.4f}" for side in (0, 1)]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
