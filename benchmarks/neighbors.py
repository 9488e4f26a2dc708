"""Nearest neighbours: searches beside scipy's and scikit-learn's in turns, and published error rates.

    OMP_NUM_THREADS=1 python benchmarks/neighbors.py [--rounds 5] [--only visits,tree,brute,hashing,published]

``visits``: how many rows a query of the kd-tree is compared with, as the rows grow. ``tree``: queries a second in
batch, 100,000 uniform rows, one thread each, by processor time; all three find the same rows. ``brute``: the same of
the tree beside our own look at all rows, as the rows grow. ``hashing``: 100,000
rows of 64 numbers in 1,000 clusters that lie along 16 directions, which is how measured data are; queries a second
beside our own brute force and scikit-learn's, which multiply matrices too, on one thread, and the share of the true
10 neighbours that is found. ``published``: error rates of papers, quoted from the data sets' own documents, ours and
scikit-learn's with the same scaling, levels as 0/1 columns of half weight.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.spatial import cKDTree
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KDTree, KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.catalog import make
from learners.matching import conform
from learners.neighbors.distances import Metric
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.hash_fitting import fit_tables
from learners.neighbors.search.kd_tree import build
from learners.table import Series, Table
from tests.learners.tables import read

ROWS = 100_000


def processor_seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def in_turns(rounds: int, n_queries: int, searches: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Queries a second of each search, round by round."""
    for search in searches.values():
        search()
    rates: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, search in searches.items():
            rates[name].append(n_queries / processor_seconds(search))
    return rates


def visits() -> None:
    print("| d | rows | rows compared with, k = 1 | k = 5 |\n|---|---|---|---|")
    generator = np.random.default_rng(0)
    for n_columns in (2, 3, 8):
        for n_rows in (1_000, 10_000, 100_000, 1_000_000):
            tree = build(generator.random((n_rows, n_columns)), 2.0)
            queries = generator.random((2_000, n_columns))
            means = [tree.visits(queries, k)[1].mean() for k in (1, 5)]
            print(f"| {n_columns} | {n_rows:,} | {means[0]:.1f} | {means[1]:.1f} |", flush=True)


def tree(rounds: int) -> None:
    print("| d | k | ours, queries/s | scipy cKDTree | scikit-learn KDTree | ours / the faster (least to most) |")
    print("|---|---|---|---|---|---|")
    generator = np.random.default_rng(0)
    for n_columns, n_queries in ((3, 20_000), (8, 2_000)):
        points, queries = generator.random((ROWS, n_columns)), generator.random((n_queries, n_columns))
        ours, scipys, peers = build(points, 2.0), cKDTree(points), KDTree(points)
        for k in (1, 5):
            assert (ours.nearest(queries, k).rows == scipys.query(queries, list(range(1, k + 1)))[1]).all()
            searches = {
                "ours": lambda k=k, t=ours, q=queries: t.nearest(q, k),
                "scipy": lambda k=k, t=scipys, q=queries: t.query(q, k),
                "peer": lambda k=k, t=peers, q=queries: t.query(q, k),
            }
            rates = in_turns(rounds, n_queries, searches)
            ratios = [
                mine / max(one, two)
                for mine, one, two in zip(rates["ours"], rates["scipy"], rates["peer"], strict=True)
            ]
            told = " | ".join(f"{statistics.median(rate):,.0f}" for rate in rates.values())
            print(
                f"| {n_columns} | {k} | {told} | {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f}) |",
                flush=True,
            )


