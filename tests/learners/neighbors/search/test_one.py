"""Single rows by machine code: the rows of the definition, to the bit, however rows lie and whatever is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.neighbors.coordinates import Coordinates, fit_coordinates
from learners.neighbors.distances import Metric, largest_coordinate
from learners.neighbors.index import RowIndex
from learners.neighbors.search import one
from learners.neighbors.search.found import Found
from learners.neighbors.search.kd_tree import KdTree, build
from learners.neighbors.search.one import OneSearch, Scales, nearest_one
from learners.neighbors.search.walk import search_tree
from learners.table import Table
from tests.learners.neighbors.search.test_search import by_definition

pytestmark = pytest.mark.usefixtures("native_folder")


def search_of(tree: KdTree, k: int, coordinates: Coordinates, labels: Any = None) -> OneSearch:
    scaling = coordinates.scaling
    factors = [np.ldexp(1.0, scaling.exponent), scaling.offset, scaling.unit, coordinates.factor]
    scales = np.column_stack([*factors, np.full(len(scaling.unit), -np.inf)])
    return OneSearch(
        tree.p, tree.searched, k, Scales(np.arange(len(scales)), scales, largest_coordinate(tree.p)), labels
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, float, str]:
    """Rows on a coarse grid, so that many are equally distant, and questions on it, off it and beyond it."""
    n_rows, n_columns = draw(st.integers(2, 300)), draw(st.integers(1, 9))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = 2.0 ** draw(st.sampled_from([-1000, -30, 0, 30, 900]))
    rows = generator.integers(0, draw(st.integers(2, 9)), (n_rows, n_columns)).astype(float)
    rows[:2] = [[0.0], [1.0]]  # each column tells rows apart
    asked = np.vstack([rows[:5], generator.normal(3, 2, (5, n_columns)), generator.normal(0, 1e6, (2, n_columns))])
    k = draw(st.integers(1, n_rows))
    p = draw(st.sampled_from([1.0, 2.0, np.inf]))
    return rows * size, asked * size, k, p, draw(st.sampled_from(["range", "standard"]))


@given(tables())
def test_the_nearest_are_those_of_the_definition(made: tuple[np.ndarray, np.ndarray, int, float, str]) -> None:
    values, asked, k, p, scaling = made
    names = [f"x{place}" for place in range(values.shape[1])]
    table, rows = Table.from_array(values, names), Table.from_array(asked, names)
    coordinates = fit_coordinates(table, np.ones(len(values)), p, scaling, leaves_out=False)
    points, queries = coordinates.of(table), coordinates.of(rows)
    tree, codes = build(points, p), (np.arange(len(values)) % 7).astype(np.int16)
    wanted = by_definition(coordinates.metric, points, queries, k)
    search, unlabelled = search_of(tree, k, coordinates, codes), search_of(tree, k, coordinates)
    for place, row in enumerate(asked.tolist()):
        found = search.nearest(row)
        assert found is not None
        for told in (search.rows(found), unlabelled.rows(unlabelled.nearest(row) or b"")):
            assert told[0].tolist() == wanted[0][place].tolist()
            assert told[1].tolist() == wanted[1][place].tolist()
        assert search.labels(found) == codes[wanted[0][place]].tobytes()


@st.composite
def mixed_rows(draw: st.DrawFn) -> tuple[Metric, np.ndarray, np.ndarray, int]:
    """Numbers on a coarse grid and levels, some missing in rows or questions, columns of any weight; and k."""
    n_rows, n_columns = draw(st.integers(1, 400)), draw(st.integers(1, 8))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    is_level = generator.random(n_columns) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    sizes = generator.choice([2, 3, 9, 300], n_columns)
    points = generator.integers(0, sizes, (n_rows, n_columns)).astype(float)
    queries = np.vstack([points[:6], generator.integers(0, sizes, (6, n_columns))])
    queries[:3] += np.where(is_level, 0.0, generator.normal(0, 0.3, (3, n_columns)))[: len(queries[:3])]
    queries[-1] = np.where(is_level, -2.0, 1e6)  # unseen levels, and numbers far off
    gaps = draw(st.sampled_from([0.0, 0.1, 0.9]))
    points[generator.random(points.shape) < gaps] = np.nan
    queries[generator.random(queries.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = np.nan
    weights = generator.choice([0.0, 0.25, 1.0, 1.7], n_columns)
    numbers = ~is_level * weights
    points[:, weights == 0], queries[:, weights == 0] = 0.0, 0.0
    scale = np.where(is_level, 1.0, weights / sizes)
    points, queries = points * np.where(weights == 0, 1.0, scale), queries * np.where(weights == 0, 1.0, scale)
    span = np.where(is_level, weights, numbers * 1.1)
    metric = Metric(draw(st.sampled_from([1.0, 2.0, np.inf])), is_level, weights, span)
    return metric, points, queries, draw(st.integers(1, n_rows))


@given(mixed_rows())
def test_the_nearest_of_levels_and_gaps_are_those_of_the_definition(
    made: tuple[Metric, np.ndarray, np.ndarray, int],
) -> None:
    metric, points, queries, k = made
    wanted = by_definition(metric, points, queries, k)
    index = RowIndex(metric, points, np.ones(len(points)))
    ways = [index.nearest(queries, k)]
    if index.has_walk:
        ways += [index.by_machine_code().nearest(queries, k), walk(index, queries, k)[0]]
    for found in ways:
        assert found.rows.tolist() == wanted[0].tolist()
        assert found.powers.tolist() == wanted[1].tolist()


def walk(index: RowIndex, queries: np.ndarray, k: int) -> tuple[Found, np.ndarray]:
    """By the walk that many queries take, and how many rows it looks at."""
    asked, n = np.ascontiguousarray(queries[:, index.active]), len(queries)
    answer = (np.empty((n, k), np.int64), np.empty((n, k)), np.empty(n, np.int64))
    search_tree(index.metric.p, index.walked, asked, np.arange(n), answer)
    return Found(*answer[:2]), answer[2]


def test_most_rows_of_a_mixed_table_are_not_looked_at() -> None:
    """Of 64 combinations of levels one is that of a question, whose rows differ by less than a level."""
    generator = np.random.default_rng(6)
    points = np.column_stack([generator.integers(0, 2, (20_000, 6)), generator.random((20_000, 2))])
    points[::7, 7] = np.nan
    metric = Metric(2.0, np.arange(8) < 6, np.ones(8), np.ones(8))
    queries = np.column_stack([generator.integers(0, 2, (50, 6)), generator.random((50, 2))])
    found, seen = walk(RowIndex(metric, points, np.ones(len(points))), queries, 5)
    assert found.rows.tolist() == by_definition(metric, points, queries, 5)[0].tolist()
    assert seen.mean() < 20_000 / 64


def test_rows_that_all_tie_are_found_without_looking_at_all() -> None:
    """Every row differs in as many levels from the question; the first rows count, so later pools are left alone."""
    generator = np.random.default_rng(7)
    points = generator.integers(0, 6, (20_000, 5)).astype(float)
    metric = Metric(1.0, np.ones(5, bool), np.ones(5), np.ones(5))
    found, seen = walk(RowIndex(metric, points, np.ones(len(points))), np.full((1, 5), -2.0), 3)
    assert found.rows.tolist() == [[0, 1, 2]]
    assert found.powers.tolist() == [[5.0, 5.0, 5.0]]
    assert seen[0] < 2_000


def numbers(n_rows: int = 500, n_columns: int = 3) -> tuple[KdTree, Coordinates]:
    values = np.random.default_rng(4).random((n_rows, n_columns))
    table = Table.from_array(values, [f"x{place}" for place in range(n_columns)])
    coordinates = fit_coordinates(table, np.ones(n_rows), 2.0, "none", leaves_out=False)
    return build(coordinates.of(table), 2.0), coordinates


def test_threads_may_share_a_search() -> None:
    tree, coordinates = numbers()
    search = search_of(tree, 9, coordinates)
    asked = np.random.default_rng(5).random((2_000, 3)).tolist()
    alone = [search.nearest(row) for row in asked]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(search.nearest, asked)) == alone


def test_a_search_that_would_keep_others_waiting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, coordinates = numbers(5_000)
    assert search_of(tree, 3, coordinates).nearest([0.5, 0.5, 0.5]) is not None
    monkeypatch.setattr(one, "_MOST_NUMBERS", 30)
    assert search_of(tree, 3, coordinates).nearest([0.5, 0.5, 0.5]) is None


def test_without_machine_code_there_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, coordinates = numbers()
    monkeypatch.setattr(nearest_one, "loaded", None)
    with pytest.raises(TypeError, match="machine code"):
        search_of(tree, 3, coordinates)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 6, 8, 12, 14])
@pytest.mark.parametrize("far", [1e6, 1e12, 1e14, 1e16, 1e30])
@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_of_rows_that_are_equally_far_in_doubles_the_first_is_told(n_columns: int, far: float, p: float) -> None:
    generator = np.random.default_rng(2)
    points, queries = generator.normal(size=(1000, n_columns)), generator.normal(size=(40, n_columns)) * far
    queries[-10:, 1:] = generator.normal(size=(10, n_columns - 1))  # far in one column alone
    metric = Metric(p, np.zeros(n_columns, np.bool_), np.ones(n_columns), np.ones(n_columns))
    wanted = by_definition(metric, points, queries, 5)
    index = RowIndex(metric, points, np.ones(len(points)))
    gaps = np.vstack([points, np.full((1, n_columns), np.nan)])
    lacking = RowIndex(replace(metric, span=np.full(n_columns, 10 * far)), gaps, np.ones(len(gaps)))
    grown = replace(index, tree=build(points, p))
    ways = {
        "all": index.nearest(queries, 5),
        "gaps": lacking.nearest(queries, 5),
        "alone": in_parts(index, queries, 1),
        "tree": grown.nearest(queries, 5),
        "machine code": in_parts(grown.by_machine_code(), queries, 8),
        "walk": walk(lacking, queries, 5)[0],
    }
    for way, found in ways.items():
        assert found.rows.tolist() == wanted[0].tolist(), way
        assert found.powers.tolist() == wanted[1].tolist(), way


def in_parts(index: RowIndex, queries: np.ndarray, at_once: int) -> Found:
    """The nearest five of all queries, of which so many are asked at once."""
    parts = [index.nearest(queries[first : first + at_once], 5) for first in range(0, len(queries), at_once)]
    return Found(np.concatenate([part.rows for part in parts]), np.concatenate([part.powers for part in parts]))
