"""A row that follows thousands of long branches gets an explanation that can be read, and soon."""

from __future__ import annotations

import numpy as np
import pytest

from learners.trees import DecisionTreeClassifier
from learners.trees.paths import MAX_TESTS


@pytest.fixture(scope="module")
def chain() -> DecisionTreeClassifier:
    rows = np.arange(1200.0).reshape(-1, 1)
    return DecisionTreeClassifier().fit(rows, np.where(rows[:, 0] % 2 == 0, "a", "b"))


def test_the_heaviest_branches_are_kept_and_the_rest_is_told(chain: DecisionTreeClassifier) -> None:
    leaves, weights = chain.packed_tree_.reach(np.array([np.nan]))
    (explanation,) = chain.explain([[np.nan]])
    assert 0 < explanation.n_tests <= MAX_TESTS
    kept = [branch.weight for branch in explanation.branches]
    assert len(kept) + explanation.omitted_branches == len(leaves)
    assert sorted(kept, reverse=True) == sorted(weights, reverse=True)[: len(kept)]
    assert sum(kept) + explanation.omitted_weight == pytest.approx(1, rel=1e-12)
    assert explanation.to_json()["omitted"] == {
        "branches": explanation.omitted_branches,
        "weight": explanation.omitted_weight,
    }
    assert f"and {explanation.omitted_branches} lighter branches" in explanation.text()


def test_one_branch_is_given_whole_however_long(chain: DecisionTreeClassifier) -> None:
    deepest = int(np.argmax(chain.tree_.depth))
    (explanation,) = chain.explain([[600.0]])
    assert explanation.omitted_branches == 0
    assert "omitted" not in explanation.to_json()
    assert chain.tree_.depth[deepest] > 500
