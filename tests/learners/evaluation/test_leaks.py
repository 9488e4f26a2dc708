"""Nothing is fitted outside its fold. A leak is planted in each place, and each is seen.

What a fold learned must be the same to the bit whatever its tested rows hold. So these are changed, their
numbers, levels, gaps and classes one after the other, and the fitted models are compared. What learners prepare of
the whole table for all its folds, the order of the rows by each column, is no leak: none is seen there either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from learners import catalog
from learners.base import Learner
from learners.class_weights import class_factors
from learners.evaluation import Judging, Split, evaluate_fold
from learners.evaluation.folds import hold_out
from learners.neighbors import NearestNeighborsClassifier
from learners.parts import parted
from learners.persist import dump
from learners.preprocessing.discretise import equal_frequency
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier
from tests.learners.examples import Majority

ROWS, TESTED = 80, 20
COLOURS = tuple(f"c{code}" for code in range(12))
#: Fits on some rows of a table and gives what was fitted.
Fold = Callable[[Table, Series, Split], Any]


def data() -> tuple[Table, Series, Split]:
    generator = np.random.default_rng(11)
    number = generator.normal(size=ROWS)
    number[generator.random(ROWS) < 0.1] = np.nan
    colour = generator.integers(0, 6, ROWS).astype(float)
    codes = (np.nan_to_num(number) + colour / 5 + generator.normal(scale=0.5, size=ROWS) > 0.6).astype(float)
    columns = (Column("number"), Column("colour", Kind.NOMINAL, COLOURS))
    values = np.asfortranarray(np.column_stack([number, colour]))
    rows = np.arange(ROWS)
    return (
        Table(columns, values),
        Series(Column("y", Kind.NOMINAL, ("a", "b")), codes),
        Split(rows[TESTED:], rows[:TESTED]),
    )


def disturbed(table: Table, target: Series) -> dict[str, tuple[Table, Series]]:
    """The data with something else in the tested rows, by what that is."""
    tested = slice(0, TESTED)
    numbers, levels, gaps = (table.values.copy(order="F") for _ in range(3))
    numbers[tested, 0] = 1000 + 50 * np.arange(TESTED)
    levels[tested, 1] = 6 + np.arange(TESTED) % 6  # levels that no training row has
    gaps[tested, 0] = np.nan
    classes = target.cells.copy()
    classes[tested] = 1.0
    return {
        "numbers": (Table(table.columns, numbers), target),
        "levels": (Table(table.columns, levels), target),
        "gaps": (Table(table.columns, gaps), target),
        "classes": (table, Series(target.column, classes)),
    }


def leaks(fold: Fold) -> set[str]:
    """What of the tested rows a fold's model depends on; it should be nothing."""
    table, target, split = data()
    learned = fold(table, target, split)
    changed = disturbed(table, target)
    return {name for name, (other, wanted) in changed.items() if fold(other, wanted, split) != learned}


def state(learner: Learner) -> bytes:
    return dump(learner.get_state())


def honest(make: Callable[[], Learner]) -> Fold:
    def fold(table: Table, target: Series, split: Split) -> Any:
        return state(evaluate_fold(make, parted(table), target, split).model)

    return fold


def leaky(prepare: Callable[[Table, Series], tuple[Table, Series, Any]]) -> Fold:
    """A fold whose data are prepared from all rows before it."""

    def fold(table: Table, target: Series, split: Split) -> Any:
        ready, wanted, weights = prepare(table, target)
        judging = Judging(weights=weights)
        make = lambda: DecisionTreeClassifier(max_depth=3)  # noqa: E731
        return state(evaluate_fold(make, ready, wanted, split, judging).model)

    return fold


def scaled(table: Table, target: Series) -> tuple[Table, Series, Any]:
    values = table.values.copy(order="F")
    values[:, 0] = (values[:, 0] - np.nanmean(values[:, 0])) / np.nanstd(values[:, 0])
    return Table(table.columns, values), target, None


def discretised(table: Table, target: Series) -> tuple[Table, Series, Any]:
    values = table.values.copy(order="F")
    known = ~np.isnan(values[:, 0])
    cuts = equal_frequency(values[known, 0], np.ones(int(known.sum())), 4)
    values[known, 0] = np.searchsorted(cuts, values[known, 0])
    return Table(table.columns, values), target, None


def coded(table: Table, target: Series) -> tuple[Table, Series, Any]:
    """Levels numbered by how often they occur in all rows."""
    values = table.values.copy(order="F")
    counts = np.bincount(values[:, 1].astype(int), minlength=12)
    values[:, 1] = counts[values[:, 1].astype(int)]
    return Table((table.columns[0], Column("colour")), values), target, None


def imputed(table: Table, target: Series) -> tuple[Table, Series, Any]:
    values = table.values.copy(order="F")
    values[np.isnan(values[:, 0]), 0] = np.nanmean(values[:, 0])
    return Table(table.columns, values), target, None


def balanced(table: Table, target: Series) -> tuple[Table, Series, Any]:
    """Weights by how rare a class is among all rows."""
    shares = np.bincount(target.codes, minlength=2) / len(target)
    factors = class_factors({"a": 1 / shares[0], "b": 1 / shares[1]}, target.column)
    return table, target, factors[target.codes]


def test_the_schema_of_levels_is_all_that_a_fold_takes_from_outside():
    table, target, split = data()
    assert set(table.values[:TESTED, 1]) <= set(range(6))
    assert leaks(honest(Majority)) == set()
    assert evaluate_fold(Majority, table, target, split).model.columns_ == table.columns


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (scaled, {"numbers", "gaps"}),
        (discretised, {"numbers", "gaps"}),
        (coded, {"levels"}),
        (imputed, {"numbers", "gaps"}),
        (balanced, {"classes"}),
    ],
)
def test_a_leak_of_preparation_is_seen(plant, seen):
    assert leaks(leaky(plant)) == seen


