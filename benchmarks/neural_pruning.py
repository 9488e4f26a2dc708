"""Optimal brain damage against magnitude: test error and training loss over the share of links removed, 10 seeds.

    python benchmarks/neural_pruning.py [--seeds 10] [--rate 0.05] [--epochs 20]

scikit-learn's digits (8 x 8), 400 rows to learn from and 1,397 to test; a network 64-20-10 (tanh, softmax,
cross-entropy, decay 0.001) trained by Rprop for 150 epochs, then pruned to nothing in steps of a tenth of the links
left: by optimal brain damage (Gauss-Newton), by each weight in turn and by magnitude, each with some epochs of Rprop
after every step (``rate``: its first steps) and without any. The three begin with the same trained weights. The two
that know the loss are compared with magnitude seed by seed (mean difference and its standard error).
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.neural.forward import Network
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.pruning import Pruning, Steps
from learners.neural.training import Options, train

LAYOUT = Layout((64, 20, 10), ("tanh", "softmax"))
PROBLEM = Problem(LAYOUT, "cross-entropy", decay=1e-3)
LEFT = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)
METHODS = ("damage", "each-weight", "magnitude")


def rows(seed: int) -> tuple[Sample, Sample]:
    inputs, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(inputs))
    parts = order[:400], order[400:]
    return tuple(Sample(inputs[part] / 16, np.eye(10)[classes[part]], np.ones(len(part))) for part in parts)


def wrong(layout: Layout, theta: np.ndarray, sample: Sample) -> float:
    answers = Network(layout, theta).outputs(sample.inputs).argmax(axis=1)
    return float((answers != sample.targets.argmax(axis=1)).mean() * 100)


def curve(
    method: str, retrain: Options | None, seed: int, theta: np.ndarray, training: Sample, test: Sample
) -> np.ndarray:
    """Test errors in percent and training losses, at the shares of LEFT; shape (2, shares)."""
    steps = Steps(PROBLEM, theta.copy(), training, None)
    links, found = [steps.n_links], [(wrong(LAYOUT, theta, test), steps.judged)]
    how, rng = Pruning(method, share=0.1, tolerance=float("inf"), retrain=retrain), np.random.default_rng(seed)
    while steps.n_links > 0.04 * links[0] and steps.go(how, rng):
        links.append(steps.n_links)
        found.append((wrong(LAYOUT, steps.network()[0], test), steps.judged))
    shares = np.array(links) / links[0]
    return np.array([np.interp(LEFT, shares[::-1], told[::-1]) for told in np.array(found).T])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()
    seeds = given.seeds
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}; {seeds} seeds")
    start = time.process_time()
    found: dict[tuple[str, bool], list[np.ndarray]] = {(m, again): [] for again in (True, False) for m in METHODS}
    for seed in range(seeds):
        training, test = rows(seed)
        rng = np.random.default_rng(seed)
        theta = train(PROBLEM, LAYOUT.initial(rng), training, Options("rprop", epochs=150), rng).theta
        for (method, again), curves in found.items():
            retrain = Options("rprop", given.rate, epochs=given.epochs) if again else None
            curves.append(curve(method, retrain, seed, theta, training, test))
    for place, (what, digits) in enumerate((("wrong test rows, percent", 1), ("training loss, nats", 3))):
        show(what, digits, {key: np.array(curves)[:, place] for key, curves in found.items()})
    print(f"{time.process_time() - start:.0f} s of the processor")


def show(what: str, digits: int, found: dict[tuple[str, bool], np.ndarray]) -> None:
    """Means over the seeds, and differences seed by seed with their standard errors."""
    print(f"| {what}, by links left | " + " | ".join(f"{share:.0%}" for share in LEFT) + " |")
    print("|---" * (len(LEFT) + 1) + "|")
    for (method, again), curves in found.items():
        name = f"{method}, {'trained again' if again else 'not trained again'}"
        print(f"| {name} | " + " | ".join(f"{one:.{digits}f}" for one in curves.mean(axis=0)) + " |")
    for again in (True, False):
        for method in METHODS[:2]:
            apart = found["magnitude", again] - found[method, again]
            mean, error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
            cells = " | ".join(f"{one:+.{digits}f} +- {two:.{digits}f}" for one, two in zip(mean, error, strict=True))
            print(f"| magnitude less {method}, {'trained again' if again else 'not trained again'} | {cells} |")


if __name__ == "__main__":
    main()
