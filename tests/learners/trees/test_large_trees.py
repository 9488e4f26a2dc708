"""Trees of 4,000 levels and of a million nodes, through everything that is done with trees.

No step may need a deeper stack than a small tree does, and none may take four times the work for twice the
nodes. Work is counted, not timed: the calls that the interpreter makes. What runs without calls, compiled or in
numpy, goes over arrays of the nodes once; ``benchmarks/large_trees.py`` times it all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from learners.persist import dump, load
from learners.reasons import counterfactuals
from learners.rules import rules_of
from learners.table import Column, Kind, Series, Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor
from learners.trees.cells import by_column
from learners.trees.estimator import FittedTree
from learners.trees.nodes import LEAF, Nodes
from learners.trees.pruning.chi_square import prune_chi_square
from learners.trees.pruning.cost_complexity import cost_complexity_path, prune_cost_complexity
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.pruning.minimum_length import prune_minimum_length
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.pruning.reduced_error import prune_reduced_error
from learners.types import FloatArray
from service.operations.explanation.positions import encode_position
from service.operations.explanation.rules import Paging, rules_json
from service.operations.explanation.tree import tree_json
from service.operations.explanation.tree_picture import View, tree_picture
from service.operations.identity import Identity
from service.operations.served import ServedModel

#: Calls that may be open beyond those of the test itself.
DEPTH = 60
LEVELS = 4_000
ROWS = 1_000_000
COLUMN = Column("x0")


@contextmanager
def shallow() -> Iterator[None]:
    """Refuse deep stacks meanwhile."""
    before, frame, used = sys.getrecursionlimit(), sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    sys.setrecursionlimit(used + DEPTH)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def calls(action: Callable[[], Any]) -> int:
    """How many functions are called, those written in C included."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def chain(levels: int, *, gap: bool = False) -> DecisionTreeClassifier:
    """Classes alternate along one column, so every test takes one row off."""
    cells = np.arange(levels + 1.0)
    y = np.where(cells % 2 == 0, "a", "b")
    if gap:
        cells[levels // 2] = np.nan
    return DecisionTreeClassifier().fit(cells[:, None], y)


def data(rows: int) -> tuple[Table, Series]:
    """Random classes of numbers in random order: a leaf for every two rows."""
    random = np.random.default_rng(0)
    cells, classes = random.permutation(rows).astype(float), random.integers(0, 2, rows).astype(float)
    return Table.from_array(cells[:, None]), Series(Column("y", Kind.NOMINAL, ("a", "b")), classes)


@pytest.fixture(scope="module")
def deep() -> DecisionTreeClassifier:
    with shallow():
        return chain(LEVELS)


@pytest.fixture(scope="module")
def wide() -> DecisionTreeClassifier:
    with shallow():
        return DecisionTreeClassifier().fit(*data(ROWS))


def served(model: FittedTree) -> ServedModel:
    return ServedModel(model, Identity("w", "m", 1, "classification"))


def page(model: ServedModel, place: int, limit: int = 100) -> list[dict[str, Any]]:
    """Some rules from a place on."""
    cursor = encode_position(model.identity, place) if place else None
    rules: list[dict[str, Any]] = rules_json(model, Paging(cursor, limit))["rules"]
    return rules


def prunings(nodes: Nodes, columns: Sequence[Column] = (COLUMN,)) -> dict[str, Callable[[], Nodes]]:
    """Every pruning that needs no more than the tree and some numbers."""
    losses = nodes.weight - nodes.value.max(axis=1) + 0.3
    return {
        "collapse": lambda: collapse(nodes),
        "error-based": lambda: prune_error_based(nodes),
        "chi-square": lambda: prune_chi_square(nodes),
        "minimum length": lambda: prune_minimum_length(nodes, columns),
        "reduced error": lambda: prune_reduced_error(nodes, losses),
        "reduced error, best first": lambda: prune_reduced_error(nodes, losses, order="best-first"),
        "cost complexity": lambda: prune_cost_complexity(nodes, alpha=1e-9),
    }


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Compile and import whatever is used here: that goes deep, once."""
    model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    for prune in prunings(model.tree_).values():
        prune()
    load(dump(model.get_state()))
    model.explain([[1.0], [np.nan]])
    counterfactuals(model, Table.from_array(np.array([[1.0]])), "a")
    ready = served(model)
    page(ready, 0)
    tree_json(ready)
    tree_picture(ready, View())
    raised(model, np.arange(3.0))
    many = DecisionTreeClassifier().fit(*data(10_000))  # as many walks as are done by machine code
    many.predict(data(10_000)[0])
    many.explain([[np.nan]])


def raised(model: DecisionTreeClassifier, cells: FloatArray) -> Nodes:
    """A chain's tree pruned with subtree raising."""
    codes, weights = np.arange(len(cells)) % 2, np.ones(len(cells))
    table = by_column(cells[:, None])
    return prune_with_raising(model.tree_, model.columns_, table, codes, weights, criterion=1)


def test_four_thousand_levels_are_grown(deep: DecisionTreeClassifier) -> None:
    assert deep.get_depth() == LEVELS
    assert deep.n_leaves_ == LEVELS + 1


def test_a_million_nodes_are_grown(wide: DecisionTreeClassifier) -> None:
    assert wide.tree_.n_nodes == pytest.approx(1_000_000, rel=0.01)


@pytest.mark.parametrize("which", ["deep", "wide"])
def test_every_pruning_takes_it(which: str, request: pytest.FixtureRequest) -> None:
    nodes = request.getfixturevalue(which).tree_
    for name, prune in prunings(nodes).items():
        with shallow():
            pruned = prune()
        assert 1 <= pruned.n_nodes <= nodes.n_nodes, name
        assert calls(prune) < 1_000, name
    alphas, impurities, leaves = cost_complexity_path(nodes)
    assert leaves[0] <= nodes.n_leaves
    assert leaves[-1] == 1
    assert (np.diff(alphas) > 0).all()
    assert (np.diff(impurities) > 0).all()


@pytest.mark.parametrize("gap", [False, True])
def test_subtree_raising_takes_a_chain(gap: bool) -> None:
    model = chain(600, gap=gap)
    cells = np.arange(601.0)
    if gap:
        cells[300] = np.nan
    with shallow():
        pruned = raised(model, cells)
    assert pruned.n_nodes < model.tree_.n_nodes


@pytest.mark.parametrize("which", ["deep", "wide"])
def test_it_is_stored_and_loaded(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    with shallow():
        again = DecisionTreeClassifier.from_state(load(dump(model.get_state())))
    for name, array in model.tree_.to_arrays().items():
        assert np.array_equal(array, again.tree_.to_arrays()[name], equal_nan=array.dtype.kind == "f")


@pytest.mark.parametrize("which", ["deep", "wide"])
def test_it_answers_and_explains(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    row = Table.from_array(np.array([[LEVELS - 1.5]]))
    with shallow():
        (reason,) = model.explain(row)
        (unknown,) = model.explain(Table.from_array(np.array([[np.nan]])))
        found = counterfactuals(model, row, "a" if model.predict(row)[0] == "b" else "b")
    leaf = reason.branches[0].leaf
    assert model.tree_.test[leaf] == LEAF
    assert reason.n_tests == model.tree_.depth[leaf]
    assert dict(reason.branches[0].distribution) == dict(zip("ab", model.predict_proba(row)[0], strict=True))
    assert sum(branch.weight for branch in unknown.branches) + unknown.omitted_weight == pytest.approx(1)
    assert found


@pytest.mark.parametrize("which", ["deep", "wide"])
def test_its_rules_are_listed_page_by_page(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    tree = model.tree_
    with shallow():
        ready = served(model)
        first, last = page(ready, 0), page(ready, model.n_leaves_ - 100)
        beyond = page(ready, model.n_leaves_)
    assert (len(first), len(last), beyond) == (100, 100, [])
    assert [rule["leaf"] for rule in first + last] == [*tree.leaves_as_read[:100], *tree.leaves_as_read[-100:]]
    for rule in first + last:
        assert len(rule["conditions"]) == 1  # all tests on the one column together
        assert rule["weight"] == tree.weight[rule["leaf"]]
    edges = [rule["conditions"][0] for rule in first]
    ends = [edge.get("high", edge.get("threshold")) for edge in edges]
    assert ends == sorted(ends)


@pytest.mark.parametrize("which", ["deep", "wide"])
def test_its_parts_are_given_and_drawn(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    middle = int(np.flatnonzero(model.tree_.test != LEAF)[model.n_leaves_ // 2])
    with shallow():
        ready = served(model)
        part = tree_json(ready, middle, 3)
        picture = tree_picture(ready, View(middle))
    assert part["n_nodes"] == model.tree_.n_nodes
    assert part["nodes"][0]["id"] == middle
    assert picture.startswith("<svg")


def test_pages_of_rules_are_those_of_all_rules() -> None:
    model = DecisionTreeClassifier().fit(*data(300))
    ready = served(model)
    n_leaves = model.n_leaves_
    listed = [rule for place in range(0, n_leaves, 7) for rule in page(ready, place, 7)]
    assert listed == [rule.to_json() for rule in rules_of(model).rules]


@pytest.mark.parametrize("numeric", [False, True])
def test_a_node_in_a_part_is_told_as_alone(numeric: bool) -> None:
    X, y = data(300)
    if numeric:
        random = np.random.default_rng(1)
        model: FittedTree = DecisionTreeRegressor().fit(X, random.random(300))
    else:
        weights = np.random.default_rng(1).random(300)
        utility = {"a": {"a": 1.0, "b": 0.0}, "b": {"a": 0.3, "b": 0.7}}
        model = DecisionTreeClassifier(leaf_estimate="m-estimate", utility=utility).fit(X, y, sample_weight=weights)
    ready = served(model)
    whole = tree_json(ready)["nodes"]
    assert [node["id"] for node in whole] == list(range(model.tree_.n_nodes))
    for node in whole:
        assert tree_json(ready, node["id"], 0)["nodes"] == [node]


def test_what_every_part_tells_of_the_whole_tree_is_looked_up_once(wide: DecisionTreeClassifier) -> None:
    """Else each of a million nodes' parts and pictures goes through a million nodes."""
    nodes, ready = wide.tree_, served(wide)
    tree_json(ready, 0, 3)
    tree_picture(ready, View(1))
    whole = {name: getattr(nodes, name) for name in ("test", "depth", "n_children", "missing_branch")}
    seen: list[str] = []
    for name, array in whole.items():
        object.__setattr__(nodes, name, _Watched(array, name, seen))
    try:
        tree_json(ready, 2, 3)
        tree_picture(ready, View(2))
    finally:
        for name, array in whole.items():
            object.__setattr__(nodes, name, array)
    assert seen == []


class _Watched:
    """An array of which only single entries and chosen ones are asked; any other use is noted."""

    def __init__(self, array: Any, name: str, seen: list[str]) -> None:
        self._array, self._name, self._seen = array, name, seen

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, int | np.integer) and len(key) > 10_000:
            self._seen.append(self._name)
        return self._array[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array") or name not in ("shape", "dtype"):
            self._seen.append(f"{self._name}.{name}")
        return getattr(self._array, name)

    def __array__(self, *given: Any, **how: Any) -> Any:
        self._seen.append(self._name)
        return np.asarray(self._array, *given, **how)

    def __eq__(self, other: Any) -> Any:
        self._seen.append(self._name)
        return self._array == other

    def __lt__(self, other: Any) -> Any:
        self._seen.append(self._name)
        return self._array < other

    def __gt__(self, other: Any) -> Any:
        self._seen.append(self._name)
        return self._array > other

    __hash__ = object.__hash__


def test_no_step_takes_the_square_of_the_nodes() -> None:
    def steps(rows: int) -> dict[str, int]:
        X, y = data(rows)
        model = DecisionTreeClassifier().fit(X, y)
        ready = served(model)
        known = rules_json(ready, Paging(None, 1))
        return {
            "fit": calls(lambda: DecisionTreeClassifier().fit(X, y)),
            "rules": calls(lambda: rules_of(model)),
            "pages": calls(lambda: [page(ready, place) for place in range(0, known["n_rules"], 100)]),
            "one page": calls(lambda: page(ready, known["n_rules"] - 100)),
            "part": calls(lambda: tree_json(ready, 0, 3)),
            "picture": calls(lambda: tree_picture(ready, View())),
            "store": calls(lambda: load(dump(model.get_state()))),
            "explain": calls(lambda: model.explain(X.take(np.arange(20)))),
        }

    once, twice = steps(1_500), steps(3_000)
    for name, count in once.items():
        assert twice[name] < 2.6 * count + 200, (name, count, twice[name])
    assert twice["one page"] < 1.5 * once["one page"]


def test_levels_of_a_chain_cost_no_more_than_in_proportion() -> None:
    def steps(levels: int) -> dict[str, int]:
        model = chain(levels)
        ready = served(model)
        return {
            "rules": calls(lambda: rules_of(model)),
            "pages": calls(lambda: [page(ready, place) for place in range(0, model.n_leaves_, 100)]),
            "explain": calls(lambda: model.explain(Table.from_array(np.array([[levels / 2]])))),
            "unknown": calls(lambda: model.explain(Table.from_array(np.array([[np.nan]])))),
        }

    once, twice = steps(400), steps(800)
    for name, count in once.items():
        assert twice[name] < 2.6 * count + 200, (name, count, twice[name])
