"""The nearest rows of which only known numbers change, against all values of all numbers that a tree can tell apart."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals
from learners.reasons.divided.divided_search import DividedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.near_tree import Prices
from learners.reasons.divided.numbers.coordinate_search import CoordinateSearch
from learners.reasons.divided.numbers.near_ends import Ends
from learners.reasons.divided.numbers.near_nodes import nodes_of_boxes
from learners.reasons.divided.numbers.number_search import NumberSearch
from learners.reasons.divided.numbers.stretched import Stretched, least_other_change
from learners.reasons.nearest.demands import demands_of
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.regions.boxes import boxes_of
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier

COLUMNS = 5


def grown(seed):
    """A tree of five numeric columns on random labels, a row that misses two or three values, and what is wanted."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([60, 150]))
    X = np.round(rng.normal(size=(n, COLUMNS)), 1)
    if rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    options = {"missing": str(rng.choice(["fractional", "as-value", "most-likely"])), "max_depth": 7}
    model = DecisionTreeClassifier(**options).fit(Table.from_array(X), rng.choice(["a", "b", "c"], n))
    row = np.round(rng.normal(size=COLUMNS), 1)
    row[rng.choice(COLUMNS, int(rng.integers(2, 4)), replace=False)] = np.nan
    return model, row, str(rng.choice(["a", "b", "c"])), rng


def wishes_of(model, rng, *, free):
    if free:
        return Wishes.of(model.columns_)
    names = [column.name for column in model.columns_]
    return Wishes.of(
        model.columns_,
        fixed=[name for name in names if rng.random() < 0.1],
        directions={name: str(rng.choice(["up", "down"])) for name in names if rng.random() < 0.3},
        costs={name: float(rng.integers(1, 4)) for name in names if rng.random() < 0.3},
        allowed={name: (-1.0, 1.0) for name in names if rng.random() < 0.2},
    )


def near_of(boxes, row, steps, seeker, limit):
    """The numbers that may change, and what they decide within a limit."""
    demands = demands_of(boxes, row, steps.wishes, steps.scales)
    numbers, kept = Stretched(boxes.stretches, row, steps), Prices(boxes, demands, steps).within(limit)
    nodes = nodes_of_boxes(boxes, row, demands, kept, seeker.margins, numbers)
    return numbers, Ends(nodes, numbers).within(limit)


def nearest_of_all(model, row, wishes, scales, seeker):
    """Distance and cost of the nearest divided row with the wanted answer of which only known numbers change."""
    boxes = boxes_of(model)
    known = [place for place in boxes.cuts if not np.isnan(row[place]) and not wishes.fixed[place]]
    choices = []
    for place in known:
        cuts = boxes.cuts[place]
        values = np.concatenate((cuts, np.nextafter(cuts, np.inf), [-1.0, 1.0]))
        up, down = values > row[place], values < row[place]
        may = (up & wishes.rising[place]) | (down & wishes.falling[place])
        may &= (values >= wishes.least[place]) & (values <= wishes.greatest[place])
        choices.append([row[place], *np.unique(values[may]).tolist()])
    changed = np.array(list(product(*choices)))
    cells = np.repeat(row[None], len(changed), axis=0)
    cells[:, known] = changed
    moved = cells[:, known] != row[known]
    far = np.abs(cells[:, known] - row[known]) / scales.width[known]
    distance, cost = far @ wishes.costs[known], moved @ wishes.costs[known]
    order = np.lexsort((cost, distance))
    for some in np.array_split(order, max(1, len(order) // 500)):
        for place in some[seeker.hold(cells[some])].tolist():
            if moved[place].any() and len(model.packed_tree_.reach(np.array(cells[place]))[0]) > 1:
                return float(distance[place]), float(cost[place])
    return np.inf, np.inf


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 4, 320]), st.sampled_from([0, 200, 10**7]))
def test_what_is_called_exact_is_the_nearest_of_all(seed, free, first, cells):
    """However soon the limit grows, and whatever it may look at."""
    model, row, wanted, rng = grown(seed)
    wishes, boxes = wishes_of(model, rng, free=free), boxes_of(model)
    scales = Scales.of_boxes(boxes)
    steps = RegionSteps(model.columns_, wishes, scales, by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    if seeker.hold(row[None])[0] or len(model.packed_tree_.reach(row)[0]) < 2:
        return
    best = nearest_of_all(model, row, wishes, scales, seeker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.divided.divided_search._FEW_LEAVES", first)
        patch.setattr("learners.reasons.divided.numbers.among_numbers.MAX_CELLS", cells)
        patch.setattr("learners.reasons.divided.numbers.among_numbers._FEW_ITEMS", 400 * (seed % 2))
        search = DividedSearch(seeker, boxes, row, demands_of(boxes, row, wishes, scales))
        way = search.next_before(None)
    if way is None:
        assert not search.is_complete or best == (np.inf, np.inf)
        return
    assert seeker.holds_divided(way.cells)
    assert way.distance == pytest.approx(float(np.sum([way.steps[one] * wishes.costs[one] for one in way.steps])))
    if not any(np.isnan(row[column]) for column in way.steps):
        assert (way.distance, way.cost) >= (best[0] - 1e-9, 0)
    if search.is_complete:
        assert way.distance <= best[0] + 1e-9
        if not any(np.isnan(row[column]) for column in way.steps):
            assert (way.distance, way.cost) == pytest.approx(best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 64]))
