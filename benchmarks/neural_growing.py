"""Parity by networks that get their hidden units while they learn.

    python benchmarks/neural_growing.py [--seeds 10]

Of 2 to 8 bits by dynamic node creation (Ash 1989), and of 2 to 5 by meiosis (Hanson 1990), until every output is within
0.4 of its target (the 40-20-40 rule); hidden units and epochs told. Near-minimal networks of one hidden layer have
about as many units as bits.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.neural.growing.meiosis import Meiosis, divide
from learners.neural.growing.nodes import Grown, create_nodes
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options
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


if __name__ == "__main__":
    main()
