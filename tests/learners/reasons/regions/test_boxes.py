"""The boxes of a tree's leaves: shares, conditions, sets in pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Search, counterfactuals, next_question
from learners.reasons.regions.boxes import boxes_of
from tests.learners.reasons.judging import SCALES
from tests.learners.reasons.models import CLASSES, grid, random_model, row_of
from tests.learners.trees.random_trees import COLUMNS


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_shares_of_the_boxes_are_those_of_the_traversal(seed):
    model, rng = random_model(seed, follow_missing=True)
    row = row_of(rng, missing=0.4)
    if rng.random() < 0.3:
        row.values[0, 1] = -1  # a level that the model does not know
    boxes = boxes_of(model)
    shares = boxes.multiply_paths(boxes.shares(row.values[0]))
    leaves, weights = model.packed_tree_.reach(np.array(row.values[0]))
    expected = np.zeros(len(shares))
    expected[leaves] = weights
    assert shares[boxes.leaves] == pytest.approx(expected[boxes.leaves], abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_conditions_hold_for_the_changed_row_and_for_no_row_beside(seed):
    """What is said of each column is what the leaf's known rows satisfy, in intervals and in sets."""
    model, rng = random_model(seed)
    row = row_of(rng)
    rows = grid(model, row.values[0])
    leaves = model.apply(rows)
    for wanted in CLASSES.labels:
        for one in counterfactuals(model, row, wanted, Search(count=3), SCALES)[0]:
            inside = np.ones(rows.n_rows, bool)
            for asked in one.asked:
                inside &= [satisfies(asked.condition, cell) for cell in rows.column(asked.condition.column).cells]
            assert np.array_equal(inside, leaves == one.leaf)


def satisfies(condition, cell):
    column = next(column for column in COLUMNS if column.name == condition.column)
    value = column.decode(float(cell))
    if condition.operator in ("in", "not in"):
        return (value in condition.values) == (condition.operator == "in")
    bounds = (condition.threshold, condition.low, condition.high)
    threshold, low, high = (bound if bound is None else column.encode(bound) for bound in bounds)
    if condition.operator == "interval":
        return low < cell <= high
    return (cell <= threshold) == (condition.operator == "<=")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_sets_are_judged_alike_in_pieces(seed):
    model, rng = random_model(seed)
    row = row_of(rng, missing=0.4)
    whole = [counterfactuals(model, row, wanted, Search(count=3), SCALES) for wanted in CLASSES.labels]
    question = next_question(model, row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.nearest.demands._FLAGS_AT_ONCE", 1)
        patch.setattr("learners.reasons.regions.covers._FLAGS_AT_ONCE", 1)
        pieces = [counterfactuals(model, row, wanted, Search(count=3), SCALES) for wanted in CLASSES.labels]
        for one, other in zip(question[0].candidates, next_question(model, row)[0].candidates, strict=True):
            assert (one.column, one.gain) == (other.column, pytest.approx(other.gain, abs=1e-12))
    assert [[way.to_json() for way in found] for (found,) in pieces] == [
        [way.to_json() for way in found] for (found,) in whole
    ]
