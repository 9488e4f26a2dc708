"""Feed-forward networks and autoencoders beside published figures and peers.

    OMP_NUM_THREADS=1 python benchmarks/networks.py [--seeds 25] [--only encoder,components,digits,monks,sonar]

``encoder``: 8-3-8 over seeds: how many learn by the 40-20-40 rule, and after how many epochs. ``components``: the
largest angle between the code of a linear autoencoder and scikit-learn's principal components. ``digits``: accuracy on
a fourth held out, beside scikit-learn's network of the same layers. ``monks``: accuracy on the published test rows;
published (Thrun et al. 1991) are back-propagation 100, 100, 93.1 and with weight decay 97.2 percent on the third.
``sonar``: accuracy in 13 folds, drawn ten times; published (Gorman and Sejnowski 1988) are 77.1, 81.9, 82.0, 83.5,
84.7 and 84.5 percent with 0, 2, 3, 6, 12 and 24 hidden units; of the training rows 89.4, 96.5, 98.8, 99.7, 99.8, 99.8.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.evaluation.folds import hold_out, k_fold
from learners.neural import Autoencoder, NeuralNetworkClassifier
from tests.learners.neural.autoencoder.test_estimator import EIGHT
from tests.learners.tables import read


def show_encoder(seeds: int) -> None:
    rows = np.eye(8)
    for optimizer, rate in (("rprop", None), ("quickprop", 1.5), ("sgd", 0.5)):
        needed = []
        for seed in range(seeds):
            settings = EIGHT | {"optimizer": optimizer, "rate": rate, "seed": seed, "loss": "cross-entropy"}
            needed.append(_epochs_to_learn(settings, rows))
        known = [epochs for epochs in needed if epochs is not None]
        print(
            f"8-3-8 {optimizer}: {len(known)} of {seeds} learned, epochs median {np.median(known):g}, "
            f"{min(known)} to {max(known)}"
        )


def _epochs_to_learn(settings: dict[str, Any], rows: np.ndarray) -> int | None:
    """The fewest epochs, of powers of 1.25, after which each output is within 0.4 of its target."""
    epochs = 20.0
    while epochs < 5_000:
        extra = {} if settings["optimizer"] != "sgd" else {"batch": None}
        model = Autoencoder.from_params(settings | extra | {"epochs": int(epochs)}).fit(rows)
        if np.abs(model.network_.outputs(rows) - rows).max() < 0.4:
            return int(epochs)
        epochs *= 1.25
    return None


def show_components(seeds: int) -> None:
    for name, target in (("iris", "class"), ("wdbc", "diagnosis"), ("sonar", "Class")):
        table, _ = read(name, target)
        for code in (1, 2, 3):
            angles = []
            for seed in range(min(seeds, 5)):
                settings = {"hidden_units": [code], "activation": "linear", "optimizer": "lbfgs", "decay": 0.0}
                model = Autoencoder.from_params(settings | {"epochs": 20_000, "seed": seed}).fit(table)
                components = PCA(code).fit(model.inputs_.batch(table)).components_.T
                encoder = model.network_.layout.layers(model.network_.theta)[0][:-1]
                angles.append(subspace_angles(encoder, components).max())
            print(f"components {name}, code of {code}: largest angle {max(angles):.1e} rad over {len(angles)} seeds")


def show_digits(seeds: int) -> None:
    values, labels = load_digits(return_X_y=True)
    ours, theirs = [], []
    for seed in range(min(seeds, 5)):
        split, _ = hold_out(len(labels), 0.25, seed, labels)
        model = NeuralNetworkClassifier(
            hidden_units=(100,), activation="relu", scaling="range", rate=0.003, decay=1e-4, epochs=60, seed=seed
        )
        model.fit(values[split.train], labels[split.train])
        ours.append(100 * model.score(values[split.test], labels[split.test]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer = MLPClassifier((100,), batch_size=32, max_iter=60, random_state=seed)
            peer.fit(values[split.train] / 16, labels[split.train])
        theirs.append(100 * peer.score(values[split.test] / 16, labels[split.test]))
    print(f"digits 64-100-10, {len(ours)} halvings: {_told(ours)} percent; scikit-learn {_told(theirs)}")


def show_monks(seeds: int) -> None:
    """Descent row by row on sigmoid units, as in the report, but by cross-entropy."""
    settings = {"activation": "sigmoid", "optimizer": "sgd", "batch": 1, "rate": 0.1, "momentum": 0.0}
    settings |= {"initial": "uniform", "epochs": 400}
    for number, hidden in ((1, 3), (2, 2), (3, 4)):
        (table, target), (asked, truth) = (read(f"monks-{number}-{part}", "class") for part in ("train", "test"))
        for decay in (0.0, 0.002, 0.01):
            found = []
            for seed in range(seeds):
                own = {"hidden_units": [hidden], "decay": decay, "seed": seed}
                model = NeuralNetworkClassifier.from_params(settings | own).fit(_named(table), target)
                found.append(100 * model.score(_named(asked), truth))
            print(f"monks-{number}, decay {decay:g}: {_told(found)} percent, {min(found):.1f} to {max(found):.1f}")


def _named(table: Any) -> Any:
    """The numbers of MONK's problems are names."""
    from learners.table import Table

    columns = table.to_columns()
    return Table.from_columns({name: [f"v{int(cell)}" for cell in cells] for name, cells in columns.items()})


def show_sonar(seeds: int) -> None:
    """By the published method (descent row by row on the squared error, 300 epochs, first weights within 0.3, errors
    below 0.2 ignored), with and without the last, and by the learner's own optimiser with a decay of 0.01."""
    table, target = read("sonar", "Class")
    published = {"optimizer": "sgd", "batch": 1, "momentum": 0.0, "epochs": 300, "decay": 0.0}
    published |= {"activation": "sigmoid", "loss": "squared", "scaling": "none"}
    published |= {"initial": "uniform", "initial_scale": 0.3}
    methods = [
        (f"rate {rate:g}, errors below {ignored:g} ignored", published | {"rate": rate, "ignored_error": ignored})
        for rate in (2.0, 1.0, 0.5)
        for ignored in (0.2, 0.0)
    ]
    for name, settings in (*methods, ("defaults", {"decay": 0.01})):
        for hidden in ([], [2], [3], [6], [12], [24]):
            tested, learned = [], []
            for draw in range(min(seeds, 10)):
                folds = k_fold(table.n_rows, 13, draw, target.codes)
                right, known = 0.0, 0.0
                for number in range(13):
                    split = folds[number]
                    own = settings | {"hidden_units": hidden, "seed": draw}
                    if not hidden:  # it would have no effect
                        own.pop("activation", None)
                    model = NeuralNetworkClassifier.from_params(own)
                    model.fit(table.take(split.train), target.take(split.train))
                    right += model.score(table.take(split.test), target.take(split.test)) * len(split.test)
                    known += model.score(table.take(split.train), target.take(split.train))
                tested.append(100 * right / table.n_rows)
                learned.append(100 * known / 13)
            print(f"sonar, {name}, hidden {hidden}: {_told(tested)} percent, of training rows {np.mean(learned):.1f}")


def _told(values: list[float]) -> str:
    return f"{np.mean(values):.1f} (sd {np.std(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shown = {"encoder": show_encoder, "components": show_components, "digits": show_digits}
    shown |= {"monks": show_monks, "sonar": show_sonar}
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--only", default=",".join(shown))
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}")
    for name in options.only.split(","):
        shown[name](options.seeds)


if __name__ == "__main__":
    main()
