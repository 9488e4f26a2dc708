"""The fitted rows with their weights, searched by one of several ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from learners._accel import runs_compiled
from learners.neighbors.distances import Metric
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.dividing import divided
from learners.neighbors.search.found import Found, pick
from learners.neighbors.search.hash_fitting import fit_tables
from learners.neighbors.search.hashing import HashTables
from learners.neighbors.search.kd_tree import KdTree, build
from learners.neighbors.search.one import EXACT_POWERS, MOST_K, FewSearch
from learners.neighbors.search.pools import STEPS, Comparison, pooled
from learners.neighbors.search.walk import GAPPED, LEVELS, NUMBERS, search_tree
from learners.types import Array, FloatArray, IntArray

#: A tree is of no use in more dimensions.
_MAX_TREE_COLUMNS = 12
#: Where more than one of so many rows is asked for, all are looked at.
_LARGEST_SHARE = 8
#: Queries that are answered one by one, where there is machine code for that.
_FEW_QUERIES = 32
#: Rows beyond the nearest that are asked for at least, where powers are rounded in several ways, and by how much.
_MORE_ROWS, _ROUNDED, _TINY = 8, 1e-12, 1e-300


@dataclass(frozen=True)
class RowIndex:
    """n rows of d coordinates with weights.

    Attributes:
        metric: how they are compared.
        points: float64 (n, d), C-ordered.
        weights: float64 (n,), > 0.
        tree: a kd-tree over the coordinates of columns of weight, or ``None``.
        tables: hash tables over these, or ``None``.
        few: finds the rows nearest to few queries, or ``None``; see :meth:`by_machine_code`.
    """

    metric: Metric
    points: FloatArray
    weights: FloatArray
    tree: KdTree | None = None
    tables: HashTables | None = None
    few: FewSearch | None = None

    @property
    def n_rows(self) -> int:
        return len(self.points)

    @cached_property
    def brute(self) -> BruteSearch:
        return BruteSearch(self.metric, self.points)

    @cached_property
    def active(self) -> IntArray:
        """The columns of weight."""
        return np.flatnonzero(self.metric.step > 0)

    @property
    def has_places(self) -> bool:
        """Whether the rows lie in space, so that trees and tables may hold them: without levels and gaps."""
        return (
            self.metric.is_simple
            and not self.metric.is_level[self.active].any()
            and not np.isnan(self.points[:, self.active]).any()
            and not self.metric.leaves_out
            and self.metric.p > 0  # a smallest difference is bounded by no box
        )

    def asks_for_many(self, k: int) -> bool:
        """Whether k rows are so many of all that all are looked at."""
        return k * _LARGEST_SHARE > self.n_rows

    @cached_property
    def has_walk(self) -> bool:
        """Whether single rows can be found by a walk: there is a tree, or one may be made of levels or gaps."""
        metric, active = self.metric, self.active
        if self.tables is not None or metric.p not in EXACT_POWERS or not len(active):
            return False
        if self.tree is not None or self.has_places:
            return self.tree is not None
        levels = active[metric.is_level[active]]
        alike = (metric.step[levels] == metric.span[levels]).all()
        return bool(metric.is_simple and not metric.leaves_out and alike)

    @cached_property
    def walked(self) -> tuple[Array, ...]:
        """The tree through which that walk goes, see :func:`learners.neighbors.search.pools.pooled`."""
        if self.tree is not None:
            tree, steps = self.tree.searched, self.metric.steps[self.active]
            return *tree[:STEPS], steps, *tree[STEPS + 1 :]
        points = np.ascontiguousarray(self.points[:, self.active])
        is_level = self.metric.is_level[self.active]
        ways = np.where(is_level, LEVELS, np.where(np.isnan(points).any(axis=0), GAPPED, NUMBERS))
        comparison = Comparison(ways, self.metric.steps[self.active])
        return pooled(points, divided(points, comparison), comparison)

    def by_machine_code(self) -> RowIndex:
        """The same, which answers few queries by machine code; that is loaded, and :attr:`has_walk` applies."""
        return replace(self, few=FewSearch(self.metric.p, self.walked, len(self.active)))

    def nearest(self, queries: FloatArray, k: int) -> Found:
        """The nearest k rows of each query, shape (m, d); all rows where there are not more."""
        k = min(k, self.n_rows)
        if self.few is not None and 0 < len(queries) <= _FEW_QUERIES and k <= MOST_K:
            found = self.few.nearest(queries[:, self.active], k)
            if found is not None:
                return found
        if (self.tree is None and self.tables is None) or self.asks_for_many(k):
            return self.brute.nearest(queries, k)
        if self.tables is None and not runs_compiled(search_tree):
            return self.brute.nearest(queries, k)
        complete = ~np.isnan(queries[:, self.active]).any(axis=1)
        if complete.all():
            return self._indexed(queries, k)
        found = Found(np.empty((len(queries), k), np.int64), np.empty((len(queries), k)))
        for rows, search in ((complete, self._indexed), (~complete, self.brute.nearest)):
            part = search(queries[rows], k)
            found.rows[rows], found.powers[rows] = part.rows, part.powers
        return found

    def _indexed(self, queries: FloatArray, k: int) -> Found:
        narrow = np.ascontiguousarray(queries[:, self.active])
        if self.tree is not None:
            is_exact = self.metric.p in EXACT_POWERS
            return self.tree.nearest(narrow, k) if is_exact else self._measured(queries, narrow, k)
        if self.tables is None:
            raise TypeError("neither a tree nor tables")
        return self.tables.nearest(narrow, k)

    def _measured(self, queries: FloatArray, narrow: FloatArray, k: int) -> Found:
        """By powers whose last bits depend on who computes them: what a tree says may be near is measured as elsewhere.

        Args:
            queries: shape (m, d); narrow: of the columns of weight.
            k: how many are asked for.
        """
        if self.tree is None:
            raise TypeError("there is no tree")
        about = self.tree.nearest(narrow, min(k + max(k, _MORE_ROWS), self.n_rows))
        reach = about.powers[:, k - 1] * (1 + _ROUNDED) + _TINY
        decided = (about.powers[:, -1] > reach) | (about.k == self.n_rows)
        found = Found(np.empty((len(queries), k), np.int64), np.empty((len(queries), k)))
        asked, places = np.nonzero((about.powers <= reach[:, None])[decided])
        rows = about.rows[decided][asked, places]
        powers = self.metric.powers(queries[decided][asked], self.points[rows])
        near = pick(asked, rows, powers, int(decided.sum()), k)
        tied = self.brute.nearest(queries[~decided], k)
        for which, part in ((decided, near), (~decided, tied)):
            found.rows[which], found.powers[which] = part.rows, part.powers
        return found

    def by_weight(self, queries: FloatArray, weight: float) -> Found:
        """So many of the nearest rows of each query that their weights reach the weight, or all rows."""
        k = int(min(np.ceil(weight), self.n_rows))
        found = self.nearest(queries, k)
        while found.k < self.n_rows and len(queries):
            if self.weights[found.rows].sum(axis=1).min() >= weight:
                break
            found = self.nearest(queries, 2 * found.k)
        return found

    def everything(self, queries: FloatArray) -> Found:
        """All rows by their distance from each query."""
        return self.nearest(queries, self.n_rows)

    def to_arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {"points": self.points, "weights": self.weights}
        if self.tree is not None:
            arrays |= {f"tree.{name}": array for name, array in self.tree.to_arrays().items()}
        if self.tables is not None:
            arrays |= {f"tables.{name}": array for name, array in self.tables.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, metric: Metric, arrays: dict[str, Array]) -> RowIndex:
        plain = cls(metric, arrays["points"], arrays["weights"])
        narrow = plain.points[:, plain.active]
        tree, tables = _under("tree.", arrays), _under("tables.", arrays)
        return cls(
            metric,
            plain.points,
            plain.weights,
            KdTree.from_arrays(tree, narrow, metric.p) if tree else None,
            HashTables.from_arrays(tables, narrow) if tables else None,
        )


def _under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def make_index(metric: Metric, points: FloatArray, weights: FloatArray, search: str, **hashing: Any) -> RowIndex:
    """Rows searched as ``search`` says: ``auto``, ``brute``, ``kd-tree`` or ``hashing``.

    Where rows have levels or missing cells, all are looked at; by hashing also where many are asked for, or tables
    would bring up half of them.

    Args:
        hashing: what :func:`fit_tables` takes.
    """
    plain = RowIndex(metric, points, weights)
    active, has_places = plain.active, plain.has_places
    if search == "auto":
        search = "kd-tree" if has_places and 0 < len(active) <= _MAX_TREE_COLUMNS else "brute"
    if search == "brute" or not has_places or not len(active):
        return plain
    narrow = np.ascontiguousarray(points[:, active])
    if search == "kd-tree":
        return RowIndex(metric, points, weights, tree=build(narrow, metric.p))
    if plain.asks_for_many(hashing["k"]):
        return plain
    return RowIndex(metric, points, weights, tables=fit_tables(narrow, **hashing))
