"""What a part takes of the whole's layout is to the bit what laying out its own rows gives, and so are the trees."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners import catalog
from learners.evaluation import Plan, cross_validate
from learners.evaluation.learning_curve import learning_curve, partial_split
from learners.evaluation.search import grid_search, select
from learners.parts import note_sound, part_of, parted
from learners.persist import dump
from learners.table import MISSING, UNSEEN, Column, Kind, Series, Table
from learners.trees import wholes
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from learners.trees.setup import GrowthOptions, prepare

OPTIONS = [
    GrowthOptions("gini"),
    GrowthOptions("gain-ratio", nominal="multiway", missing="as-value"),
    GrowthOptions("entropy", discretise="equal-frequency", bins=3),
    GrowthOptions("variance", threads=2, missing="most-likely"),
]


def made(n, seed, gaps):
    """Columns with many values, with few, with just about as many as are coded, and with levels; perhaps with gaps."""
    rng = np.random.default_rng(seed)
    columns = (
        Column("many"),
        Column("few"),
        Column("about"),
        Column("nominal", Kind.NOMINAL, tuple("abcdefg")),
        Column("ordinal", Kind.ORDINAL, ("low", "middle", "high")),
        Column("boolean", Kind.BOOLEAN, ("false", "true")),
        Column("empty"),
    )
    cells = [
        np.round(rng.normal(size=n), 3),
        rng.choice([-0.0, 0.0, 1.5, -2.0], n),
        rng.integers(0, n // 4 + 2, n),
        rng.integers(0, 7, n),
        rng.integers(0, 3, n),
        rng.integers(0, 2, n),
        np.full(n, MISSING),
    ]
    values = np.asfortranarray(np.column_stack(cells), dtype=float)
    if gaps:
        values[rng.random(values.shape) < 0.1] = MISSING
        values[rng.random(n) < 0.1, 3] = UNSEEN
    return Table(columns, values), rng


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 60) | st.sampled_from([1100, 1300]),
    seed=st.integers(0, 1000),
    gaps=st.booleans(),
    options=st.sampled_from(OPTIONS),
    share=st.sampled_from([0.3, 0.7, 0.95]),
)
def test_what_is_taken_is_what_laying_out_the_rows_alone_gives(n, seed, gaps, options, share):
    table, rng = made(n, seed, gaps)
    rows = np.flatnonzero(rng.random(n) < share)
    rows = rows if len(rows) else np.array([0])
    weights = rng.integers(0, 3, len(rows)).astype(float)
    weights[0] = 1.0
    n_classes = 0 if options.criterion == "variance" else 3
    target = rng.integers(0, 3, len(rows)).astype(float)
    whole = parted(table)
    taken = prepare(part_of(whole, rows), target, n_classes, weights, options)
    alone = prepare(table.take(rows), target, n_classes, weights, options)
    is_laid = options.discretise == "none" and (weights > 0).sum() >= wholes._LEAST_SHARE * n
    assert (whole in wholes._laid) == is_laid
    same_layout(taken, alone, rows if is_laid else np.arange(len(rows)))
    weights = np.zeros(n)
    weights[rows] = 1.0
    target = rng.integers(0, 3, n).astype(float)
    taken, alone = (prepare(one, target, n_classes, weights, options) for one in (whole, table))
    same_layout(taken, alone, np.arange(n))


def same_layout(taken, alone, rows):
    """Rows have the numbers of the whole, where ``rows`` are the part's; those of others mean nothing."""
    mine, other = taken.problem, alone.problem
    assert mine.layout == other.layout
    assert mine.columns.tobytes() == other.columns.tobytes()
    for column in np.flatnonzero(~mine.columns.is_coded):
        used = slice(taken.n_rows)
        assert np.array_equal(mine.keys[column, used], other.keys[column, used])
    learned = other.row[: alone.n_rows]
    assert np.array_equal(mine.row[: taken.n_rows], rows[learned])
    if mine.columns.is_coded.any():  # else there is but an unused place
        assert np.array_equal(mine.codes[rows[learned]], other.codes[learned])
    assert mine.cells[:, rows].tobytes() == other.cells.tobytes()
    assert mine.answer[rows].tobytes() == other.answer.tobytes()
    for name in ("values", "numbers", "logs"):
        assert getattr(mine, name).tobytes() == getattr(other, name).tobytes(), name
    assert taken.rules == alone.rules


