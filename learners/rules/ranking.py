"""In which order rules are asked, what answers where none covers a row, and which rules nobody would miss.

As C4.5rules does (Quinlan 1993, chapter 5): the rules of a class stay together, since inside a class their
order decides nothing but which of them is named. The class whose rules make the fewest false positives comes
first; the rows that they cover are set aside, and the next class is found among the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.rules.atoms import Bits, bits_at
from learners.types import BoolArray, FloatArray, IntArray

#: Rows whose covering rules are looked at together: bounds the memory.
_AT_ONCE = 1 << 14
#: Share of all weight below which a difference in errors is rounding.
_SLACK = 1e-12


@dataclass(frozen=True)
class Judged:
    """A rule as the training rows see it.

    Attributes:
        atoms: numbers of its atoms.
        answer: class code.
        rows: the rows that it covers, ascending.
        value: float64 (K,), their weight by class.
        rate: its estimated error rate.
        bits: its length in the theory.
    """

    atoms: tuple[int, ...]
    answer: int
    rows: IntArray
    value: FloatArray
    rate: float
    bits: float

    @property
    def weight(self) -> float:
        return float(self.value.sum())


def ranked(rules: Sequence[Judged], codes: IntArray, weights: FloatArray, n_classes: int) -> list[Judged]:
    """All rules in the order in which they are asked.

    Of classes with equally few false positives the one with most rows rightly covered comes first, then the
    more frequent, then the first in class order. Inside a class the rule of the lowest estimated error rate
    comes first, then the one that covers most, then the shortest, then the one given first.
    """
    groups = {code: [rule for rule in rules if rule.answer == code] for code in range(n_classes)}
    waiting = [code for code in range(n_classes) if groups[code]]
    frequency = np.bincount(codes, weights=weights, minlength=n_classes)
    left = np.ones(len(weights), dtype=np.bool_)
    order: list[Judged] = []
    while waiting:
        merits = {code: _merit(groups[code], code, codes, weights * left) for code in waiting}
        first = min(waiting, key=lambda code: (*merits[code], -frequency[code], code))
        waiting.remove(first)
        for rule in groups[first]:
            left[rule.rows] = False
        order += sorted(groups[first], key=lambda rule: (rule.rate, -rule.weight, len(rule.atoms)))
    return order


def _merit(rules: Sequence[Judged], code: int, codes: IntArray, weights: FloatArray) -> tuple[float, float]:
    """False positives, and rows rightly covered (negative), of a class's rules together."""
    covered = np.zeros(len(weights), dtype=np.bool_)
    for rule in rules:
        covered[rule.rows] = True
    right = covered & (codes == code)
    return float(weights[covered & ~right].sum()), -float(weights[right].sum())


def default_distribution(uncovered: FloatArray, totals: FloatArray) -> FloatArray:
    """Class shares of the rows that no rule covers, Laplace-corrected over the classes that occur.

    Where no single class leads among them (or there are none), the frequencies in all rows, counted as one
    row more, decide in place of equal shares.

    Args:
        uncovered: float64 (K,), their weight by class.
        totals: the same of all rows.
    """
    leaders = int((uncovered == uncovered.max()).sum())
    if leaders > 1:
        share = uncovered + totals / totals.sum()
        return np.asarray(share / share.sum(), dtype=np.float64)
    return laplace_distribution(uncovered, totals)


def laplace_distribution(value: FloatArray, totals: FloatArray) -> FloatArray:
    """(weight + 1) / (sum + number of classes that occur), shape (K,); 0 for a class that never occurs."""
    share = np.where(totals > 0, value + 1.0, 0.0)
    return np.asarray(share / share.sum(), dtype=np.float64)


class Dispensing:
    """Takes rules out of a ranked list whose removal does not raise the training error.

    For each row the first and the second rule that cover it are kept up to date; without the first, the
    second answers. The default (number R) covers every row.

    Args:
        answers: int64 (R + 1,), class codes in rank order, the default's last.
        bits: uint8 (R, bytes), the covered rows.
        codes, weights: of the rows.
    """

    def __init__(self, answers: IntArray, bits: Bits, codes: IntArray, weights: FloatArray) -> None:
        self.answers = answers
        self.bits = bits
        self.codes = codes
        self.weights = weights
        self.alive = np.ones(len(bits), dtype=np.bool_)
        self.first, self.second = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        self._look(np.arange(len(codes)))

    def kept(self, max_rules: int | None) -> list[int]:
        """The ranks of the rules that stay.

        Again and again the rule is removed without which the fewest errors are made, of equal ones the last,
        as long as that makes no more errors than before, or there are more than ``max_rules``.
        """
        while self.alive.any():
            change = self._changes()
            change[~self.alive] = np.inf
            least = change.min()
            slack = _SLACK * self.weights.sum()
            if least > slack and (max_rules is None or self.alive.sum() <= max_rules):
                break
            rule = int(np.flatnonzero(change <= least + slack)[-1])
            self.alive[rule] = False
            self._look(np.flatnonzero((self.first == rule) | (self.second == rule)))
        return np.flatnonzero(self.alive).tolist()

    def _changes(self) -> FloatArray:
        """How much weight each rule's removal would add to the errors, shape (R,)."""
        wrong_now: BoolArray = self.answers[self.first] != self.codes
        wrong_then: BoolArray = self.answers[self.second] != self.codes
        change = self.weights * (wrong_then.astype(np.float64) - wrong_now)
        by_rule = np.bincount(self.first, weights=change, minlength=len(self.bits) + 1)
        return np.asarray(by_rule[:-1], dtype=np.float64)

    def _look(self, rows: IntArray) -> None:
        """Find the first and the second rule of some rows anew."""
        living = np.flatnonzero(self.alive)
        default = len(self.bits)
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            if not len(living):
                self.first[some] = self.second[some] = default
                continue
            covers = bits_at(self.bits[living], some)
            for found in (self.first, self.second):
                place = covers.argmax(axis=0)
                held = covers[place, np.arange(len(some))] == 1
                found[some] = np.where(held, living[place], default)
                covers[place, np.arange(len(some))] = 0
