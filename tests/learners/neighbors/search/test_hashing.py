"""Hashing finds what it says, of real rows too, and says where it does not hash."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from learners._accel import uncompiled
from learners.checks.require import require_same
from learners.neighbors import NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neighbors.distances import Metric
from learners.neighbors.index import make_index
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.hash_fitting import fit_tables
from learners.neighbors.search.hashing import HashTables, keys_of, probed_keys
from learners.preprocessing.windows import windows
from learners.table import Table
from tests.learners.tables import read


def plain(n_columns):
    return Metric(2.0, np.zeros(n_columns, bool), np.ones(n_columns), np.ones(n_columns))


def clustered(generator, n_rows, centres):
    return centres[generator.integers(0, len(centres), n_rows)] + generator.normal(size=(n_rows, centres.shape[1])) / 5


def share_found(true, found):
    return np.mean([np.isin(one, other).mean() for one, other in zip(true, found, strict=True)])


def test_hashing_finds_what_it_says():
    generator = np.random.default_rng(5)
    centres = generator.normal(size=(40, 16))
    points, queries = clustered(generator, 4_000, centres), clustered(generator, 200, centres)
    tables = fit_tables(points, 0.95, 0, 10)
    assert tables is not None
    assert tables.recall >= 0.95
    found = tables.nearest(queries, 10)
    assert share_found(BruteSearch(plain(16), points).nearest(queries, 10).rows, found.rows) >= 0.95
    assert tables.candidates(queries, 10).mean() < 0.1 * len(points)
    with uncompiled():
        tables._collect(queries, *tables._buckets(queries), (again := tables.nearest(queries, 10)))
    require_same(again.rows, found.rows, "rows of arrays and kernel")
    require_same(again.powers, found.powers, "powers of arrays and kernel")


def measured(tables, points, rows):
    """The share of the 10 nearest other points, by all distances, that tables find."""
    distances = cdist(points[rows], points)
    distances[np.arange(len(rows)), rows] = np.inf
    return share_found(np.argsort(distances, axis=1)[:, :10], tables.nearest(points[rows], 11).rows)


def test_the_recall_that_is_told_is_that_of_rows_that_chose_no_table():
    generator = np.random.default_rng(8)
    points = clustered(generator, 4_000, generator.normal(size=(40, 16)))
    tables = fit_tables(points, 0.6, 9, 10)
    drawn = np.random.default_rng(9).choice(4_000, 600, replace=False)
    chosen_by, judged = (measured(tables, points, rows) for rows in (drawn[:400], drawn[400:]))
    assert tables.recall == judged
    assert 0.6 <= chosen_by != judged < 1
    assert tables.compared == tables.candidates(points[drawn[400:]], 11).mean()


def test_rows_in_the_buckets_are_counted_once_and_all_where_these_hold_too_few():
    """Two tables alike: squares of width 1, so the buckets of a middle are its own and the four beside it."""
    points = np.array([[0.1, 0.5], [0.2, 0.5], [1.1, 0.5], [5.0, 0.5], [-3.0, 0.5]])
    directions, offsets = np.hstack([np.eye(2), np.eye(2)]), np.zeros(4)
    keys = keys_of(points @ directions + offsets, 2)
    order = np.argsort(keys, axis=1, kind="stable")
    tables = HashTables(directions, offsets, np.take_along_axis(keys, order, 1), order, points, 1.0, 0.0)
    asked = np.array([[0.5, 0.5], [20.0, 0.5]])
    assert tables.candidates(asked, 3).tolist() == [3, 5]
    assert tables.candidates(asked, 4).tolist() == [5, 5]
    assert tables.nearest(asked, 3).rows.tolist() == [[1, 0, 2], [3, 2, 1]]


def test_a_query_looks_into_its_own_cell_and_beyond_its_nearest_walls():
    cells = np.array([[0.45, 3.2, -0.9]])  # walls at 0.45, 0.55, 0.2, 0.8, 0.1, 0.9: the last is nearest, below
    found = probed_keys(cells, 1)[0, 0]
    wanted = [[0, 3, -1], [0, 3, -2], [0, 2, -1], [-1, 3, -1], [1, 3, -1]]
    assert found.tolist() == [keys_of(np.array([cell], float), 1)[0, 0] for cell in wanted]


def digits():
    return load_digits().data


def numbers(name, target, step=1):
    """The numeric columns of complete rows."""
    table, _ = read(name, target)
    values = table.values[::step, [index for index, column in enumerate(table.columns) if column.is_numeric]]
    return values[~np.isnan(values).any(axis=1)]


def indicators(name, target):
    """A 0/1 column for each level, and for missing."""
    table, _ = read(name, target)
    cells = np.nan_to_num(table.values, nan=-1)
    return np.hstack(
        [
            (cells[:, [index]] == np.arange(-1, len(column.levels))).astype(float)
            for index, column in enumerate(table.columns)
        ]
    )


def months():
    """A year of sunspots in a row."""
    series, _ = read("sunspots-monthly", "month")
    return windows(series.values[:, 0], 12).past[:, :, 0]


REAL = {
    "digits": digits,
    "adult": lambda: numbers("adult-train", "income", 3),
    "abalone": lambda: numbers("abalone", "Class_Rings"),
    "vehicle": lambda: numbers("vehicle", "Class"),
    "vowel": lambda: numbers("vowel", "Class"),
    "housing": lambda: numbers("housing", "class"),
    "mushroom": lambda: indicators("mushroom", "class"),
    "sunspots": months,
}


@pytest.mark.parametrize("name", REAL)
def test_by_its_defaults_hashing_finds_nearly_all_neighbours_of_real_rows_among_fewer_than_half(name):
    values = np.random.default_rng(0).permutation(REAL[name]())
    asked, values = values[:250], values[250:]
    target = np.arange(len(values)) % 2
    hashed = NearestNeighborsClassifier(search="hashing").fit(values, target)
    exact = NearestNeighborsClassifier(search="brute").fit(values, target)
    notes = hashed.training_notes()
    assert "warnings" not in notes
    assert notes["recall"] == hashed.recall_ >= 0.95
    assert notes["buckets"] == 5 * notes["tables"] > 0
    assert notes["compared"] < len(values) / 2
    points = exact.coordinates_.of(Table.from_array(asked))
    found, true = (model.index_.nearest(points, 5).rows for model in (hashed, exact))
    assert share_found(true, found) >= 0.95
    assert hashed.index_.tables.candidates(points[:, hashed.index_.active], 5).mean() < len(values) / 2
    assert (hashed.predict(asked) == exact.predict(asked)).mean() >= 0.95


def test_recall_is_that_of_as_many_neighbours_as_vote():
    values = np.random.default_rng(0).permutation(numbers("abalone", "Class_Rings"))
    found = {
        k: NearestNeighborsRegressor(search="hashing", k=k).fit(values, np.zeros(len(values))).index_.tables
        for k in (1, 200)
    }
    assert found[200].recall >= 0.95
    assert found[1].compared < found[200].compared / 2
    rows = np.random.default_rng(0).choice(len(values), 600, replace=False)[400:]
    points = found[200].points
    true = BruteSearch(plain(points.shape[1]), points).nearest(points[rows], 201).rows
    others = [near[near != row][:200] for near, row in zip(true, rows, strict=True)]
    assert share_found(others, found[200].nearest(points[rows], 201).rows) == found[200].recall


def test_neighbours_among_many_equal_rows_are_found():
    """Most rows are one of 30, many times over, so that all their nearest are at distance 0."""
    generator = np.random.default_rng(3)
    points = generator.normal(size=(30, 4))[generator.integers(0, 30, 3_000)]
    tables = fit_tables(points, 0.95, 0, 5)
    assert tables is not None
    assert (tables.recall, tables.compared < 600) == (1.0, True)


WARNED = "all rows are looked at in place of search = "


@pytest.mark.parametrize(
    ("options", "make", "reason"),
    [
        ({"search": "hashing"}, lambda: numbers("sonar", "Class"), "to find a share of 0.95 of the nearest rows half"),
        ({"search": "hashing"}, lambda: digits()[:39], "39 rows are too few for k = 5"),
        ({"search": "hashing", "k": 250}, digits, "1797 rows are too few for k = 250"),
        ({"search": "hashing", "voters": "all"}, digits, "all rows vote"),
        ({"search": "hashing"}, lambda: np.ones((50, 2)), "no column tells rows apart"),
        ({"search": "hashing"}, lambda: np.where(digits() == 3, np.nan, digits()), "training rows have levels, texts"),
        ({"search": "kd-tree"}, lambda: read("mushroom", "class")[0], "training rows have levels, texts"),
        ({"search": "kd-tree", "missing": "left-out"}, digits, "training rows have levels, texts"),
    ],
)
def test_where_all_rows_are_looked_at_the_model_says_so_and_why(options, make, reason):
    X = make()
    model = NearestNeighborsClassifier(**options).fit(X, np.arange(len(X)) % 2)
    (warning,) = model.training_notes()["warnings"]
    assert warning.startswith(WARNED + options["search"] + ": " + reason)
    assert model.recall_ == 1
    assert model.index_.tree is model.index_.tables is None
    unasked = NearestNeighborsClassifier(**options | {"search": "auto"}).fit(X, np.arange(len(X)) % 2)
    assert unasked.training_notes() == {}


def test_what_hashing_tells_is_kept_with_the_model():
    values = numbers("vehicle", "Class")
    model = NearestNeighborsClassifier(search="hashing").fit(values, np.arange(len(values)) % 2)
    again = NearestNeighborsClassifier.from_state(model.get_state())
    assert again.training_notes() == model.training_notes()
    assert set(model.training_notes()) == {"recall", "tables", "buckets", "compared"}


def test_where_hashing_cannot_help_all_rows_are_looked_at():
    points = np.random.default_rng(6).random((500, 64))
    assert fit_tables(points, 0.95, 0, 10) is None
    assert make_index(plain(64), points, np.ones(500), "hashing", recall=0.95, seed=0, k=10).tables is None
    assert fit_tables(np.ones((50, 2)), 0.95, 0, 10) is None


@pytest.mark.parametrize("search", ["brute", "kd-tree", "hashing"])
@pytest.mark.parametrize("make", [NearestNeighborsClassifier, NearestNeighborsRegressor])
def test_rows_of_which_none_is_complete_are_answered_as_beside_complete_ones(make, search):
    """A search over complete rows is asked for no row at all then."""
    generator = np.random.default_rng(0)
    values = generator.normal(size=(3000, 3))
    model = make(search=search).fit(values, generator.integers(0, 2, 3000))
    assert "warnings" not in model.training_notes()
    for n_rows in (0, 1, 3):
        gaps = np.full((n_rows, 3), np.nan)
        gaps[1:, 0] = 0.5
        alone = model.predict(Table.from_array(gaps))
        beside = model.predict(Table.from_array(np.vstack([gaps, values[:2]])))
        assert alone.tolist() == beside[:n_rows].tolist()
        reasons, more = (model.explain(Table.from_array(rows)) for rows in (gaps, np.vstack([gaps, values[:2]])))
        assert [one.to_json() for one in reasons] == [one.to_json() for one in more[:n_rows]]
