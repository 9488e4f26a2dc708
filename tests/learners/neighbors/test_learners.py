"""The learners against scikit-learn's, on real data, and by what is known of them."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from learners.checks import samples
from learners.errors import DataError, ParameterError
from learners.neighbors import NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neighbors.condensing import condensed, edited
from learners.neighbors.distances import Metric
from learners.neighbors.index import make_index
from learners.table import Table
from tests.learners.tables import read as real
from tests.shared import trap_path

SCALERS = {"range": MinMaxScaler, "standard": StandardScaler}


@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("search", ["brute", "kd-tree"])
@pytest.mark.parametrize("scaling", ["range", "standard", "none"])
def test_classes_are_the_peers(k, search, scaling):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8] + np.arange(569)[:, None] * 1e-7  # no two rows equally far
    ours = NearestNeighborsClassifier(k=k, search=search, scaling=scaling).fit(X[::2], y[::2])
    if scaling in SCALERS:
        X = SCALERS[scaling]().fit(X[::2]).transform(X)
        peer = KNeighborsClassifier(k).fit(X[::2], y[::2])
        asked = X[1::2]
    else:
        peer, asked = KNeighborsClassifier(k).fit(X[::2], y[::2]), X[1::2]
    original = load_breast_cancer().data[:, :8] + np.arange(569)[:, None] * 1e-7
    np.testing.assert_allclose(ours.predict_proba(original[1::2]), peer.predict_proba(asked), atol=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
def test_numbers_are_the_peers_under_every_metric(metric):
    X, y = load_diabetes(return_X_y=True)
    names = {"manhattan": {"p": 1}, "chebyshev": {"metric": "chebyshev"}, "minkowski": {"p": 3}}
    for search in ("brute", "kd-tree"):
        ours = NearestNeighborsRegressor(k=6, metric=metric, scaling="none", search=search, kernel="inverse")
        peer = KNeighborsRegressor(6, weights="distance", **names[metric]).fit(X[:300], y[:300])
        found = ours.fit(X[:300], y[:300]).predict(X[300:])
        near, _ = peer.kneighbors(X[300:], 7)
        clear = near[:, 6] > near[:, 5]  # equal distances are the peer's own affair
        np.testing.assert_allclose(found[clear], peer.predict(X[300:])[clear], rtol=1e-9)


def test_the_smallest_difference_is_the_peers_function():
    X, y = load_diabetes(return_X_y=True)
    X = X[:200, [2, 3, 5]]
    peer = KNeighborsRegressor(6, metric=lambda a, b: np.abs(a - b).min(), algorithm="brute").fit(X[:150], y[:150])
    found = NearestNeighborsRegressor(k=6, metric="minimum", scaling="none").fit(X[:150], y[:150]).predict(X[150:])
    distances, _ = peer.kneighbors(X[150:], 7)
    clear = distances[:, 6] > distances[:, 5]
    assert clear.any()
    np.testing.assert_allclose(found[clear], peer.predict(X[150:])[clear], rtol=1e-12)


@pytest.mark.parametrize(
    ("parameter", "given"), [("search", "kd-tree"), ("search", "hashing"), ("weighting", "information-gain")]
)
def test_the_smallest_difference_takes_neither_trees_nor_weights(parameter, given):
    with pytest.raises(ParameterError, match=parameter):
        NearestNeighborsClassifier(metric="minimum", **{parameter: given}).fit(np.eye(3), ["a", "b", "a"])


def test_leave_one_out_chooses_the_peers_k():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(0, 1e-6, X.shape)  # no ties
    near = y[KNeighborsClassifier(12).fit(X, y).kneighbors(return_distance=False)]  # of each row without itself
    votes = np.cumsum(near[:, :, None] == np.arange(3), axis=1)
    errors = [(votes[:, k].argmax(axis=1) != y).mean() for k in range(12)]
    ours = NearestNeighborsClassifier(k=12, choose_k="leave-one-out", scaling="none").fit(X, y)
    assert ours.k_ == int(np.argmin(np.round(errors, 12))) + 1


@pytest.mark.parametrize("seed", range(6))
def test_leave_one_out_leaves_out_one_of_the_rows_that_a_weight_stands_for(seed):
    generator = np.random.default_rng(seed)
    X, weights = generator.normal(size=(25, 2)), generator.integers(1, 4, 25).astype(float)
    y = X[:, 0] + generator.normal(size=25)
    rows = np.repeat(np.arange(25), weights.astype(int))
    options = {"k": 12, "choose_k": "leave-one-out", "scaling": "none"}
    weighted = NearestNeighborsRegressor(**options).fit(X, y, weights)
    assert weighted.k_ == NearestNeighborsRegressor(**options).fit(X[rows], y[rows]).k_


@pytest.mark.parametrize(("answer", "combine"), [("mean", np.mean), ("median", np.median)])
@pytest.mark.parametrize("data", ["diabetes", "abalone", "sine"])
def test_leave_one_out_chooses_the_k_of_a_loop_over_rows_and_k(answer, combine, data):
    """Each k by itself: every row answered by the k nearest others, of equally near ones the first."""
    X, y = NUMBERS[data]()
    most = 25
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    errors = []
    for k in range(1, most + 1):
        answers = []
        for row in range(len(X)):
            others = np.array([other for other in range(len(X)) if other != row])
            nearest = others[np.argsort(distances[row, others], kind="stable")][:k]
            answers.append(combine(y[nearest]))
        errors.append(np.mean((np.array(answers) - y) ** 2))
    for search in ("brute", "kd-tree"):
        ours = NearestNeighborsRegressor(
            k=most, choose_k="leave-one-out", answer=answer, scaling="none", search=search
        ).fit(X, y)
        assert ours.k_ == 1 + int(np.argmin(errors))
        assert ours.training_notes()["k"] == ours.k_
        again = NearestNeighborsRegressor(k=int(ours.k_), answer=answer, scaling="none").fit(X, y)
        np.testing.assert_array_equal(ours.predict(X + 0.01), again.predict(X + 0.01))


def sine():
    generator = np.random.default_rng(6)
    x = generator.random((150, 1))
    return x, np.sin(9 * x[:, 0]) + generator.standard_t(2, 150) / 5


def of_abalone():
    table, rings = real("abalone", "Class_Rings")
    return table.values[:3_000:20, 1:], np.array([float(label) for label in rings.column.labels])[
        rings.codes[:3_000:20]
    ]


NUMBERS = {
    "diabetes": lambda: tuple(part[::3] for part in load_diabetes(return_X_y=True)),
    "abalone": of_abalone,
    "sine": sine,
}


def read(name):
    with trap_path(name).open() as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row["x"])] for row in rows]), np.array([row["y"] for row in rows])


@pytest.mark.parametrize("search", ["auto", "brute", "kd-tree", "hashing"])
@pytest.mark.parametrize("turned", [False, True])
def test_of_equally_distant_rows_the_first_counts(search, turned):
    x, y = read("ties_knn.csv")
    x, y = (x[::-1], y[::-1]) if turned else (x, y)
    model = NearestNeighborsClassifier(k=1, search=search).fit(x, y)
    nearest = next(label for value, label in zip(x[:, 0], y, strict=True) if abs(value) == 1)
    assert model.predict([[0.0]]) == [nearest]
    assert NearestNeighborsClassifier(k=2, search=search).fit(x, y).predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("kernel", ["inverse", "inverse-square"])
def test_at_distance_nought_exact_matches_alone_vote(kernel):
    model = NearestNeighborsClassifier(k=4, kernel=kernel).fit(*read("zero_distance.csv"))
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[2 / 3, 1 / 3]])


def test_all_rows_vote_by_a_kernel():
    x, y = np.arange(6.0)[:, None], np.arange(6.0) ** 2
    wide = NearestNeighborsRegressor(voters="all", kernel="gaussian", bandwidth=1e6).fit(x, y)
    np.testing.assert_allclose(wide.predict(x), y.mean())
    narrow = NearestNeighborsRegressor(voters="all", kernel="gaussian", bandwidth=1e-4).fit(x, y)
    np.testing.assert_array_equal(narrow.predict(x + 0.1), y)
    assert np.isfinite(narrow.predict([[1e200]])).all()


def paired(right, other):
    """How much more often one of two is right on the same rows, and the standard error of that."""
    gain = right.astype(float) - other
    return gain.mean(), gain.std(ddof=1) / np.sqrt(len(gain))


def test_noise_hurts_where_columns_count_alike_and_weights_repair_it():
    """Vehicle's rows beside as many columns of noise, by 3 folds: 13 points are lost, and weights bring them back."""
    table, classes = real("vehicle", "Class")
    n_rows, n_noise = len(table), len(table.names)
    generator = np.random.default_rng(0)
    noisy = Table.from_array(np.hstack([table.values, generator.normal(size=(n_rows, n_noise))]))
    labels, fold = np.array(classes.column.labels)[classes.codes], generator.permutation(n_rows) % 3

    def right(rows, **options):
        found = np.empty(n_rows, bool)
        for part in range(3):
            learned, asked = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            model = NearestNeighborsClassifier(**options).fit(rows.take(learned), classes.take(learned))
            found[asked] = model.predict(rows.take(asked)) == labels[asked]
        return found

    alike = right(noisy)
    hurt, error = paired(right(table), alike)
    assert hurt > max(4 * error, 0.08)
    for weighting in ("information-gain", "cross-validation"):
        weighted = right(noisy, weighting=weighting)
        repaired, error = paired(weighted, alike)
        assert repaired > 4 * error
        lost, error = paired(right(table, weighting=weighting), weighted)
        assert lost <= error  # the noise does not hurt where columns are weighted


