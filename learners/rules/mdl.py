"""Which of a class's candidate rules to keep: the subset of least description length.

The principle is Quinlan's (1993, chapter 5). A sender and a receiver both know the rows without their
classes; the sender tells which rows are of the class. Telling a set S of k rules costs

* theory: the bits of each rule (:func:`rule_bits`), less log2 k! because their order does not matter;
* exceptions: which of the r covered rows are not of the class (fp of them), and which of the N - r others are
  (fn of them): log2 C(r, fp) + log2 C(N - r, fn).

The length is ``theory_weight`` x theory + exceptions / ``redundancy``: C4.5rules weighs theory with 1/2, as
rules can be told in many equivalent ways; a redundancy above 1 says that rows repeat each other. Rows count
by their weight, so the binomials are taken of real numbers, by the gamma function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.rules.atoms import Atom
from learners.table import Table
from learners.types import BoolArray, FloatArray, IntArray

#: Up to so many candidates every subset is tried.
EXHAUSTIVE = 10
#: A move must save more bits than this.
_SLACK = 1e-9


def log2_factorial(number: FloatArray) -> FloatArray:
    """log2 x! = log2 Gamma(x + 1) for x >= 0, by Stirling's series from x + 8 on; error below 1e-12 of the value."""
    shifted = np.asarray(number, dtype=np.float64) + 9.0
    product = np.ones_like(shifted)
    for step in range(1, 9):
        product *= shifted - step
    inverse = 1 / shifted
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    natural = (shifted - 0.5) * np.log(shifted) - shifted + 0.5 * math.log(2 * math.pi) + series
    bits: FloatArray = (natural - np.log(product)) / math.log(2)
    return bits


def log2_binomial(total: FloatArray, part: FloatArray) -> FloatArray:
    """log2 C(total, part) of real numbers 0 <= part <= total."""
    whole = np.maximum(total, 0.0)
    some = np.clip(part, 0.0, whole)
    bits: FloatArray = np.maximum(log2_factorial(whole) - log2_factorial(some) - log2_factorial(whole - some), 0.0)
    return bits


class AtomBits:
    """The bits that tell one atom: which column it tests, and which test of that column it is.

    A column costs log2 of the number of columns that any candidate tests. A bound costs 1 bit for its
    direction and log2 of the number of places between the column's distinct values. A level costs log2 of the
    number of levels that occur; a set of s > 1 levels log2 C(levels, s), and log2 of the levels for its size.
    """

    def __init__(self, table: Table, atoms: Sequence[Atom]) -> None:
        tested = sorted({atom.feature for atom in atoms})
        self._column = math.log2(max(len(tested), 1))
        self._values = {feature: _distinct(table.values[:, feature]) for feature in tested}

    def bits(self, atom: Atom) -> float:
        values = self._values[atom.feature]
        if atom.codes is None:
            return self._column + 1 + math.log2(max(values - 1, 1))
        size = len(atom.codes)
        if size <= 1:
            return self._column + math.log2(max(values, 1))
        levels = max(values, size)
        return self._column + math.log2(levels) + math.log2(math.comb(levels, size))


def _distinct(cells: FloatArray) -> int:
    known = cells[~np.isnan(cells)]
    return len(np.unique(known[known >= 0] if (known == -1).any() else known))


def rule_bits(conditions: Sequence[float]) -> float:
    """The bits of a rule from those of its conditions, whose order does not matter."""
    return sum(conditions) - math.log2(math.factorial(len(conditions)))


@dataclass(frozen=True)
class Weighing:
    """How theory and exceptions are weighed against each other."""

    theory_weight: float = 0.5
    redundancy: float = 1.0

    def length(
        self,
        theory: FloatArray,
        n_rules: FloatArray,
        right: FloatArray,
        wrong: FloatArray,
        of_class: float,
        all_rows: float,
    ) -> FloatArray:
        """Description lengths of some sets of rules, shape (m,).

        Args:
            theory: the sum of the rules' bits of each set.
            n_rules: the number of rules of each.
            right, wrong: weight of the covered rows that are, and are not, of the class.
            of_class: weight of the class.
            all_rows: weight of all rows.
        """
        covered = right + wrong
        exceptions = log2_binomial(covered, wrong) + log2_binomial(all_rows - covered, of_class - right)
        told = np.maximum(theory - log2_factorial(n_rules), 0.0)
        return self.theory_weight * told + exceptions / self.redundancy


@dataclass(frozen=True)
class Candidates:
    """The candidate rules of one class.

    Attributes:
        rows: of each rule the indices of the rows that it covers.
        bits: float64 (m,), of each rule.
        right: bool (n,), whether a row is of the class.
        weights: float64 (n,), of the rows.
    """

    rows: Sequence[IntArray]
    bits: FloatArray
    right: BoolArray
    weights: FloatArray

    @property
    def totals(self) -> tuple[float, float]:
        """Weight of the class, and of all rows."""
        return float(self.weights[self.right].sum()), float(self.weights.sum())


