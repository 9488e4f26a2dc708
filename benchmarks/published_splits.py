"""Published errors of trees, rules, lines and neighbours by divisions of many kinds, beside ours and scikit-learn's.

    OMP_NUM_THREADS=1 python benchmarks/published_splits.py [--draws 25] [--only tic-tac-toe,monks]

Each line: a table, how it is parted, who published which error in per cent, ours and the peer's on the same parts.
Where parts are drawn, errors are means of so many drawings. Behind ours stands its standard error, of a share e of n
rows sqrt(e (1 - e) / n), n the rows of the test part, or of the whole table where parts are drawn; "worse" is an error
that is further than that above the published one. Figures in brackets are quoted from memory or secondary sources.

The peer's tree has entropy, two rows a leaf and 0/1 columns for levels, a gap as -1 (CART's: Gini, pruned at the price
that ten folds choose); its neighbours and logistic regression the same columns, scaled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ensembles import one_hot
from benchmarks.published_trees import abalone, adult, as_nominal, ionosphere, monks, shown, standard_error
from benchmarks.samples import Rows, lights, waveforms
from learners.catalog import make
from learners.evaluation.folds import hold_out, k_fold
from learners.matching import conform
from tests.learners.tables import read

Parts = tuple[Rows, Rows]
TREE, RULES, NEAREST, LINE = (
    "decision-tree-classifier",
    "rule-set-classifier",
    "nearest-neighbors-classifier",
    "logistic-classifier",
)


class Ours(NamedTuple):
    """A learner of ours, its parameters and the peer's nearest one, if there is any; a seed moves with the parts."""

    name: str
    learner: str
    parameters: dict[str, Any]
    peer: Callable[[], Any] | None


def peer_tree(**settings: Any) -> Any:
    return DecisionTreeClassifier(criterion="entropy", random_state=0, **settings)


def priced() -> Any:
    """A tree pruned along its path as ten folds choose."""
    return GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"ccp_alpha": np.geomspace(1e-4, 0.2, 20)}, cv=10, n_jobs=1
    )


def peer_neighbours(k: int) -> Any:
    return make_pipeline(MinMaxScaler(), KNeighborsClassifier(k))


def peer_line() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2_000))


C45 = Ours("`c45`", TREE, {"preset": "c45"}, lambda: peer_tree(min_samples_leaf=2))
ID3 = Ours("`id3`", TREE, {"preset": "id3"}, peer_tree)
CART = Ours("`cart`", TREE, {"preset": "cart"}, priced)
LEAST = Ours("`cart`, least error", TREE, {"preset": "cart", "alpha_choice": "cv-min"}, None)
STUMP = Ours("`stump`", TREE, {"preset": "stump"}, lambda: peer_tree(max_depth=1))
RULE_SET = Ours("rule set", RULES, {}, None)
LINEAR = Ours("logistic", LINE, {}, peer_line)
ONE, FIVE = (Ours(f"{k}-NN", NEAREST, {"k": k}, lambda k=k: peer_neighbours(k)) for k in (1, 5))
AS_THEY_ARE = Ours("5-NN, unscaled", NEAREST, {"k": 5, "scaling": "none"}, lambda: KNeighborsClassifier(5))
ALL = Ours("all rows, Gaussian", NEAREST, {"voters": "all", "kernel": "gaussian"}, None)
ONE_RULE = Ours("rule set of one rule", RULES, {"max_rules": 1}, None)
INTERVALS = {"criterion": "entropy", "nominal": "multiway", "discretise": "mdl"}
TWO_LEVELS = Ours("two levels, MDL intervals", TREE, INTERVALS | {"max_depth": 2}, lambda: peer_tree(max_depth=2))
ONE_LEVEL = Ours("one level, MDL intervals", TREE, INTERVALS | {"max_depth": 1}, lambda: peer_tree(max_depth=1))
OBLIQUE = Ours("`c45`, oblique tests", TREE, {"preset": "c45", "oblique_tests": True, "max_leaves": 100}, None)
COUNTS = Ours("`c45`, M-of-N tests", TREE, {"preset": "c45", "formula_tests": "m-of-n", "max_leaves": 50}, None)


def one_tree(columns: int) -> Ours:
    """A tree of a forest by so many drawn columns a node."""
    return Ours(
        f"one tree of a forest, {columns} a node",
        "random-forest-classifier",
        {"members": 1, "columns_a_node": columns, "out_of_bag": False, "seed": 0},
        lambda: RandomForestClassifier(1, max_features=columns),
    )


