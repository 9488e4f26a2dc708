"""Counterfactuals of rule sets against all rows that any condition could tell apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.reasons import Scales, Search, Wishes, counterfactuals
from learners.rules.atoms import Atom
from learners.rules.classifier import RuleSetClassifier
from learners.rules.ordered import ordered_rules
from learners.table import Column, Kind, Table
from tests.learners.reasons.judging import SCALES, judged, key_of, random_wishes
from tests.learners.reasons.models import CLASSES, grid, random_rules, row_of
from tests.learners.trees.random_trees import COLUMNS

CLASSES_OF_TWO = Column("answer", Kind.NOMINAL, ("no", "yes"))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["changes", "distance"]), st.sampled_from([0.0, 0.3]))
def test_of_a_rule_set_too_the_nearest_is_that_of_brute_force(seed, free, order, missing):
    model, rng = random_rules(seed)
    row = row_of(rng, missing)
    nothing = {"fixed": [], "directions": {}, "costs": {}, "allowed": {}}
    wishes = nothing if free else random_wishes(rng)
    wanted = str(rng.choice(CLASSES.labels))
    rows = grid(model, row.values[0], blanks=True)
    good = model.predict(rows) == wanted
    search = Search(Wishes.of(COLUMNS, **wishes), order=order)
    (found,) = counterfactuals(model, row, wanted, search, SCALES)
    best = judged(rows.values, row.values[0], wishes, good, order)
    if model.predict(row)[0] == wanted or not best:
        assert found == []
        return
    assert key_of(found[0], order) == pytest.approx(min(best), abs=1e-9)
    assert model.predict(Table(COLUMNS, np.asfortranarray(found[0].cells[None])))[0] == wanted
    assert model.apply(Table(COLUMNS, np.asfortranarray(found[0].cells[None])))[0] == found[0].rank - 1
    if order == "changes":
        several = counterfactuals(model, row, wanted, Search(Wishes.of(COLUMNS, **wishes), count=4), SCALES)[0]
        rules = model.apply(rows)
        by_rule = sorted(
            min(candidates)
            for rule in np.unique(rules[good])
            if (candidates := judged(rows.values, row.values[0], wishes, good & (rules == rule), order))
        )
        assert [key_of(one, order) for one in several] == [pytest.approx(key, abs=1e-9) for key in by_rule[:4]]


def test_the_way_past_earlier_rules_by_hand():
    """Rule 1 takes x <= 5 with red for "no", rule 2 takes y > 2 for "yes": red at x = 4 has to leave rule 1 as well."""
    columns = (Column("x"), Column("y"), Column("colour", Kind.NOMINAL, ("red", "blue")))
    atoms = [
        [Atom(0, -np.inf, 5.0, None, False), Atom(2, -np.inf, np.inf, (0,), False)],
        [Atom(1, 2.0, np.inf, None, False)],
    ]
    value = np.array([[3.0, 0], [0, 3], [2, 0]])
    model = RuleSetClassifier()
    model.columns_, model.n_features_in_ = columns, 3
    model._set_rules(ordered_rules(atoms, value, value / value.sum(axis=1, keepdims=True), [3, 3, 2]), CLASSES_OF_TWO)
    row = Table(columns, np.array([[4.0, 1.0, 0.0]]))
    scales = Scales.of_records(columns, [{"minimum": 0, "maximum": 10}] * 2 + [{}])
    (found,) = counterfactuals(model, row, "yes", None, scales)
    assert [(change.column, change.after) for change in found[0].changes] == [
        ("y", np.nextafter(2.0, 3)),
        ("x", np.nextafter(5.0, 6)),
    ]
    assert found[0].to_json()["rule"] == model.rules_.rules[1].id
    (stays,) = counterfactuals(model, row, "yes", Search(Wishes.of(columns, fixed=["x"])), scales)
    assert {change.column: change.after for change in stays[0].changes} == {
        "y": np.nextafter(2.0, 3),
        "colour": "blue",
    }
    assert counterfactuals(model, row, "yes", Search(Wishes.of(columns, fixed=["x", "colour"])), scales) == [[]]
