"""What it takes at least to meet what a path asks of several values: bounds that a search goes by, by hand.

No bound may be above what a row can cost that does meet it, or the search would take a farther row for the nearest.
"""

from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from learners.reasons import Scales, Wishes
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import Ways
from learners.reasons.regions.path_regions import AtLeast, HalfSpace, paths_of
from learners.reasons.regions.regions import Numbers
from learners.reasons.searches.combined_search import CombinedSeeker, _Candidate
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Column, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.combined.tests import WEIGHT, CombinedTest, Term

COLUMNS = tuple(Column(name) for name in "abcd")
#: Of each column what a whole step is of.
SCALES = Scales(np.array([10.0, 20, 40, 80]), np.zeros(4), np.zeros(4, bool))
ROW = np.zeros(4)


def seeker(*, by_distance=True, **wishes):
    digits = np.array(list(product([0.0, 1], repeat=4)))
    model = DecisionTreeClassifier(formula_tests="m-of-n", max_depth=1)
    model.fit(Table(COLUMNS, np.asfortranarray(digits)), np.where(digits.sum(axis=1) >= 2, "yes", "no"))
    found = target_of(model, "yes")
    made = Wishes.of(COLUMNS, **wishes)
    steps = RegionSteps(model.columns_, made, SCALES, by_distance=by_distance)
    return CombinedSeeker(model, found, steps, count=1, diverse=False, work=Work(1))


def moved(search, row=ROW, **steps):
    """A way that moves some columns already."""
    places = {"abcd".index(name): far for name, far in steps.items()}
    return search.steps.way(row.copy(), places)


def above(bound):
    return Numbers(bound, missing=False)


#: One set asks of a more than 1, which is 1/10 away, or more than 5; of b 4/20, of c 12/40, of d 40/80.
SETS = ((0, above(1)), (0, above(5)), (1, above(4)), (2, above(12)), (3, above(40)))


@pytest.mark.parametrize(
    ("need", "cost", "distance"),
    [
        (1, 1, 0.1),
        (2, 1, 0.1),  # one column may meet two sets
        (3, 2, 0.1 + 0.2),
        (4, 2, 0.1 + 0.2),
        (5, 3, 0.1 + 0.2 + 0.3),
    ],
)
def test_a_count_takes_as_many_columns_as_its_sets_are_of(need, cost, distance):
    search = seeker()
    found = search._more_sets(ROW, moved(search), AtLeast(need, SETS), {})
    assert found == pytest.approx((cost, distance), rel=1e-6)


@pytest.mark.parametrize("costs", [{}, {"a": 7.0, "b": 2.0, "d": 0.5}])
@pytest.mark.parametrize("need", range(1, 6))
def test_no_choice_of_sets_costs_less(need, costs):
    search = seeker(costs=costs)
    cost, distance = search._more_sets(ROW, moved(search), AtLeast(need, SETS), {})
    prices = [costs.get(column.name, 1.0) for column in COLUMNS]
    farthest = {0: (0.1, 0.5), 1: (0.2,), 2: (0.3,), 3: (0.5,)}
    for chosen in (some for count in range(need, 6) for some in combinations(range(5), count)):
        columns = {SETS[place][0] for place in chosen}
        far = [farthest[column][1 if column == 0 and 1 in chosen else 0] * prices[column] for column in columns]
        assert cost <= sum(prices[column] for column in columns) + 1e-9
        assert distance <= sum(far) + 1e-9


def test_sets_that_hold_or_whose_column_moves_anyway_are_free_and_fixed_ones_out_of_reach():
    search = seeker(fixed=["b"])
    two = AtLeast(2, ((0, above(-1)), (1, above(4)), (2, above(12))))  # the first holds
    assert search._more_sets(ROW, moved(search), two, {}) == pytest.approx((1, 0.3), rel=1e-6)
    assert search._more_sets(ROW, moved(search, c=0.1), two, {}) == (0, 0)
    three = AtLeast(3, two.sets)
    assert search._more_sets(ROW, moved(search), three, {}) == (np.inf, np.inf)


def sum_of(threshold, **weights):
    terms = tuple(Term(WEIGHT, "abcd".index(name), weight) for name, weight in weights.items())
    return HalfSpace(CombinedTest(0, terms), threshold, True, False)


def test_a_sum_takes_the_column_that_moves_it_fastest_and_the_cheapest_one():
    """3 a - b / 2 > 60 misses by 60, which a moves by 30 a step and b by 10."""
    search = seeker(costs={"a": 3.0, "b": 2.0})
    asked = sum_of(60.0, a=3.0, b=-0.5)
    # as though the fastest were as cheap as the cheapest
    assert search._more(moved(search), asked) == pytest.approx((2, 60 / 30 * 2), rel=1e-6)
    assert search._more(moved(search, b=0.5), asked) == pytest.approx((0, 60 / 30 * 2), rel=1e-6)
    assert search._more(moved(search, c=0.5), asked) == pytest.approx((2, 60 / 30 * 2), rel=1e-6)


def test_a_sum_is_not_moved_by_fixed_columns_and_freely_by_what_was_missing():
    asked = sum_of(60.0, a=3.0, b=-0.5)
    search = seeker(fixed=["a"])
    assert search._more(moved(search), asked) == pytest.approx((1, 60 / 10), rel=1e-6)
    search = seeker(fixed=["a", "b"])
    assert search._more(moved(search), asked) == (np.inf, np.inf)
    search = seeker()
    assert search._more(moved(search, b=1.0), asked) == (0, 0)  # a gap that is filled counts 1, whatever the value


def test_what_waits_when_a_search_ends_is_given_once_a_leaf_the_nearest_first_where_all_is_met():
    """Of rows with two of four digits 1 the nearest; not those that miss the count, a sum, or whose leaf was given."""
    search = seeker()
    leaf = int(search.learner.apply(Table(COLUMNS, np.ones((1, 4))))[0])
    (path,) = (one for one in paths_of(search.learner).every if one.leaf == leaf)
    near, far = moved(search, np.array([1.0, 1, 0, 0]), a=0.1, b=0.1), moved(search, np.ones(4), a=0.1, b=0.2)
    missed = moved(search, np.array([1.0, 0, 0, 0]), a=0.1)
    low, high = replace(path, sums=(sum_of(5.0, a=3.0),)), replace(path, sums=(sum_of(2.0, a=3.0),))

    def given(*candidates, done=()):
        waiting = [_Candidate(own, {}, way) for own, way in candidates]
        search._heap = [(search.steps.key(one.way.cost, one.way.distance), leaf, 0, one) for one in waiting]
        return list(search._complete([], set(done)))

    assert given((path, far), (path, near)) == [(leaf, near)]
    assert given((path, missed), (path, far)) == [(leaf, far)]
    assert given((low, near), (path, far)) == [(leaf, far)]
    assert given((high, near), (path, far)) == [(leaf, near)]
    assert given((path, near), done=[leaf]) == []


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_way_is_exact_only_where_divided_rows_were_all_looked_at(is_complete):
    search, found = seeker(), Ways()
    way = moved(search, np.array([1.0, 1, 0, 0]), a=0.1, b=0.05)
    leaf = int(search.learner.apply(Table(COLUMNS, way.cells[None]))[0])
    search._take(found, ROW, iter([(leaf, way)]), SimpleNamespace(is_complete=is_complete))
    (one,) = found
    assert (one.leaf, one.exact, one.cost) == (leaf, is_complete, 2)
    assert [(change.column, change.before, change.after) for change in one.changes] == [("a", 0, 1), ("b", 0, 1)]