def test_columns_of_weight_nought_are_as_if_absent():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 10))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    given = {f"x{column}": 0.0 for column in range(2, 10)}
    only = NearestNeighborsClassifier(weighting="given", column_weights=given).fit(X[:200], y[:200])
    alone = NearestNeighborsClassifier().fit(X[:200, :2], y[:200])
    np.testing.assert_array_equal(only.predict_proba(X[200:]), alone.predict_proba(X[200:, :2]))


@pytest.mark.parametrize(("metric", "p"), [("manhattan", 1), ("euclidean", 2), ("minkowski", 3)])
@pytest.mark.parametrize("weights", [{"a": 4.0, "b": 4.0, "c": 9.0}, {"a": 4.0, "b": 0.0}, {"a": 1e30}])
def test_a_columns_weight_multiplies_its_difference_raised_to_the_power(metric, p, weights):
    table = Table.from_columns({"a": [0.0, 1.0, 0.5], "b": [0.0, 1.0, 0.25], "c": ["u", "v", "u"]})
    more = {"p": 3} if metric == "minkowski" else {}
    own = {"k": 3, "scaling": "none", "kernel": "gaussian", "bandwidth": 2.0, "weighting": "given"}
    model = NearestNeighborsRegressor(metric=metric, column_weights=weights, **own, **more)
    told = model.fit(table, np.array([1.0, 2.0, 4.0])).explain(table.take([0]))[0].neighbours
    wa, wb, wc = (weights.get(name, 1.0) for name in "abc")
    powers = [0.0, wa + wb + wc, wa * 0.5**p + wb * 0.25**p]
    expected = {row: power ** (1 / p) for row, power in enumerate(powers)}
    assert {one.row: one.distance for one in told} == pytest.approx(expected, rel=1e-12)
    votes = np.exp(-(np.array([expected[row] for row in range(3)]) ** 2) / 4)
    shares = {row: vote / votes.sum() for row, vote in enumerate(votes.tolist())}
    assert {one.row: one.vote for one in told} == pytest.approx(shares, abs=1e-12)


