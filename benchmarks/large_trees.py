"""Very large trees: a chain of 4,000 levels and trees of a million nodes, through everything that is done with trees.

    python benchmarks/large_trees.py [--nodes 1000000] [--levels 4000] [--only bushy]

Each step is done at a quarter of the size, the half and the whole; the table shows processor seconds and the two
ratios: about 2 where the work is in proportion to the nodes, 4 where it is to their square. One ratio alone does
not tell, since it is above 2 where the arrays leave a cache. Every row of a chain passes all tests above its leaf,
so growing it, answering its rows and raising its subtrees takes rows times levels. Nothing may need a deeper stack
than a small tree does: the interpreter's limit is set to 200 calls.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from learners.persist import dump, load
from learners.reasons import counterfactuals, next_question
from learners.rules import rules_of
from learners.table import Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor
from learners.trees.cells import by_column
from learners.trees.criteria import GINI
from learners.trees.pruning.chi_square import prune_chi_square
from learners.trees.pruning.cost_complexity import cost_complexity_path, prune_cost_complexity
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.pruning.minimum_length import prune_minimum_length
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.pruning.reduced_error import prune_reduced_error
from learners.types import IntArray
from service.operations.explanation.positions import encode_position
from service.operations.explanation.rules import Paging, rules_json
from service.operations.explanation.tree import tree_json
from service.operations.explanation.tree_picture import View, tree_picture
from service.operations.identity import Identity
from service.operations.served import ServedModel

PAGE = 1000
DEEPEST_CALL = 200
#: Rows of one class side by side in a chain that the estimate of errors leaves as it is.
RUN = 10


def prunings(model: DecisionTreeClassifier, X: Table, codes: IntArray) -> dict[str, Callable[[], Any]]:
    """Every pruning of a tree that was grown on these rows; of the kept-back rows' losses, made-up ones."""
    nodes, columns = model.tree_, model.columns_
    losses = nodes.weight - nodes.value.max(axis=1) + 0.3
    cells, weights = by_column(X.values), np.ones(len(codes))
    return {
        "collapse": lambda: collapse(nodes),
        "error-based": lambda: prune_error_based(nodes),
        "error-based with raising": lambda: prune_with_raising(nodes, columns, cells, codes, weights, criterion=GINI),
        "chi-square": lambda: prune_chi_square(nodes),
        "minimum length": lambda: prune_minimum_length(nodes, columns),
        "reduced error, bottom-up": lambda: prune_reduced_error(nodes, losses),
        "reduced error, best first": lambda: prune_reduced_error(nodes, losses, order="best-first"),
        "cost complexity": lambda: prune_cost_complexity(nodes, alpha=1e-9),
        "cost complexity, the whole path": lambda: cost_complexity_path(nodes),
    }