def test_within_a_limit_the_nearest_is_found_among_all(seed, free, at_once):
    """Without any row to begin with, and regions looked at one by one or together."""
    model, row, wanted, rng = grown(seed)
    wishes, boxes = wishes_of(model, rng, free=free), boxes_of(model)
    scales = Scales.of_boxes(boxes)
    steps = RegionSteps(model.columns_, wishes, scales, by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    if seeker.hold(row[None])[0]:
        return
    limit = (0.9503 * float(wishes.costs[np.isnan(row)].min()), np.inf)
    assert least_other_change(row, steps) > limit[0]
    numbers, near = near_of(boxes, row, steps, seeker, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.divided.numbers.number_search._AT_ONCE", at_once)
        patch.setattr("learners.reasons.divided.numbers.number_search._MOST_CUTS", 1 + seed % 3)
        search = NumberSearch(numbers, near, seeker.slack, limit, seeker.hold)
        assert search.run(lambda _: True)
    best = nearest_of_all(model, row, wishes, scales, seeker)
    assert (search.best is not None) == (best[0] < limit[0])
    if search.best is not None:
        assert (search.best.distance, search.best.cost) == pytest.approx(best, abs=1e-9)
        assert search.limit == steps.key(search.best.cost, search.best.distance)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_descent_finds_rows_that_are_wanted_and_within_the_limit(seed, free):
    model, row, wanted, rng = grown(seed)
    wishes, boxes = wishes_of(model, rng, free=free), boxes_of(model)
    scales = Scales.of_boxes(boxes)
    steps = RegionSteps(model.columns_, wishes, scales, by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    if seeker.hold(row[None])[0]:
        return
    best = nearest_of_all(model, row, wishes, scales, seeker)
    for limit in (0.3, 1.0, np.inf):
        numbers, near = near_of(boxes, row, steps, seeker, (limit, np.inf))
        way = CoordinateSearch(numbers, near, seeker.slack).nearest(limit)
        if way is None:
            continue
        assert seeker.holds_divided(way.cells)
        assert way.distance < limit
        assert not np.isnan(row[list(way.steps)]).any()
        assert way.distance >= best[0] - 1e-9


def test_of_two_small_changes_together_the_nearest_is_found_where_one_alone_goes_far():
    """Of x missing, a and b decide together: both above 0.5 by a little, or a alone above 5."""
    cells = np.array(list(product([0.0, 1.0], [0.0, 1.0, 10.0], [0.0, 1.0])) * 4)
    wanted = (cells[:, 1] > 5) | ((cells[:, 1] > 0.5) & (cells[:, 2] > 0.5))
    model = DecisionTreeClassifier().fit(
        cells, np.where(wanted ^ ((cells[:, 0] > 0.5) & (cells[:, 1] < 0.5)), "y", "n")
    )
    row = np.array([[np.nan, 0.4, 0.4]])
    table = Table(model.columns_, np.asfortranarray(row))
    ((found,),) = counterfactuals(model, table, "y", Search(order="distance"))
    assert [(change.column, change.after) for change in found.changes] == [
        ("x1", float(np.nextafter(0.5, 1))),
        ("x2", float(np.nextafter(0.5, 1))),
    ]
    assert found.exact
