"""How often the same rules come back among fits."""

from __future__ import annotations

import numpy as np
import pytest

from learners.checks.require import require_json
from learners.rules.stability import MAX_RULES, digest_rules, rule_stability
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor


def digest(threshold: float, *, flip: bool = False, name: str = "x") -> dict[str, object]:
    """Of a tree whose only test is ``name <= threshold``, half of the weight on either side."""
    table = Table.from_array(np.array([[threshold - 1], [threshold + 1]]), [name])
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.array([1.0, 0.0] if flip else [0.0, 1.0]))
    return digest_rules(DecisionTreeClassifier().fit(table, target))


def test_equal_fits_agree_entirely() -> None:
    found = rule_stability([digest(2), digest(2), digest(2)])
    assert found["agreement"] == 1.0
    assert found["roots"] == [{"column": "x", "fits": 3, "tests": {"x <= 2": 3}}]
    assert [(rule["fits"], rule["identical"], rule["support"]) for rule in found["rules"]] == [(3, 3, 0.5)] * 2


def test_moved_thresholds_are_one_rule_with_a_range() -> None:
    found = rule_stability([digest(2), digest(3), digest(2)])
    assert found["agreement"] == 1.0
    rule = next(rule for rule in found["rules"] if rule["structure"] == "x <= …: no")
    assert (rule["fits"], rule["identical"]) == (3, 2)
    assert rule["bounds"] == {"x": [{"least": 2.0, "greatest": 3.0}]}
    assert found["roots"][0]["tests"] == {"x <= 2": 2, "x <= 3": 1}


def test_fits_with_nothing_in_common_do_not_agree() -> None:
    found = rule_stability([digest(2), digest(2, flip=True), digest(2, name="z")])
    assert found["agreement"] == 0.0
    assert found["rules_total"] == 6
    assert {root["column"]: root["fits"] for root in found["roots"]} == {"x": 2, "z": 1}


def test_agreement_is_the_mean_over_pairs() -> None:
    assert rule_stability([digest(2), digest(2), digest(2, name="z")])["agreement"] == pytest.approx(1 / 3)


def test_one_fit_alone_has_no_agreement() -> None:
    assert rule_stability([digest(2)])["agreement"] is None


def test_a_leaf_has_one_rule_and_no_root() -> None:
    table = Table.from_array(np.array([[1.0], [2.0]]), ["x"])
    found = rule_stability([digest_rules(DecisionTreeRegressor(max_depth=0).fit(table, np.array([1.0, 2.0])))] * 2)
    assert found["roots"] == []
    assert [rule["structure"] for rule in found["rules"]] == ["always: …"]


def test_large_rule_sets_are_cut_to_the_heaviest_and_all_is_json() -> None:
    values = np.arange(2000.0)[:, None]
    labels = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.arange(2000) % 2.0)
    kept = digest_rules(DecisionTreeClassifier().fit(Table.from_array(values, ["x"]), labels))
    assert kept["n_rules"] == 2000
    assert len(kept["rules"]) == MAX_RULES
    require_json(rule_stability([kept, kept]), "metrics")
