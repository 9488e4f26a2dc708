"""Rule sets beside published ones: error rates and sizes, with standard errors.

    python benchmarks/rules.py [--folds 10] [--only adult]

Ours is ``rule-set-classifier`` with its defaults, or with the setting that the line names. Where the published
figure is of a fixed test part, so is ours, with the binomial standard error; else the error is the mean of
stratified folds with the standard error of their mean. Sizes count rules without the default. C4.5 trees are
grown in the same run, pruned as published, for comparison.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.evaluation.folds import k_fold
from learners.rules.classifier import RuleSetClassifier
from learners.table import Column, Kind, Table, nominal_levels
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.tables import read

C45 = {
    "criterion": "gain-ratio",
    "nominal": "multiway",
    "min_leaf": 2,
    "threshold": "data",
    "threshold_penalty": True,
    "threshold_minimum": "c4.5",
    "pruning": "error-based",
    "subtree_raising": True,
}
#: Cross-validated: file, target, the published error in % and whose it is.
VALIDATED = (
    ("labor", "class", "15.8 (C4.5, Freund and Schapire 1996; from memory)"),
    ("vote", "Class", "5.1 (C4.5 R8, Quinlan 1996; from memory)"),
    ("breast-w", "class", "5.28 (C4.5 R8, Quinlan 1996; from memory)"),
    ("credit-a", "class", "14.7 (C4.5 R8, Quinlan 1996; from memory)"),
    ("soybean", "class", "7.7 (C4.5 R8, Quinlan 1996; from memory)"),
    ("iris", "class", "4.80 (C4.5 R8, Quinlan 1996; from memory)"),
)
MONKS = {
    1: "0 (CN2, AQ17); 1.4 (ID3); from memory",
    2: "31.0 (CN2); 32.1 (ID3); from memory",
    3: "10.9 (CN2); 5.6 (ID3); from memory",
}


def error_of(model, table, labels):
    """Share of rows answered wrongly."""
    return float(np.mean(model.predict_proba(table).argmax(axis=1) != labels.cells))


def binomial(error, n_rows):
    """The standard error of an error rate on so many rows."""
    return math.sqrt(error * (1 - error) / n_rows)


def line(*cells):
    """One row of the table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def rate(error, spread):
    """An error rate with its standard error in %."""
    return f"{100 * error:.2f} +- {100 * spread:.2f}"


def names(table):
    """Numbers that stand for names as levels."""
    cells = {}
    columns = []
    for index, column in enumerate(table.columns):
        cells[column.name] = [str(int(cell)) for cell in table.values[:, index]]
        columns.append(Column(column.name, Kind.NOMINAL, nominal_levels(column.name, cells[column.name])))
    return Table.from_columns(cells, columns)


def tested(label, parts, published, **settings):
    """Train on one part, test on another."""
    (table, labels), (test, test_labels) = parts
    start = time.process_time()
    model = RuleSetClassifier(**settings).fit(table, labels)
    spent = time.process_time() - start
    tree = DecisionTreeClassifier(**C45).fit(table, labels)
    error, other = error_of(model, test, test_labels), error_of(tree, test, test_labels)
    rows = test.n_rows
    sizes = f"{model.n_rules_} / {tree.n_leaves_}"
    line(
        label, rate(error, binomial(error, rows)), published, rate(other, binomial(other, rows)), sizes, f"{spent:.1f}"
    )


def mushrooms():
    """Training error by number of rules; the published rules have disjunctions, so sets of levels."""
    table, labels = read("mushroom", "class")
    facts = {1: "1.48 (120)", 2: "0.59 (48)", 3: "0.10 (8)", 4: "0 (0)", None: "0 (0)"}
    for limit, published in facts.items():
        start = time.process_time()
        model = RuleSetClassifier(nominal="subset", max_rules=limit).fit(table, labels)
        spent = time.process_time() - start
        wrong = round(error_of(model, table, labels) * table.n_rows)
        ours = f"{100 * wrong / table.n_rows:.2f} ({wrong})"
        line(f"mushroom, {limit or 'all'} rules, sets", ours, published, "", model.n_rules_, f"{spent:.1f}")
    model = RuleSetClassifier().fit(table, labels)
    wrong = round(error_of(model, table, labels) * table.n_rows)
    line("mushroom, defaults", f"{100 * wrong / table.n_rows:.2f} ({wrong})", "0 (0)", "", model.n_rules_, "")


def monks():
    """The three problems with their own test parts."""
    for number, published in MONKS.items():
        parts = []
        for part in ("train", "test"):
            table, labels = read(f"monks-{number}-{part}", "class")
            parts.append((names(table), labels))
        tested(f"MONK-{number}", parts, published)


def adult():
    """Without rows that have unknown values, as published."""
    parts = []
    for part in ("train", "test"):
        table, labels = read(f"adult-{part}", "income")
        known = np.flatnonzero(~np.isnan(table.values).any(axis=1))
        parts.append((table.take(known), labels.take(known)))
    tested("adult", parts, "14.94 (C4.5 rules); 15.54 (C4.5)")


def validated(folds):
    """Cross-validated errors."""
    for name, target, published in VALIDATED:
        table, labels = read(name, target)
        split = k_fold(table.n_rows, folds, 0, labels.codes)
        errors, others, sizes, leaves, spent = [], [], [], [], 0.0
        for fold in range(folds):
            train, test = split[fold].train, split[fold].test
            start = time.process_time()
            model = RuleSetClassifier().fit(table.take(train), labels.take(train))
            spent += time.process_time() - start
            tree = DecisionTreeClassifier(**C45).fit(table.take(train), labels.take(train))
            errors.append(error_of(model, table.take(test), labels.take(test)))
            others.append(error_of(tree, table.take(test), labels.take(test)))
            sizes.append(model.n_rules_)
            leaves.append(tree.n_leaves_)
        ours, theirs = (rate(np.mean(one), np.std(one, ddof=1) / math.sqrt(folds)) for one in (errors, others))
        size = f"{np.mean(sizes):.1f} / {np.mean(leaves):.1f}"
        line(f"{name}, {folds} folds", ours, published, theirs, size, f"{spent / folds:.1f}")


def weather():
    """The first data of every textbook: training error."""
    table, labels = read("weather-nominal", "play")
    model = RuleSetClassifier().fit(table, labels)
    line("weather, training rows", f"{100 * error_of(model, table, labels):.0f}", "0 (C4.5)", "", model.n_rules_, "")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", choices=("mushrooms", "monks", "adult", "validated", "weather"))
    chosen = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}\n")
    line("data", "our error, %", "published, %", "our C4.5 tree, %", "rules / leaves", "s of processor")
    line(*["---"] * 6)
    cases = {
        "weather": weather,
        "mushrooms": mushrooms,
        "monks": monks,
        "validated": lambda: validated(chosen.folds),
        "adult": adult,
    }
    for name, run in cases.items():
        if chosen.only in (None, name):
            run()


if __name__ == "__main__":
    main()