def test_weights_beyond_what_sums_hold_are_refused():
    with pytest.raises(ParameterError, match=r"finite numbers >= 0 and <= 1e\+30"):
        NearestNeighborsClassifier(weighting="given", column_weights={"x0": 1e31}).check_params()


def test_unknown_columns_and_weights_of_nought_are_refused():
    sample = samples.numeric("regression")
    for weights, message in (({"breadth": 1.0}, "no column"), (dict.fromkeys(sample.table.names, 0), "weight 0")):
        model = NearestNeighborsRegressor(weighting="given", column_weights=weights)
        with pytest.raises(ParameterError, match=message) as caught:
            model.fit(sample.table, sample.target)
        assert caught.value.field == "column_weights"


def test_a_condensed_set_answers_all_rows_as_before_with_far_fewer():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(np.int64)
    metric = Metric(2.0, np.zeros(2, bool), np.ones(2), np.ones(2))
    kept = condensed(metric, X, y)
    assert len(kept) < 0.15 * len(X)
    model = NearestNeighborsClassifier(k=1, reduction="condensed", scaling="none").fit(X, y)
    assert model.origin_.tolist() == kept.tolist()
    assert (model.predict(X) == y).all()
    again = condensed(metric, X[kept], y[kept])
    assert (
        NearestNeighborsClassifier(k=1, scaling="none").fit(X[kept][again], y[kept][again]).predict(X[kept]) == y[kept]
    ).all()


