"""Boxes and rows in bytes: what they say of distances is never too much, and little is left to be measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners._accel import interpreted, uncompiled
from learners._lanes import LANES, WHOLES
from learners.neighbors.search import walk
from learners.neighbors.search.by_bytes import (
    FARTHEST,
    FRAME,
    bounds_by_bytes,
    limit_in_cells,
    near_by_bytes,
    place_asked,
)
from learners.neighbors.search.kd_tree import KdTree, build
from learners.neighbors.search.to_bytes import LARGEST_CODED

_PLACE, _BOUNDS, _LIMIT, _NEAR = map(interpreted, (place_asked, bounds_by_bytes, limit_in_cells, near_by_bytes))


@st.composite
def rows_and_questions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Rows of clusters, of any width and at any distance from each other, with outliers; questions near and far."""
    n_columns = draw(st.integers(6, 14))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows = draw(st.integers(130, 600))
    widths = 10.0 ** draw(st.sampled_from([-9, -3, 0])) * generator.lognormal(
        0, draw(st.sampled_from([0, 3])), n_columns
    )
    centres = generator.normal(0, draw(st.sampled_from([0.0, 1.0, 1e6])), (5, n_columns))
    rows = centres[generator.integers(0, 5, n_rows)] + widths * generator.normal(size=(n_rows, n_columns))
    if draw(st.booleans()):
        rows = np.round(rows / widths) * widths  # many are alike, and many equally distant
    rows[: draw(st.integers(0, 3))] *= 1e5
    asked = np.vstack([rows[:4], rows[4:8] + widths * generator.normal(size=(4, n_columns)), 1e7 * centres[:2]])
    size = 2.0 ** draw(st.sampled_from([-900, -20, 0, 400]))
    return rows * size, asked * size


def searched(rows: np.ndarray) -> tuple[KdTree, Any]:
    tree = build(rows, 2.0)
    return tree, tree.searched


@given(rows_and_questions())
def test_no_bound_exceeds_and_no_near_row_is_left_out(made: tuple[np.ndarray, np.ndarray]) -> None:
    rows, questions = made
    n_columns = rows.shape[1]
    _, (children, _, start, numbers, *_, frames, codes, ends) = searched(rows)
    if np.abs(rows).max() > LARGEST_CODED:
        assert not len(frames)
        return
    n_asked = (len(frames) // len(children)) - FRAME
    n_pairs, pairs = (n_columns + 1) // 2, np.zeros(n_asked, np.int16)
    for question in questions:
        asked = np.append(question, np.zeros(n_asked - n_columns))
        powers = ((question - rows) ** 2).sum(axis=1)
        for node in range(len(children)):
            _PLACE(frames, node, asked, pairs)
            bounds = _BOUNDS(frames, ends, node, n_pairs, pairs)
            for place, child in enumerate(children[node]):
                if child < len(children):
                    continue
                pool = child - len(children)
                own = numbers[LANES * start[pool, 1] :][: start[pool + 1, 0] - start[pool, 0]]
                assert bounds[place] <= powers[own].min()
                nearest = np.argsort(powers[own])[:3]
                limit = _LIMIT(frames, node, n_asked, powers[own][nearest].max())
                groups = range(start[pool, 2], start[pool + 1, 2])
                within = [_NEAR(codes, group, n_pairs, pairs, limit) for group in groups]
                assert all(within[one // WHOLES] >> (one % WHOLES) & 1 for one in nearest.tolist())


def test_of_few_columns_and_few_rows_there_are_no_bytes() -> None:
    generator = np.random.default_rng(8)
    assert not len(searched(generator.random((500, walk.MANY_COLUMNS - 1)))[1][11])
    assert not len(searched(generator.random((10, 8)))[1][11])
    assert len(searched(generator.random((500, 8)))[1][11])


def test_few_rows_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10,000 rows of 8 uniform numbers more than a thousand lie in pools that the ball of the 5 nearest touches."""
    generator = np.random.default_rng(9)
    tree = build(generator.random((10_000, 8)), 2.0)
    questions = generator.random((3, 8))
    compiled = (np.empty((3, 5), np.int64), np.empty((3, 5)), np.empty(3, np.int64))
    walk.search_tree(2.0, tree.searched, questions, np.arange(3), compiled)  # which plain Python must not meet
    measured, plain = [], interpreted(walk._measure)
    monkeypatch.setattr(walk, "_measure", lambda *arguments: (measured.append(1), plain(*arguments)))
    answer = (np.empty((3, 5), np.int64), np.empty((3, 5)), np.empty(3, np.int64))
    with uncompiled():
        interpreted(walk.search_tree)(2.0, tree.searched, questions, np.arange(3), answer)
    for told, own in zip(compiled, answer, strict=True):
        np.testing.assert_array_equal(told, own)
    assert answer[2].min() > 500
    assert len(measured) * LANES < answer[2].sum() / 5


def test_what_is_asked_far_off_stays_within_words() -> None:
    _, (children, *_, frames, _, _) = searched(np.random.default_rng(10).random((300, 6)))
    pairs = np.zeros(8, np.int16)
    for sign in (1.0, -1.0):
        _PLACE(frames, 0, np.append(np.full(6, sign * 1e300), np.zeros(2)), pairs)
        assert (pairs[:6] == sign * frames[FARTHEST]).all()
    assert len(children)