def test_a_leak_of_the_pruning_set_is_seen():
    def fold(table: Table, target: Series, split: Split) -> Any:
        """Grows on training rows, and prunes by rows kept back from all, tested ones among them."""
        kept, _ = hold_out(table.n_rows, 0.5, 0)
        rows = np.union1d(split.train, kept.test)
        learner = DecisionTreeClassifier(pruning="reduced-error", validation_fraction=0.5)
        return state(learner.fit(table.take(rows), target.take(rows)))

    assert leaks(fold) >= {"numbers", "gaps", "classes"}


def chosen_k(table: Table, target: Series, split: Split) -> Learner:
    """Neighbours whose number is the best for all rows."""
    chosen = NearestNeighborsClassifier(k=15, choose_k="leave-one-out").fit(table, target)
    return NearestNeighborsClassifier(k=int(chosen.k_)).fit(table.take(split.train), target.take(split.train))


def weighted_by(weighting: str, k: int) -> Callable[[Table, Series, Split], Learner]:
    def plant(table: Table, target: Series, split: Split) -> Learner:
        """Columns weighted by what they tell of all rows."""
        whole = NearestNeighborsClassifier(k=k, weighting=weighting).fit(table, target)
        weights = dict(zip(table.names, (whole.coordinates_.factor**2).tolist(), strict=True))
        learner = NearestNeighborsClassifier(k=k, weighting="given", column_weights=weights)
        return learner.fit(table.take(split.train), target.take(split.train))

    return plant


def reduced_by(reduction: str) -> Callable[[Table, Series, Split], Learner]:
    def plant(table: Table, target: Series, split: Split) -> Learner:
        """The training rows of those that are kept of all."""
        kept = NearestNeighborsClassifier(reduction=reduction).fit(table, target).origin_
        rows = np.intersect1d(kept, split.train)
        return NearestNeighborsClassifier().fit(table.take(rows), target.take(rows))

    return plant


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (chosen_k, {"numbers", "levels", "gaps", "classes"}),
        (weighted_by("information-gain", 5), {"numbers", "levels", "gaps", "classes"}),
        (weighted_by("cross-validation", 3), {"numbers", "classes"}),
        (reduced_by("condensed"), {"numbers", "levels", "gaps", "classes"}),
        (reduced_by("edited"), {"numbers", "levels", "gaps", "classes"}),
    ],
    ids=["k", "information-gain", "cross-validation", "condensed", "edited"],
)
def test_a_leak_of_what_neighbours_fit_is_seen(plant, seen):
    assert leaks(lambda table, target, split: state(plant(table, target, split))) == seen


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 15, "choose_k": "leave-one-out"},
        {"weighting": "information-gain"},
        {"weighting": "cross-validation"},
        {"reduction": "condensed"},
        {"reduction": "edited"},
        {"reduction": "edited-condensed"},
        {"scaling": "standard"},
    ],
    ids=lambda parameters: list(parameters.values())[-1],
)
def test_what_neighbours_fit_beside_the_rows_is_fitted_inside(parameters):
    assert leaks(honest(lambda: catalog.make("nearest-neighbors-classifier", parameters))) == set()


def test_hash_tables_are_fitted_inside():
    """Of numbers alone, which are hashed: width, directions and number of tables by training rows."""
    generator = np.random.default_rng(12)
    values, classes = generator.normal(size=(600, 2)), generator.integers(0, 2, 600).astype(float)
    split = Split(np.arange(100, 600), np.arange(100))
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), classes)
    make = lambda: NearestNeighborsClassifier(search="hashing")  # noqa: E731
    learned = evaluate_fold(make, Table.from_array(values), target, split).model
    assert learned.index_.tables is not None
    values[:100] *= 1000
    assert state(evaluate_fold(make, Table.from_array(values), target, split).model) == state(learned)


@pytest.mark.parametrize(
    "parameters",
    [
        {"pruning": "reduced-error"},
        {"discretise": "mdl"},
        {"discretise": "equal-frequency"},
        {"class_weight": {"a": 3}},
        {"pruning": "cost-complexity", "alpha_choice": "cv-min", "alpha_folds": 3},
        {"oblique_tests": True, "max_depth": 2},
    ],
    ids=lambda parameters: next(iter(parameters.values())) if isinstance(parameters, dict) else "",
)
def test_what_a_tree_fits_beside_itself_is_fitted_inside(parameters):
    assert leaks(honest(lambda: catalog.make("decision-tree-classifier", parameters))) == set()


CLASSIFIERS = [one for one in catalog.LEARNERS if one.capabilities.task == "classification"]


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=lambda learner: learner.name)
def test_no_classifier_of_the_catalogue_leaks(learner):
    assert leaks(honest(learner)) == set()


def test_no_regressor_of_the_catalogue_leaks():
    table, _, split = data()
    target = Series(Column("y"), np.arange(float(ROWS)) % 7)
    for learner in catalog.LEARNERS:
        if learner.capabilities.task != "regression":
            continue
        learned = state(evaluate_fold(learner, parted(table), target, split).model)
        assert learned == state(evaluate_fold(learner, table, target, split).model)
        for name, (other, _) in disturbed(table, target).items():
            assert state(evaluate_fold(learner, parted(other), target, split).model) == learned, (learner.name, name)