def chain(levels: int, *, run: int = 1, gaps: bool = False):
    """Rows of one column whose classes alternate in runs: every test takes one run off, so the tree is a chain."""
    cells = np.arange(run * (levels + 1.0))
    classes = np.where(cells // run % 2 == 0, "a", "b")
    if gaps:
        cells[len(cells) // 2] = np.nan
    return Table.from_array(cells[:, None]), classes


def bushy(nodes: int):
    """Random classes of rows in random order: a leaf for each run of one class, of two rows in the mean."""
    random = np.random.default_rng(0)
    return Table.from_array(random.permutation(nodes).astype(float)[:, None]), random.integers(0, 2, nodes).astype(str)


class Study:
    """Seconds of each step, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, action: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = action()
        self.seconds[name] = time.process_time() - start
        return result


def study(X: Table, y: Any) -> tuple[str, Study]:
    """Everything that is done with a tree."""
    found = Study()
    model = found.time("grown", lambda: DecisionTreeClassifier().fit(X, y))
    for name, prune in prunings(model, X, (y == model.classes_[1]).astype(np.int64)).items():
        found.time(f"pruned: {name}", prune)
    data = found.time("stored", lambda: dump(model.get_state()))
    model = found.time("loaded", lambda: DecisionTreeClassifier.from_state(load(data)))
    row = X.take(np.arange(1))
    found.time("all rows answered", lambda: model.predict_proba(X))
    found.time("one row explained", lambda: explained(model, row))
    gap = Table.from_array([[np.nan]])
    found.time("a row of which nothing is known explained", lambda: explained(model, gap))
    found.time("a counterfactual", lambda: counterfactuals(model, row, model.classes_[0]))
    found.time("a question", lambda: next_question(model, gap))
    found.time("all rules", lambda: rules_of(model))
    served = found.time("made ready to serve", lambda: ServedModel(model, Identity("w", "m", 1, "classification")))
    found.time(f"all rules, {PAGE} a page", lambda: all_pages(served))
    found.time("one page of rules, the last", lambda: page_at(served, model.n_leaves_ - 1))
    found.time("all nodes, part by part", lambda: all_parts(served))
    found.time("ten pictures", lambda: [tree_picture(served, View(node)) for node in range(10)])
    return f"{model.tree_.n_nodes:,} nodes, {model.get_depth():,} levels", found


def explained(model: DecisionTreeClassifier, row: Table) -> dict[str, Any]:
    """The reason of one row's answer as JSON."""
    return model.explain(row)[0].to_json()


def page_at(served: ServedModel, place: int) -> dict[str, Any]:
    """The page of rules from a place on."""
    cursor = encode_position(served.identity, place) if place else None
    return rules_json(served, Paging(cursor, PAGE))


def all_pages(served: ServedModel) -> int:
    """Follow the cursors to the end; returns the number of rules."""
    cursor, count = None, 0
    while True:
        page = rules_json(served, Paging(cursor, PAGE))
        count += len(page["rules"])
        cursor = page["next_cursor"]
        if cursor is None:
            return count


def all_parts(served: ServedModel) -> int:
    """Ask for the tree as data, some levels at a time; returns the number of nodes."""
    seen, waiting = 0, [0]
    while waiting:
        part = tree_json(served, waiting.pop(), 9)["nodes"]
        ids = {node["id"] for node in part}
        seen += len(part)
        edge = [node["id"] for node in part if node["children"] and node["children"][0] not in ids]
        seen -= len(edge)  # each is the top of a part of its own
        waiting += edge
    return seen


def regression(nodes: int) -> tuple[str, Study]:
    """A leaf for each row: targets that all differ."""
    random = np.random.default_rng(0)
    found = Study()
    X, y = Table.from_array(random.random((nodes // 2, 2))), random.random(nodes // 2)
    model = found.time("grown", lambda: DecisionTreeRegressor().fit(X, y))
    found.time("grown, leaves are medians", lambda: DecisionTreeRegressor(leaf="median").fit(X, y))
    return f"{model.tree_.n_nodes:,} nodes, {model.get_depth():,} levels", found


def raising(levels: int, *, gaps: bool = False) -> tuple[str, Study]:
    """A chain of long runs, of which every branch is tried in its parent's place and none is raised."""
    X, y = chain(levels, run=RUN, gaps=gaps)
    found = Study()
    model = found.time("grown", lambda: DecisionTreeClassifier(min_leaf=RUN / 2).fit(X, y))
    prune = prunings(model, X, (y == model.classes_[1]).astype(np.int64))["error-based with raising"]
    found.time("pruned: error-based with raising", prune)
    return f"{model.tree_.n_nodes:,} nodes, {model.get_depth():,} levels", found


def shown(case: str, described: str, sizes: list[Study]) -> None:
    """Print the table of a case."""
    print(f"\n{case}: {described}\n\n| step | quarter, s | half, s | whole, s | ratios |\n|---|---|---|---|---|")
    for name in sizes[-1].seconds:
        seconds = [size.seconds[name] for size in sizes]
        ratios = [f"{more / less:.1f}" for less, more in pairwise(seconds) if less > 1e-3]
        print(f"| {name} | {' | '.join(f'{one:.3f}' for one in seconds)} | {', '.join(ratios)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--levels", type=int, default=4_000)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    study(*bushy(100))  # whatever is compiled is compiled
    study(*chain(20, gaps=True))
    regression(100)
    cases: dict[str, tuple[Callable[[int], tuple[str, Study]], int]] = {
        "bushy": (lambda size: study(*bushy(size)), asked.nodes),
        "chain": (lambda size: study(*chain(size)), asked.levels),
        "chain, one cell missing": (lambda size: study(*chain(size, gaps=True)), asked.levels),
        "chain of runs": (raising, asked.levels),
        "chain of runs, one cell missing": (lambda size: raising(size, gaps=True), asked.levels),
        "regression": (regression, asked.nodes),
    }
    sys.setrecursionlimit(DEEPEST_CALL)
    for case, (run, size) in cases.items():
        if asked.only in case:
            described, sizes = "", []
            for part in (4, 2, 1):
                described, found = run(size // part)
                sizes.append(found)
            shown(case, described, sizes)


if __name__ == "__main__":
    main()
