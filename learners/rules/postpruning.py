"""Rule post-pruning: conditions of a rule are dropped one by one as long as that does not make it worse.

The method is C4.5rules' (Quinlan 1993, chapter 5; Mitchell 1997, section 3.7.1.2). In each round every
condition is tried; the one without which the rule's estimated error rate is lowest is dropped if the rate is
then no higher than before. Of equal rates the one that leaves more weight covered is dropped, then the later
one. The estimate is either C4.5's pessimistic one on the training rows, as in error-based pruning, or Laplace's,
(errors + 1) / (covered + 2), on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from learners._accel import kernel
from learners.rules.atoms import Bits, Coverage
from learners.trees.pruning.error_based import errors_added, normal_quantile
from learners.types import FloatArray, IntArray

#: The estimated error rates of rules that cover such weights and err on such, all of shape (m,).
Estimate = Callable[[FloatArray, FloatArray], FloatArray]

#: Rates nearer than this are equal.
_SLACK = 1e-12


def pessimistic(confidence: float) -> Estimate:
    """C4.5's upper confidence limit of the error rate; 1 for a rule that covers nothing."""
    quantile = normal_quantile(confidence)
    return lambda covered, errors: _pessimistic_rates(covered, errors, confidence, quantile)


@kernel
def _pessimistic_rates(covered: FloatArray, errors: FloatArray, confidence: float, quantile: float) -> FloatArray:
    rates = np.ones(covered.shape[0])
    for place in range(covered.shape[0]):
        weight = covered[place]
        if weight > 0:
            wrong = min(max(errors[place], 0.0), weight)
            rates[place] = (wrong + errors_added(weight, wrong, confidence, quantile)) / weight
    return rates


def laplace(covered: FloatArray, errors: FloatArray) -> FloatArray:
    """(errors + 1) / (covered + 2): a rule that covers nothing errs on half."""
    return (errors + 1) / (covered + 2)


class PostPruner:
    """Drops conditions by what the rows say.

    Args:
        coverage: where each atom holds on the rows that judge.
        weights: float64 (n,), of these rows.
        codes: int64 (n,), their classes.
        estimate: how good a rule is.
    """

    def __init__(self, coverage: Coverage, weights: FloatArray, codes: IntArray, estimate: Estimate) -> None:
        self.coverage = coverage
        self.weights = weights
        self.codes = codes
        self.estimate = estimate

    def pruned(self, atoms: Sequence[int], answer: int) -> list[int]:
        """The atoms that stay of a rule for a class, in their order; none if all could be dropped."""
        kept = list(atoms)
        while kept:
            covered, errors = self._without_each(kept, answer)
            rates = self.estimate(covered, errors)
            now, tried = rates[0], rates[1:]
            best = np.flatnonzero(tried <= tried.min() + _SLACK)
            widest = best[covered[1:][best] == covered[1:][best].max()]
            if tried[widest[-1]] > now + _SLACK:
                break
            del kept[int(widest[-1])]
        return kept

    def _without_each(self, kept: list[int], answer: int) -> tuple[FloatArray, FloatArray]:
        """Weight covered, and covered wrongly, by the rule as it is (place 0) and without each of its conditions."""
        covered, errors = _sums(self.coverage.bits[kept], self.weights, self.codes, answer)
        covered[1:] += covered[0]
        errors[1:] += errors[0]
        return covered, errors


@kernel
def _sums(bits: Bits, weights: FloatArray, codes: IntArray, answer: int) -> tuple[FloatArray, FloatArray]:
    """Weight, and weight of other classes, of the rows on which all atoms hold, and all but each one.

    Args:
        bits: uint8 (c, bytes), where each atom holds.
        weights, codes: of the rows.
        answer: the rule's class.
    """
    count, n_bytes = bits.shape
    weight, errors = np.zeros(count + 1), np.zeros(count + 1)
    for byte in range(n_bytes):
        failing = 0
        failing_twice = 0
        for atom in range(count):
            fails = 255 - int(bits[atom, byte])
            failing_twice |= failing & fails
            failing |= fails
        if failing_twice == 255:
            continue
        for bit in range(min(8, codes.shape[0] - 8 * byte)):
            if (failing_twice >> bit) & 1:
                continue
            place = 0
            if (failing >> bit) & 1:
                while (int(bits[place, byte]) >> bit) & 1:
                    place += 1
                place += 1
            row = 8 * byte + bit
            weight[place] += weights[row]
            if codes[row] != answer:
                errors[place] += weights[row]
    return weight, errors
