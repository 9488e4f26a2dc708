"""Error rates of our trees by the names of the papers, beside the papers' and Weka's.

    python benchmarks/published_trees.py [--runs 3] [--only iris,adult]

The presets ``c45`` and ``cart`` by stratified 10-fold cross-validation, averaged over several seeds
(Weka's J48 and scikit-learn's trees by 1 to 5 runs of the same, see the data's baselines), and on the
files that come with a test part on that part. "Worse" are those of which our error is more than one
standard error above the other's: of a share e of n rows, sqrt(e (1 - e) / n). Figures in brackets are
quoted from secondary sources and have not been compared with the paper's own page. Sizes are nodes, leaves
included, means over folds. scikit-learn's two trees are whole, with two rows a leaf, and pruned at a
price of 0.005 a leaf, both by entropy on 0/1 columns.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.cascade import abalone as abalone_ages
from benchmarks.ensembles import one_hot
from learners.catalog import make
from learners.evaluation import cross_validate
from learners.matching import conform
from learners.table import Series, Table
from tests.learners.tables import read, read_file
from tests.shared import SHARED, table_path

#: Table: target, columns that are no attributes, C4.5 Release 8 (Quinlan 1996), CART (Breiman 1996, one tree).
TABLES = {
    "iris": ("class", (), 4.8, None),
    "glass": ("Type", (), 32.5, 30.4),
    "labor": ("class", (), 19.1, None),
    "hepatitis": ("Class", (), 20.4, None),
    "vote": ("Class", (), 5.1, None),
    "credit-a": ("class", (), 14.7, None),
    "credit-g": ("class", (), 28.4, None),
    "breast-w": ("class", ("id",), 5.28, 5.9),
    "pima": ("class", (), 25.4, 25.3),
    "sonar": ("Class", (), 25.6, None),
    "ionosphere": ("class", (), None, 11.2),
    "vehicle": ("Class", (), 27.1, None),
    "soybean": ("class", (), 7.7, 8.6),
    "audiology": ("class", ("indentifier",), 22.1, None),
    "tic-tac-toe": ("Class", (), None, None),
    "car": ("class", (), None, None),
    "wine": ("class", (), None, None),
    "wdbc": ("diagnosis", (), None, None),
    "zoo": ("type", ("animal",), None, None),
    "vowel": ("Class", (), None, None),
    "mushroom": ("class", (), None, None),
}
#: Quinlan's figures are quoted; Breiman's were read in an audit of his paper but for these.
QUOTED = ("soybean",)
LEARNER = "decision-tree-classifier"


def baseline(table: str, learner: str = "J48") -> tuple[float | None, float | None]:
    """Error in per cent and mean size of another's tree."""
    with (SHARED / "data" / "baselines.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["dataset"], row["learner"]) == (table, learner):
                size = row["mean_tree_size"]
                return 100 - float(row["mean"]), float(size) if size else None
    return None, None


def errors_of(preset: str, table: Table, target: Series, runs: int) -> tuple[float, float]:
    """Mean error in per cent and mean size."""
    errors, sizes = [], []
    for seed in range(runs):
        learner = make(LEARNER, {"preset": preset, "seed": seed})
        found = cross_validate(learner, table, target, 10, seed)
        errors.append(100 - 100 * found.summary["metrics"]["accuracy"]["mean"])
        sizes += [result.model.tree_.n_nodes for result in found.results]
    return statistics.mean(errors), statistics.mean(sizes)


def standard_error(error: float, rows: int) -> float:
    share = error / 100
    return 100 * math.sqrt(max(share * (1 - share), 1e-9) / rows)


def judged(ours: float, other: float | None, rows: int) -> str:
    if other is None:
        return ""
    return "worse" if ours > other + standard_error(ours, rows) else ""


def shown(number: float | None, *, quoted: bool = False) -> str:
    return "" if number is None else f"[{number:.1f}]" if quoted else f"{number:.1f}"


def cross_validated(names: list[str], runs: int) -> None:
    heads = ("data", "rows", "c45", "C4.5 R8, Quinlan 1996", "Weka J48", "size, c45", "size, J48", "cart", "size, cart")
    heads += ("CART, Breiman 1996", "scikit-learn, whole", "pruned", "worse than")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name in names:
        target_name, drop, quinlan, breiman = TABLES[name]
        table, target = read(name, target_name, drop)
        (c45, size), (cart, other_size) = (errors_of(preset, table, target, runs) for preset in ("c45", "cart"))
        j48, j48_size = baseline(name)
        whole, pruned = (baseline(name, learner)[0] for learner in ("tree-entropy-leaf2", "tree-ccp"))
        peers = {"c45: Quinlan": (c45, quinlan), "c45: J48": (c45, j48), "cart: Breiman": (cart, breiman)}
        peers |= {"c45: scikit-learn": (c45, whole), "cart: scikit-learn": (cart, pruned)}
        worse = [peer for peer, (ours, other) in peers.items() if judged(ours, other, len(table))]
        cells = [name, str(len(table)), shown(c45), shown(quinlan, quoted=True), shown(j48), shown(size)]
        cells += [shown(j48_size), shown(cart), shown(other_size), shown(breiman, quoted=name in QUOTED)]
        print("| " + " | ".join([*cells, shown(whole), shown(pruned), ", ".join(worse)]) + " |", flush=True)


def monks(number: int):
    train = read(f"monks-{number}-train", "class")
    return train, read(f"monks-{number}-test", "class")


def as_nominal(table: Table) -> Table:
    """Columns of numbers that are names: MONK's attributes, LED's lights."""
    texts = {name: [f"{cell:g}" for cell in table.values[:, place]] for place, name in enumerate(table.names)}
    return Table.from_columns({name: [f"v{text}" for text in cells] for name, cells in texts.items()})


def generated(name: str, target: str):
    folder = SHARED / "data" / "generated"
    train = next(iter(folder.glob(f"{name}-train*.csv")))
    test = next(iter(folder.glob(f"{name}-test*.csv")))
    return read_file(train, target), read_file(test, target)


def adult(*, gaps: bool = False):
    """Rows without unknown values, as Kohavi's figure was made, or all."""
    parts = []
    for part in ("train", "test"):
        table, target = read_file(table_path(f"adult-{part}.csv"), "income")
        kept = gaps | ~np.isnan(table.values).any(axis=1)
        parts.append((table.take(kept), target.take(kept)))
    return tuple(parts)


def ionosphere():
    table, target = read("ionosphere", "class")
    rows = np.arange(len(table))
    return tuple((table.take(part), target.take(part)) for part in (rows < 200, rows >= 200))


def abalone():
    """The first 3,133 rows to learn from."""
    table, target = abalone_ages()
    rows = np.arange(len(table))
    return tuple((table.take(part), target.take(part)) for part in (rows < 3133, rows >= 3133))


def peer_error(preset: str, train: Table, labels: Series, test: Table, truth: Series) -> float:
    """Of scikit-learn's tree on one-hot columns, in per cent: whole for ``id3``, else pruned as 10 folds choose."""
    seen, asked = one_hot(train), one_hot(conform(test, train.columns))
    tree = DecisionTreeClassifier(criterion="gini" if preset == "cart" else "entropy", random_state=0)
    known, right = (np.array(part.column.labels)[part.codes] for part in (labels, truth))
    if preset != "id3":
        alphas = np.maximum(tree.cost_complexity_pruning_path(seen, known).ccp_alphas, 0)
        tree = GridSearchCV(tree, {"ccp_alpha": np.unique(np.quantile(alphas, np.linspace(0, 1, 30)))}, cv=10)
    return 100 - 100 * tree.fit(seen, known).score(asked, right)


#: Name, rows, preset, published error, whether it is quoted only, and what it is.
HELD_OUT = (
    ("ionosphere", ionosphere, "c45", 6.0, False, "C4"),
    ("abalone, 3 classes", abalone, "c45", 40.8, False, "C4.5"),
    ("adult", adult, "c45", 15.54, False, "C4.5, Kohavi 1996"),
    ("waveform", lambda: generated("waveform21", "wave"), "cart", 28.0, False, "CART 1984; Bayes 14"),
    ("LED, 7 lights", lambda: generated("led7", "digit"), "cart", 30.0, True, "CART 1984; Bayes 26"),
    ("LED, 24 lights", lambda: generated("led24", "digit"), "cart", 32.0, True, "CART 1984: 31 to 33; Bayes 26"),
    ("waveform", lambda: generated("waveform21", "wave"), "c45", baseline("waveform21")[0], False, "Weka's J48"),
    ("LED, 7 lights", lambda: generated("led7", "digit"), "c45", baseline("led7")[0], False, "Weka's J48"),
    ("LED, 24 lights", lambda: generated("led24", "digit"), "c45", baseline("led24")[0], False, "Weka's J48"),
    ("MONK 1", lambda: monks(1), "c45", baseline("monks-1")[0], False, "Weka's J48"),
    ("MONK 2", lambda: monks(2), "c45", baseline("monks-2")[0], False, "Weka's J48"),
    ("MONK 3", lambda: monks(3), "c45", baseline("monks-3")[0], False, "Weka's J48"),
    ("adult with gaps", lambda: adult(gaps=True), "c45", baseline("adult")[0], False, "Weka's J48"),
    ("MONK 1", lambda: monks(1), "id3", 16.8, True, "ID3 without windowing, Thrun 1991"),
    ("MONK 2", lambda: monks(2), "id3", 30.9, True, "the same"),
    ("MONK 3", lambda: monks(3), "id3", 4.4, True, "the same"),
)


def held_out(names: set[str] | None) -> None:
    print("\n| data | train / test | preset | ours | published | source | scikit-learn | worse |")
    print("|---|---|---|---|---|---|---|---|")
    for name, load, preset, published, quoted, source in HELD_OUT:
        if names is not None and name not in names:
            continue
        (train, labels), (test, truth) = load()
        if name.startswith(("MONK", "LED")):
            train, test = as_nominal(train), as_nominal(test)
        model = make(LEARNER, {"preset": preset}).fit(train, labels)
        error = 100 - 100 * model.score(test, truth)
        cells = [name, f"{len(train):,} / {len(test):,}", preset, shown(error), shown(published, quoted=quoted), source]
        cells.append(shown(peer_error(preset, train, labels, test, truth)))
        print("| " + " | ".join([*cells, judged(error, published, len(test))]) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    names = set(filter(None, chosen.only.split(",")))
    cross_validated([name for name in TABLES if not names or name in names], chosen.runs)
    held_out(names or None)


if __name__ == "__main__":
    main()
