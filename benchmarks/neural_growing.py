"""Parity, and numbers of real tables, by networks that get their hidden units while they learn.

    python benchmarks/neural_growing.py [--seeds 10]

Of 2 to 8 bits by dynamic node creation (Ash 1989), and of 2 to 5 by meiosis (Hanson 1990), until every output is within
0.4 of its target (the 40-20-40 rule); hidden units and epochs told. Near-minimal networks of one hidden layer have
about as many units as bits.

Numbers: 5 folds drawn 3 times, root of the mean squared error as a share of the target's standard deviation; at most
20 units of growing networks, 20 of others.
"""

from __future__ import annotations

import argparse
import platform
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.neural import GrowingNetworkRegressor, NeuralNetworkRegressor
from learners.neural.growing.meiosis import Meiosis, divide
from learners.neural.growing.nodes import Grown, create_nodes
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options
from learners.table import Series, Table
from tests.learners.trees.model_tree.tables import numeric_target
from tests.shared import generated_path


def show(seeds: int) -> None:
    print(f"| parity | bits | solved of {seeds} | hidden units: least, median, most | epochs: median |")
    print("|---|---|---|---|---|")
    flat = Options("rprop", epochs=20_000, margin=0.4, flat=100)
    for bits in range(2, 9):
        rows = parity(bits)
        problem = Problem(Layout((bits, 1, 1), ("tanh", "sigmoid")), "cross-entropy")
        found = [create_nodes(problem, rows, flat, np.random.default_rng(seed), most_units=30) for seed in range(seeds)]
        tell("dynamic node creation", bits, found)
    for bits in range(2, 6):
        rows = parity(bits)
        problem = Problem(Layout((bits, 1, 1), ("tanh", "sigmoid")), "cross-entropy")
        tell(
            "meiosis",
            bits,
            [divide(problem, rows, Meiosis(margin=0.4), np.random.default_rng(s)) for s in range(seeds)],
        )


def show_numbers() -> None:
    rprop = {"optimizer": "rprop", "epochs": 2_000}
    meiosis = {"growth": "meiosis", "epochs": 2_000, "margin": None}
    learners = {
        "meiosis": partial(GrowingNetworkRegressor, **meiosis),
        "meiosis, not settled": partial(GrowingNetworkRegressor, **meiosis | {"epochs": 1_000, "settling": 0.0}),
        "dynamic node creation": partial(GrowingNetworkRegressor, epochs=2_000, margin=None),
        "20 units, defaults": partial(NeuralNetworkRegressor, hidden_units=(20,), decay=1e-4),
        "20 units, Rprop": partial(NeuralNetworkRegressor, hidden_units=(20,), decay=1e-4, **rprop),
    }
    print("| table | learner | error: mean, least, greatest | hidden units: least, median, most |")
    print("|---|---|---|---|")
    for name in ("machine-cpu", "servo", "housing"):
        table, target = numeric_target(name, "class")
        for called, learner in learners.items():
            errors, units = zip(*(folded(learner, table, target, seed) for seed in range(3)), strict=True)
            told = f"{np.mean(errors):.3f}, {min(errors):.3f}, {max(errors):.3f}"
            least, median, most = np.quantile(np.concatenate(units), [0, 0.5, 1])
            print(f"| {name} | {called} | {told} | {least:g}, {median:g}, {most:g} |")


def folded(learner: Any, table: Table, target: Series, seed: int) -> tuple[float, list[int]]:
    """Error of all rows by models that have not seen them, and the models' hidden units."""
    answers, units = np.zeros(table.n_rows), []
    places = np.random.default_rng(seed).permutation(table.n_rows)
    for asked in np.array_split(places, 5):
        learned = np.setdiff1d(places, asked)
        model = learner(seed=seed).fit(table.take(learned), target.take(learned))
        answers[asked] = model.predict(table.take(asked))
        units.append(model.training_notes().get("hidden_units", 20))
    return float(np.sqrt(((answers - target.cells) ** 2).mean()) / target.cells.std()), units


def parity(bits: int) -> Sample:
    values = np.genfromtxt(generated_path(f"parity-{bits}.csv"), delimiter=",", skip_header=1)
    return Sample(2 * values[:, :-1] - 1, values[:, -1:], np.ones(len(values)))


def tell(name: str, bits: int, found: list[Grown]) -> None:
    solved = [one for one in found if one.stopped == "margin"]
    units = [one.layout.sizes[1] for one in solved]
    epochs = np.median([len(one.units) for one in solved])
    print(f"| {name} | {bits} | {len(solved)} | {min(units)}, {np.median(units):g}, {max(units)} | {epochs:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    show(seeds)
    show_numbers()


if __name__ == "__main__":
    main()