def against_brute(rounds: int) -> None:
    print("| d | rows | kd-tree, queries/s | brute force | times (least to most) |\n|---|---|---|---|---|")
    generator = np.random.default_rng(0)
    for n_columns in (2, 3, 8):
        for n_rows in (1_000, 10_000, ROWS):
            points, queries = generator.random((n_rows, n_columns)), generator.random((2_000, n_columns))
            ours = build(points, 2.0)
            every = BruteSearch(Metric(2.0, np.zeros(n_columns, bool), *[np.ones(n_columns)] * 2), points)
            few = queries[: max(100, 2_000_000 // n_rows)]
            assert (ours.nearest(few, 5).rows == every.nearest(few, 5).rows).all()
            quick = in_turns(rounds, len(queries), {"tree": lambda t=ours, q=queries: t.nearest(q, 5)})["tree"]
            slow = in_turns(rounds, len(few), {"brute": lambda b=every, q=few: b.nearest(q, 5)})["brute"]
            ratios = [one / other for one, other in zip(quick, slow, strict=True)]
            print(
                f"| {n_columns} | {n_rows:,} | {statistics.median(quick):,.0f} | {statistics.median(slow):,.0f} | "
                f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |",
                flush=True,
            )


def hashing(rounds: int) -> None:
    generator = np.random.default_rng(0)
    centres, directions = generator.normal(size=(1_000, 64)), generator.normal(size=(16, 64)) / 4

    def draw(n_rows: int) -> np.ndarray:
        return centres[generator.integers(0, 1_000, n_rows)] + 0.3 * generator.normal(size=(n_rows, 16)) @ directions

    points, queries = draw(ROWS), draw(1_000)
    start = time.process_time()
    tables = fit_tables(points, 0.95, 0, 10)
    spent = time.process_time() - start
    assert tables is not None
    brute = BruteSearch(Metric(2.0, np.zeros(64, bool), np.ones(64), np.ones(64)), points)
    peer = NearestNeighbors(algorithm="brute").fit(points)
    found, exact = tables.nearest(queries, 10).rows, brute.nearest(queries, 10).rows
    recall = np.mean([np.isin(true, rows).mean() for true, rows in zip(exact, found, strict=True)])
    hashed = in_turns(rounds, 1_000, {"hashing": lambda: tables.nearest(queries, 10)})["hashing"]
    few = queries[:200]
    searches = {"brute": lambda: brute.nearest(few, 10), "peer": lambda: peer.kneighbors(few, 10)}
    rates = in_turns(rounds, 200, searches)
    quick, slow, peers = (statistics.median(rate) for rate in (hashed, rates["brute"], rates["peer"]))
    print("| hashing, queries/s | recall found | told by itself | our brute force | scikit-learn brute | fit, s |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {quick:,.0f} | {recall:.3f} | {tables.recall:.3f} | {slow:,.0f} (x{quick / slow:.1f}) | {peers:,.0f} "
        f"(x{quick / peers:.1f}) | {spent:.1f} |",
        flush=True,
    )


def as_numbers(table: Table, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Scaled numbers, and levels as 0/1 columns whose differences make 1 together."""
    pieces = []
    for index, column in enumerate(table.columns):
        cells = table.values[:, index]
        if column.is_numeric:
            span = high[index] - low[index]
            pieces.append(((cells - low[index]) / (span or 1.0))[:, None])
        else:
            pieces.append((cells[:, None] == np.arange(len(column.levels))) / np.sqrt(2))
    return np.hstack(pieces)


def errors(
    train: tuple[Table, Series], test: tuple[Table, Series], k: int, kernel: str = "uniform"
) -> tuple[float, float]:
    """Of our learner and of scikit-learn's, in per cent."""
    learner = "nearest-neighbors-classifier"
    ours = make(learner, {"k": k, "kernel": kernel}).fit(*train).score(*test)
    low, high = train[0].values.min(axis=0), train[0].values.max(axis=0)
    # brute force, as its trees need hours for a hundred columns
    weights = by_inverse_squares if kernel == "inverse-square" else "uniform"
    peer = KNeighborsClassifier(k, weights=weights, algorithm="brute").fit(
        as_numbers(train[0], low, high), train[1].codes
    )
    asked = as_numbers(conform(test[0], train[0].columns), low, high)
    theirs = (peer.predict(asked) == test[1].codes).mean()
    return 100 - 100 * ours, 100 - 100 * float(theirs)


def by_inverse_squares(distances: np.ndarray) -> np.ndarray:
    """Votes of neighbours at these distances, shape (m, k): exact matches alone, else by 1 / d^2."""
    exact = distances <= 1e-7  # the peer's products of matrices leave as much of a difference of 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1.0 / np.where(exact, np.inf, distances) ** 2)


def published() -> None:
    print("| data | method | published, error % | ours | scikit-learn |\n|---|---|---|---|---|")

    def tell(data: str, method: str, quoted: float, found: tuple[float, float]) -> None:
        print(f"| {data} | {method} | {quoted:.2f} | {found[0]:.2f} | {found[1]:.2f} |", flush=True)

    table, target = read("ionosphere", "class", ())
    first, last = np.arange(200), np.arange(200, len(table))
    parts = (table.take(first), target.take(first)), (table.take(last), target.take(last))
    tell("ionosphere, 200 / 151", "1-NN", 100 - 92.1, errors(*parts, 1))
    wine, label = read("wine", "class", ())
    standard = {"k": 1, "scaling": "standard"}
    wrong = 0
    for row in range(len(wine)):
        rest = np.delete(np.arange(len(wine)), row)
        model = make("nearest-neighbors-classifier", standard).fit(wine.take(rest), label.take(rest))
        wrong += model.predict(wine.take(np.array([row])))[0] != label.column.labels[int(label.cells[row])]
    peer = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
    theirs = (cross_val_predict(peer, wine.values, label.codes, cv=LeaveOneOut()) != label.codes).mean()
    tell("wine, leave-one-out", "1-NN, standard", 100 - 96.1, (100 * wrong / len(wine), 100 * float(theirs)))
    adult = [known_rows(*read(f"adult-{part}", "income", ())) for part in ("train", "test")]
    tested = adult[1][0], adult[1][1]
    for k, quoted in ((1, 21.42), (3, 20.35)):
        tell("adult, known rows", f"{k}-NN", quoted, errors(adult[0], tested, k))
    tell("adult, known rows", "3-NN, votes by 1/d^2", 20.35, errors(adult[0], tested, 3, "inverse-square"))


def known_rows(table: Table, target: Series) -> tuple[Table, Series]:
    known = np.flatnonzero(~np.isnan(table.values).any(axis=1))
    return table.take(known), target.take(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="visits,tree,brute,hashing,published")
    arguments = parser.parse_args()
    print(f"{platform.platform()}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}")
    for name in arguments.only.split(","):
        action = {"visits": visits, "published": published}.get(name)
        if action is not None:
            action()
        else:
            {"tree": tree, "brute": against_brute, "hashing": hashing}[name](arguments.rounds)


if __name__ == "__main__":
    main()
