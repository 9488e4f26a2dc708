"""Ten-fold cross-validation of a C4.5-like tree against Weka's J48 on real tables (baselines.csv)."""

from __future__ import annotations

import csv
import math
from typing import Any

import pytest

from learners.catalog import make
from learners.checks.require import require_json
from learners.evaluation import cross_validate, out_of_fold
from tests.learners.tables import read, read_file
from tests.shared import SHARED, trap_path

#: Table: target and the columns that Weka's run had not.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "iris": ("class", ()),
    "vote": ("Class", ()),
    "breast-w": ("class", ("id",)),
    "glass": ("Type", ()),
    "pima": ("class", ()),
    "labor": ("class", ()),
    "car": ("class", ()),
}
#: C4.5 Release 8 as J48 has it: gain ratio, at least 2 rows in a leaf, error-based pruning at 0.25.
J48 = {
    "criterion": "gain-ratio",
    "nominal": "multiway",
    "min_leaf": 2,
    "threshold": "data",
    "threshold_penalty": True,
    "threshold_minimum": "c4.5",
    "pruning": "error-based",
    "subtree_raising": True,
}


def published(table: str) -> tuple[float, float]:
    """Mean accuracy and its standard deviation over folds, in per cent."""
    with (SHARED / "data" / "baselines.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if (row["dataset"], row["learner"]) == (table, "J48"))
    return float(row["mean"]), float(row["std"])


@pytest.mark.parametrize(
    ("trap", "folds"),
    [
        ("rare_class", 10),
        ("single_class", 2),
        ("class_words", 10),
        ("all_missing_col", 4),
        ("big_values", 5),
        ("xor", 4),
    ],
)
@pytest.mark.parametrize("settings", [{}, J48], ids=["default", "c4.5"])
def test_traps_are_cross_validated(trap: str, folds: int, settings: dict[str, Any]) -> None:
    data, classes = read_file(trap_path(f"{trap}.csv"), "y")
    found = cross_validate(make("decision-tree-classifier", settings), data, classes, folds)
    answers = out_of_fold(found.results, data.n_rows)
    assert answers.probabilities is not None
    assert answers.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert found.summary["classes"] == list(classes.column.levels)
    require_json([found.summary, *(result.to_json() for result in found.results)], "metrics")


@pytest.mark.parametrize("table", TABLES)
def test_accuracy_is_within_two_standard_errors_of_j48s(table: str) -> None:
    target, drop = TABLES[table]
    data, classes = read(table, target, drop)
    learner = make("decision-tree-classifier", J48)
    means = [
        cross_validate(learner, data, classes, 10, seed).summary["metrics"]["accuracy"]["mean"] for seed in (1, 2, 3)
    ]
    mean, deviation = published(table)
    assert 100 * sum(means) / 3 == pytest.approx(mean, abs=2 * deviation / math.sqrt(10))
