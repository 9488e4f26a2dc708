"""From a grown tree to an ordered rule set: candidates, post-pruning, subset, order, default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.decisions import decide
from learners.rules.atoms import Atom, Coverage, atoms_of, merged
from learners.rules.few import best_few
from learners.rules.from_tree import rules_of_nodes
from learners.rules.mdl import EXHAUSTIVE, AtomBits, Candidates, Weighing, best_subset, rule_bits
from learners.rules.ordered import OrderedRules, ordered_rules
from learners.rules.postpruning import PostPruner, laplace, pessimistic
from learners.rules.ranking import (
    Dispensing,
    Judged,
    default_distribution,
    laplace_distribution,
    ranked,
)
from learners.table import Column, Series, Table
from learners.trees.nodes import Nodes
from learners.types import FloatArray, IntArray

_REPORT_EVERY = 64


@dataclass(frozen=True)
class InductionOptions:
    """The choices that steer the making of a rule set; see the learner's parameters of the same names."""

    postpruning: str
    confidence: float
    subset: str
    weighing: Weighing
    max_rules: int | None


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of positive weight with their classes.

    Attributes:
        table: n rows.
        codes: int64 (n,), class codes.
        weights: float64 (n,), > 0.
        n_classes: K.
    """

    table: Table
    codes: IntArray
    weights: FloatArray
    n_classes: int

    def take(self, rows: IntArray) -> Sample:
        return Sample(self.table.take(rows), self.codes[rows], self.weights[rows], self.n_classes)

    @property
    def totals(self) -> FloatArray:
        """Weight by class, shape (K,)."""
        return self.by_class(np.arange(len(self.codes)))

    def by_class(self, rows: IntArray) -> FloatArray:
        """Weight by class of some rows, shape (K,)."""
        sums = np.bincount(self.codes[rows], weights=self.weights[rows], minlength=self.n_classes)
        return np.asarray(sums, dtype=np.float64)


def induce(
    nodes: Nodes, target: Column, rows: Sample, judges: Sample, options: InductionOptions, progress: Progress
) -> OrderedRules:
    """An ordered rule set from a tree.

    Args:
        nodes: a classification tree, unpruned.
        target: the target's column.
        rows: all training rows.
        judges: the rows by which conditions are dropped: the same, or the held-out ones.
        options: how.
        progress: told the share done.
    """
    columns = rows.table.columns
    atoms, paths = _candidates(nodes, columns, target)
    coverage = Coverage(rows.table, atoms)
    paths = _postpruned(paths, atoms, coverage, rows, judges, options, progress)
    judged = _judged(paths, atoms, coverage, rows, options.confidence)
    chosen = _subsets(judged, rows, options)
    progress(0.95, f"{len(chosen)} rules chosen")
    order = ranked(chosen, rows.codes, rows.weights, rows.n_classes)
    order = _limited(_indispensable(order, rows, None), (judged, chosen), rows, options.max_rules)
    totals = rows.totals
    values = [rule.value for rule in order] + [rows.by_class(_uncovered(order, len(rows.codes)))]
    shares = [laplace_distribution(value, totals) for value in values[:-1]]
    shares.append(default_distribution(values[-1], totals))
    counts = [len(rule.rows) for rule in order]
    counts.append(len(_uncovered(order, len(rows.codes))))
    conditions = [merged(atoms[number] for number in rule.atoms) for rule in order]
    return ordered_rules(conditions, np.array(values), np.array(shares), counts)


def _candidates(
    nodes: Nodes, columns: Sequence[Column], target: Column
) -> tuple[list[Atom], list[tuple[tuple[int, ...], int]]]:
    """The distinct atoms of a tree, and each path as numbers of atoms with its class.

    A leaf in which several classes are equally likely makes a candidate for each of them.
    """
    numbers: dict[Atom, int] = {}
    paths = []
    for rule in rules_of_nodes(nodes, columns, target).rules:
        if rule.leaf is None or nodes.weight[rule.leaf] <= 0:
            continue
        atoms = [atom for condition in rule.conditions for atom in atoms_of(condition)]
        path = tuple(numbers.setdefault(atom, len(numbers)) for atom in atoms)
        value = nodes.value[rule.leaf]
        paths += [(path, int(answer)) for answer in np.flatnonzero(value == value.max()) if path]
    return list(numbers), paths


def _postpruned(
    paths: list[tuple[tuple[int, ...], int]],
    atoms: list[Atom],
    coverage: Coverage,
    rows: Sample,
    judges: Sample,
    options: InductionOptions,
    progress: Progress,
) -> list[tuple[tuple[int, ...], int]]:
    """The paths without the conditions that do no good, and without repetitions."""
    if options.postpruning == "none":
        return list(dict.fromkeys(paths))
    judging = coverage if judges is rows else Coverage(judges.table, atoms)
    estimate = laplace if options.postpruning == "validation" else pessimistic(options.confidence)
    pruner = PostPruner(judging, judges.weights, judges.codes, estimate)
    found: dict[tuple[frozenset[int], int], tuple[int, ...]] = {}
    for number, (path, answer) in enumerate(paths):
        if number % _REPORT_EVERY == 0:
            progress(0.4 + 0.4 * number / len(paths), f"{number} of {len(paths)} rules pruned")
        kept = tuple(pruner.pruned(path, answer))
        if kept:
            found.setdefault((frozenset(kept), answer), kept)
    return [(path, answer) for (_, answer), path in found.items()]


def _judged(
    paths: list[tuple[tuple[int, ...], int]],
    atoms: list[Atom],
    coverage: Coverage,
    rows: Sample,
    confidence: float,
) -> list[Judged]:
    """The candidates with what they cover.

    Left out are those whose class is not the single likeliest among the rows that they cover, since their
    answer and their probabilities would disagree; and of those that cover the same rows, all but the shortest.
    """
    if not paths:
        return []
    told = AtomBits(rows.table, atoms)
    atom_bits = [told.bits(atom) for atom in atoms]
    covered = [coverage.of_all(path) for path, _ in paths]
    lists = [coverage.rows(bits) for bits in covered]
    values = np.array([rows.by_class(one) for one in lists])
    answers = np.array([answer for _, answer in paths])
    own = values[np.arange(len(paths)), answers]
    rivals = values.copy()
    rivals[np.arange(len(paths)), answers] = -1.0
    weights = values.sum(axis=1)
    rates = pessimistic(confidence)(weights, weights - own)
    shortest: dict[bytes, Judged] = {}
    for place, (path, answer) in enumerate(paths):
        if own[place] <= rivals[place].max() or own[place] <= 0:
            continue
        bits = rule_bits([atom_bits[number] for number in path])
        rule = Judged(path, answer, lists[place], values[place], float(rates[place]), bits)
        known = shortest.get(covered[place].tobytes())
        if known is None or bits < known.bits - _LEAST_BITS:
            shortest[covered[place].tobytes()] = rule
    return list(shortest.values())


#: Lengths nearer than this are equal.
_LEAST_BITS = 1e-9


def _subsets(judged: list[Judged], rows: Sample, options: InductionOptions) -> list[Judged]:
    """Of each class the candidates that describe it shortest, or all."""
    if options.subset == "all":
        return judged
    chosen: list[Judged] = []
    for code in range(rows.n_classes):
        own = [rule for rule in judged if rule.answer == code]
        candidates = Candidates(
            [rule.rows for rule in own], np.array([rule.bits for rule in own]), rows.codes == code, rows.weights
        )
        chosen += [own[place] for place in best_subset(candidates, options.weighing)]
    return chosen


def _limited(order: list[Judged], pools: Sequence[list[Judged]], rows: Sample, max_rules: int | None) -> list[Judged]:
    """At most so many rules: the best set of a small pool of candidates, else those of the set that are missed most."""
    if max_rules is None or len(order) <= max_rules:
        return order
    for pool in (*pools, order):
        if len(pool) <= EXHAUSTIVE:
            return best_few(pool, rows.codes, rows.weights, rows.n_classes, min(max_rules, len(pool)))
    return _indispensable(order, rows, max_rules)


def _indispensable(order: list[Judged], rows: Sample, max_rules: int | None) -> list[Judged]:
    if not order:
        return order
    uncovered = rows.by_class(_uncovered(order, len(rows.codes)))
    default = int(decide(default_distribution(uncovered, rows.totals)[None])[0])
    answers = np.array([*(rule.answer for rule in order), default])
    bits = np.array([_bits_of(rule.rows, len(rows.codes)) for rule in order])
    kept = Dispensing(answers, bits, rows.codes, rows.weights).kept(max_rules)
    return [order[rank] for rank in kept]


def _bits_of(rows: IntArray, n_rows: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    holds = np.zeros(n_rows, dtype=np.bool_)
    holds[rows] = True
    return np.packbits(holds, bitorder="little")


def _uncovered(order: Sequence[Judged], n_rows: int) -> IntArray:
    left = np.ones(n_rows, dtype=np.bool_)
    for rule in order:
        left[rule.rows] = False
    return np.flatnonzero(left)


def sample_of(table: Table, target: Series, weights: FloatArray) -> Sample:
    """The rows of positive weight."""
    kept = np.flatnonzero(weights > 0)
    whole = len(kept) == table.n_rows
    codes = target.cells.astype(np.int64)
    n_classes = len(target.column.levels)
    return Sample(table if whole else table.take(kept), codes[kept], weights[kept], n_classes)
