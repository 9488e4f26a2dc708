"""Errors of model trees beside those of Weka's M5P (3.6.14, baselines.csv), by its authors' group."""

import csv
import math

import pytest

from learners.catalog import make
from learners.evaluation import cross_validate
from tests.learners.trees.model_tree.tables import numeric_target
from tests.shared import SHARED


def published(name):
    """Root mean squared error over ten folds and its standard deviation over folds; of regression trees too."""
    with (SHARED / "data" / "baselines.csv").open(newline="") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file) if row["dataset"] == name}
    return float(rows["M5P"]["mean"]), float(rows["M5P"]["std"]), float(rows["M5P-regtree"]["mean"])


@pytest.mark.parametrize(
    ("name", "column", "dropped", "relative"),
    [("servo", "class", (), 0.45), ("machine-cpu", "class", (), 0.25), ("auto-mpg", "mpg", ("car_name",), 0.42)],
)
def test_errors_by_ten_folds_are_near_m5ps(name, column, dropped, relative):
    table, target = numeric_target(name, column, dropped)
    learner = make("model-tree-regressor", {"preset": "m5"})
    error = cross_validate(learner, table, target, 10, 1).summary["metrics"]["root_mean_squared_error"]["mean"]
    theirs, spread, without_functions = published(name)
    assert error <= theirs + 2 * spread / math.sqrt(10)
    assert error < without_functions
    assert error / target.cells.std() < relative
