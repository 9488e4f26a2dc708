"""Our trees against those that Weka 3.6.14's J48 printed for the same tables."""

import csv
import math

import numpy as np
import pytest

from learners.table import Series, number_text
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import THRESHOLD
from tests.learners.tables import read
from tests.learners.trees.j48 import Printed, parse_j48, show
from tests.shared import SHARED, golden

C45 = {
    "criterion": "gain-ratio",
    "nominal": "multiway",
    "min_leaf": 2,
    "min_split": 4,
    "threshold": "data",
    "threshold_penalty": True,
    "threshold_minimum": "c4.5",
    "missing": "fractional",
}
PRUNED = {"pruning": "error-based", "confidence": 0.25, "subtree_raising": True}
TABLES = {
    "weather-nominal": ("play", ()),
    "weather-numeric": ("play", ()),
    "contact-lenses": ("contact-lenses", ()),
    "iris": ("class", ()),
    "labor": ("class", ()),
    "vote": ("Class", ()),
    "breast-w": ("class", ("id",)),
}


def as_printed(model, node=0):
    """A fitted tree as J48 would print it: weight and errors to two decimals, halves up.

    J48 prints an empty branch for each level that did not occur in the node; ours have one branch
    for all of them, which is repeated here.
    """
    nodes = model.tree_
    children = list(nodes.children(node))
    if not children:
        errors = nodes.weight[node] - nodes.value[node].max() if nodes.weight[node] > 0 else 0.0
        label = model.classes_[int(np.argmax(nodes.value[node]))]
        return Printed([], label, rounded(nodes.weight[node]), rounded(errors))
    column = model.columns_[nodes.feature[node]]
    parts = [as_printed(model, child) for child in children]
    if nodes.test[node] == THRESHOLD:
        threshold = number_text(nodes.threshold[node])
        return Printed([(column.name, "<=", threshold, parts[0]), (column.name, ">", threshold, parts[1])])
    codes, branches = nodes.levels_of(node)
    branch_of = dict(zip(codes.tolist(), branches.tolist(), strict=True))
    taken = [(level, branch_of.get(code, nodes.other_branch[node])) for code, level in enumerate(column.levels)]
    return Printed([(column.name, "=", level, parts[branch]) for level, branch in taken])


def rounded(weight):
    return math.floor(weight * 100 + 0.5) / 100


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("pruned", [False, True], ids=["unpruned", "pruned"])
def test_tree_equals_j48s(name, pruned):
    target, dropped = TABLES[name]
    table, labels = read(name, target, dropped)
    pruning = PRUNED if pruned else {"pruning": "collapse"}  # J48 collapses unpruned trees too
    model = DecisionTreeClassifier(**C45, **pruning).fit(table, labels)
    expected = parse_j48(golden(f"j48-{'' if pruned else 'unpruned-'}{name}.txt"))
    assert show(as_printed(model)) == show(expected)


def test_levels_that_do_not_occur_share_one_branch_that_answers_as_their_parent():
    """J48 gives each of them an empty leaf of its own; the answers are the same."""
    table, labels = read("labor", "class")
    model = DecisionTreeClassifier(**C45, pruning="collapse").fit(table, labels)
    nodes = model.tree_
    empty = np.flatnonzero(nodes.weight == 0)
    assert len(empty) == 1
    parent = nodes.parent[empty[0]]
    assert table.columns[nodes.feature[parent]].name == "pension"
    assert nodes.other_branch[parent] == empty[0] - nodes.first_child[parent]
    np.testing.assert_array_equal(nodes.value[empty[0]], nodes.value[parent])


def test_raising_shows_in_the_labor_tree():
    """The pruned tree keeps a test from deep in the unpruned one, which replacement alone does not do."""
    table, labels = read("labor", "class")
    raised = DecisionTreeClassifier(**C45, **PRUNED).fit(table, labels)
    replaced = DecisionTreeClassifier(**C45, **{**PRUNED, "subtree_raising": False}).fit(table, labels)
    assert raised.tree_.n_leaves == 3
    assert show(as_printed(raised)) != show(as_printed(replaced))


def cross_validated(table, labels, pruning, runs=3, k=10):
    """Accuracy in percent and mean number of nodes over stratified folds."""
    hits, sizes = [], []
    for run in range(runs):
        rng = np.random.default_rng(run)
        fold = np.empty(len(labels), dtype=int)
        for code in np.unique(labels.cells):
            rows = rng.permutation(np.flatnonzero(labels.cells == code))
            fold[rows] = (np.arange(len(rows)) + rng.integers(k)) % k
        for held_out in range(k):
            kept = fold != held_out
            model = DecisionTreeClassifier(**C45, **pruning).fit(
                table.take(kept), Series(labels.column, labels.cells[kept])
            )
            answers = model.predict_proba(table.take(~kept)).argmax(axis=1)
            hits.extend(answers == labels.cells[~kept])
            sizes.append(model.tree_.n_nodes)
    return 100 * np.mean(hits), np.mean(sizes)


def baseline(dataset, learner):
    with (SHARED / "data" / "baselines.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["dataset"], row["learner"], row["split"]) == (dataset, learner, "main"):
                return float(row["mean"]), float(row["mean_tree_size"])
    raise LookupError(dataset)


@pytest.mark.parametrize(("name", "target"), [("glass", "Type"), ("pima", "class"), ("vote", "Class"), ("zoo", "type")])
@pytest.mark.parametrize("learner", ["J48", "J48-unpruned"])
def test_cross_validated_accuracy_and_size_are_j48s(name, target, learner):
    """Other folds, so not the same numbers: within 2.5 points and 8 percent of the size."""
    table, labels = read(name, target)
    accuracy, size = cross_validated(table, labels, PRUNED if learner == "J48" else {"pruning": "collapse"})
    expected_accuracy, expected_size = baseline(name, learner)
    assert accuracy == pytest.approx(expected_accuracy, abs=2.5)
    assert size == pytest.approx(expected_size, rel=0.08)
