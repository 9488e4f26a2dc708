"""Rows for which too much would have to be looked at: each has a bound of its own, all together one; both are told."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals
from learners.reasons.work import Work
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.reasons.models import random_rules, row_of
from tests.learners.trees.random_trees import COLUMNS


@pytest.fixture(scope="module")
def at_least_two():
    """The rows of four digits 0 and 1, and a tree that asks whether at least two of them are 1."""
    table = Table.from_array(np.array(list(product([0.0, 1], repeat=4))))
    held = table.values.sum(axis=1) >= 2
    return DecisionTreeClassifier(formula_tests="m-of-n", max_depth=1).fit(table, np.where(held, "yes", "no")), table


@pytest.fixture(scope="module")
def at_least_three():
    """The rows of five digits, and a tree that asks whether at least three of them are 1."""
    table = Table.from_array(np.array(list(product([0.0, 1], repeat=5))))
    held = table.values.sum(axis=1) >= 3
    return DecisionTreeClassifier(formula_tests="m-of-n", max_depth=1).fit(table, np.where(held, "yes", "no"))


@pytest.fixture(scope="module")
def sum_of_two():
    """A tree of one weighted sum of two columns, and rows far from it and near."""
    X = np.random.default_rng(3).integers(-50, 50, (300, 2)).astype(float)
    table = Table.from_array(X)
    target = Series(Column("y", Kind.NOMINAL, ("below", "above")), (X @ [3.0, 2.0] > 20.5).astype(float))
    return DecisionTreeClassifier(oblique_tests=True, max_depth=1).fit(table, target), table


def test_a_hard_row_keeps_no_other_from_its_answer(at_least_two, monkeypatch):
    """Of 0000 two have to change, which takes two cuts; of 1000 and 0001 one; a bound of two is each row's own."""
    model, _ = at_least_two
    rows = Table.from_array(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0]]))
    whole = counterfactuals(model, rows, "yes")
    told = [[(len(one.changes), one.exact) for one in found] for found in whole]
    assert told == [[(1, True)], [(2, True)], [(1, True)], []]
    for most in range(8):
        monkeypatch.setattr("learners.reasons.searches.combined_search.MAX_CUTS", most)
        together = counterfactuals(model, rows, "yes")
        alone = [counterfactuals(model, rows.take(np.array([row])), "yes")[0] for row in range(4)]
        assert [one.to_json() for found in together for one in found] == [
            one.to_json() for found in alone for one in found
        ]
        assert [found.unfinished for found in together] == [found.unfinished for found in alone]
        assert together[3] == []
        assert together[3].unfinished is None
        if most == 0:
            assert "more than 0 regions" in together[1].unfinished
    assert [found.unfinished for found in together] == [None] * 4


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(0, 500), st.randoms())
def test_rows_get_an_equal_part_of_half_the_work_and_of_what_is_left(needs, allowed, order):
    """Rows that need so many steps each, as far as they get them, wherever they stand; none takes what is another's."""

    def taken(needs):
        work, total = Work(len(needs), allowed), 0

        def search(row):
            nonlocal total
            steps = 0
            while steps < needs[row] and not work.is_spent:
                work.spend(1)
                steps += 1
            total += steps
            return steps

        found = work.share(len(needs), search, lambda steps: False)
        assert total <= allowed + 2 * len(needs)  # a row ends after the step that takes too much
        return found

    found = taken(needs)
    part = allowed / 2 / len(needs)
    assert all(steps >= min(need, int(part)) for steps, need in zip(found, needs, strict=True))
    hard = [steps for steps, need in zip(found, needs, strict=True) if steps < need]
    assert max(hard, default=0) - min(hard, default=0) <= 0
    places = list(range(len(needs)))
    order.shuffle(places)
    assert taken([needs[place] for place in places]) == [found[place] for place in places]


