"""Tests that look at several values at once, and the one definition of the value by which a row is judged.

A combined test is a column of the tree's own, numbered after the d columns of the table, with a threshold on it:

* A *count* asks whether at least ``need`` of its terms hold. Its value is 0 where they do and 1 where they do
  not. All terms of two on one column are an interval, of several a conjunction; one of them a disjunction.
  The value is known as soon as the terms that are known decide it; else it is missing.
* A *sum* adds up weight times value of numeric columns, one product after the other in the order of its terms,
  so that every reader of a tree finds the same double. It is missing where a value is, or where it is no number.

A term is ``x <= number``, a level's code at most ``number``, or a level among some; negated, the opposite.
A missing value leaves a term unknown, and a level that the model does not know leaves a threshold on codes
unknown and is not among any levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from learners.types import Array, BoolArray, FloatArray, Int8Array, Int32Array, IntArray

#: Kinds of terms.
NUMBER, CODE, LEVELS, WEIGHT = range(4)
#: Between the values of a count.
HALF = 0.5
#: So few values are found one by one.
_FEW = 2


class Term(NamedTuple):
    """One part of a combined test.

    Attributes:
        kind: what is asked of the value; ``WEIGHT``: it is added up.
        feature: index of the column.
        number: the threshold or the weight; NaN for levels.
        codes: ascending codes of levels.
        negated: whether the opposite is asked.
        share: what share of the test's gain is the column's; the shares of a test sum to 1.
    """

    kind: int
    feature: int
    number: float
    codes: tuple[int, ...] = ()
    negated: bool = False
    share: float = 1.0

    def holds(self, cell: float) -> bool | None:
        """Whether a value satisfies the term; ``None`` where that is not known."""
        if math.isnan(cell) or (self.kind == CODE and cell < 0):
            return None
        return (cell in self.codes if self.kind == LEVELS else cell <= self.number) != self.negated


class CombinedTest(NamedTuple):
    """A count of terms, of which at least ``need`` shall hold, or a sum of weighted values: ``need`` is 0."""

    need: int
    terms: tuple[Term, ...]

    @property
    def is_sum(self) -> bool:
        return self.need == 0

    @property
    def interval(self) -> tuple[int, float, float] | None:
        """The column and the bounds of ``low < x <= high``, if the test asks for that; else ``None``."""
        if self.need != 2 or len(self.terms) != 2:
            return None
        low, high = self.terms
        bounds = (low.kind, low.feature, low.negated) == (high.kind, high.feature, not high.negated)
        if not bounds or low.kind not in (NUMBER, CODE) or not low.negated:
            return None
        return low.feature, low.number, high.number

    def value(self, cells: Sequence[float] | FloatArray) -> float:
        """The test's value for one row, by column; NaN: missing. The same as :meth:`CombinedTests.values`."""
        if self.is_sum:
            total = 0.0
            for term in self.terms:
                total += term.number * float(cells[term.feature])
            return total
        held, unknown = self.counted(cells)
        if held >= self.need:
            return 0.0
        return math.nan if held + unknown >= self.need else 1.0

    def counted(self, cells: Sequence[float] | FloatArray) -> tuple[int, int]:
        """How many terms of a count hold, and of how many that is not known."""
        known = [term.holds(float(cells[term.feature])) for term in self.terms]
        return known.count(True), known.count(None)


