"""The nearest row of a region: each step and what all of them come to, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.reasons.nearest.region_steps import RegionSteps, rounded_key
from learners.reasons.regions.regions import Levels, Numbers
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.wishes import Wishes
from learners.table import Column, Kind

SIZE, COUNT, GRADE, COLOUR = range(4)
COLUMNS = (
    Column("size"),
    Column("count"),
    Column("grade", Kind.ORDINAL, ("worst", "bad", "fair", "good", "best")),
    Column("colour", Kind.NOMINAL, ("red", "green", "blue")),
)
#: Sizes from 0 to 20, whole counts from 0 to 10.
SCALES = Scales(np.array([20.0, 10, 1, 1]), np.array([10.0, 5, 0, 0]), np.array([False, True, False, False]))
ROW = np.array([3.0, 3.0, 1.0, 0.0])
UNKNOWN = np.full(4, np.nan)


def steps(*, by_distance=False, **wishes):
    return RegionSteps(COLUMNS, Wishes.of(COLUMNS, **wishes), SCALES, by_distance=by_distance)


def levels(*codes, of=GRADE):
    flags = np.zeros(len(COLUMNS[of].levels) + 2, np.bool_)
    flags[list(codes)] = True
    return Levels(flags)


@pytest.mark.parametrize(
    ("row", "feature", "left", "cell", "far"),
    [
        (ROW, SIZE, Numbers(5, 9), math.nextafter(5, 9), 2 / 20),
        (ROW, SIZE, Numbers(-9, 1), 1, 2 / 20),
        (ROW, COUNT, Numbers(5, 9), 6, 3 / 10),
        (ROW, COUNT, Numbers(-9, 1.5), 1, 2 / 10),
        (UNKNOWN, SIZE, Numbers(5, 9, missing=False), 9, 1),
        (UNKNOWN, SIZE, Numbers(missing=False), 10, 1),
        (UNKNOWN, COUNT, Numbers(5, 9, missing=False), 6, 1),
        (ROW, GRADE, levels(3, 4), 3, 2 / 4),
        (ROW, GRADE, levels(0, 2), 0, 1 / 4),
        (ROW, GRADE, levels(0, 4), 0, 1 / 4),
        (UNKNOWN, GRADE, levels(2, 4), 2, 1),
        (ROW, COLOUR, levels(1, 2, of=COLOUR), 1, 1),
    ],
)
def test_the_nearest_cell_of_a_column_and_how_far_it_is(row, feature, left, cell, far):
    found = steps().step(row, feature, left, {})
    assert found[0] == cell
    assert found[1] == pytest.approx(far, rel=1e-12)


@pytest.mark.parametrize(
    ("wishes", "feature", "left"),
    [
        ({"fixed": ["size"]}, SIZE, Numbers(5, 9)),
        ({"fixed": ["grade"]}, GRADE, levels(3)),
        ({"directions": {"size": "down"}}, SIZE, Numbers(5, 9)),
        ({"directions": {"grade": "down"}}, GRADE, levels(3)),
        ({"allowed": {"size": (None, 5.0)}}, SIZE, Numbers(5, 9)),
        ({}, SIZE, Numbers(5, 5)),
        ({}, SIZE, Numbers(math.inf, -math.inf)),
        ({}, COUNT, Numbers(5.2, 5.8)),
        ({}, GRADE, levels()),
        ({}, GRADE, levels(5, 6)),  # missing and unseen are nothing to change a cell to
    ],
)
def test_no_step_leads_to_what_is_empty_or_not_allowed(wishes, feature, left):
    made = steps(**wishes)
    assert made.step(ROW, feature, left, {}) is None
    assert made.nearest(ROW, {feature: left}, {}) is None


BOUNDS = st.floats(-5, 25) | st.sampled_from([-math.inf, math.inf])


@given(st.lists(st.tuples(st.sampled_from([SIZE, COUNT]), BOUNDS, BOUNDS), min_size=1), st.booleans(), st.booleans())
def test_many_steps_at_once_are_those_of_each_alone(sets, is_fixed, is_missing):
    made = steps(fixed=["count"] if is_fixed else [], directions={"size": "up"})
    row = UNKNOWN if is_missing else ROW
    asked = [(feature, Numbers(low, high, missing=False)) for feature, low, high in sets]
    known = made.steps(row, asked)
    expected = [one for one in asked if one[1].low < one[1].high and not one[1].holds(float(row[one[0]]))]
    assert set(known) == set(expected)
    for feature, left in expected:
        assert known[feature, left] == made.step(row, feature, left, {})


def test_only_columns_that_lie_outside_are_changed_and_their_costs_added_up():
    region = {SIZE: Numbers(5, 9), COUNT: Numbers(2, 4), GRADE: levels(4), COLOUR: levels(0, of=COLOUR)}
    costs = {"size": 2.0, "count": 5.0, "grade": 3.0}
    by_cost = steps(costs=costs).nearest(ROW, region, {})
    assert by_cost.cells.tolist() == [math.nextafter(5, 9), 3, 4, 0]
    assert (by_cost.cost, by_cost.distance) == (5, pytest.approx(2 / 20 + 3 / 4))
    assert by_cost.steps == {SIZE: pytest.approx(0.1), GRADE: 0.75}
    by_distance = steps(costs=costs, by_distance=True).nearest(ROW, region, {})
    assert (by_distance.cost, by_distance.distance) == (5, pytest.approx(2 * 2 / 20 + 3 * 3 / 4))
    assert steps().key(1, 2) == (1, 2)
    assert steps(by_distance=True).key(1, 2) == (2, 1)
    assert ROW.tolist() == [3, 3, 1, 0]


def test_keys_are_equal_where_sums_are_but_for_rounding():
    assert rounded_key(0.1 + 0.2, 1e-20 * (1 / 3 * 3)) == rounded_key(0.3, 1e-20)
    for place in (0, 1):
        one, other = ([1.0, 1.0] for _ in range(2))
        other[place] += 2e-9
        assert rounded_key(*one) < rounded_key(*other)
        other[place] = 1 + 2e-10
        assert rounded_key(*one) == rounded_key(*other)


def test_a_new_number_is_as_far_as_its_share_of_the_range_and_one_for_a_gap_whole():
    made = steps()
    assert made.number_step(ROW, SIZE, 13.0) == 0.5
    assert made.number_step(ROW, COUNT, 1.0) == 0.2
    assert made.number_step(UNKNOWN, SIZE, 13.0) == 1.0
