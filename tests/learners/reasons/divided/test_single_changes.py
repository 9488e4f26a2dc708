"""The changes of single columns that are known at once, against the answers to every one of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Wishes
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.single_changes import SingleChanges
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.regions.boxes import boxes_of
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Table
from tests.learners.reasons.judging import SCALES, judged, random_wishes
from tests.learners.reasons.models import CLASSES, cuts_of, random_model, row_of
from tests.learners.trees.random_trees import COLUMNS


def changed_rows(model, row, place):
    """All rows in which one column has another known value that a test could tell apart."""
    column = COLUMNS[place]
    values = {float(code) for code in range(len(column.levels))}
    if column.is_numeric:
        cuts = cuts_of(model, place) | {1.0, 6.0}
        values = cuts | {float(np.nextafter(cut, np.inf)) for cut in cuts}
    cells = np.repeat(row[None], len(values), axis=0)
    cells[:, place] = sorted(values)
    return Table(COLUMNS, np.asfortranarray(cells))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_of_each_column_the_nearest_change_is_that_of_all_its_values(seed, free, by_distance):
    model, rng = random_model(seed, depth=8, follow_missing=bool(seed % 2))
    row = np.array(row_of(rng).values[0])
    row[rng.choice(5, int(rng.integers(1, 5)), replace=False)] = np.nan
    if rng.random() < 0.2:
        row[1] = -1
    asked = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}} if free else random_wishes(rng)
    wishes, target = Wishes.of(COLUMNS, **asked), target_of(model, str(rng.choice(CLASSES.labels)))
    steps = RegionSteps(COLUMNS, wishes, SCALES, by_distance=by_distance)
    seeker, boxes, packed = MixedSeeker(model, target, steps, Work(1)), boxes_of(model), model.packed_tree_
    if seeker.hold(row[None])[0]:
        return
    singles = SingleChanges(boxes, row, packed.steps(row), seeker.margins, seeker.slack, steps)
    found = {next(iter(way.steps)): way for way in singles.nearest(seeker.hold)}
    for place in singles.judged:
        rows = changed_rows(model, row, place)
        divided = np.array([len(packed.reach(np.array(cells))[0]) > 1 for cells in rows.values])
        good = judged(rows.values, row, asked, divided & seeker.hold(rows.values), "distance")
        assert (place in found) == bool(good)
        if good:
            far = (found[place].steps[place] * (wishes.costs[place] if by_distance else 1.0), found[place].cost)
            distance, cost = min(good)
            assert (far[0] if by_distance else far[0] * cost, far[1]) == pytest.approx((distance, cost), abs=1e-9)
            assert seeker.hold(found[place].cells[None])[0]