def test_a_column_may_have_codes_in_a_part_and_not_in_the_whole_and_the_other_way_round():
    options, n = GrowthOptions("gini"), 1100
    values = np.asfortranarray(np.column_stack([np.arange(n) % 257, np.arange(n) % 250]), dtype=float)
    whole = parted(Table((Column("a"), Column("b")), values))
    target, found = np.arange(n) % 2.0, {}
    for name, rows in {"most": np.flatnonzero(values[:, 0] < 256), "half": np.arange(n // 2)}.items():
        part = part_of(whole, rows)
        taken = prepare(part, target[rows], 2, np.ones(len(rows)), options)
        alone = prepare(Table(part.columns, part.values), target[rows], 2, np.ones(len(rows)), options)
        same_layout(taken, alone, rows)
        found[name] = taken.problem.columns.is_coded.tolist()
    assert wholes._laid[whole].source.columns.is_coded.tolist() == [False, True]
    assert found == {"most": [True, True], "half": [False, False]}


def data():
    table, rng = made(240, 5, gaps=True)
    target = (
        np.nan_to_num(table.values[:, 0]) + (table.values[:, 3] > 3) + rng.normal(scale=0.4, size=240) > 0.5
    ) * 1.0
    return (
        table,
        Series(Column("y", Kind.NOMINAL, ("no", "yes")), target),
        Series(Column("y"), target + table.values[:, 4]),
    )


def state(model):
    return dump(model.get_state())


TREES = {
    "plain": DecisionTreeClassifier(),
    "c4.5": DecisionTreeClassifier(criterion="gain-ratio", pruning="error-based", min_leaf=2.0, threshold="data"),
    "cart": DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-min", alpha_folds=4),
    "intervals": DecisionTreeClassifier(discretise="mdl", missing="as-value"),
    "validated": DecisionTreeClassifier(pruning="reduced-error"),
    "forest": catalog.make("random-forest-classifier", {"members": 5}),
    "boosting": catalog.make("adaboost-classifier", {"members": 5}),
}


@pytest.mark.parametrize("name", TREES)
def test_the_model_of_a_fold_is_that_of_its_rows_alone(name):
    table, target, _ = data()
    plan = Plan(folds=5, repeats=2)
    found = cross_validate(TREES[name], table, target, plan, seed=3)
    splits = plan.splits(target, 3)
    for number, result in enumerate(found.results):
        rows = splits[number].train
        alone = type(TREES[name])(**TREES[name].get_params())
        alone.fit(Table(table.columns, table.take(rows).values), target.take(rows))
        assert state(result.model) == state(alone)


@pytest.mark.parametrize("n", [240, 1300])
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_of_a_whole_are_answered_as_by_themselves(n, gaps):
    """Their cells are not copied; of 240 rows by arrays, of 1,300 by machine code where it is loaded."""
    table, rng = made(n, 5, gaps)
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), rng.integers(0, 2, n).astype(float))
    model = DecisionTreeClassifier(min_leaf=3.0).fit(table, target)
    whole, rows = parted(table), np.flatnonzero(rng.random(n) < 0.6)
    note_sound(whole, target)  # or the part is looked at
    alone = model.predict_proba(table.take(rows))
    part = part_of(whole, rows)
    assert model.predict_proba(part).tobytes() == alone.tobytes()
    assert "values" not in vars(part)
    assert model.predict_proba(whole).tobytes() == model.predict_proba(table).tobytes()


def test_numbers_are_predicted_alike_too():
    table, _, target = data()
    kept = ~np.isnan(target.cells)
    table, target = table.take(kept), target.take(kept)
    found = cross_validate(DecisionTreeRegressor(min_leaf=3.0), table, target, 4)
    splits = Plan(folds=4).splits(target, 0)
    for number, result in enumerate(found.results):
        rows = splits[number].train
        assert state(result.model) == state(
            DecisionTreeRegressor(min_leaf=3.0).fit(table.take(rows), target.take(rows))
        )


def counted(monkeypatch):
    """Row counts of the wholes that are laid out from now on."""
    lay, seen = wholes._lay, []

    def counting(table, threads):
        seen.append(table.n_rows)
        return lay(table, threads)

    monkeypatch.setattr(wholes, "_lay", counting)
    return seen


def test_the_whole_is_laid_out_once_for_all_folds_candidates_and_shares_and_not_for_one_fit(monkeypatch):
    table, target, _ = data()
    seen = counted(monkeypatch)
    tree = DecisionTreeClassifier()
    tree.fit(table, target)
    cross_validate(tree, table, target, Plan(method="hold-out"))
    assert seen == []
    cross_validate(tree, table, target, 5)
    assert seen == [240]
    select(tree, grid_search(tree, {"max_depth": [1, 2, 3]}, Plan(folds=3)), table, target)
    assert seen == [240] * 2
    learning_curve(tree, table, target, (0.5, 1.0), Plan(folds=3))
    assert seen == [240] * 3
    cross_validate(tree, table.take(np.arange(30)), target.take(np.arange(30)), Plan(method="leave-one-out"))
    assert seen == [*[240] * 3, 30]
    DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-min", alpha_folds=4).fit(table, target)
    assert seen == [*[240] * 3, 30, 240]
    cross_validate(
        DecisionTreeClassifier(pruning="cost-complexity", alpha_choice="cv-min", alpha_folds=4), table, target, 3
    )
    assert seen == [*[240] * 3, 30, 240, 240]


def test_a_small_share_and_a_large_table_are_laid_out_alone(monkeypatch):
    table, target, _ = data()
    seen = counted(monkeypatch)
    whole = parted(table)
    small = partial_split(Plan(folds=3).splits(target, 0)[0], 0.1, target, 0).train
    DecisionTreeClassifier().fit(part_of(whole, small), target.take(small))
    monkeypatch.setattr(wholes, "_MOST_BYTES", 1000)
    rows = np.arange(200)
    DecisionTreeClassifier().fit(part_of(whole, rows), target.take(rows))
    assert seen == []


def test_the_layout_goes_with_the_table():
    table, target, _ = data()
    whole = parted(table)
    rows = np.arange(200)
    DecisionTreeClassifier().fit(part_of(whole, rows), target.take(rows))
    kept = weakref.ref(wholes._laid[whole])
    del whole
    gc.collect()
    assert kept() is None
