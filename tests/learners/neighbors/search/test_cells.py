"""Single queries by what is kept of cells: the same rows as the tree's, to the bit."""

import numpy as np
import pytest

from learners.neighbors.search import cells
from learners.neighbors.search.cells import CellSearch
from learners.neighbors.search.kd_tree import build


def nearest(search, query):
    cell = search.cell(query, search.leaf(query))
    return None if cell is None else search.nearest(query, cell)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (12, 2), (13, 2), (400, 1), (400, 3)])
def test_cells_find_the_trees_rows(p, n_rows, n_columns):
    generator = np.random.default_rng(0)
    points = generator.integers(0, 8, (n_rows, n_columns)) / 7.0
    queries = np.vstack([generator.integers(0, 8, (20, n_columns)) / 7.0, generator.random((20, n_columns))])
    tree = build(points, p)
    for k in {1, min(5, n_rows), n_rows}:
        search, wanted = CellSearch(tree, k), tree.nearest(queries, k)
        answered = 0
        for row, query in enumerate(queries.tolist()):
            found = nearest(search, query)
            if found is not None:
                answered += 1
                assert (found[0] == wanted.rows[row]).all()
                assert (found[1] == wanted.powers[row]).all()
        assert answered >= (30 if n_rows == 400 else 0)
        assert nearest(search, [9.0] * n_columns) is None  # beyond all rows


def test_cells_are_forgotten_when_they_are_too_many(monkeypatch):
    generator = np.random.default_rng(1)
    tree = build(generator.random((2_000, 2)), 2.0)
    monkeypatch.setattr(cells, "_MOST_KEPT", 1_000)
    search, queries = CellSearch(tree, 3), generator.random((200, 2))
    wanted = tree.nearest(queries, 3)
    for row, query in enumerate(queries.tolist()):
        found = nearest(search, query)
        assert found is None or (found[0] == wanted.rows[row]).all()
    assert search._n_kept <= 1_000 + cells.MOST_ROWS


def test_cells_to_which_too_many_rows_are_near_are_left_to_other_searches(monkeypatch):
    monkeypatch.setattr(cells, "MOST_ROWS", 20)
    generator = np.random.default_rng(2)
    search = CellSearch(build(generator.random((3_000, 3)), 2.0), 200)
    assert all(nearest(search, query) is None for query in generator.random((200, 3)).tolist())
    assert len(search._cells) <= cells._TRIED + 1  # most are not even looked at


def test_a_cell_whose_rows_are_labelled_alike_tells_so():
    points = np.random.default_rng(3).random((400, 2))
    labels = (points[:, 0] > 0.5).astype(np.int16)
    search = CellSearch(build(points, 2.0), 3, labels)
    found = {x: search.cell([x, 0.5], search.leaf([x, 0.5])).alike for x in (0.1, 0.5, 0.9)}
    assert found == {0.1: np.zeros(3, np.int16).tobytes(), 0.5: None, 0.9: np.ones(3, np.int16).tobytes()}
