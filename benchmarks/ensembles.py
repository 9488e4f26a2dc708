"""Boosted stumps and random forests on adult beside scikit-learn: time to fit and to answer, and accuracy.

    OMP_NUM_THREADS=1 python benchmarks/ensembles.py [--rounds 3] [--threads 2] [--members 100] [--stumps 200]
        [--only forest,boosting]

Learned from the training rows, judged on the test rows. Ours gets typed columns, gaps included; the peer the usual
0/1 column a level (``one-hot``), or the level's place as a number (``codes``), a gap as -1. Both in turns; told are the
medians of the time that passed and of processor time, which other work on the machine changes less. Forests of both
draw the square root of the columns for each node; ours judges no rows out of bag, as the peer does by default.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.ensemble import AdaBoostClassifier as PeerBoosting
from sklearn.ensemble import RandomForestClassifier as PeerForest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.ensembles import AdaBoostClassifier, RandomForestClassifier
from learners.matching import conform
from learners.table import Table
from learners.types import FloatArray
from tests.learners.tables import read


class Case(NamedTuple):
    """What is fitted, to what, and what it is asked."""

    make: Callable[[], Any]
    X: Any
    y: Any
    asked: Any
    truth: Any


def one_hot(table: Table) -> FloatArray:
    """A 0/1 column for each level, and one for missing; numbers as they are."""
    parts = []
    for column, cells in zip(table.columns, table.values.T, strict=True):
        codes = np.where(np.isnan(cells), -1, cells)[:, None]
        parts.append(codes if column.is_numeric else (codes == np.arange(-1, len(column.levels))).astype(float))
    return np.column_stack(parts)


def cases(kind: str, options: argparse.Namespace) -> dict[str, Case]:
    table, target = read("adult-train", "income")
    tested, truth = read("adult-test", "income")
    tested = conform(tested, table.columns)
    labels = np.array(target.column.labels)[target.codes], np.array(truth.column.labels)[truth.codes]
    threads = options.threads
    if kind == "forest":
        ours = lambda: RandomForestClassifier(members=options.members, threads=threads, out_of_bag=False)  # noqa: E731
        peer = lambda: PeerForest(options.members, n_jobs=threads, random_state=0)  # noqa: E731
    else:
        ours = lambda: AdaBoostClassifier(members=options.stumps)  # noqa: E731
        peer = lambda: PeerBoosting(n_estimators=options.stumps, random_state=0)  # noqa: E731
    found = {"here": Case(ours, table, target, tested, labels[1])}
    for encoding, coded in (("one-hot", one_hot), ("codes", lambda rows: np.nan_to_num(rows.values, nan=-1.0))):
        found[f"scikit-learn, {encoding}"] = Case(peer, coded(table), labels[0], coded(tested), labels[1])
    return found


def clocks() -> FloatArray:
    """Time that passed, and processor time of all threads."""
    return np.array([time.perf_counter(), time.process_time()])


def measure(case: Case) -> FloatArray:
    """Seconds to fit, to answer for the first time and again, each by both clocks, and the share of right answers."""
    start = clocks()
    model = case.make().fit(case.X, case.y)
    fitted = clocks()
    model.predict(case.asked)
    first = clocks()
    answers = model.predict(case.asked)
    again = clocks()
    right = float(np.mean(np.asarray(answers) == case.truth))
    return np.concatenate((fitted - start, first - fitted, again - first, [right]))


def show(kind: str, options: argparse.Namespace) -> None:
    own = cases(kind, options)
    warm = argparse.Namespace(**(vars(options) | {"members": 2, "stumps": 2}))
    measure(cases(kind, warm)["here"])  # kernels are compiled before
    taken: dict[str, list[FloatArray]] = {name: [] for name in own}
    for _ in range(options.rounds):
        for name, case in own.items():
            taken[name].append(measure(case))
    said = f"forest of {options.members} trees" if kind == "forest" else f"AdaBoost, {options.stumps} stumps"
    print(f"| adult, {said}; seconds, processor seconds | fit | first answer to 16,281 rows | again | right % |")
    print("|---|---|---|---|---|")
    for name, rounds in taken.items():
        *times, right = np.median(rounds, axis=0).tolist()
        told = [f"{passed:.2f}, {worked:.2f}" for passed, worked in zip(times[::2], times[1::2], strict=True)]
        print(f"| {name} | {' | '.join(told)} | {100 * right:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--stumps", type=int, default=200)
    parser.add_argument("--only", default="boosting,forest")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}\n")
    for kind in options.only.split(","):
        show(kind, options)
        print()


if __name__ == "__main__":
    main()
