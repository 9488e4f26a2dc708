"""Single rows by machine code: the rows of the definition, to the bit, however rows lie and whatever is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.neighbors.coordinates import Coordinates, fit_coordinates
from learners.neighbors.distances import largest_coordinate
from learners.neighbors.search import one
from learners.neighbors.search.kd_tree import KdTree, build
from learners.neighbors.search.one import OneSearch, nearest_one
from learners.table import Table
from tests.learners.neighbors.search.test_search import by_definition

pytestmark = pytest.mark.usefixtures("native_folder")


def search_of(tree: KdTree, k: int, coordinates: Coordinates, labels: Any = None) -> OneSearch:
    scaling = coordinates.scaling
    scales = np.column_stack([np.ldexp(1.0, scaling.exponent), scaling.offset, scaling.unit, coordinates.factor])
    places, largest = np.arange(len(scales)), largest_coordinate(tree.p)
    return OneSearch(tree, k, places, np.ascontiguousarray(scales), largest, labels)


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