def test_hard_rows_get_what_easy_ones_leave_wherever_they_stand(at_least_three):
    """00000 takes 29 cuts and 11000 four; a part is five. Of many hard ones none ends, and no easy one goes without."""
    model, hard, easy = at_least_three, [0.0] * 5, [1.0, 1, 0, 0, 0]

    def told(rows):
        found = counterfactuals(model, Table.from_array(np.array(rows)), "yes", work=Work(21, 2 * 21 * 5_000))
        return [[len(one.changes) for one in ways if one.exact] or ways.unfinished for ways in found]

    for rows in ([hard, hard, *[easy] * 19], [*[easy] * 19, hard, hard], [hard, *[easy] * 19, hard]):
        assert told(rows) == [[3] if row is hard else [1] for row in rows]
    for rows in ([*[hard] * 20, easy], [easy, *[hard] * 20]):
        found = dict(zip((row is easy for row in rows), told(rows), strict=True))
        assert found[True] == [1]
        assert "more than all rows together may take would have to be looked at; ask for fewer" in found[False]


@pytest.mark.parametrize("most", [0, 10_000, 10**9])
def test_whatever_all_rows_may_take_what_is_told_is_right(at_least_three, most):
    rows = Table.from_array(np.array([[0.0] * 5] * 20 + [[1.0, 1, 0, 0, 0]]))
    for found in counterfactuals(at_least_three, rows, "yes", work=Work(21, most)):
        for one in found:
            changed = Table(at_least_three.columns_, np.asfortranarray(one.cells[None]))
            assert at_least_three.predict(changed)[0] == "yes"
            assert not one.exact or len(one.changes) in (1, 3)
        assert most < 10**9 or found[0].exact


@pytest.mark.parametrize("order", ["changes", "distance"])
def test_of_no_work_at_all_what_is_known_anyway_is_told(two_columns, order):
    model, row = two_columns
    ((found,),) = counterfactuals(model, row, "yes", Search(order=order), work=Work(1, 0))
    assert [(change.column, change.after) for change in found.changes] == [("a", "p")]
    fixed = Search(Wishes.of(row.columns, fixed=["a"]), order=order)
    (none,) = counterfactuals(model, row, "yes", fixed, work=Work(1, 0))
    assert none == []
    assert "ask for fewer rows at once" in none.unfinished


@pytest.mark.parametrize(("limit", "named"), [("MAX_SETS", "sets of columns"), ("MAX_PROGRAMMES", "linear programmes")])
def test_sums_that_take_too_long_are_told_by_name(monkeypatch, sum_of_two, limit, named):
    model, table = sum_of_two
    monkeypatch.setattr(f"learners.reasons.nearest.programmes.{limit}", 0)
    row = table.take(np.array([0]))
    wanted = next(label for label in model.classes_ if label != model.predict(row)[0])
    whole_numbers = Scales.of_table(table)
    (found,) = counterfactuals(model, row, wanted, Search(order="distance"), whole_numbers)
    assert found == []
    assert f"more than 0 {named}" in found.unfinished


def test_of_overlapping_rules_the_best_that_waits_is_told(monkeypatch):
    """With any bound what is told has the wanted answer; only what was surely nearest is called exact."""
    for seed in range(6):
        model, rng = random_rules(seed)
        row = row_of(rng)
        for wanted in model.classes_:
            (best,) = counterfactuals(model, row, wanted)
            for most in (0, 2, 5):
                with monkeypatch.context() as patch:
                    patch.setattr("learners.reasons.searches.rule_search.MAX_REGIONS", most)
                    (found,) = counterfactuals(model, row, wanted)
                if not found:
                    assert not best or f"more than {most} regions" in found.unfinished
                    continue
                (one,), (nearest,) = found, best
                assert model.predict(Table(COLUMNS, np.asfortranarray(one.cells[None])))[0] == wanted
                assert (one.cost, one.distance) >= (nearest.cost, nearest.distance)
                if one.exact:
                    assert one.to_json() == nearest.to_json()
            (found,) = counterfactuals(model, row, wanted, work=Work(1, 0))
            assert not any(one.exact for one in found)
            assert found or not best or "ask for fewer rows at once" in found.unfinished


def test_where_mixes_are_too_many_what_is_known_is_told(two_columns, monkeypatch):
    """The change of a alone is known without a search; with a fixed, that of both values is not looked for."""
    model, row = two_columns
    monkeypatch.setattr("learners.reasons.work.MAX_NODES", -1)
    for order in ("changes", "distance"):
        ((found,),) = counterfactuals(model, row, "yes", Search(order=order))
        assert [(change.column, change.after) for change in found.changes] == [("a", "p")]
    (none,) = counterfactuals(model, row, "yes", Search(Wishes.of(row.columns, fixed=["a"])))
    assert none == []
    assert "more than -1 nodes" in none.unfinished