class Line(NamedTuple):
    """What is shown: published is an error in per cent."""

    ours: Ours
    published: float | None
    source: str
    quoted: bool = False


class Study(NamedTuple):
    """A table, how it is parted, and what is known of it.

    Attributes:
        parts: gives pairs of what is learned from and what is judged, for a number of drawings.
        rows: what the standard error counts; None: the rows of the test part.
    """

    data: str
    parting: str
    parts: Callable[[int], Iterator[Parts]]
    lines: tuple[Line, ...]
    rows: int | None = None


def drawn(
    name: str, target: str, drop: tuple[str, ...], fraction: float, draws: int = 0
) -> Callable[[int], Iterator[Parts]]:
    """Test parts drawn by class from a table, as often as is asked for or a number of times."""

    def parts(number: int) -> Iterator[Parts]:
        table, labels = read(name, target, drop)
        for seed in range(draws or number):
            split, _ = hold_out(len(table), fraction, seed, labels.codes)
            yield tuple((table.take(part), labels.take(part)) for part in (split.train, split.test))

    return parts


def folded(name: str, target: str, drop: tuple[str, ...]) -> Callable[[int], Iterator[Parts]]:
    """Ten folds by class, drawn three times."""

    def parts(number: int) -> Iterator[Parts]:
        table, labels = read(name, target, drop)
        for seed in range(3):
            plan = k_fold(len(table), 10, seed, labels.codes)
            for split in (plan[fold] for fold in range(len(plan))):
                yield tuple((table.take(part), labels.take(part)) for part in (split.train, split.test))

    return parts


def fixed(load: Callable[[], Parts]) -> Callable[[int], Iterator[Parts]]:
    """A test part that comes with the data."""
    return lambda number: iter((load(),))


def first_rows(name: str, target: str, drop: tuple[str, ...], count: int, of: int | None = None) -> Callable[[], Parts]:
    """The first rows to learn from, the others (up to so many) to judge."""

    def load() -> Parts:
        table, labels = read(name, target, drop)
        rows = np.arange(len(table))
        first, others = rows < count, (rows >= count) & (rows < (of or len(rows)))
        return tuple((table.take(part), labels.take(part)) for part in (first, others))

    return load


def first_cases(fraction: float) -> Callable[[int], Iterator[Parts]]:
    """Breast-w as it was in 1990 and 1992: its first 369 rows, ten drawings."""

    def parts(number: int) -> Iterator[Parts]:
        table, labels = read("breast-w", "class", ("id",))
        table, labels = table.take(np.arange(369)), labels.take(np.arange(369))
        for seed in range(10):
            split, _ = hold_out(369, fraction, seed, labels.codes)
            yield tuple((table.take(part), labels.take(part)) for part in (split.train, split.test))

    return parts


def rings() -> Parts:
    """Abalone with each number of rings as a class."""
    return first_rows("abalone", "Class_Rings", (), 3133)()


def monk(number: int) -> Callable[[], Parts]:
    return lambda: tuple((as_nominal(table), labels) for table, labels in monks(number))


def sampled(draw: Callable[..., Rows], rows: int, nominal: bool = False, **settings: Any) -> Any:
    """Samples to learn from, and 5,000 other rows."""

    def parts(number: int) -> Iterator[Parts]:
        for seed in range(number):
            pair = draw(rows, seed, **settings), draw(5_000, 100_000 + seed, **settings)
            yield tuple((as_nominal(table) if nominal else table, labels) for table, labels in pair)

    return parts


HOLTE = {
    "glass": ("Type", (), 46.2, 36.8),
    "hepatitis": ("Class", (), 23.7, 18.8),
    "iris": ("class", (), 6.5, 6.2),
    "labor": ("class", (), 28.5, 22.8),
    "mushroom": ("class", (), 1.6, 0.0),
    "vote": ("Class", (), 4.8, 4.4),
    "vote without its best column": ("Class", ("physician-fee-freeze",), 13.2, 10.6),
}
#: Freund and Schapire 1996, table 2: one test alone, one rule alone, C4.5 alone; the last four quoted.
ALONE = {
    "glass": ("Type", (), 51.5, 49.7, 31.7),
    "iris": ("class", (), 35.2, 38.3, 5.9),
    "ionosphere": ("class", (), 17.8, 10.3, 8.9),
    "sonar": ("Class", (), 25.9, 31.4, 28.9),
    "vehicle": ("Class", (), 64.3, 61.3, 29.9),
    "labor": ("class", (), 25.1, 24.0, 15.8),
    "hepatitis": ("Class", (), 19.7, 21.6, 21.2),
    "breast-w": ("class", ("id",), 8.4, 8.1, 5.0),
    "pima": ("class", (), 26.1, 27.8, 28.4),
}
QUOTED = ("labor", "hepatitis", "breast-w", "pima")
#: Breiman 2001, table 2, the column of one tree, and the integer part of log2(columns) + 1.
FOREST_TREES = {
    "glass": ("Type", 36.9, 4),
    "pima": ("class", 33.1, 4),
    "ionosphere": ("class", 12.7, 6),
    "sonar": ("Class", 31.7, 6),
}
ROWS = {"glass": 214, "hepatitis": 155, "iris": 150, "labor": 57, "mushroom": 8124, "vote": 435, "ionosphere": 351,
        "sonar": 208, "vehicle": 846, "breast-w": 699, "pima": 768}  # fmt: skip
