"""Trees that add up weighted values: the nearest rows of which only known numbers change, against linear programmes for
all ways through the tree."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from learners.reasons import Scales, Wishes
from learners.reasons.divided.mixed_search import MixedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.divided.numbers.stretched import least_other_change
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.wanted.targets import target_of
from learners.reasons.work import Work
from learners.table import Column, Kind, Table
from learners.trees.classifier import DecisionTreeClassifier

NUMBERS = 5
COLUMNS = tuple(Column(f"x{place}") for place in range(NUMBERS))
#: How clear of thresholds the programmes of the test keep.
CLEAR = 1e-6


def grown(seed, **options):
    """A tree with sums on noisy labels, and a row that misses one or two values."""
    rng = np.random.default_rng(seed)
    cells = np.round(rng.normal(size=(120, NUMBERS)), 1)
    sums = cells @ rng.normal(size=NUMBERS)
    labels = np.where(rng.random(120) < 0.3, rng.choice(["a", "b", "c"], 120), np.array(["a", "b"])[(sums > 0) * 1])
    if rng.random() < 0.5:
        cells[rng.random(cells.shape) < 0.1] = np.nan
    model = DecisionTreeClassifier(oblique_tests=True, max_depth=4, min_leaf=2, **options)
    model.fit(Table(COLUMNS, np.asfortranarray(cells)), labels)
    row = np.round(rng.normal(size=NUMBERS), 1)
    row[rng.choice(NUMBERS, int(rng.integers(1, 3)), replace=False)] = np.nan
    return model, row, "b" if model.predict(Table(COLUMNS, row[None]))[0] == "a" else "a", rng


def wishes_of(row, rng, *, free):
    """Mostly with the missing values fixed, so that only numbers are left, however far."""
    names = [column.name for column in COLUMNS]
    missing = [name for name, cell in zip(names, row, strict=True) if np.isnan(cell) and rng.random() < 0.8]
    if free:
        return Wishes.of(COLUMNS, fixed=missing)
    return Wishes.of(
        COLUMNS,
        fixed=[name for name in names if name in missing or rng.random() < 0.1],
        directions={name: str(rng.choice(["up", "down"])) for name in names if rng.random() < 0.3},
        costs={name: float(rng.integers(1, 4)) for name in names if rng.random() < 0.4},
        allowed={name: (-1.5, 1.5) for name in names if rng.random() < 0.3},
    )


class Everywhere:
    """All ways of a row through a tree, each by a linear programme: how far the known numbers have to move for it."""

    def __init__(self, model, row, steps, seeker):
        self.model, self.row, self.seeker, wishes = model, row, seeker, steps.wishes
        self.known = np.flatnonzero(~np.isnan(row))
        known = self.known
        may = ~wishes.fixed[known]
        # up and down of each known number; out of a range no step inwards is refused
        up = np.where(may & wishes.rising[known], wishes.greatest[known] - row[known], 0.0)
        down = np.where(may & wishes.falling[known], row[known] - wishes.least[known], 0.0)
        self.bounds = [(0, None if np.isinf(top) else max(top, 0.0)) for top in (*up, *down)]
        self.prices = np.tile(steps.weights[known] / steps.scales.width[known], 2)
        self.best = np.inf

    def solve(self, bounds):
        """Distance and point of the nearest row with ``slopes @ known numbers <= top`` for all of these."""
        if not bounds:
            return 0.0, self.row
        slopes, tops = np.array([slope for slope, _ in bounds]), np.array([top for _, top in bounds])
        found = linprog(
            self.prices, np.hstack((slopes, -slopes)), tops - slopes @ self.row[self.known] - CLEAR, bounds=self.bounds
        )
        if found.status == 2:
            return None
        assert found.status == 0
        cells, n = self.row.copy(), len(self.known)
        cells[self.known] += found.x[:n] - found.x[n:]
        return found.fun, cells

    def look(self, todo, bounds, leaves):
        """Go on from some nodes with their shares, under the bounds so far."""
        found = self.solve(bounds)
        if found is None or found[0] >= self.best:
            return
        if not todo:
            answers = self.seeker.margins[[leaf for leaf, _ in leaves]]
            margins = np.array([share for _, share in leaves]) @ answers
            if len(leaves) > 1 and (margins >= -1e-12).all() and self.seeker.hold(found[1][None])[0]:
                self.best = found[0]
            return
        nodes = self.model.tree_
        (node, share), *todo = todo
        if nodes.feature[node] < 0:
            self.look(todo, bounds, [*leaves, (node, share)])
            return
        children = range(int(nodes.first_child[node]), int(nodes.first_child[node] + nodes.n_children[node]))
        slope = self.slope(int(nodes.feature[node]))
        if slope is not None:
            threshold = float(nodes.threshold[node])
            for child, side in zip(children, (1.0, -1.0), strict=True):
                if np.isfinite(threshold):
                    self.look([(child, share), *todo], [*bounds, (side * slope, side * threshold)], leaves)
                elif side * threshold > 0:  # a test of whether the value is missing
                    self.look([(child, share), *todo], bounds, leaves)
        elif nodes.missing_branch[node] >= 0:
            self.look([(children[int(nodes.missing_branch[node])], share), *todo], bounds, leaves)
        else:
            divided = [(child, share * float(nodes.fraction[child])) for child in children]
            self.look([*[one for one in divided if one[1] > 0], *todo], bounds, leaves)

    def slope(self, feature):
        """What a test compares, as weights of the known numbers; None where a value of it is missing."""
        whole = np.zeros(NUMBERS)
        if feature < NUMBERS:
            whole[feature] = 1.0
        else:
            for term in self.model.tree_.combined.tests[feature - NUMBERS].terms:
                whole[term.feature] += term.number
        return None if np.isnan(self.row[whole != 0]).any() else whole[self.known]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["fractional", "as-value", "most-likely"]), st.booleans())
def test_the_nearest_is_that_of_all_ways_through_the_tree(seed, missing, free):
    model, row, wanted, rng = grown(seed, missing=missing)
    wishes = wishes_of(row, rng, free=free)
    steps = RegionSteps(COLUMNS, wishes, Scales.of_combined(model.tree_, COLUMNS), by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    if seeker.hold(row[None])[0]:
        return
    search = MixedSearch(seeker, row)
    way = search.next_before(None)
    ways = Everywhere(model, row, steps, seeker)
    ways.look([(0, 1.0)], [], [])
    assert search.is_complete
    if ways.best < least_other_change(row, steps) * (1 - 1e-4):
        assert way is not None
        assert way.distance == pytest.approx(ways.best, abs=1e-4)
        assert seeker.holds_divided(way.cells)
    elif way is not None:
        assert way.distance <= ways.best + 1e-4


@settings(max_examples=12, deadline=None)
@example(11, "most-likely", "m-of-n")  # nothing divides this row: no region of an undivided leaf is searched
@given(st.integers(0, 10**6), st.sampled_from(["fractional", "most-likely"]), st.sampled_from(["m-of-n", "boolean"]))
def test_with_counts_beside_sums_no_row_out_of_many_is_nearer(seed, missing, formulas):
    columns = (*COLUMNS, Column("n", Kind.NOMINAL, tuple("pqr")))
    rng = np.random.default_rng(seed)
    cells = np.column_stack((np.round(rng.normal(size=(200, NUMBERS)), 1), rng.integers(0, 3, 200))).astype(float)
    is_a = (cells[:, :NUMBERS] @ rng.normal(size=NUMBERS) > 0) ^ ((cells[:, :4] > 0).sum(axis=1) >= 2)
    labels = np.where(rng.random(200) < 0.2, rng.choice(["a", "b"], 200), np.where(is_a, "a", "b"))
    if rng.random() < 0.5:
        cells[rng.random(cells.shape) < 0.1] = np.nan
    model = DecisionTreeClassifier(
        oblique_tests=True, formula_tests=formulas, max_depth=5, min_leaf=2, missing=missing
    ).fit(Table(columns, np.asfortranarray(cells)), labels)
    row = np.append(np.round(rng.normal(size=NUMBERS), 1), float(rng.integers(0, 3)))
    row[rng.choice(NUMBERS + 1, int(rng.integers(1, 3)), replace=False)] = np.nan
    wanted = "b" if model.predict(Table(columns, row[None]))[0] == "a" else "a"
    names = {column.name for column, cell in zip(columns, row, strict=True) if np.isnan(cell) and rng.random() < 0.7}
    wishes = Wishes.of(columns, fixed=sorted(names | ({"n"} if rng.random() < 0.6 else set())))
    steps = RegionSteps(columns, wishes, Scales.of_combined(model.tree_, columns), by_distance=True)
    seeker = MixedSeeker(model, target_of(model, wanted), steps, Work(1))
    search = MixedSearch(seeker, row)
    way = search.next_before(None)
    assert search.is_complete
    known = np.flatnonzero(~np.isnan(row[:NUMBERS]) & ~wishes.fixed[:NUMBERS])
    rows = np.repeat(row[None], 3000, axis=0)
    moved = rng.normal(size=(3000, len(known))) * rng.choice([0.1, 0.5, 2], (3000, 1))
    rows[:, known] += np.where(rng.random(moved.shape) < 0.5, moved, 0.0)
    far = (np.abs(rows - row)[:, known] / steps.scales.width[known]).sum(axis=1)
    rows = rows[far < (np.inf if way is None else way.distance - 1e-6)]
    nearer = rows[seeker.hold(rows)] if len(rows) else rows
    assert not any(len(model.packed_tree_.reach(one)[0]) > 1 for one in nearer)
