"""Ten-fold cross-validation of a C4.5-like tree against Weka's J48 on real tables (baselines.csv)."""

from __future__ import annotations

import csv
import math

import pytest

from learners.catalog import make
from learners.evaluation import cross_validate
from tests.learners.tables import read
from tests.shared import SHARED

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