STUDIES = (
    Study("tic-tac-toe", "70 / 30, drawn", drawn("tic-tac-toe", "Class", (), 0.3), (
        Line(ID3, 16.0, "NewID"), Line(C45, 16.0, "NewID"), Line(RULE_SET, 1.9, "CN2"), Line(ONE, 1.9, "IB1"),
        Line(ALL, 1.9, "IB1"),
    ), 958),
    *(
        Study(name, "2/3, 1/3, drawn", drawn(name.split()[0], target, drop, 1 / 3), (
            Line(C45, c4, "C4, Holte 1993", quoted=True), Line(STUMP, one, "1R, Holte 1993", quoted=True),
        ), ROWS[name.split()[0]])
        for name, (target, drop, one, c4) in HOLTE.items()
    ),
    *(
        Study(name, "10 folds, 3 times", folded(name, target, drop), (
            Line(C45, c45, "C4.5, Freund and Schapire", name in QUOTED),
            Line(STUMP, test, "FindAttrTest, the same", name in QUOTED),
            Line(ONE_RULE, rule, "FindDecRule, the same", name in QUOTED),
        ), ROWS[name])
        for name, (target, drop, test, rule, c45) in ALONE.items()
    ),
    *(
        Study(name, "90 / 10, drawn 200 times", drawn(name, target, (), 0.1, draws=200), tuple(
            Line(one_tree(columns), published, "one tree, Breiman 2001") for columns in (1, selected)
        ), ROWS[name])
        for name, (target, published, selected) in FOREST_TREES.items()
    ),
    Study("hepatitis", "70 / 30, drawn", drawn("hepatitis", "Class", (), 0.3), (
        Line(C45, 17.0, "Assistant-86"), Line(C45, 20.0, "Gong"), Line(LINEAR, 20.0, "Gong"),
    ), 155),
    Study("breast-w, first 369", "200 / 169, 10 drawn", first_cases(169 / 369), (
        Line(ONE, 6.3, "1-NN, Zhang 1992"), Line(C45, 6.3, "the same"),
    ), 369),
    Study("breast-w, first 369", "50 / 50, 10 drawn", first_cases(0.5), (
        Line(LINEAR, 6.5, "two pairs of hyperplanes, Wolberg 1990"),
    ), 369),
    Study("breast-w, first 369", "67 / 33, 10 drawn", first_cases(0.33), (
        Line(LINEAR, 4.1, "three pairs of hyperplanes, the same"),
    ), 369),
    Study("pima", "576 / the last 192", fixed(first_rows("pima", "class", (), 576)), (
        Line(C45, 24.0, "ADAP 1988"), Line(LINEAR, 24.0, "ADAP 1988"),
    )),
    Study("ionosphere", "first 200 / last 151", fixed(ionosphere), (
        Line(LINEAR, 9.33, "linear perceptron"), Line(CART, 6.0, "C4"),
    )),
    Study("abalone, 3 classes", "3,133 / 1,044", fixed(abalone), (
        Line(FIVE, 37.54, "5-NN"), Line(AS_THEY_ARE, 37.54, "5-NN"),
    )),
    Study("abalone, 29 classes", "3,133 / 1,044", fixed(rings), (
        Line(C45, 78.5, "C4.5"), Line(FIVE, 96.43, "5-NN"),
    )),
    Study("adult", "known rows, 30,162 / 15,060", fixed(adult), (
        Line(C45, 15.54, "C4.5"), Line(C45, 14.46, "C4.5-auto"), Line(CART._replace(peer=None), 14.46, "C4.5-auto"),
        Line(RULE_SET, 16.0, "CN2"), Line(TWO_LEVELS, 16.84, "T2"), Line(ONE_LEVEL, 19.54, "1R"),
        Line(LINEAR, 16.12, "naive Bayes"), Line(OBLIQUE, 15.04, "OC1"),
    )),
    Study("MONK 1", "124 / 432", fixed(monk(1)), (
        Line(ID3, 1.4, "ID3", quoted=True), Line(C45, 0.0, "Assistant Professional", quoted=True),
        Line(RULE_SET, 0.0, "CN2", quoted=True), Line(RULE_SET, 13.7, "PRISM", quoted=True),
        Line(COUNTS, 0.0, "AQ17-DCI", quoted=True),
    )),
    Study("MONK 2", "169 / 432", fixed(monk(2)), (
        Line(ID3, 32.1, "ID3", quoted=True), Line(C45, 18.7, "Assistant Professional", quoted=True),
        Line(RULE_SET, 31.0, "CN2", quoted=True), Line(RULE_SET, 27.3, "PRISM", quoted=True),
        Line(COUNTS, 0.0, "AQ17-DCI", quoted=True),
    )),
    Study("MONK 3", "122 / 432", fixed(monk(3)), (
        Line(ID3, 5.6, "ID3", quoted=True), Line(C45, 0.0, "Assistant Professional", quoted=True),
        Line(RULE_SET, 10.9, "CN2", quoted=True), Line(RULE_SET, 9.7, "PRISM", quoted=True),
        Line(COUNTS, 5.8, "AQ17-DCI", quoted=True),
    )),
    Study("LED, 7 lights", "200 / 5,000, drawn", sampled(lights, 200, nominal=True), (
        Line(CART, 30.0, "CART 1984; Bayes 26.0", quoted=True), Line(LEAST, 30.0, "the same", quoted=True),
        Line(C45, None, ""),
    )),
    Study("LED, 24 lights", "200 / 5,000, drawn", sampled(lights, 200, nominal=True, irrelevant=17), (
        Line(CART, 32.0, "CART 1984: 31 to 33; Bayes 26.0", quoted=True), Line(LEAST, 32.0, "the same", quoted=True),
        Line(C45, None, ""),
    )),
    Study("waveform", "300 / 5,000, drawn", sampled(waveforms, 300), (
        Line(CART, 28.0, "CART 1984; Bayes 14"), Line(LEAST, 28.0, "the same"), Line(LEAST, 29.1, "Breiman 1996"),
        Line(C45, 27.3, "C4.5, Quinlan 1996", quoted=True), Line(ONE, 22.0, "nearest neighbour"),
    )),
)  # fmt: skip


