"""Two sets of rules compared: every rule is in exactly one list, and nearest bounds are paired."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.rules import rules_of
from learners.rules.atoms import Atom
from learners.rules.compare import compare_rules, content, structure
from learners.rules.ordered import ordered_rules, rule_set
from learners.rules.rule import RuleSet
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor


def grown(seed: int, n_rows: int = 60, **params: int) -> RuleSet:
    random = np.random.default_rng(seed)
    colour = Column("colour", Kind.NOMINAL, ("red", "green", "blue"))
    values = np.column_stack(
        [random.integers(0, 8, n_rows), random.integers(0, 3, n_rows), random.integers(0, 6, n_rows)]
    )
    table = Table((Column("a"), colour, Column("b")), np.asfortranarray(values.astype(float)))
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), random.integers(0, 2, n_rows).astype(float))
    return rules_of(DecisionTreeClassifier(**params).fit(table, target))


def one_column(values: list[float], labels: list[int], name: str = "x") -> RuleSet:
    table = Table.from_array(np.array(values)[:, None], [name])
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.array(labels, dtype=float))
    return rules_of(DecisionTreeClassifier().fit(table, target))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_every_rule_is_in_exactly_one_list(seed: int, other_seed: int) -> None:
    before, after = grown(seed), grown(other_seed)
    found = compare_rules(before, after)
    old = [one for one, _ in found.same] + [move.before for move in found.moved] + list(found.removed)
    new = [one for _, one in found.same] + [move.after for move in found.moved] + list(found.added)
    assert sorted(map(id, old)) == sorted(map(id, before.rules))
    assert sorted(map(id, new)) == sorted(map(id, after.rules))
    for one, other in found.same:
        assert content(one) == content(other)
    for move in found.moved:
        assert structure(move.before) == structure(move.after)
        assert content(move.before) != content(move.after)
        assert move.conditions
    left = {structure(rule) for rule in found.removed} & {structure(rule) for rule in found.added}
    assert not left, "rules of one structure on both sides would have been paired"


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_set_equals_itself(seed: int) -> None:
    found = compare_rules(grown(seed), grown(seed))
    assert not found.moved
    assert not found.added
    assert not found.removed


def test_a_threshold_that_moved_is_told_with_both_values() -> None:
    before = one_column([1, 2, 3, 4], [0, 0, 1, 1])
    after = one_column([1, 2, 3, 4], [0, 1, 1, 1])
    found = compare_rules(before, after)
    assert not found.same
    assert not found.added
    assert not found.removed
    moved = {move.before.answer: move.to_json()["moved"] for move in found.moved}
    assert moved["no"][0]["before"]["threshold"] == 2.5
    assert moved["no"][0]["after"]["threshold"] == 1.5
    assert moved["yes"][0]["before"]["text"] == "x > 2.5"


def test_the_nearest_rules_of_one_structure_are_paired() -> None:
    # a third band with the answer "no" comes in between 10 and 30; those at 5 and 100 only move a little
    before = one_column([0, 5, 6, 100, 101], [1, 0, 1, 0, 1])
    after = one_column([0, 5.2, 6, 20, 30, 100.2, 101], [1, 0, 1, 0, 1, 0, 1])
    found = compare_rules(before, after)
    pairs = {
        (move.before.conditions[0].low, move.after.conditions[0].low)
        for move in found.moved
        if move.before.answer == "no"
    }
    assert pairs == {(2.5, 2.6), (53.0, 65.1)}
    assert [rule.conditions[0].low for rule in found.added if rule.answer == "no"] == [13.0]


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_bounds_are_near_in_relation_to_their_size_whatever_the_units(unit: float) -> None:
    """x > 1000 and y > 1 moved to x > 1100 (by 100 / 1050), not to y > 2 (by 1 / 1.5)."""

    def rules(*bounds: tuple[float, float]) -> RuleSet:
        shares = np.array([[0.0, 1.0]] * len(bounds) + [[1.0, 0.0]])
        atoms = [[Atom(place, low, np.inf, None, False) for place, low in enumerate(one)] for one in bounds]
        target = Column("y", Kind.NOMINAL, ("no", "yes"))
        records = ordered_rules(atoms, shares, shares, [1] * len(shares))
        return rule_set(records, (Column("length"), Column("mass")), target)

    found = compare_rules(rules((1000 * unit, 1)), rules((1000 * unit, 2), (1100 * unit, 1)))
    assert [move.after.conditions[0].low for move in found.moved] == [1100 * unit]
    assert [rule.conditions[1].low for rule in found.added] == [2]


def test_another_column_is_another_rule() -> None:
    found = compare_rules(one_column([1, 2], [0, 1]), one_column([1, 2], [0, 1], name="z"))
    assert (len(found.added), len(found.removed), len(found.moved)) == (2, 2, 0)


def test_levels_go_by_their_labels() -> None:
    def rules(levels: tuple[str, ...], codes: list[float]) -> RuleSet:
        table = Table((Column("c", Kind.NOMINAL, levels),), np.asfortranarray(np.array(codes)[:, None]))
        target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.array([0.0, 1.0]))
        return rules_of(DecisionTreeClassifier(nominal="multiway").fit(table, target))

    found = compare_rules(rules(("p", "q"), [0.0, 1.0]), rules(("q", "p"), [1.0, 0.0]))
    assert len(found.same) == 2


def test_the_answers_of_a_regression_move_like_bounds() -> None:
    def rules(answers: list[float]) -> RuleSet:
        return rules_of(
            DecisionTreeRegressor().fit(Table.from_array(np.array([[1.0], [2.0]]), ["x"]), np.array(answers))
        )

    found = compare_rules(rules([10.0, 20.0]), rules([10.0, 21.0]))
    assert (len(found.same), len(found.moved)) == (1, 1)
    assert (found.moved[0].before.answer, found.moved[0].after.answer) == (20.0, 21.0)


@pytest.mark.parametrize("n_rules", [600])
def test_many_rules_of_one_structure_are_paired_in_order(n_rules: int) -> None:
    values = [float(i) for i in range(2 * n_rules)]
    labels = [i % 2 for i in range(2 * n_rules)]
    before, after = one_column(values, labels), one_column([value + 0.25 for value in values], labels)
    found = compare_rules(before, after)
    assert not found.added
    assert not found.removed
    assert all(
        abs(m.before.conditions[0].low - m.after.conditions[0].low) == 0.25
        for m in found.moved
        if m.before.conditions[0].condition.operator == "interval"
    )
