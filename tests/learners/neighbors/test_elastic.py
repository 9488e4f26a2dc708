"""Edit distance and time warping against the plain recursions, and learners that use them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from learners.catalog import dump_model, load_model
from learners.errors import DataError, ModelFormatError, SchemaError
from learners.evaluation import Plan, cross_validate
from learners.evaluation.search import grid_search, select
from learners.neighbors import LocalLinearRegressor, NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neighbors.bias_variance import error_parts
from learners.neighbors.elastic import edit_distances, warping_distances
from learners.persist import load
from learners.table import Column, Kind, Table

texts = st.text("abü", max_size=6)


def plain_edits(one, other):
    if not one or not other:
        return len(one) + len(other)
    return min(
        plain_edits(one[1:], other) + 1,
        plain_edits(one, other[1:]) + 1,
        plain_edits(one[1:], other[1:]) + (one[0] != other[0]),
    )


@settings(max_examples=25, deadline=None)
@given(one=texts, others=st.lists(texts, min_size=1, max_size=4))
def test_edits_are_those_of_the_recursion(one, others):
    assert edit_distances(one, others).tolist() == [plain_edits(one, other) for other in others]


@settings(max_examples=50, deadline=None)
@given(one=texts, two=texts, three=texts)
def test_edit_distance_is_a_metric(one, two, three):
    (to_two, to_three), (back, between) = edit_distances(one, [two, three]), edit_distances(two, [one, three])
    assert to_two == back
    assert (to_two == 0) == (one == two)
    assert to_three <= to_two + between


def plain_warping(one, other):
    least = np.full((len(one) + 1, len(other) + 1), np.inf)
    least[0, 0] = 0
    for i, j in np.ndindex(len(one), len(other)):
        cost = np.linalg.norm(one[i] - other[j])
        least[i + 1, j + 1] = cost + min(least[i, j], least[i, j + 1], least[i + 1, j])
    return least[-1, -1]


@pytest.mark.parametrize("width", [1, 3])
def test_warping_is_that_of_the_recursion(width):
    generator = np.random.default_rng(0)
    sequences = [generator.normal(size=(generator.integers(1, 9), width)) for _ in range(12)]
    for one in sequences:
        found = warping_distances(one, sequences)
        np.testing.assert_allclose(found, [plain_warping(one, other) for other in sequences], rtol=1e-12)
    assert warping_distances(np.array([[0.0], [1], [1], [2]]), [np.array([[0.0], [0], [1], [2]])]) == [0]
    with pytest.raises(DataError, match="numbers a step"):
        warping_distances(np.zeros((2, 4)), sequences)


def names(values, extra=()):
    column = Column("name", Kind.TEXT).extended([*values, *extra])
    return Table.from_columns({"name": values}, [column])


def test_texts_are_answered_by_those_alike():
    table = names(["meier", "meyer", "mayer", "schmidt", "schmitt", None])
    labels = ["m", "m", "m", "s", "s", "s"]
    model = NearestNeighborsClassifier(k=2, scaling="none").fit(table, labels)
    assert model.predict(names(["maier", "shmidt"])).tolist() == ["m", "s"]
    copy = load_model(load(dump_model(model)))
    asked = names(["mayr", "schmid", None], extra=["unused"])
    assert copy.explain(asked) == model.explain(asked)
    first = model.explain(asked)[0].neighbours[0]
    assert (first.row, first.distance, first.shares) == (2, 1.0, (("name", 1.0),))
    scaled = NearestNeighborsClassifier(k=1).fit(table, labels).explain(asked)[0]
    assert scaled.neighbours[0].distance == pytest.approx(1 / 7)  # of the longest text


def test_texts_and_gaps_are_measured_in_their_own_unit_by_weight():
    """By hand, unscaled: one edit and 3 of a number, the edit with the weight 4; a gap is the longest text."""
    words = ["ab", "abcd", "ac", None]
    table = Table.from_columns({"word": words, "x": [0.0, 0, 3, 0]}, [Column("word", Kind.TEXT).extended(words[:3])])

    def distances(scaling="none", **more):
        model = NearestNeighborsRegressor(k=4, scaling=scaling, **more).fit(table, np.arange(4.0))
        return {one.row: one.distance for one in model.explain(table.take(np.array([0])))[0].neighbours}

    assert distances() == pytest.approx({0: 0, 1: 2, 2: np.sqrt(1 + 9), 3: 4})
    weighted = distances(weighting="given", column_weights={"word": 1.0, "x": 0.25})
    assert weighted == pytest.approx({0: 0, 1: 2, 2: np.sqrt(1 + 9 / 4), 3: 4})
    light = distances(weighting="given", column_weights={"word": 0.25})
    assert light == pytest.approx({0: 0, 1: 1, 2: np.sqrt(1 / 4 + 9), 3: 2})
    # scaled, of the longest text of 4 and of the range of 3; a gap is as far as can be
    assert distances(scaling="range") == pytest.approx({0: 0, 1: 2 / 4, 2: np.sqrt(1 / 16 + 1), 3: 1})


def test_sequences_are_scaled_by_their_largest_distance():
    """By hand, of sequences of one step, which are as far apart as their numbers."""
    table = Table.from_columns({"s": [[0.0], [1.0], [4.0], None], "x": [0.0, 0.0, 0.0, 0.0]})
    for scaling, unit in (("none", 1), ("range", 4), ("standard", 4)):
        model = NearestNeighborsRegressor(k=4, scaling=scaling).fit(table, np.arange(4.0))
        told = {one.row: one.distance for one in model.explain(table.take(np.array([1])))[0].neighbours}
        assert told == pytest.approx({1: 0, 0: 1 / unit, 2: 3 / unit, 3: 4 / unit})


@pytest.mark.parametrize(
    "options", [{"kernel": "inverse"}, {"weighting": "cross-validation"}, {"weighting": "information-gain"}]
)
def test_texts_beside_numbers_under_every_fit(options):
    generator = np.random.default_rng(1)
    words = ["ab"[row % 3 // 2] + ("xxx" if row % 2 else "yyy") for row in range(40)]
    numbers = generator.normal(size=40)
    table = Table.from_columns({"word": words, "x": numbers.tolist()}, [Column("word", Kind.TEXT).extended(words)])
    y = np.arange(40) % 2 * 10.0
    for learner in (NearestNeighborsRegressor, LocalLinearRegressor):
        model = learner(k=9, choose_k="leave-one-out", **options).fit(table, y)
        assert np.isfinite(model.predict(table)).all()
    model = NearestNeighborsClassifier(k=1, reduction="edited-condensed", **options).fit(table, ["n", "y"] * 20)
    assert model.score(table, ["n", "y"] * 20) >= 0.8


def test_sequences_are_answered_by_those_alike():
    rising, falling = [[1, 2, 3, 4], [1, 1, 2, 3, 4], [0, 2, 3, 5]], [[4, 3, 2, 1], [4, 4, 3, 2, 1], [5, 3, 2, 0]]
    table = Table.from_columns({"curve": rising + falling})
    model = NearestNeighborsClassifier(k=3).fit(table, ["up"] * 3 + ["down"] * 3)
    asked = Table.from_columns({"curve": [[1, 2, 2, 2, 3, 4], [4, 3, 3, 1]]})
    assert model.predict(asked).tolist() == ["up", "down"]
    with pytest.raises(SchemaError, match=r"'curve': the sequence .* has 2 numbers a step"):
        model.predict(Table.from_columns({"curve": [[[1, 2], [3, 4]]]}))


HUGE = ([1e200], [1e160, 2.0], [1e308, -1e308])


@pytest.mark.parametrize("kind", [NearestNeighborsClassifier, NearestNeighborsRegressor, LocalLinearRegressor])
@pytest.mark.parametrize("kernel", ["uniform", "inverse", "gaussian"])
@pytest.mark.parametrize("scaling", ["range", "standard", "none"])
def test_sequences_of_huge_numbers_are_far_from_all_and_finite(kind, kernel, scaling):
    steps = [[1, 2, 3], [1, 1, 2, 3, 3], [3, 2, 1], [0], [5, 5, 5, 5], [1.5, 2.5]]
    target = np.array(list("ababab")) if kind is NearestNeighborsClassifier else np.arange(6.0)
    asked = Table.from_columns({"s": [*HUGE, [1, 2]], "x": [1.0, 2.0, 3.0, 1.0]})
    model = kind(k=3, kernel=kernel, scaling=scaling)
    model.fit(Table.from_columns({"s": steps, "x": np.arange(6.0)}), target)
    answers, reasons = model.predict(asked), model.explain(asked)
    assert answers[-1:].tolist() == model.predict(asked.take([3])).tolist()
    for reason in reasons:
        assert all(np.isfinite(one.distance) and np.isfinite(one.vote) for one in reason.neighbours)
    if kind is not NearestNeighborsClassifier:
        assert np.isfinite(answers).all()


@pytest.mark.parametrize(("huge", "own"), list(zip(HUGE, (2.0, 2.5, 2.5), strict=True)))
def test_huge_numbers_in_training_sequences_are_scaled_or_refused_by_name(huge, own):
    # the huge one is nearest to the other of a single step where it has one, else to the row beside it
    table = Table.from_columns({"s": [[1, 2], [2.0], [3, 1], huge], "x": np.arange(4.0)})
    model = NearestNeighborsRegressor(k=2).fit(table, np.arange(4.0))
    assert model.predict(table).tolist() == pytest.approx([0.5, 0.5, 1.5, own])
    with pytest.raises(DataError, match=r"column 's' reaches 1e\+\d+ in magnitude; unscaled") as caught:
        NearestNeighborsRegressor(k=2, scaling="none").fit(table, np.arange(4.0))
    assert caught.value.field == "s"


@pytest.mark.parametrize("p", [2.5, 32.0])
def test_sequences_may_be_as_far_apart_as_numbers(p):
    """Of one step they differ as their numbers do, up to the largest that are allowed, on both sides of 0."""
    largest = 10 ** (250 / p)
    cells = [0.0, -largest / 2, -largest]
    for values, asked in ((cells, largest), ([[cell] for cell in cells], [largest])):
        model = NearestNeighborsRegressor(k=3, scaling="none", metric="minkowski", p=p)
        model.fit(Table.from_columns({"s": values}), np.arange(3.0))
        (reason,) = model.explain(Table.from_columns({"s": [asked]}))
        told = [one.distance / largest for one in reason.neighbours]
        assert told == pytest.approx([1, 1.5, 2])


def test_a_callers_own_function_measures():
    x, y = np.array([[0.0, 9], [1, 0], [5, 4]]), np.array([1.0, 2.0, 3.0])
    model = NearestNeighborsRegressor(k=1).measuring_by(lambda one, other: abs(one[0] - other[0])).fit(x, y)
    assert model.predict([[4.0, 0], [0.2, 0]]).tolist() == [3, 1]
    (reason,) = model.explain([[4.0, 0]])
    assert (reason.neighbours[0].row, reason.neighbours[0].distance, reason.neighbours[0].shares) == (2, 1.0, ())
    with pytest.raises(ModelFormatError, match="cannot be saved"):
        model.get_state()
    negative = NearestNeighborsRegressor(k=1).measuring_by(lambda one, other: -1.0).fit(x, y)
    with pytest.raises(DataError, match="finite and >= 0"):
        negative.predict(x)


def test_a_callers_own_function_goes_along_into_every_copy():
    """It looks at the first column, which tells the number; the second, in larger units, is noise."""
    generator = np.random.default_rng(0)
    x, y = np.column_stack([np.arange(30.0), 1e3 * generator.normal(size=30)]), np.arange(30.0)
    model = NearestNeighborsRegressor(k=1, scaling="none").measuring_by(lambda one, other: abs(one[0] - other[0]))
    for copy in (model.copied(), clone(model), model.measuring_by(model.distance_function_)):
        assert not copy.is_fitted
        assert copy.get_params() == model.get_params()
        assert copy.fit(x, y).predict([[12.2, 5e3]]).tolist() == [12]
    for plan in (Plan(folds=5), Plan("leave-one-out")):
        assert cross_validate(model, x, y, plan).summary["metrics"]["mean_absolute_error"]["mean"] <= 1.5
    assert -cross_val_score(model, x, y, cv=KFold(5, shuffle=True), scoring="neg_mean_absolute_error").mean() <= 2
    found = select(model, grid_search(model, {"k": [1, 2]}, Plan(folds=3)), x, y).model
    assert abs(found.predict([[12.2, 5e3]])[0] - 12.2) < 1
    (parts,) = error_parts(model, x, y, [1])
    assert parts.error == 1  # the row beside each, of which one differs by 1
    assert not model.leaves_one_out