@dataclass(frozen=True, eq=False)
class CombinedTests:
    """The combined tests of a tree: K tests with T terms and C codes.

    Attributes:
        n_columns: int64 (), d: test k is column d + k.
        need: int32 (K,), how many terms must hold; 0 of a sum.
        n_terms: int32 (K,); the terms of all tests follow each other.
        kind: int8 (T,); feature: int32 (T,); number: float64 (T,); negated: int8 (T,); share: float64 (T,); n_codes:
            int32 (T,): see :class:`Term`.
        codes: int32 (C,), ascending within a term.
    """

    n_columns: IntArray
    need: Int32Array
    n_terms: Int32Array
    kind: Int8Array
    feature: Int32Array
    number: FloatArray
    negated: Int8Array
    share: FloatArray
    n_codes: Int32Array
    codes: Int32Array

    @classmethod
    def of(cls, n_columns: int, tests: Iterable[CombinedTest]) -> CombinedTests:
        """The arrays of some tests of a table with so many columns."""
        listed = list(tests)
        terms = [term for test in listed for term in test.terms]
        return cls(
            n_columns=np.array(n_columns, dtype=np.int64),
            need=np.array([test.need for test in listed], dtype=np.int32),
            n_terms=np.array([len(test.terms) for test in listed], dtype=np.int32),
            kind=np.array([term.kind for term in terms], dtype=np.int8),
            feature=np.array([term.feature for term in terms], dtype=np.int32),
            number=np.array([term.number for term in terms], dtype=np.float64),
            negated=np.array([term.negated for term in terms], dtype=np.int8),
            share=np.array([term.share for term in terms], dtype=np.float64),
            n_codes=np.array([len(term.codes) for term in terms], dtype=np.int32),
            codes=np.array([code for term in terms for code in term.codes], dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.need)

    @cached_property
    def tests(self) -> tuple[CombinedTest, ...]:
        """The same one by one."""
        numbers = zip(
            *(array.tolist() for array in (self.kind, self.feature, self.number)),
            np.split(self.codes, np.cumsum(self.n_codes))[:-1],
            *(array.tolist() for array in (self.negated, self.share)),
            strict=True,
        )
        terms = [
            Term(kind, feature, number, tuple(codes.tolist()), bool(negated), share)
            for kind, feature, number, codes, negated, share in numbers
        ]
        starts = self._start.tolist()
        return tuple(
            CombinedTest(need, tuple(terms[start : start + count]))
            for need, start, count in zip(self.need.tolist(), starts, self.n_terms.tolist(), strict=True)
        )

    def taken(self, tests: IntArray) -> CombinedTests:
        """Some of the tests, in this order."""
        return CombinedTests.of(int(self.n_columns), [self.tests[place] for place in tests.tolist()])

    def values(self, tests: IntArray, cells: FloatArray, rows: IntArray) -> FloatArray:
        """The value of a test for a row, for m pairs of them, shape (m,).

        Args:
            tests: which test, shape (m,).
            cells: the table by column, shape (d, n).
            rows: which row, shape (m,).
        """
        if len(tests) <= _FEW:
            pairs = zip(tests.tolist(), rows.tolist(), strict=True)
            return np.array([self.tests[test].value(cells[:, row].tolist()) for test, row in pairs])
        need, count, start = self.need[tests], self.n_terms[tests], self._start[tests]
        total, held, unknown = np.zeros(len(tests)), np.zeros(len(tests), np.int64), np.zeros(len(tests), np.int64)
        has_counts = bool((need > 0).any())
        for place in range(int(count.max(initial=0))):
            at = np.flatnonzero(count > place)
            terms = start[at] + place
            own = cells[self.feature[terms], rows[at]]
            with np.errstate(over="ignore", invalid="ignore"):
                total[at] += self.number[terms] * own
            if has_counts:
                holds, known = self._hold(terms, own)
                held[at] += holds & known
                unknown[at] += ~known
        if not has_counts:
            return total
        counts = np.where(held >= need, 0.0, np.where(held + unknown >= need, np.nan, 1.0))
        return np.where(need == 0, total, counts)

    def _hold(self, terms: IntArray, cells: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Whether terms hold for values, and whether that is known; shape (m,) each."""
        kind = self.kind[terms]
        holds = cells <= self.number[terms]
        listed = np.flatnonzero((kind == LEVELS) & (cells >= 0))
        holds[listed] = self._among(terms[listed], cells[listed])
        known = ~np.isnan(cells) & ~((kind == CODE) & (cells < 0))
        return holds != (self.negated[terms] == 1), known

    def _among(self, terms: IntArray, codes: FloatArray) -> BoolArray:
        """Whether codes are among those of terms."""
        if not len(self.codes):
            return np.zeros(len(terms), np.bool_)
        keys, width = self._keys
        wanted = terms * width + np.minimum(codes, width - 1).astype(np.int64)
        found: BoolArray = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
        return found

    def extended(self, cells: FloatArray) -> FloatArray:
        """The table's cells by column, and below them the values of all tests, shape (d + K, n)."""
        if not len(self):
            return cells
        rows = np.arange(cells.shape[1])
        values = [self.values(np.full(len(rows), test), cells, rows) for test in range(len(self))]
        return np.concatenate((cells, np.stack(values)))

    @cached_property
    def _start(self) -> IntArray:
        """The first term of each test."""
        return np.cumsum(self.n_terms, dtype=np.int64) - self.n_terms

    @cached_property
    def _keys(self) -> tuple[IntArray, int]:
        """Ascending numbers of all pairs of a term and one of its codes, and by how much a term counts in them."""
        width = int(self.codes.max(initial=0)) + 2
        return np.repeat(np.arange(len(self.n_codes)), self.n_codes) * width + self.codes, width

    def to_arrays(self) -> dict[str, Array]:
        """By the names under which they are stored; nothing where there are no tests."""
        if not len(self):
            return {}
        return {PREFIX + field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> CombinedTests:
        """The inverse."""
        if PREFIX + "need" not in arrays:
            return NO_TESTS
        return cls(**{field.name: arrays[PREFIX + field.name] for field in fields(cls)})


PREFIX = "combined."
NO_TESTS = CombinedTests.of(0, ())
