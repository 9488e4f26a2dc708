"""Least sizes beyond the rows are warned of, with the sizes; nothing is said where they are not the cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners import catalog, persist

X = np.arange(30.0)[:, None]
CLASSES, NUMBERS = np.arange(30) % 2, np.arange(30.0)
LEARNERS = [
    "decision-tree-classifier",
    "decision-tree-regressor",
    "model-tree-regressor",
    "random-forest-classifier",
    "random-forest-regressor",
    "bagging-classifier",
    "bagging-regressor",
]


def notes(name: str, y: Any = None, **given: Any) -> Any:
    if "forest" in name or "bagging" in name:
        given["members"] = 3
    model = catalog.make(name, given)
    model.fit(X, (CLASSES if "classifier" in name else NUMBERS) if y is None else y)
    again = catalog.load_model(persist.load(catalog.dump_model(model)))
    assert again.training_notes() == model.training_notes()
    return model.training_notes().get("warnings", [])


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"min_leaf": 16}, "min_leaf = 16, so a test needs a weight of 32 in its two branches, and the rows have 30:"),
        ({"min_split": 31}, "min_split = 31, so a node with a test needs that weight, and the rows have 30:"),
    ],
)
def test_a_single_leaf_tells_which_size_is_too_large(name: str, given: dict[str, float], words: str) -> None:
    (warning,) = notes(name, **given)
    assert warning.startswith(words)
    assert "single leaf" in warning


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_said_of_what_other_reasons_have(name: str) -> None:
    assert notes(name) == []
    assert notes(name, min_leaf=15, min_split=30) == []
    alike = np.zeros(30, int) if "classifier" in name else np.zeros(30)
    assert notes(name, alike) == []
