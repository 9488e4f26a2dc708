import numpy as np
import pytest

from learners.rules.atoms import Atom, Coverage, bits_at, merged, rows_of
from learners.rules.postpruning import PostPruner, laplace, pessimistic
from learners.table import Column, Table
from learners.trees.pruning.error_based import added_errors

INF = np.inf


def test_the_pessimistic_rate_is_that_of_error_based_pruning():
    covered, errors = np.array([6.0, 9.0, 30.5, 1.0, 0.0]), np.array([0.0, 1.0, 4.25, 1.0, 0.0])
    expected = [(bad + added_errors(all_, bad, 0.25)) / all_ for all_, bad in zip(covered, errors, strict=True) if all_]
    assert pessimistic(0.25)(covered, errors).tolist() == pytest.approx([*expected, 1.0])
    assert pessimistic(0.25)(np.array([6.0]), np.array([0.0]))[0] == pytest.approx(
        1 - 0.25 ** (1 / 6)
    )  # Quinlan: 0.206


def test_laplace():
    assert laplace(np.array([0.0, 8.0]), np.array([0.0, 1.0])).tolist() == [0.5, 0.2]


def reference(holds, weights, wrong, estimate):
    """The same loop by plain boolean arrays."""
    kept = list(range(len(holds)))
    while kept:
        sets = [holds[kept].all(axis=0), *(holds[[k for k in kept if k != out]].all(axis=0) for out in kept)]
        covered = np.array([weights[one].sum() for one in sets])
        errors = np.array([weights[one & wrong].sum() for one in sets])
        rates = estimate(covered, errors)
        ranking = sorted(range(1, len(sets)), key=lambda place: (round(rates[place], 10), -covered[place], -place))
        if rates[ranking[0]] > rates[0] + 1e-12:
            return kept
        del kept[ranking[0] - 1]
    return kept


@pytest.mark.parametrize("estimate", [pessimistic(0.25), laplace])
@pytest.mark.parametrize("seed", range(15))
def test_conditions_are_dropped_as_the_definition_says(seed, estimate):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 150))
    table = Table.from_array(rng.integers(0, 12, (n_rows, 5)).astype(float))
    table.values[rng.random(table.values.shape) < 0.1] = np.nan
    codes = (table.values[:, 0] > 6).astype(np.int64) ^ (rng.random(n_rows) < 0.15)
    atoms = [
        Atom(int(column), float(rng.integers(0, 7)), INF, None, False)
        if rng.random() < 0.5
        else Atom(int(column), -INF, float(rng.integers(4, 12)), None, False)
        for column in rng.permutation(5)
    ]
    weights = rng.integers(1, 4, n_rows).astype(float)
    pruner = PostPruner(Coverage(table, atoms), weights, codes, estimate)
    holds = np.array([atom.holds(table.columns[atom.feature], table.values[:, atom.feature]) for atom in atoms])
    for answer in (0, 1):
        assert pruner.pruned(range(5), answer) == reference(holds, weights, codes != answer, estimate)


@pytest.mark.parametrize("estimate", [pessimistic(0.25), laplace])
def test_of_conditions_that_say_the_same_the_later_one_goes(estimate):
    table = Table.from_array(np.repeat([[0.0], [1.0]], 8, axis=0).repeat(3, axis=1))
    codes = table.values[:, 0].astype(np.int64)
    atoms = [Atom(column, 0.5, INF, None, False) for column in range(3)]
    assert PostPruner(Coverage(table, atoms), np.ones(16), codes, estimate).pruned([2, 0, 1], 1) == [2]


def test_rows_as_bits():
    rng = np.random.default_rng(0)
    table = Table.from_array(rng.normal(size=(77, 1)))
    atom = Atom(0, 0.1, INF, None, False)
    coverage = Coverage(table, [atom])
    expected = np.flatnonzero(table.values[:, 0] > 0.1)
    assert rows_of(coverage.bits[0], 77).tolist() == expected.tolist()
    assert bits_at(coverage.bits, np.arange(77))[0].tolist() == (table.values[:, 0] > 0.1).tolist()


def test_bounds_of_one_column_become_one_interval():
    bounds = [Atom(0, 1.0, INF, None, False), Atom(1, -INF, INF, (2,), False), Atom(0, -INF, 3.0, None, False)]
    assert merged([*bounds, Atom(0, 2.0, INF, None, False)]) == [Atom(0, 2.0, 3.0, None, False), bounds[1]]


def test_a_condition_on_a_missing_value_does_not_hold():
    x = Column("x")
    assert Atom(0, -INF, 3.0, None, False).holds(x, np.array([np.nan, 3.0, 3.5])).tolist() == [False, True, False]
