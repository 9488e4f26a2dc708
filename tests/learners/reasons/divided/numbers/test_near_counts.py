"""Trees that count terms: the nearest rows of which only known numbers change, against all values that any term tells
apart."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals
from learners.reasons.divided.mixed_search import MixedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.numbers.stretched import least_other_change
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.regions.path_regions import paths_of
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Column, Kind, Table
from learners.trees.classifier import DecisionTreeClassifier

NUMBERS = 4
COLUMNS = tuple(Column(f"x{place}") for place in range(NUMBERS)) + tuple(
    Column(f"n{place}", Kind.NOMINAL, tuple("abc")) for place in range(2)
)


def grown(seed, formulas, **options):
    """A tree on random labels, and a row that misses one or two values, a number at least left."""
    rng = np.random.default_rng(seed)
    numbers, levels = np.round(rng.normal(size=(60, NUMBERS)), 1), rng.integers(0, 3, (60, 2))
    cells = np.column_stack((numbers, levels)).astype(float)
    if rng.random() < 0.5:
        cells[rng.random(cells.shape) < 0.1] = np.nan
    model = DecisionTreeClassifier(formula_tests=formulas, max_depth=4, min_leaf=2, **options).fit(
        Table(COLUMNS, np.asfortranarray(cells)), rng.choice(["a", "b", "c"], 60)
    )
    row = np.append(np.round(rng.normal(size=NUMBERS), 1), rng.integers(0, 3, 2))
    row[rng.choice(6, int(rng.integers(1, 3)), replace=False)] = np.nan
    return model, row, str(rng.choice(["a", "b", "c"])), rng


def nearest_of_all(model, row, steps, seeker):
    """Distance and cost of the nearest divided row with the wanted answer of which only known numbers change."""
    stretches, wishes = paths_of(model).stretches, steps.wishes
    known = [place for place in range(NUMBERS) if not np.isnan(row[place]) and not wishes.fixed[place]]
    choices = []
    for place in known:
        cuts = stretches.high[stretches.firsts[place] : stretches.firsts[place + 1]]
        cuts = cuts[np.isfinite(cuts)]
        values = np.concatenate((cuts, np.nextafter(cuts, np.inf)))
        may = ((values > row[place]) & wishes.rising[place]) | ((values < row[place]) & wishes.falling[place])
        choices.append([row[place], *np.unique(values[may]).tolist()])
    changed = np.array(list(product(*choices)))
    far = np.abs(changed - row[known]) / steps.scales.width[known] @ wishes.costs[known]
    cost = (changed != row[known]) @ wishes.costs[known]
    order = np.lexsort((cost, far))[1:]
    for some in np.array_split(order, max(1, len(order) // 500)):
        cells = np.repeat(row[None], len(some), axis=0)
        cells[:, known] = changed[some]
        for place in np.flatnonzero(seeker.hold(cells)).tolist() if len(some) else ():
            if len(model.packed_tree_.reach(np.array(cells[place]))[0]) > 1:
                return float(far[some[place]]), float(cost[some[place]])
    return np.inf, np.inf


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["m-of-n", "boolean"]),
    st.sampled_from(["fractional", "as-value", "most-likely"]),
    st.booleans(),
)
def test_the_nearest_is_that_of_all_values(seed, formulas, missing, free):
    model, row, wanted, rng = grown(seed, formulas, missing=missing)
    wishes = Wishes.of(COLUMNS)
    if not free:
        wishes = Wishes.of(
            COLUMNS,
            fixed=[column.name for column in COLUMNS if rng.random() < 0.2],
            directions={f"x{place}": str(rng.choice(["up", "down"])) for place in range(2)},
            costs={f"x{place}": float(rng.integers(1, 4)) for place in range(3)},
        )
    scales = Scales.of_combined(model.tree_, COLUMNS)
    steps = RegionSteps(COLUMNS, wishes, scales, by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    if seeker.hold(row[None])[0]:
        return
    search = MixedSearch(seeker, row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learners.reasons.divided.numbers.among_numbers._FEW_ITEMS", 400 * (seed % 2))
        way = search.next_before(None)
    best = nearest_of_all(model, row, steps, seeker)
    assert search.is_complete
    if best[0] < least_other_change(row, steps) * (1 - 1e-8):
        assert way is not None
        assert (way.distance, way.cost) == pytest.approx(best, abs=1e-9)
        assert seeker.holds_divided(way.cells)
    elif way is not None:
        assert way.distance <= best[0] + 1e-9


def test_a_row_that_is_divided_only_once_a_number_changes_is_found():
    """Two of x, y and "n is a" are wanted; n is missing, and with x and y low the count is decided all the same."""
    cells = np.array([*product([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])] * 4 + [(1.0, 1.0, 1.0)] * 10)
    columns = (Column("x"), Column("y"), Column("n", Kind.NOMINAL, ("b", "a")))
    model = DecisionTreeClassifier(formula_tests="m-of-n", max_depth=1).fit(
        Table(columns, np.asfortranarray(cells)), np.where(cells.sum(axis=1) >= 2, "yes", "no")
    )
    row = Table(columns, np.array([[0.0, 0.0, np.nan]]))
    assert len(model.packed_tree_.reach(row.values[0])[0]) == 1
    for order in ("distance", "changes"):
        ((found,),) = counterfactuals(model, row, "yes", Search(order=order))
        assert len(found.changes) == 1  # more than half of the rows are "yes", so with one of two the mean is
        assert len(model.packed_tree_.reach(found.cells)[0]) == 2
        assert found.exact
