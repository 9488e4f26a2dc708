import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.rules.atoms import Atom
from learners.rules.mdl import (
    EXHAUSTIVE,
    AtomBits,
    Candidates,
    Weighing,
    best_subset,
    log2_binomial,
    log2_factorial,
    rule_bits,
)
from learners.table import Column, Kind, Table

INF = math.inf


@given(st.floats(0, 1e6))
def test_factorials_are_those_of_the_gamma_function(number):
    expected = math.lgamma(number + 1) / math.log(2)
    assert log2_factorial(np.array([number]))[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(st.integers(0, 400), st.integers(0, 400))
def test_binomials_of_whole_numbers(total, part):
    part = min(total, part)
    expected = math.log2(math.comb(total, part))
    assert log2_binomial(np.array([total]), np.array([part]))[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_the_bits_of_a_rule_leave_out_the_order_of_its_conditions():
    assert rule_bits([3.0, 4.0, 5.0]) == pytest.approx(12 - math.log2(6))
    assert rule_bits([3.0]) == 3


def test_the_bits_of_a_test():
    columns = (Column("x"), Column("c", Kind.NOMINAL, ("a", "b", "c", "d", "never")), Column("unused"))
    cells = np.asfortranarray([[1.0, 0, 0], [2, 1, 0], [3, 2, 1], [4, 3, 1], [5, 0, 1], [math.nan, -1, 0]])
    low, level = Atom(0, 2.5, INF, None, False), Atom(1, -INF, INF, (1,), False)
    pair = Atom(1, -INF, INF, (0, 2), False)
    told = AtomBits(Table(columns, cells), [low, level, pair])
    assert told.bits(low) == pytest.approx(1 + 1 + 2)  # one of 2 columns, direction, one of 4 places between 5 values
    assert told.bits(level) == pytest.approx(1 + 2)  # one of 2 columns, one of the 4 levels that occur
    assert told.bits(pair) == pytest.approx(1 + 2 + math.log2(6))  # and the size, and one of C(4, 2) pairs


def test_a_description_length_by_hand():
    """Of 8 rows 4 are of the class; two rules of 7 bits cover 3 of them and another one.

    Theory 7 - log2 2! = 6 bits, exceptions log2 C(4, 1) + log2 C(8 - 4, 4 - 3) = 4 bits.
    """
    sums = [np.array([number]) for number in (7.0, 2.0, 3.0, 1.0)]
    assert Weighing().length(*sums, 4.0, 8.0).tolist() == pytest.approx([0.5 * 6 + 4])
    assert Weighing(1.0, 2.0).length(*sums, 4.0, 8.0).tolist() == pytest.approx([6 + 4 / 2])


def random_candidates(rng, count, n_rows=40):
    right = rng.random(n_rows) < 0.4
    rows = []
    for _ in range(count):
        chance = np.where(right, rng.uniform(0.2, 0.8), rng.uniform(0, 0.2))
        rows.append(np.flatnonzero(rng.random(n_rows) < chance))
    return Candidates(rows, rng.uniform(2, 9, count), right, rng.uniform(0.5, 2, n_rows))


def length_of(chosen, candidates, theory_weight, redundancy):
    """The length as the definition says, one set at a time."""
    covered = np.zeros(len(candidates.weights), dtype=bool)
    for rule in chosen:
        covered[candidates.rows[rule]] = True
    weight = candidates.weights

    def binomial(total, part):
        return (math.lgamma(total + 1) - math.lgamma(part + 1) - math.lgamma(max(total - part, 0) + 1)) / math.log(2)

    false_positives = weight[covered & ~candidates.right].sum()
    false_negatives = weight[~covered & candidates.right].sum()
    exceptions = binomial(weight[covered].sum(), false_positives) + binomial(weight[~covered].sum(), false_negatives)
    theory = candidates.bits[list(chosen)].sum() - math.log2(math.factorial(len(chosen)))
    return theory_weight * max(theory, 0) + exceptions / redundancy


@pytest.mark.parametrize("seed", range(8))
def test_of_few_candidates_the_best_of_all_subsets_is_chosen(seed):
    rng = np.random.default_rng(seed)
    candidates = random_candidates(rng, 6)
    weight, redundancy = rng.uniform(0.2, 1.5), rng.uniform(0.5, 2)
    subsets = [set_ for size in range(7) for set_ in itertools.combinations(range(6), size)]
    best = min(subsets, key=lambda chosen: length_of(chosen, candidates, weight, redundancy))
    assert best_subset(candidates, Weighing(weight, redundancy)) == list(best)


@pytest.mark.parametrize("seed", range(6))
def test_of_many_candidates_no_single_change_makes_it_shorter(seed):
    candidates = random_candidates(np.random.default_rng(seed), EXHAUSTIVE + 8, 120)
    chosen = best_subset(candidates, Weighing())
    now = length_of(chosen, candidates, 0.5, 1)
    for rule in range(len(candidates.rows)):
        other = sorted(set(chosen) ^ {rule})
        assert length_of(other, candidates, 0.5, 1) >= now - 1e-6
    for other in ([], range(len(candidates.rows))):
        assert length_of(list(other), candidates, 0.5, 1) >= now - 1e-6


def test_dear_theory_keeps_nothing():
    candidates = random_candidates(np.random.default_rng(1), 5)
    assert best_subset(candidates, Weighing(theory_weight=1e6)) == []
    assert best_subset(Candidates([], np.empty(0), np.ones(3, bool), np.ones(3)), Weighing()) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_row_of_weight_two_is_two_rows(seed):
    rng = np.random.default_rng(seed)
    once = random_candidates(rng, 5)
    weights = rng.integers(1, 3, len(once.weights))
    places = np.repeat(np.arange(len(weights)), weights)
    weighted = Candidates(once.rows, once.bits, once.right, weights.astype(float))
    repeated = [np.flatnonzero(np.isin(places, rows)) for rows in once.rows]
    copies = Candidates(repeated, once.bits, once.right[places], np.ones(len(places)))
    assert best_subset(weighted, Weighing()) == best_subset(copies, Weighing())
