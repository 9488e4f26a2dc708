"""Feed-forward networks and autoencoders beside published figures and peers.

    OMP_NUM_THREADS=1 python benchmarks/networks.py [--seeds 25] [--only encoder,components,digits,monks,sonar]

``encoder``: 8-3-8 over seeds: how many learn by the 40-20-40 rule, and after how many epochs. ``components``: the
largest angle between the code of a linear autoencoder and scikit-learn's principal components. ``digits``: accuracy on
a fourth held out, beside scikit-learn's network of the same layers. ``monks``: accuracy on the published test rows;
published (Thrun et al. 1991) are back-propagation 100, 100, 93.1 and with weight decay 97.2 percent on the third.
``sonar``: accuracy in 13 folds, drawn ten times; published (Gorman and Sejnowski 1988) are 77.1 percent without and
84.5 with hidden units, which common library settings reach some 76 of.
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
    for number in (1, 2, 3):
        tables = [read(f"monks-{number}-{part}", "class") for part in ("train", "test")]
        (table, target), (asked, truth) = tables
        for decay in (0.0, 0.01):
            found = []
            for seed in range(min(seeds, 10)):
                settings = {"hidden_units": [3 if number < 3 else 4], "optimizer": "rprop", "epochs": 500}
                model = NeuralNetworkClassifier.from_params(settings | {"decay": decay, "seed": seed})
                model.fit(_named(table), target)
                found.append(100 * model.score(_named(asked), truth))
            print(f"monks-{number}, decay {decay:g}: {_told(found)} percent, best {max(found):.1f}")


def _named(table: Any) -> Any:
    """The numbers of MONK's problems are names."""
    from learners.table import Table

    columns = table.to_columns()
    return Table.from_columns({name: [f"v{int(cell)}" for cell in cells] for name, cells in columns.items()})


def show_sonar(seeds: int) -> None:
    table, target = read("sonar", "Class")
    for hidden in ([], [2], [12], [24]):
        found = []
        for draw in range(min(seeds, 10)):
            folds = k_fold(table.n_rows, 13, draw, target.codes)
            right = 0.0
            for number in range(13):
                split = folds[number]
                model = NeuralNetworkClassifier.from_params({"hidden_units": hidden, "decay": 0.01, "seed": draw})
                model.fit(table.take(split.train), target.take(split.train))
                right += model.score(table.take(split.test), target.take(split.test)) * len(split.test)
            found.append(100 * right / table.n_rows)
        print(f"sonar, hidden {hidden}: {_told(found)} percent")


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