def best_subset(candidates: Candidates, weighing: Weighing) -> list[int]:
    """The candidates to keep, ascending.

    Up to ``EXHAUSTIVE`` candidates: the best of all subsets, of equal ones the smallest, then the one that
    is first in order. Above: from the empty and from the full set the best single addition or removal is made
    while it shortens the description; the shorter of the two results, of equal ones the first.
    """
    if not candidates.rows:
        return []
    if len(candidates.rows) <= EXHAUSTIVE:
        return _exhaustive(candidates, weighing)
    found = [_Climb(candidates, weighing, full).run() for full in (False, True)]
    return min(found, key=lambda one: (round(one[0], 6), len(one[1])))[1]


def _exhaustive(candidates: Candidates, weighing: Weighing) -> list[int]:
    count = len(candidates.rows)
    pattern = np.zeros(len(candidates.weights), dtype=np.int64)
    for place, rows in enumerate(candidates.rows):
        pattern[rows] |= 1 << place
    weights, right = candidates.weights, candidates.right
    by_pattern = [np.bincount(pattern, weights=weights * one, minlength=1 << count) for one in (right, ~right)]
    sets = np.arange(1 << count)
    touched = (sets[:, None] & sets[None, :]) != 0
    members = (sets[:, None] >> np.arange(count)) & 1
    sizes = members.sum(axis=1)
    lengths = weighing.length(
        members @ candidates.bits,
        sizes.astype(np.float64),
        touched @ by_pattern[0],
        touched @ by_pattern[1],
        *candidates.totals,
    )
    shortest = np.flatnonzero(lengths <= lengths.min() + _SLACK)
    best = int(shortest[np.argmin(sizes[shortest])])
    return np.flatnonzero(members[best]).tolist()


class _Climb:
    """Hill climbing over subsets; how many chosen rules cover each row is kept up to date.

    ``fresh`` is the weight that each rule would newly cover, ``alone`` the weight that only it covers now;
    both as two rows: of the class, and not.
    """

    def __init__(self, candidates: Candidates, weighing: Weighing, full: bool) -> None:
        self.candidates = candidates
        self.weighing = weighing
        self.totals = candidates.totals
        count, n_rows = len(candidates.rows), len(candidates.weights)
        self.chosen = np.zeros(count, dtype=np.bool_)
        self.times = np.zeros(n_rows, dtype=np.int32)
        self.covered = np.zeros(2)
        self.by_kind = np.array([candidates.weights * candidates.right, candidates.weights * ~candidates.right])
        self.fresh = np.array([[kind[rows].sum() for rows in candidates.rows] for kind in self.by_kind])
        self.alone = np.zeros((2, count))
        lengths = [len(rows) for rows in candidates.rows]
        order = np.argsort(np.concatenate(candidates.rows), kind="stable")
        self.rules_by_row = np.repeat(np.arange(count), lengths)[order]
        counts = np.bincount(np.concatenate(candidates.rows), minlength=n_rows)
        self.first = np.concatenate([[0], np.cumsum(counts)])
        if full:
            for rule in range(count):
                self._toggle(rule)

    def run(self) -> tuple[float, list[int]]:
        """Climb; returns the length and the chosen rules."""
        bits = self.candidates.bits
        theory, count = float(bits[self.chosen].sum()), float(self.chosen.sum())
        now = float(self._lengths(np.array([theory]), np.array([count]), self.covered[:, None])[0])
        while True:
            sign = np.where(self.chosen, -1.0, 1.0)
            gained = np.where(self.chosen, -self.alone, self.fresh)
            lengths = self._lengths(theory + sign * bits, count + sign, self.covered[:, None] + gained)
            best = int(np.argmin(lengths))
            if lengths[best] >= now - _SLACK:
                return now, np.flatnonzero(self.chosen).tolist()
            now = float(lengths[best])
            theory += float(sign[best] * bits[best])
            count += float(sign[best])
            self._toggle(best)

    def _lengths(self, theory: FloatArray, count: FloatArray, covered: FloatArray) -> FloatArray:
        return self.weighing.length(theory, count, covered[0], covered[1], *self.totals)

    def _toggle(self, rule: int) -> None:
        """Add a rule, or take it out."""
        rows = self.candidates.rows[rule]
        adding = not self.chosen[rule]
        before = self.times[rows]
        none, one = (before == 0, before == 1) if adding else (before == 1, before == 2)
        sign = 1.0 if adding else -1.0
        self._shift(rows[none], sign, self.fresh, self.alone)
        self._shift(rows[one], sign, self.alone, None)
        self.covered += sign * self.by_kind[:, rows[none]].sum(axis=1)
        self.times[rows] += 1 if adding else -1
        self.chosen[rule] = adding

    def _shift(self, rows: IntArray, sign: float, taken: FloatArray, given: FloatArray | None) -> None:
        """Move the rows' weights, times the sign, from one sum of all rules that cover them to another."""
        lengths = self.first[rows + 1] - self.first[rows]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.first[rows] - (ends - lengths), lengths)
        rules = self.rules_by_row[places]
        for kind in range(2):
            weights = np.repeat(self.by_kind[kind, rows], lengths)
            sums = np.bincount(rules, weights=weights, minlength=taken.shape[1])
            taken[kind] -= sign * sums
            if given is not None:
                given[kind] += sign * sums
