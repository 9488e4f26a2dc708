"""A step of an explanation words its test as the tree does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.operations.explanation.tree import tree_json
from tests.service.operations.serving_models import MIXED, general, mixed_classifier, mixed_table

BASE: dict[str, Any] = {"size": 0.5, "a:b": 0.1, "colour": "blue", "grade": "low", "on": True, "zip": 1}


@pytest.mark.parametrize("nominal", ["subset", "multiway", "one-vs-rest"])
def test_steps_word_their_branch_as_the_tree_does_whatever_the_row_holds(nominal: str) -> None:
    model = mixed_classifier(nominal)
    told = {node["id"]: node.get("condition") for node in tree_json(model)["nodes"]}
    table, _ = mixed_table()
    rows = [
        {column.name: column.decode(cell) for column, cell in zip(MIXED, cells, strict=True)}
        for cells in table.values[:100].tolist()
    ]
    rows += [BASE | {"colour": "pink"}, BASE | {"zip": None}, BASE | {"zip": 77, "colour": None}]
    answers = json.loads(general(model, json.dumps({"rows": rows, "explain": True}).encode()))["predictions"]
    branches = [branch for answer in answers for branch in answer["explanation"]["branches"]]
    steps = [step for branch in branches for step in branch["steps"]]
    assert all(step["condition"] == told[step["child"]] for step in steps)
    assert any(step["condition"]["operator"] == "not in" and step["state"] == "known" for step in steps)
