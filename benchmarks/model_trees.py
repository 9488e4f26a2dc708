"""Errors of our model trees beside Weka's M5P and our own regression trees.

    python benchmarks/model_trees.py [--runs 3]

The preset ``m5`` by 10-fold cross-validation, averaged over several seeds; Weka's M5P (3.6.14) by 3 to 5 runs of
the same (see the data's manifest). The relative error is the root mean squared error of a fold divided by the
deviation of the target in all rows. "Worse" is more than one standard error above M5P, that of the mean of 10 folds.

Then Friedman's first problem, 200 rows to learn from and 1,000 others: of the shared files, which M5P had too, and of
samples that are drawn, with their standard error; and what Breiman (1996, quoted) has for single regression trees, as
squared errors.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.samples import friedman
from learners.base import Learner
from learners.catalog import make
from learners.evaluation.folds import k_fold
from learners.table import Column, Series, Table
from tests.learners.tables import read_file
from tests.learners.trees.model_tree.tables import numeric_target
from tests.shared import SHARED

#: Table: target, columns that are no attributes.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "auto-mpg": ("mpg", ("car_name",)),
    "machine-cpu": ("class", ()),
    "servo": ("class", ()),
    "housing": ("class", ()),
    "abalone": ("Class_Rings", ()),
}
CART = ("decision-tree-regressor", {"preset": "cart", "alpha_folds": 5})
#: Samples of Friedman's problem.
SAMPLES = 20


def weka(table: str, learner: str) -> tuple[float, float]:
    """Root mean squared error and its standard deviation over folds, 0 of a single test part."""
    with (SHARED / "data" / "baselines.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["dataset"], row["learner"]) == (table, learner):
                return float(row["mean"]), float(row["std"] or 0)
    raise KeyError((table, learner))


def errors_of(learner: Learner, table: Table, target: Series, runs: int) -> tuple[list[float], float]:
    """The root mean squared error of each fold of each run, and the mean number of leaves."""
    errors, leaves = [], []
    for seed in range(runs):
        plan = k_fold(len(target), 10, seed)
        for fold in range(len(plan)):
            train, test = plan[fold].train, plan[fold].test
            fitted = learner.fit(table.take(train), target.take(train))
            rests = fitted.predict(table.take(test)) - target.cells[test]
            errors.append(math.sqrt(float(np.mean(rests**2))))
            leaves.append(fitted.n_leaves_)  # type: ignore[attr-defined]
    return errors, statistics.mean(leaves)


def root_of_squares(learner: Learner, train: tuple[Table, Series], test: tuple[Table, Series]) -> float:
    """The root mean squared error on a test part."""
    rests = learner.fit(*train).predict(test[0]) - test[1].cells
    return math.sqrt(float(np.mean(rests**2)))


def show_friedman() -> None:
    folder = SHARED / "data" / "generated"
    own = tuple(numbers(read_file(folder / f"friedman1-{part}.csv", "y")) for part in ("train200", "test1000"))
    pairs = [(friedman(200, seed), friedman(1_000, 100_000 + seed)) for seed in range(SAMPLES)]
    print("\n| Friedman 1, RMSE | the shared sample | drawn samples | their squares | M5P, shared sample |")
    print("|---|---|---|---|---|")
    for name, learner in (("`m5`", make("model-tree-regressor", {"preset": "m5"})), ("`cart`", make(*CART))):
        errors = np.array([root_of_squares(learner, *pair) for pair in pairs])
        drawn = f"{errors.mean():.2f} +- {errors.std(ddof=1) / math.sqrt(SAMPLES):.2f}"
        theirs = f"{weka('friedman1', 'M5P')[0]:.2f}" if name == "`m5`" else ""
        print(f"| {name} | {root_of_squares(learner, *own):.2f} | {drawn} | {(errors**2).mean():.1f} | {theirs} |")


def numbers(rows: tuple[Table, Series]) -> tuple[Table, Series]:
    """A target that was read as labels, as numbers."""
    table, texts = rows
    return table, Series(Column("y"), np.array([float(texts.column.decode(cell)) for cell in texts.cells.tolist()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("| data | rows | `m5` RMSE | relative | leaves | M5P RMSE | regression tree RMSE | worse than M5P |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (column, drop) in TABLES.items():
        table, target = numeric_target(name, column, drop)
        started = time.perf_counter()
        errors, leaves = errors_of(make("model-tree-regressor", {"preset": "m5"}), table, target, arguments.runs)
        seconds = (time.perf_counter() - started) / len(errors)
        tree, _ = errors_of(make(*CART), table, target, arguments.runs)
        theirs, deviation = weka(name, "M5P")
        ours = statistics.mean(errors)
        worse = "worse" if ours > theirs + deviation / math.sqrt(10) else ""
        print(
            f"| {name} | {len(target)} | {ours:.3f} | {100 * ours / target.cells.std():.1f} % | {leaves:.1f} "
            f"| {theirs:.3f} | {statistics.mean(tree):.3f} | {worse} |"
        )
        print(f"{name}: {1000 * seconds:.0f} ms a fit", file=sys.stderr)
    show_friedman()


if __name__ == "__main__":
    main()
