"""Chains of 4,000 levels over levels and numbers: no deep stack, and no more work than rows times levels.

Every row of a chain passes all tests above its leaf, so growing and raising take rows times levels by nature: four
times the work for twice the levels, and not eight. Work is counted: the lines that kernels run through when they are
run as plain Python, each turn of a loop anew. Nothing is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from learners.persist import dump, load
from learners.reasons import counterfactuals
from learners.rules import rules_of
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier
from learners.trees.cells import by_column
from learners.trees.criteria import GINI
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD, Nodes
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.traverse import pack
from tests.learners.trees.test_large_trees import prunings, shallow

LONG = 4_000
#: Rows of one class that stay together in a chain that the estimate of errors leaves as it is.
RUN = 10
CLASSES = Column("y", Kind.NOMINAL, ("a", "b"))
#: How many levels the counted chains have, one twice as many as the other.
FEW, MANY = 32, 64


def chain(levels: int, *, run: int = 1, gap: bool = False) -> tuple[Table, Series]:
    """Two chains beneath a few tests: one over numbers with alternating classes, one over levels that few rows have.

    Of the levels those of one class are taken off, one by one, since the rest is purer without them: half of them.
    """
    number = np.concatenate((np.arange(levels) + 1.0, np.zeros(levels)))
    code = np.concatenate((np.zeros(levels), np.arange(levels) + 1.0))
    if gap:
        number[levels // 2] = np.nan
    columns = (Column("x"), Column("c", Kind.NOMINAL, tuple(f"l{one}" for one in range(levels + 1))))
    cells = np.repeat(np.column_stack((number, code)), run, axis=0)
    return Table(columns, np.asfortranarray(cells)), Series(CLASSES, np.repeat(np.arange(2 * levels) % 2.0, run))


def grown(table: Table, target: Series) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(nominal="one-vs-rest").fit(table, target)


def raised(model: DecisionTreeClassifier, table: Table, target: Series) -> Nodes:
    codes, weights = target.cells.astype(np.int64), np.ones(len(table))
    return prune_with_raising(model.tree_, model.columns_, by_column(table.values), codes, weights, criterion=GINI)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Compile and import whatever is used here: that goes deep, once."""
    table, target = chain(6, gap=True)
    model = grown(table, target)
    raised(model, table, target)
    for prune in prunings(model.tree_, model.columns_).values():
        prune()
    counterfactuals(model, table.take(np.arange(1)), "b")
    model.explain(table)
    rules_of(model).rules[0].to_json()
    DecisionTreeClassifier.from_state(load(dump(model.get_state())))


@pytest.fixture(scope="module", params=[False, True], ids=["known", "a gap"])
def long(request: pytest.FixtureRequest) -> tuple[DecisionTreeClassifier, Table, Series]:
    table, target = chain(LONG, gap=request.param)
    with shallow():
        return grown(table, target), table, target


def test_a_chain_of_levels_and_numbers_is_grown(long: tuple[DecisionTreeClassifier, Table, Series]) -> None:
    model, table, target = long
    nodes = model.tree_
    assert model.get_depth() > LONG
    assert (nodes.test == THRESHOLD).sum() > 0.9 * LONG
    assert (nodes.test == LEVELS).sum() > 0.45 * LONG
    answers = np.array(CLASSES.labels, object)[target.cells.astype(int)]
    known = ~np.isnan(table.values[:, 0])
    assert (model.predict(table)[known] == answers[known]).all()