def wrong(found: Any, truth: Any) -> float:
    return 100.0 * float(np.mean(np.asarray(found) != np.asarray(truth)))


def errors_of(ours: Ours, pairs: list[Parts]) -> tuple[list[float], list[float]]:
    """Ours and the peer's on each pair, in per cent."""
    own, others = [], []
    for place, ((table, target), (other, truth)) in enumerate(pairs):
        asked = conform(other, table.columns)
        known, right = (np.array(part.column.labels)[part.codes] for part in (target, truth))
        parameters = ours.parameters | ({"seed": place} if "seed" in ours.parameters else {})
        own.append(wrong(make(ours.learner, parameters).fit(table, target).predict(asked), right))
        if ours.peer is not None:
            peer = ours.peer()
            if "seed" in parameters:
                peer.set_params(random_state=place)
            others.append(wrong(peer.fit(one_hot(table), known).predict(one_hot(asked)), right))
    return own, others


def show(study: Study, draws: int) -> None:
    pairs = list(study.parts(draws))
    rows = study.rows or len(pairs[0][1][0])
    found: dict[str, tuple[list[float], list[float]]] = {}
    for line in study.lines:
        name = line.ours.name
        if name not in found:
            found[name] = errors_of(line.ours, pairs)
        own, others = (float(np.mean(errors)) if errors else None for errors in found[name])
        error = standard_error(own, rows)
        spread = f" (sd {np.std(found[name][0], ddof=1):.1f})" if len(pairs) > 1 else ""
        worse = line.published is not None and own > line.published + error
        cells = [study.data, study.parting, name, f"{own:.1f} +- {error:.1f}{spread}"]
        cells += [shown(line.published, quoted=line.quoted), line.source, shown(others), "worse" if worse else ""]
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=25)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    wanted = [name for name in chosen.only.split(",") if name]
    print("| data | parted | by | ours | published | source | scikit-learn | worse than published |")
    print("|---|---|---|---|---|---|---|---|")
    for study in STUDIES:
        if not wanted or any(study.data.startswith(name) for name in wanted):
            show(study, chosen.draws)


if __name__ == "__main__":
    main()
