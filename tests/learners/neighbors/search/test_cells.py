"""Single queries by what is kept of cells: the same rows as the tree's, to the bit."""

import numpy as np
import pytest

from learners.neighbors.search import cells
from learners.neighbors.search.cells import CellSearch
from learners.neighbors.search.kd_tree import build


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
            found = search.nearest(query)
            if found is not None:
                answered += 1
                assert (found[0] == wanted.rows[row]).all()
                assert (found[1] == wanted.powers[row]).all()
        assert answered >= (30 if n_rows == 400 else 0)
        assert search.nearest([9.0] * n_columns) is None  # beyond all rows


def test_cells_are_forgotten_when_they_are_too_many(monkeypatch):
    generator = np.random.default_rng(1)
    tree = build(generator.random((2_000, 2)), 2.0)
    monkeypatch.setattr(cells, "_MOST_NUMBERS", 3_000)
    search, queries = CellSearch(tree, 3), generator.random((200, 2))
    wanted = tree.nearest(queries, 3)
    for row, query in enumerate(queries.tolist()):
        found = search.nearest(query)
        assert found is None or (found[0] == wanted.rows[row]).all()
    assert search._n_numbers <= 3_000 + 3 * 2_000


def test_a_cell_to_which_too_many_rows_are_near_is_left_to_other_searches(monkeypatch):
    monkeypatch.setattr(cells, "MOST_ROWS", 20)
    tree = build(np.random.default_rng(2).random((300, 3)), 2.0)
    assert CellSearch(tree, 200).nearest([0.5, 0.5, 0.5]) is None