def test_it_is_pruned_stored_loaded_explained_and_listed(long: tuple[DecisionTreeClassifier, Table, Series]) -> None:
    model, table, _ = long
    nodes = model.tree_
    for name, prune in prunings(nodes, model.columns_).items():
        with shallow():
            assert 1 <= prune().n_nodes <= nodes.n_nodes, name
    deepest = int(np.argmax(model.tree_.depth[model.apply(table)]))
    with shallow():
        again = DecisionTreeClassifier.from_state(load(dump(model.get_state())))
        (reason,) = again.explain(table.take([deepest]))
        rules = rules_of(again)
        (found,) = counterfactuals(again, table.take([deepest]), "a" if model.predict(table)[deepest] == "b" else "b")
    assert reason.branches[0].leaf == model.apply(table)[deepest]  # type: ignore[union-attr]
    assert reason.n_tests >= nodes.greatest_depth
    assert [rule.leaf for rule in rules.rules] == nodes.leaves_as_read.tolist()
    assert found


def test_subtrees_of_single_rows_are_raised(long: tuple[DecisionTreeClassifier, Table, Series]) -> None:
    model, table, target = long
    with shallow():
        pruned = raised(model, table, target)
    assert pruned.n_nodes < model.tree_.n_nodes
    check_rows(pruned, table, target)


@pytest.mark.parametrize("gap", [False, True])
def test_subtrees_of_runs_are_tried_in_the_place_of_their_parents(gap: bool) -> None:
    table, target = chain(LONG // 4, run=RUN, gap=gap)
    model = grown(table, target)
    with shallow():
        pruned = raised(model, table, target)
    assert pruned.greatest_depth > 0.9 * LONG // 4
    check_rows(pruned, table, target)


def check_rows(pruned: Nodes, table: Table, target: Series) -> None:
    """What a pruned tree counts in its leaves are the rows that it sends there."""
    tree = pack(pruned, table.columns, regression=False)
    leaves, rows, shares = tree.placed(by_column(table.values), np.arange(len(table)))
    placed = np.zeros_like(pruned.value)
    np.add.at(placed, (leaves, target.cells[rows].astype(int)), shares)
    held = (pruned.test == LEAF) & (pruned.weight > 0)
    np.testing.assert_allclose(placed[held], pruned.value[held], rtol=1e-9, atol=1e-9)


def lines(action: Callable[[], Any]) -> int:
    """How many lines of the library's are run, in loops each time."""
    count = 0

    def within(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return within

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return within if f"{os.sep}learners{os.sep}" in frame.f_code.co_filename else None

    sys.settrace(enter)
    try:
        action()
    finally:
        sys.settrace(None)
    return count


def counted() -> list[dict[str, int]]:
    """The work of each step on chains of two lengths, kernels being plain Python."""
    return [_counted(levels) for levels in (FEW, MANY)]


def _counted(levels: int) -> dict[str, int]:
    found = {}
    for gap in (False, True):
        table, target = chain(levels, gap=gap)
        model = grown(table, target)
        runs, of_runs = chain(levels, run=RUN, gap=gap)
        tried = grown(runs, of_runs)
        steps: dict[str, Callable[[], Any]] = {
            "grow": lambda table=table, target=target: grown(table, target),
            "raise": lambda model=model, table=table, target=target: raised(model, table, target),
            "try to raise": lambda model=tried, table=runs, target=of_runs: raised(model, table, target),
            "collapse": lambda nodes=model.tree_: collapse(nodes),
            "prune": lambda nodes=tried.tree_: prune_error_based(nodes),
            "store": lambda model=model: DecisionTreeClassifier.from_state(load(dump(model.get_state()))),
        }
        for name, step in steps.items():
            found[f"{name}{', a gap' if gap else ''}"] = lines(step)
    return found


def test_growing_and_raising_take_rows_times_levels_and_all_else_the_nodes() -> None:
    program = "import json; from tests.learners.trees.test_long_chains import counted; print(json.dumps(counted()))"
    environment = {**os.environ, "RULEWOOD_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    few, many = json.loads(done.stdout)
    for name, count in few.items():
        by_rows_and_levels = name.startswith(("grow", "raise", "try"))
        assert many[name] < (4.4 if by_rows_and_levels else 2.4) * count, (name, count, many[name])
    for name in ("grow", "try to raise"):  # the count sees what there is to be seen
        assert many[name] > 2.5 * few[name]