def test_condensing_begins_with_the_first_row():
    """Hart's order by hand: 0 is there, 1 is answered by it, 10 joins, 11 is answered by that."""
    metric = Metric(2.0, np.zeros(1, bool), np.ones(1), np.ones(1))
    assert condensed(metric, np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])).tolist() == [0, 2]


def test_rows_that_contradict_each_other_end_condensing():
    metric = Metric(2.0, np.zeros(1, bool), np.ones(1), np.ones(1))
    assert condensed(metric, np.zeros((4, 1)), np.array([0, 1, 0, 1])).tolist() == [0, 1, 3]


def test_editing_drops_rows_that_their_neighbours_contradict():
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] >= 10).astype(np.int64)
    y[4] = 1
    index = make_index(Metric(2.0, np.zeros(1, bool), np.ones(1), np.ones(1)), X, np.ones(20), "brute")
    assert 4 not in edited(index, y, 2)
    assert {0, 1, 2, 7, 8, 12, 19} <= set(edited(index, y, 2).tolist())
    fewer = NearestNeighborsClassifier(k=1, reduction="edited-condensed").fit(X, y)
    assert fewer.predict([[4.0]]) == [0]
    assert len(fewer.origin_) <= 6


def test_editing_asks_the_three_nearest_others():
    """By hand: 0 is kept against its nearest, 1, by -2 and -2.5; 20 is dropped, though its nearest is of its class."""
    X = np.array([-2.5, -2.0, 0.0, 1.0, 10.0, 11.0, 12.0, 20.0, 20.5, 21.0, 21.2, 21.8])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1])
    index = make_index(Metric(2.0, np.zeros(1, bool), np.ones(1), np.ones(1)), X, np.ones(12), "brute")
    assert edited(index, y, 2).tolist() == [0, 1, 2, 4, 5, 6, 9, 10, 11]


def test_editing_keeps_what_the_peers_three_nearest_others_say():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(300, 2))
    y = (X[:, 0] + generator.normal(size=300) > 0).astype(np.int64)
    index = make_index(Metric(2.0, np.zeros(2, bool), np.ones(2), np.ones(2)), X, np.ones(300), "brute")
    others = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(return_distance=False)
    wanted = np.flatnonzero((y[others] == y[:, None]).sum(axis=1) >= 2)
    assert edited(index, y, 2).tolist() == wanted.tolist()


