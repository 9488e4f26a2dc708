"""An epoch of training beside PyTorch's on the CPU: the same rows, weights, batches and steps, in turns.

    python -m venv peer && peer/bin/pip install -r requirements.lock torch==2.13.0 scikit-learn
    OMP_NUM_THREADS=1 peer/bin/python benchmarks/neural_speed.py [--rounds 7]

Both sides use one thread; times are processor time of a whole epoch, forward, back and steps of descent with momentum
(PyTorch, eager: ``SGD(fused=True)``, quicker there than ``foreach`` or neither; rows taken by index from tensors, all
rows as they are; no data loader). After the timed epochs the weights of both, in float64, must agree within 1e-8. Ours
computes in float64 always. The setup of a training counts on both sides, shared among its epochs: 200, the library's
default, where all rows are one step; 50, 20 and 3 of the others, which take long. PyTorch is needed for this script
alone.
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
import torch
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options, train
from tests.learners.tables import read
from tests.shared import generated_path

RATE, MOMENTUM = 0.05, 0.9
UNITS = {"sigmoid": torch.nn.Sigmoid, "tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


def encoder() -> Sample:
    return Sample(np.eye(8), np.eye(8), np.ones(8))


def spirals() -> Sample:
    values = np.genfromtxt(generated_path("two-spirals.csv"), delimiter=",", skip_header=1, dtype=np.str_)
    inputs, classes = values[:, :2].astype(np.float64), values[:, 2]
    return Sample(inputs, (classes == np.unique(classes)[1]).astype(np.float64)[:, None], np.ones(len(inputs)))


def sonar() -> Sample:
    table, target = read("sonar", "Class")
    return Sample(np.ascontiguousarray(table.values), target.cells[:, None].copy(), np.ones(len(table.values)))


def digits() -> Sample:
    inputs, classes = load_digits(return_X_y=True)
    return Sample(np.ascontiguousarray(inputs / 16), np.eye(10)[classes], np.ones(len(inputs)))


CASES = [
    ("8-3-8", encoder, Layout((8, 3, 8), ("sigmoid", "sigmoid")), (8,), 200),
    ("two spirals 2-5-5-5-1", spirals, Layout((2, 5, 5, 5, 1), ("tanh", "tanh", "tanh", "sigmoid")), (194,), 200),
    ("two spirals 2-5-5-5-1", spirals, Layout((2, 5, 5, 5, 1), ("tanh", "tanh", "tanh", "sigmoid")), (32,), 50),
    ("sonar 60-12-1", sonar, Layout((60, 12, 1), ("sigmoid", "sigmoid")), (208,), 200),
    ("sonar 60-12-1", sonar, Layout((60, 12, 1), ("sigmoid", "sigmoid")), (32, 1), 20),
    ("digits 64-100-10", digits, Layout((64, 100, 10), ("relu", "softmax")), (32,), 3),
]


def peer(
    layout: Layout, theta: np.ndarray, sample: Sample, orders: np.ndarray, batch: int, kind: torch.dtype
) -> Callable[[], np.ndarray]:
    """PyTorch's training: a function that trains anew from the same weights."""
    rows = [torch.tensor(part, dtype=kind) for part in sample[:2]]
    wanted = (rows[0], rows[1].argmax(dim=1) if layout.activations[-1] == "softmax" else rows[1])
    order = [torch.tensor(one) for one in orders]
    several = layout.n_outputs > 1 and layout.activations[-1] != "softmax"
    last = (
        torch.nn.CrossEntropyLoss()
        if layout.activations[-1] == "softmax"
        else torch.nn.BCEWithLogitsLoss(reduction="sum" if several else "mean")
    )

    def run() -> np.ndarray:
        steps: list[torch.nn.Module] = []
        linear = []
        for weights, activation in zip(layout.layers(theta), layout.activations, strict=True):
            layer = torch.nn.Linear(weights.shape[0] - 1, weights.shape[1], dtype=kind)
            with torch.no_grad():
                layer.weight.copy_(torch.tensor(weights[:-1].T.copy()))
                layer.bias.copy_(torch.tensor(weights[-1].copy()))
            linear.append(layer)
            steps += [layer, UNITS.get(activation, torch.nn.Identity)()]
        net = torch.nn.Sequential(*steps[:-1])
        optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, fused=True)
        for one in order:
            for first in range(0, len(one), batch):
                inputs, targets = wanted
                if batch < len(one):
                    chosen = one[first : first + batch]
                    inputs, targets = inputs[chosen], targets[chosen]
                optimizer.zero_grad()
                loss = last(net(inputs), targets)
                if several:
                    loss = loss / len(inputs)
                loss.backward()
                optimizer.step()
        return np.concatenate(
            [np.vstack([one.weight.detach().numpy().T, one.bias.detach().numpy()]).ravel() for one in linear]
        )

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}"
    )
    print(
        "| network | rows a step | ours, us | torch float32, us | torch float64, us "
        "| ratio to the faster | least to greatest |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, rows, layout, batches, n_epochs in CASES:
        for batch in batches:
            show(name, rows(), layout, batch, n_epochs, rounds)


def show(name: str, sample: Sample, layout: Layout, batch: int, n_epochs: int, rounds: int) -> None:
    n = len(sample.inputs)
    theta = layout.initial(np.random.default_rng(1))
    order = np.repeat(np.arange(n)[None], n_epochs, axis=0)
    orders = order if batch >= n else np.random.default_rng(2).permuted(order, axis=1)
    problem = Problem(layout, "cross-entropy")
    options = Options("sgd", RATE, MOMENTUM, batch=batch, epochs=n_epochs)
    runs: dict[str, Callable[[], np.ndarray]] = {
        "ours": lambda: train(problem, theta, sample, options, np.random.default_rng(2)).theta,
        "float32": peer(layout, theta, sample, orders, batch, torch.float32),
        "float64": peer(layout, theta, sample, orders, batch, torch.float64),
    }
    apart = np.abs(runs["ours"]() - runs["float64"]()).max()
    if not apart < 1e-8:
        raise SystemExit(f"{name}: weights are {apart} apart")
    runs["float32"]()
    taken: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(rounds):
        for key, run in runs.items():
            start = time.process_time()
            run()
            taken[key].append((time.process_time() - start) / n_epochs * 1e6)
    ratios = [min(b, c) / a for a, b, c in zip(*taken.values(), strict=True)]
    middle = [f"{statistics.median(values):.1f}" for values in taken.values()]
    print(
        f"| {name} | {batch} | {' | '.join(middle)} "
        f"| {statistics.median(ratios):.1f} | {min(ratios):.1f} to {max(ratios):.1f} |"
    )


if __name__ == "__main__":
    main()
