"""How much of a tree a drawing shows by itself, and that every link leads on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from service.operations.explanation.tree_picture import View, lit_picture, tree_picture
from service.operations.identity import Identity
from service.operations.rows import Options
from service.operations.served import ServedModel

LEVELS = tuple(f"level {number}" for number in range(40))
WAY = 260


def nodes_of(svg: str) -> list[int]:
    return [int(number) for number in re.findall(r"<title>node (\d+): ", svg)]


def links_of(svg: str) -> list[dict[str, str]]:
    links = [found.replace("&amp;", "&") for found in re.findall(r'href="\?([^"]*)"', svg)]
    return [dict(part.split("=") for part in link.split("&")) for link in links]


@pytest.fixture(scope="module")
def many_branches() -> ServedModel:
    """A number is asked first, and on either side of it a column of forty levels."""
    rows = np.array([(side, code) for side in (0.0, 1.0) for code in range(40)] * 2)
    labels = (rows[:, 0] + rows[:, 1]) % 2
    table = Table((Column("side"), Column("level", Kind.NOMINAL, LEVELS)), np.asfortranarray(rows))
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), labels)
    costs = {"side": 1e-9, "level": 1.0}
    model = DecisionTreeClassifier(nominal="multiway", cost_form="idx", costs=costs).fit(table, target)
    return ServedModel(model, Identity("w", "m", 1, "classification"))


@pytest.fixture(scope="module")
def chain() -> ServedModel:
    cells = np.arange(WAY + 1.0)[:, None]
    model = DecisionTreeClassifier().fit(cells, np.where(cells[:, 0] % 2 == 0, "a", "b"))
    return ServedModel(model, Identity("w", "m", 1, "classification"))


@pytest.mark.parametrize("layout", ["wide", "narrow"])
@pytest.mark.parametrize("max_leaves", [None, 2, 3])
def test_a_link_opens_what_it_folds_however_many_branches_that_has(many_branches, layout, max_leaves) -> None:
    """None leads to a drawing of a single folded box, from which there is no way on."""
    tree = many_branches.learner.tree_
    seen, waiting = set(), [View(max_leaves=max_leaves, layout=layout)]
    while waiting:
        view = waiting.pop()
        shown = tree_picture(many_branches, view)
        assert len(nodes_of(shown)) > 1
        for link in links_of(shown):
            node = int(link["node"])
            if node not in seen:
                seen.add(node)
                waiting.append(View(node, max_leaves=int(link["max_leaves"]) if max_leaves else None, layout=layout))
                assert ("max_leaves" in link) == (max_leaves is not None)
    assert seen >= set(np.flatnonzero(tree.n_children == 40).tolist())


def test_depth_of_none_is_opened_by_the_link_too(chain) -> None:
    folded = tree_picture(chain, View(max_depth=0))
    assert len(nodes_of(folded)) == 1
    (link,) = links_of(folded)
    assert link["max_depth"] == "1"


@pytest.mark.parametrize(("layout", "leaves"), [("wide", 5), ("narrow", 9)])
def test_by_itself_a_drawing_shows_what_a_window_does(chain, layout, leaves) -> None:
    """Of a chain the depth ends it: four tests side by side, eight in a list."""
    assert len(nodes_of(tree_picture(chain, View(layout=layout)))) == 2 * leaves - 1


@pytest.mark.parametrize("layout", ["wide", "narrow"])
@pytest.mark.parametrize("cell", [WAY / 2, 0.0, WAY * 1.0])
def test_the_way_of_a_row_is_shown_to_its_end_however_long(chain, layout, cell) -> None:
    model = chain.learner
    (leaf,) = model.apply([[cell]]).tolist()
    row = {model.columns_[0].name: cell}
    shown = lit_picture(chain, View(layout=layout), row, Options())
    way = {0, leaf}
    while (leaf := int(model.tree_.parent[leaf])) > 0:
        way.add(leaf)
    lit = {int(number) for number in re.findall(r"<title>node (\d+): [^<]* of the row comes here<", shown)}
    assert lit == way
    asked = View(max_depth=3, layout=layout)  # a limit that is asked for holds
    assert max(model.tree_.depth[nodes_of(lit_picture(chain, asked, row, Options()))]) == 3


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_of_a_divided_row_the_likeliest_ways_are_shown_whole_first(layout) -> None:
    """More than 200 leaves are lit: a picture of so many has the likeliest whole, and no way before a likelier one."""
    generator = np.random.default_rng(3)
    cells = generator.normal(size=(3_000, 6))
    model = DecisionTreeClassifier().fit(cells, generator.integers(0, 3, 3_000).astype(str))
    names = [column.name for column in model.columns_]
    row = dict(zip(names, [None, 0.4, None, None, None, 0.7], strict=True))
    (reason,) = model.explain(Table.from_columns({name: [value] for name, value in row.items()}, model.columns_))
    assert len(reason.branches) > 200
    served = ServedModel(model, Identity("w", "m", 1, "classification"))
    for node in (0, reason.branches[0].steps[1].child):
        picture = lit_picture(served, View(node, layout=layout), row, Options())
        shown = set(nodes_of(picture))
        beneath = [branch for branch in reason.branches if node in {0, *(step.child for step in branch.steps)}]
        assert beneath[0].steps[-1].child in shown
        opened = {int(model.tree_.parent[one]) for one in shown if one != node}
        shares = {step.child: step.weight for branch in beneath for step in branch.steps}
        likeliest = {step.child for step in beneath[0].steps}
        closed = [shares[one] for one in shown - opened if one in shares and model.tree_.n_children[one]]
        assert max(closed) <= min(shares[one] for one in opened if one != node and one not in likeliest)