def test_editing_keeps_a_row_that_no_class_outvotes():
    """Of three nearest others of three classes none has more votes than the row's own."""
    X, y = np.array([[0.0], [1.0], [1.1], [1.2], [9.0], [9.5], [9.9]]), np.array([0, 0, 1, 2, 1, 1, 1])
    index = make_index(Metric(2.0, np.zeros(1, bool), np.ones(1), np.ones(1)), X, np.ones(7), "brute")
    assert 0 in edited(index, y, 3)


@pytest.mark.parametrize("reduction", ["condensed", "edited-condensed"])
@pytest.mark.parametrize("k", [1, 3])
def test_a_row_that_is_there_twice_is_condensed_to_one(reduction, k):
    generator = np.random.default_rng(4)
    X, weights = generator.normal(size=(80, 2)), np.array([1.0, 2.0] * 40)
    y = (X[:, 0] + generator.normal(size=80) / 2 > 0).astype(np.int64)
    twice = np.repeat(np.arange(80), weights.astype(int))
    weighted = NearestNeighborsClassifier(k=k, reduction=reduction).fit(X, y, weights)
    repeated = NearestNeighborsClassifier(k=k, reduction=reduction).fit(X[twice], y[twice])
    assert weighted.origin_.tolist() == np.unique(twice[repeated.origin_]).tolist()
    np.testing.assert_array_equal(weighted.predict_proba(X + 0.01), repeated.predict_proba(X + 0.01))


def test_the_condensed_set_is_consistent_whatever_rows_weigh():
    generator = np.random.default_rng(5)
    X, weights = generator.normal(size=(150, 2)), generator.random(150) + 0.05
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    model = NearestNeighborsClassifier(k=1, reduction="condensed").fit(X, y, weights)
    assert (model.predict(X) == y).all()
    assert len(model.origin_) < 75


def test_explanations_tell_the_rows_that_voted():
    x, y = np.array([[0.0, 0], [3, 4], [10, 10], [10, 0]]), np.array(["a", "b", "b", "a"])
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    model = NearestNeighborsClassifier(k=3, scaling="none").fit(x, y, weights)
    (reason,) = model.explain([[9.0, 8.0]])
    assert [(one.row, one.answer, one.weight) for one in reason.neighbours] == [(2, "b", 2.0), (3, "a", 1.0)]
    assert reason.neighbours[0].distance == pytest.approx(np.sqrt(1 + 4))
    assert dict(reason.neighbours[0].shares) == pytest.approx({"x0": 1 / 5, "x1": 4 / 5})
    assert dict(reason.distribution) == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    np.testing.assert_allclose(reason.replayed(), [1 / 3, 2 / 3])


def test_of_many_voters_the_nearest_are_told_and_the_rest_together():
    x = np.arange(1_500.0)[:, None]
    for model in (
        NearestNeighborsRegressor(voters="all", kernel="inverse"),
        NearestNeighborsClassifier(voters="all", kernel="inverse"),
    ):
        model.fit(x, (x[:, 0] % 3).astype(int))
        (reason,) = model.explain([[700.2]])
        assert (len(reason.neighbours), reason.omitted.neighbours) == (1_000, 500)
        answer = model.predict_proba([[700.2]])[0] if hasattr(model, "predict_proba") else model.predict([[700.2]])[0]
        np.testing.assert_allclose(reason.replayed(), answer, rtol=1e-12)


def test_rows_beyond_k_are_asked_where_weights_are_small():
    x, y = np.arange(40.0)[:, None], np.arange(40.0)
    model = NearestNeighborsRegressor(k=2, scaling="none").fit(x, y, np.full(40, 0.25))
    assert model.predict([[0.0]])[0] == pytest.approx(np.mean(range(8)))


def test_unscaled_huge_numbers_are_refused_by_column():
    table = Table.from_array(np.array([[1.0], [1e200]]), ["reading"])
    with pytest.raises(DataError, match="'reading' reaches 1e"):
        NearestNeighborsRegressor(scaling="none").fit(table, [0.0, 1.0])
    assert NearestNeighborsRegressor(k=1).fit(table, [0.0, 1.0]).predict(table).tolist() == [0, 1]
