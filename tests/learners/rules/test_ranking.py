import numpy as np
import pytest

from learners.rules.atoms import Bits
from learners.rules.ranking import Dispensing, Judged, default_distribution, laplace_distribution, ranked


def judged(answer, rows, codes, rate=0.1, atoms=(0,)):
    value = np.bincount(codes[rows], minlength=3).astype(float)
    return Judged(atoms, answer, np.array(rows), value, rate, 1.0)


def test_the_class_of_fewest_false_positives_is_asked_first_and_its_rows_are_set_aside():
    codes = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    zero = judged(0, [0, 1, 2, 3], codes)  # two false positives
    one = judged(1, [2, 3, 4], codes)  # none
    two = judged(2, [5, 6, 4], codes)  # one, which class 1 takes away
    order = ranked([zero, one, two], codes, np.ones(8), 3)
    # without rows 2, 3, 4 neither has any; class 0 and class 2 cover two each rightly; class 2 is more frequent
    assert [rule.answer for rule in order] == [1, 2, 0]
    # a false positive that class 1 does not take away: class 0 has none left, class 2 has one
    kept = judged(2, [5, 6, 0], codes)
    assert [rule.answer for rule in ranked([zero, one, kept], codes, np.ones(8), 3)] == [1, 0, 2]


def test_inside_a_class_the_estimated_accuracy_decides_then_the_coverage_then_the_length():
    codes = np.zeros(6, dtype=np.int64)
    widest = judged(0, [0, 1, 2], codes, 0.5)
    narrow, long, short = (
        judged(0, rows, codes, 0.2, atoms) for rows, atoms in (([3], (0,)), ([4, 5], (1, 2)), ([4, 5], (3,)))
    )
    order = ranked([widest, narrow, long, short], codes, np.ones(6), 3)
    assert [rule.atoms for rule in order] == [short.atoms, long.atoms, narrow.atoms, widest.atoms]
    assert order[-1] is widest


def test_the_default_says_what_the_uncovered_rows_say():
    totals = np.array([10.0, 5.0, 0.0])
    assert default_distribution(np.array([3.0, 1.0, 0.0]), totals).tolist() == pytest.approx([4 / 6, 2 / 6, 0])
    none = default_distribution(np.zeros(3), totals)
    assert none.tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    tie = default_distribution(np.array([2.0, 2.0, 0.0]), totals)
    assert tie.argmax() == 0
    assert tie.sum() == pytest.approx(1)


def test_laplace_counts_only_classes_that_occur():
    assert laplace_distribution(np.array([9.0, 0, 0]), np.array([12.0, 4, 0])).tolist() == pytest.approx(
        [10 / 11, 1 / 11, 0]
    )


def errors_of(kept, answers, holds, codes, weights):
    said = np.full(len(codes), answers[-1])
    for rank in reversed(kept):
        said[holds[rank]] = answers[rank]
    return weights[said != codes].sum()


@pytest.mark.parametrize("seed", range(20))
def test_every_rule_that_stays_is_missed_and_no_error_was_added(seed):
    rng = np.random.default_rng(seed)
    codes, weights = rng.integers(0, 3, 60), rng.integers(1, 4, 60).astype(float)
    holds = rng.random((12, 60)) < 0.25
    answers = rng.integers(0, 3, 13)
    bits: Bits = np.packbits(holds, axis=1, bitorder="little")
    kept = Dispensing(answers, bits, codes, weights).kept(None)
    everything = list(range(12))
    now = errors_of(kept, answers, holds, codes, weights)
    assert now <= errors_of(everything, answers, holds, codes, weights)
    for rank in kept:
        assert errors_of([one for one in kept if one != rank], answers, holds, codes, weights) > now


def test_at_most_so_many_rules():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 60)
    bits = np.packbits(rng.random((12, 60)) < 0.25, axis=1, bitorder="little")
    for limit in (0, 1, 3):
        assert len(Dispensing(rng.integers(0, 3, 13), bits, codes, np.ones(60)).kept(limit)) <= limit
