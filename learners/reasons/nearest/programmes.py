"""The nearest row that satisfies sums too: which columns change, and a small linear programme for how far.

Beside the columns that a region makes change, some of those in the sums may change. Sets of them are tried from the
cheapest on; of equally cheap ones the nearest counts. Where one column is left to move, the sums leave an interval of
it; for two or three, all corners are looked at, for more first what one sum asks
(:mod:`learners.reasons.nearest.corners`); where several stand in the way, the sum of their scaled distances is least by
a linear programme (HiGHS, by scipy), with whole numbers where only these make sense. All keep a little clear of the
thresholds, since a programme knows them to 1e-7 only; then each value goes back towards the row's own, double by
double, as far as the tree's own sums allow.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from learners.reasons.nearest.corners import MOST_COLUMNS, MOST_CORNERS, n_corners, nearest_beyond_one, nearest_corner
from learners.reasons.nearest.demands import least_above
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import SearchEnded, Way
from learners.reasons.regions.path_regions import HalfSpace
from learners.reasons.regions.regions import Numbers, Region
from learners.reasons.work import Work
from learners.types import FloatArray

#: Most sets of columns, and most linear programmes, that are looked at for one row: some tenths of a second.
MAX_SETS, MAX_PROGRAMMES = 5_000, 100
#: What each takes of the work of a request, in nodes.
_SET, _PROGRAMME = 4_000, 35_000
#: How clear of its thresholds a programme keeps, in the units of its columns' steps; more if that was not enough.
_CLEARANCES = (2e-7, 2e-6, 2e-5)
_TIE = 1e-9


@dataclass(frozen=True)
class _Room:
    """Where a column may move.

    Attributes:
        low, high: bounds of its new values.
        own: its own value, NaN where missing.
        scale: of one step; 1 of a column of whole numbers.
    """

    low: float
    high: float
    own: float
    scale: float
    integral: bool


class Programmes:
    """The programmes of one row's search.

    Args:
        steps: the wishes and what steps count.
        work: of the request.
    """

    def __init__(self, steps: RegionSteps, work: Work) -> None:
        self._steps, self._work = steps, work
        self.begin()

    def begin(self) -> None:
        """Begin with the work of another row."""
        self._sets = self._programmes = 0

    def nearest(self, row: FloatArray, region: Region, way: Way, sums: Sequence[HalfSpace]) -> Way | None:
        """The nearest row of a region that satisfies sums, of which ``way`` is the nearest without them.

        Raises:
            SearchEnded: too many sets of columns or programmes had to be looked at.
        """
        found = [one for one in self.ways(row, region, way, sums) if isinstance(one, Way)]
        return found[-1] if found else None

    def ways(self, row: FloatArray, region: Region, way: Way, sums: Sequence[HalfSpace]) -> Iterator[float | Way]:
        """At last the nearest row, if there is one; before, again and again, what it costs more than ``way`` at least.

        Raises:
            SearchEnded: too many sets of columns or programmes had to be looked at.
        """
        sums = [one for one in sums if not math.isnan(one.test.value(way.cells))]
        rooms = self._rooms(row, region, sums)
        always, open_ = self._split(way, rooms)
        best: tuple[float, Way] | None = None
        before = 0.0
        for price, extra in _cheapest_first(open_, self._prices(open_)):
            if best is not None and price > best[0] + _TIE * abs(best[0]):
                break
            if price > before and best is None:
                before = price
                yield price * (1 - _TIE)
            moved = {feature: rooms[feature] for feature in (*always, *extra)}
            if not _may_hold(way.cells, sums, moved):
                continue
            if best is not None and way.distance + self._at_least(way, sums, moved) >= best[1].distance:
                continue
            try:
                cells = self._solved(way.cells, sums, moved)
            except SearchEnded as ended:
                ended.best = None if best is None else best[1]
                raise
            if cells is not None and (best is None or self._way(row, cells, way).distance < best[1].distance):
                best = (price if best is None else best[0], self._way(row, cells, way))
        if best is not None:
            yield best[1]

    def _rooms(self, row: FloatArray, region: Region, sums: Sequence[HalfSpace]) -> dict[int, _Room]:
        """Of each column in the sums that may be changed, where to."""
        wishes, scales = self._steps.wishes, self._steps.scales
        rooms = {}
        for feature in sorted({term.feature for one in sums for term in one.test.terms}):
            cells = region.get(feature, Numbers())
            assert isinstance(cells, Numbers)  # noqa: S101 - sums are of numbers
            own, integral = float(row[feature]), bool(scales.integral[feature])
            above = float(least_above(np.array([cells.low]), np.array([integral]))[0])
            low = max(above, float(wishes.least[feature]))
            high = min(cells.high, float(wishes.greatest[feature]))
            if not math.isnan(own):
                low = low if wishes.falling[feature] else max(low, own)
                high = high if wishes.rising[feature] else min(high, own)
            if integral:
                low, high = float(np.ceil(low)), float(np.floor(high))
            if low <= high and not wishes.fixed[feature]:
                rooms[feature] = _Room(low, high, own, 1.0 if integral else float(scales.width[feature]), integral)
        return rooms

    def _split(self, way: Way, rooms: dict[int, _Room]) -> tuple[list[int], list[int]]:
        """The columns that move in any case, or whose moving costs nothing that comes first, and the others."""
        always: list[int] = []
        open_: list[int] = []
        for feature, room in rooms.items():
            stays = feature not in way.steps
            if stays and math.isnan(room.own):
                continue  # it stays missing
            free = self._steps.by_distance or self._steps.wishes.costs[feature] == 0
            inside = room.low <= room.own <= room.high and not (room.integral and room.own != math.floor(room.own))
            (always if not stays or (free and inside) else open_).append(feature)
        return always, open_

    def _prices(self, features: Sequence[int]) -> list[float]:
        return [0.0 if self._steps.by_distance else float(self._steps.wishes.costs[one]) for one in features]

    def _at_least(self, way: Way, sums: Sequence[HalfSpace], moved: dict[int, _Room]) -> float:
        """How much farther than ``way`` a row is at least: each missed sum by its column that moves it fastest."""
        if any(math.isnan(room.own) for room in moved.values()):
            return 0.0  # such a value is at the same distance wherever it goes
        width, weights, farther = self._steps.scales.width, self._steps.weights, [0.0]
        for one in sums:
            own = [term for term in one.test.terms if term.feature in moved and term.number != 0]
            least = min(
                (float(weights[term.feature] / width[term.feature]) / abs(term.number) for term in own), default=0.0
            )
            if not one.holds(way.cells):
                farther.append(abs(one.test.value(way.cells) - one.threshold) * least)
        return max(farther) * (1 - _TIE)

    def _way(self, row: FloatArray, cells: FloatArray, way: Way) -> Way:
        """The row with its steps."""
        steps = {feature: step for feature, step in way.steps.items() if cells[feature] == way.cells[feature]}
        for feature in np.flatnonzero((cells != row) & ~(np.isnan(cells) & np.isnan(row))).tolist():
            if feature not in steps:
                steps[feature] = self._steps.number_step(row, feature, float(cells[feature]))
        return self._steps.way(cells, steps)

    def _solved(self, cells: FloatArray, sums: Sequence[HalfSpace], moved: dict[int, _Room]) -> FloatArray | None:
        """The nearest row in which just these columns may be others; None where none satisfies the sums."""
        self._sets += 1
        if self._sets > MAX_SETS:
            raise _too_many(f"{MAX_SETS} sets of columns")
        self._spend(_SET)
        for clearance in _CLEARANCES:
            found = self._guess(cells, sums, moved, clearance)
            if found is None:
                return None
            if all(one.holds(found) for one in sums):
                return _drawn_back(found, sums, moved)
        return None

    def _spend(self, nodes: int) -> None:
        self._work.spend(nodes)
        if self._work.is_spent:
            raise self._work.ended()

    def _guess(
        self, cells: FloatArray, sums: Sequence[HalfSpace], moved: dict[int, _Room], clearance: float
    ) -> FloatArray | None:
        """About the nearest row, by a linear programme over the moved values and how far each is from its own."""
        if len(moved) < 2:
            return _alone(cells, sums, moved, clearance)
        features = list(moved)
        n = len(features)
        integral = [room.integral for room in moved.values()]
        scale = np.array([room.scale for room in moved.values()])
        start = np.array([cells[feature] if math.isnan(room.own) else room.own for feature, room in moved.items()])
        origin = np.where(integral, 0.0, start)
        rows, tops = np.empty((len(sums), n)), np.empty(len(sums))
        for place, one in enumerate(sums):
            slope, rest = _slopes(one, cells, features, origin)
            own = slope * scale
            size = float(np.abs(own).max()) or 1.0
            sign = -1.0 if one.above else 1.0
            rows[place] = sign * own / size
            tops[place] = sign * (one.threshold - rest) / size - clearance
        known = np.array([not math.isnan(room.own) for room in moved.values()])
        weights = self._steps.weights[features] * known
        weights = weights / np.array([self._steps.scales.width[one] / room.scale for one, room in moved.items()])
        with np.errstate(over="ignore"):  # no bound in a column of small steps
            low = (np.array([room.low for room in moved.values()]) - origin) / scale
            high = (np.array([room.high for room in moved.values()]) - origin) / scale
        begin = (start - origin) / scale
        if n <= MOST_COLUMNS and not any(integral) and n_corners(n, len(sums)) <= MOST_CORNERS:
            solution = nearest_corner(begin, weights, rows, tops, low, high)
        else:
            solution = None if any(integral) else nearest_beyond_one(begin, weights, rows, tops, low, high)
            if solution is None:
                solution = self._programme(begin, weights, rows, tops, low, high, integral)
        if solution is None:
            return None
        found = cells.copy()
        for place, (feature, room) in enumerate(moved.items()):
            value = origin[place] + solution[place] * room.scale
            found[feature] = min(max(round(value) if room.integral else value, room.low), room.high)
        return found

    def _programme(
        self,
        start: FloatArray,
        weights: FloatArray,
        slopes: FloatArray,
        tops: FloatArray,
        low: FloatArray,
        high: FloatArray,
        integral: Sequence[bool],
    ) -> FloatArray | None:
        """The same as :func:`nearest_corner` of any columns: n values, and how far each is from the start."""
        from scipy.optimize import LinearConstraint, milp  # takes a while to load

        self._programmes += 1
        if self._programmes > MAX_PROGRAMMES:
            raise _too_many(f"{MAX_PROGRAMMES} linear programmes")
        self._spend(_PROGRAMME)
        n, one = len(start), np.eye(len(start))
        lines = np.block([[slopes, np.zeros_like(slopes)], [one, -one], [-one, -one]])
        solution = milp(
            np.concatenate((np.zeros(n), weights)),
            constraints=LinearConstraint(lines, ub=np.concatenate((tops, start, -start))),
            integrality=np.concatenate((np.array(integral, np.int64), np.zeros(n))),
            bounds=(np.concatenate((low, np.zeros(n))), np.concatenate((high, np.full(n, np.inf)))),
            options={"mip_rel_gap": 0.0},
        )
        values: FloatArray | None = None if solution.x is None else solution.x[:n]
        return values


def _alone(
    cells: FloatArray, sums: Sequence[HalfSpace], moved: dict[int, _Room], clearance: float
) -> FloatArray | None:
    """The same of one column, or of none."""
    found = cells.copy()
    for feature, room in moved.items():
        low, high = room.low, room.high
        for one in sums:
            slope, rest = _slopes(one, cells, [feature], np.zeros(1))
            if slope[0] == 0:
                continue
            edge = (one.threshold - rest) / float(slope[0])
            clear = clearance * room.scale + 4 * math.ulp(edge)
            if (slope[0] > 0) == one.above:
                low = max(low, edge + clear)
            else:
                high = min(high, edge - clear)
        if room.integral:
            low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            return None
        start = float(cells[feature]) if math.isnan(room.own) else room.own
        found[feature] = min(max(start, low), high)
    return found


def _too_many(what: str) -> SearchEnded:
    return SearchEnded(f"{what} for the tree's weighted sums")


def _slopes(one: HalfSpace, cells: FloatArray, features: list[int], origin: FloatArray) -> tuple[FloatArray, float]:
    """The weights of some columns in a sum, and what the sum is with these at their origins."""
    slope = np.zeros(len(features))
    rest = []
    for term in one.test.terms:
        if term.feature in features:
            place = features.index(term.feature)
            slope[place] += term.number
            rest.append(term.number * float(origin[place]))
        else:
            rest.append(term.number * float(cells[term.feature]))
    return slope, math.fsum(rest)


def _may_hold(cells: FloatArray, sums: Sequence[HalfSpace], moved: dict[int, _Room]) -> bool:
    """Whether each sum alone can be satisfied by moving these columns."""
    for one in sums:
        best = 0.0
        for term in one.test.terms:
            room = moved.get(term.feature)
            if room is None or term.number == 0:
                best += term.number * float(cells[term.feature])
                continue
            up = (term.number > 0) == one.above
            best += term.number * (room.high if up else room.low)
        if not (best > one.threshold if one.above else best <= one.threshold):
            return False
    return True


def _drawn_back(cells: FloatArray, sums: Sequence[HalfSpace], moved: dict[int, _Room]) -> FloatArray:
    """The row with each moved value as near to its own as the sums allow, the others as they are.

    What satisfies all sums on the way of one value is one stretch, in doubles too, for a rounded sum never falls as
    its terms rise.
    """
    for feature, room in moved.items():
        if math.isnan(room.own):
            continue
        goal = min(max(room.own, room.low), room.high)
        good, bad = float(cells[feature]), goal
        cells[feature] = goal
        if all(one.holds(cells) for one in sums):
            continue
        good, bad = _bracketed(cells, feature, good, bad, sums)
        while True:
            middle = good / 2 + bad / 2
            if room.integral:
                middle = float(math.floor(middle) if good < bad else math.ceil(middle))
            if middle in (good, bad):
                break
            cells[feature] = middle
            if all(one.holds(cells) for one in sums):
                good = middle
            else:
                bad = middle
        cells[feature] = good
    return cells


def _bracketed(
    cells: FloatArray, feature: int, good: float, bad: float, sums: Sequence[HalfSpace]
) -> tuple[float, float]:
    """Two values of a column much nearer to each other, with which all sums hold, and do not all hold."""
    for one in sums:
        slope, rest = _slopes(one, cells, [feature], np.zeros(1))
        if slope[0] == 0:
            continue
        edge = (one.threshold - rest) / float(slope[0])
        beside = 16 * math.ulp(max(abs(edge), abs(rest / float(slope[0]))))
        for value in (edge - beside, edge + beside):
            if min(good, bad) < value < max(good, bad):
                cells[feature] = value
                if all(other.holds(cells) for other in sums):
                    good = value
                else:
                    bad = value
    return good, bad


def _cheapest_first(features: Sequence[int], prices: Sequence[float]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All sets of some columns with their prices, the cheapest first; of equal prices the smaller ones."""
    order = sorted(range(len(features)), key=lambda place: prices[place])
    heap: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
    while heap:
        price, size, places = heapq.heappop(heap)
        yield price, tuple(features[order[place]] for place in places)
        last = places[-1] if places else -1
        if last + 1 < len(order):
            following = prices[order[last + 1]]
            heapq.heappush(heap, (price + following, size + 1, (*places, last + 1)))
            if places:  # in place of the last one the next
                heapq.heappush(heap, (price - prices[order[last]] + following, size, (*places[:-1], last + 1)))
