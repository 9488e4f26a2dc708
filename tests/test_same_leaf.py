"""The same row gets to the same leaves wherever the leaves are asked for.

One property over random trees and rows: growth's own account of its rows, batches by arrays and by machine code, one
row alone, its explanation, the rules that fire, SQL on SQLite and PostgreSQL, and the way that is lit in the drawing.
"""

from __future__ import annotations

import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from learners.columns import MISSING, UNSEEN, Column, Kind
from learners.evaluation.folds import hold_out
from learners.rules.access import rules_of
from learners.rules.sql.statements import case_expression, select_statement
from learners.table import Series, Table
from learners.trees.cells import by_column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.combined.tests import LEVELS
from learners.trees.descent import Descent
from learners.trees.nodes import INTERVALS, LEAF, THRESHOLD
from learners.trees.regressor import DecisionTreeRegressor
from service.reports.tree_layout import Extent
from service.reports.tree_svg import Picture, tree_svg
from service.reports.tree_texts import Lit, percent
from tests.learners.rules.databases import Database
from tests.learners.trees.random_trees import COLUMNS, random_rows

SVG = "{http://www.w3.org/2000/svg}"
LEARNERS = (DecisionTreeClassifier, DecisionTreeRegressor)
MISSING_RULES = ("fractional", "as-value", "most-likely")
TESTS = {
    "simple": {},
    "bins": {"discretise": "equal-width", "bins": 4},
    "intervals": {"interval_tests": True},
    "formulas": {"formula_tests": "boolean", "max_terms": 3},
    "counts": {"formula_tests": "m-of-n", "max_terms": 4},
    "sums": {"oblique_tests": True},
    "all": {"interval_tests": True, "formula_tests": "m-of-n", "oblique_tests": True},
}
PRUNINGS = (
    {},
    {"pruning": "error-based", "subtree_raising": True},
    {"pruning": "error-based"},
    {"pruning": "cost-complexity", "alpha": 0.01},
    {"pruning": "reduced-error"},
    {"pruning": "minimum-length"},
    {"pruning": "chi-square", "significance": 0.5},
    {"pruning": "collapse"},
)
OF_NUMBERS = ({}, {"pruning": "cost-complexity", "alpha": 0.01}, {"pruning": "reduced-error"})
#: The most ways that are drawn of a tree.
DRAWN = 12
#: A column of BOOLEAN in PostgreSQL has no third value, so no boolean is unseen here.
UNSEEN_IN = tuple(place for place, column in enumerate(COLUMNS) if column.kind in (Kind.NOMINAL, Kind.ORDINAL))


@pytest.fixture(scope="module")
def databases(postgres):
    address = postgres.make_database(migrated=False)
    with closing(sqlite3.connect(":memory:")) as small, psycopg.connect(address, autocommit=True) as large:
        yield Database(small, "?"), Database(large, "%s")
    postgres.drop_database(address)


@pytest.mark.parametrize("missing", MISSING_RULES)
@pytest.mark.parametrize("tests", TESTS)
@pytest.mark.parametrize("learner", LEARNERS, ids=["classes", "numbers"])
@settings(max_examples=2, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # seeds do not shrink
@given(data=st.data())
def test_the_same_row_gets_to_the_same_leaves_everywhere(databases, learner, tests, missing, data):
    of_classes = learner is DecisionTreeClassifier
    params = TESTS[tests] | {
        "missing": missing,
        "nominal": data.draw(st.sampled_from(["subset", "multiway", "one-vs-rest"])),
    }
    params |= data.draw(st.sampled_from(PRUNINGS if of_classes else OF_NUMBERS))
    params["threshold"] = data.draw(st.sampled_from(["midpoint", "data"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    table, target, weights = training_rows(rng, 30, of_classes=of_classes)
    model = learner(**params).fit(table, target, weights)
    check_growth(model, table, target, weights)
    asked = asked_rows(model, table, rng)
    leaves = leaves_of_batches(model, asked)
    np.testing.assert_allclose(leaves.sum(axis=1), 1, atol=1e-12)
    check_single_rows(model, asked, leaves)
    rules = rules_of(model)
    check_rules(rules, asked, leaves)
    for database in databases:
        check_sql(database, rules, asked, leaves)
    check_drawings(model, asked, leaves)


def training_rows(rng, n_rows, *, of_classes):
    """Rows with gaps, what they should be answered, and weights by whose sums sets of rows are told apart."""
    table = random_rows(rng, n_rows, 0.15)
    size, weight = np.nan_to_num(table.values[:, [0, 4]], nan=2.0).T
    weights = rng.uniform(0.8, 1.3, n_rows)
    if not of_classes:
        return table, size + np.nan_to_num(table.values[:, 1]) + rng.normal(size=n_rows), weights
    codes = np.where(size + weight > 7, 0, rng.integers(0, 3, n_rows))
    codes[np.isnan(table.values[:, 1])] = 1
    return table, Series(Column("y", Kind.NOMINAL, ("a", "b", "c")), codes.astype(float)), weights


def check_growth(model, table, target, weights):
    """Each node's account of the rows it was grown from is that of the rows which its leaves are answered to."""
    nodes, own = model.tree_, weights.copy()
    if model.pruning == "reduced-error":
        codes = target.cells.astype(np.int64) if isinstance(target, Series) else None
        split, _ = hold_out(len(table), model.validation_fraction, model.seed, codes)
        own[split.test] = 0.0
    shares = leaves_of_batches(model, table)
    by_leaf = own @ shares
    values = np.eye(3)[target.cells.astype(int)] if isinstance(target, Series) else target[:, None]
    sums = (own[:, None] * shares).T @ values
    for node in range(nodes.n_nodes - 1, 0, -1):  # children come after their parents
        by_leaf[nodes.parent[node]] += by_leaf[node]
        sums[nodes.parent[node]] += sums[node]
    np.testing.assert_allclose(by_leaf, nodes.weight, rtol=1e-9, atol=1e-9)
    told = nodes.value if isinstance(target, Series) else nodes.value[:, :1] * nodes.weight[:, None]
    held = nodes.weight > 0  # an empty node answers as its parent
    np.testing.assert_allclose(sums[held], told[held], rtol=1e-9, atol=1e-9)


def asked_rows(model, table, rng):
    """The training rows; and at each test of the tree rows that come to it and meet its bounds, or are next to them,
    or have a gap or an unseen level there.
    """
    nodes, values = model.tree_, table.values
    comes = leaves_of_batches(model, table) > 0
    for node in range(nodes.n_nodes - 1, 0, -1):
        comes[:, nodes.parent[node]] |= comes[:, node]
    more = []
    for node in np.flatnonzero(nodes.test != LEAF):
        rows = np.flatnonzero(comes[:, node])
        row = values[int(rng.choice(rows)) if len(rows) else int(rng.integers(len(values)))]
        for feature, cell in cells_at(nodes, node, row):
            more.append(row.copy())
            more[-1][feature] = cell
    several = values[rng.integers(0, len(values), 12)].copy()
    several[rng.random(several.shape) < 0.4] = MISSING
    levels = several[:, UNSEEN_IN]
    several[:, UNSEEN_IN] = np.where(rng.random(levels.shape) < 0.3, UNSEEN, levels)
    kept = rng.permutation(len(more))[:60]
    rows = np.vstack([values, several, np.full((1, len(COLUMNS)), MISSING), *(more[place][None] for place in kept)])
    return Table(table.columns, np.asfortranarray(rows))


def cells_at(nodes, node, row):
    """Columns and values for them that decide at a test, or leave it open."""
    feature = int(nodes.feature[node])
    if feature < len(COLUMNS):
        bounds = {THRESHOLD: nodes.threshold[[node]], INTERVALS: nodes.upper[list(nodes.children(node))]}
        yield from around(feature, bounds.get(int(nodes.test[node]), np.array([])))
        return
    test = nodes.combined.tests[feature - len(COLUMNS)]
    for term in test.terms:
        number = np.array([term.number])
        if test.is_sum:
            without = row.copy()
            without[term.feature] = 0.0
            number = (nodes.threshold[[node]] - test.value(without)) / term.number
        yield from around(term.feature, [] if term.kind == LEVELS else number)


def around(feature, bounds):
    yield feature, MISSING
    if feature in UNSEEN_IN:
        yield feature, UNSEEN
    if COLUMNS[feature].is_numeric:
        for bound in bounds:
            if np.isfinite(bound):
                yield from ((feature, cell) for cell in (bound, *np.nextafter(bound, (-np.inf, np.inf))))
    else:
        yield from ((feature, float(code)) for code in range(len(COLUMNS[feature].levels)))


def leaves_of_batches(model, table):
    """The share of each row in each node, of inner ones 0; what batches answer is the mean by them."""
    tree, cells, rows = model.packed_tree_, by_column(table.values), np.arange(len(table))
    leaves, owners, parts = tree.placed(cells, rows)
    shares = np.zeros((len(table), len(tree.answers)))
    shares[owners, leaves] = parts
    answers = tree.predict(cells)
    np.testing.assert_allclose(answers, shares @ tree.answers, rtol=1e-12, atol=1e-12)
    heaviest = model.apply(table)
    np.testing.assert_allclose(shares[rows, heaviest], shares.max(axis=1), atol=1e-15)
    if not len(tree.combined):  # tests of several values have no machine code
        ends, walk = tree.walk.descend(cells), tree.walk
        np.testing.assert_array_equal(walk._compiled.descended(0 * rows, cells, rows), ends)
        np.testing.assert_array_equal(walk._compiled.divided(0 * rows, cells, rows, tree.answers), answers)
    return shares


def check_single_rows(model, asked, leaves):
    """Rows alone: by plain numbers, by machine code, and with their reason."""
    tree, answers = model.packed_tree_, model.packed_tree_.predict(by_column(asked.values))
    descent, one = Descent(tree, model.tested_columns_), np.empty(answers.shape[1])
    for row, explanation in enumerate(model.explain(asked)):
        own = {int(leaf): leaves[row, leaf] for leaf in np.flatnonzero(leaves[row])}
        assert {branch.leaf: branch.weight for branch in explanation.branches} == pytest.approx(own, abs=1e-12)
        assert dict(zip(*map(np.ndarray.tolist, tree.reach(asked.values[row].copy())), strict=True)) == own
        tree.predict_row(asked.values[row].copy(), one)
        np.testing.assert_array_equal(one, answers[row])
        if not np.isnan(asked.values[row]).any():
            assert descent.leaf(asked.values[row].tolist()) == (next(iter(own)) if len(own) == 1 else -1)


def check_rules(rules, asked, leaves):
    shares = np.zeros_like(leaves)
    shares[:, [rule.leaf for rule in rules.rules]] = rules.matches(asked)
    np.testing.assert_allclose(shares, leaves, atol=1e-12)


def check_sql(database, rules, asked, leaves):
    """``CASE`` names the leaf of each row that is in one, and ``SELECT`` adds up the leaves' shares of a row.

    For the latter each rule answers a number of its own, drawn at random, so that other shares have another sum.
    """
    database.fill(asked)
    whole = np.where(leaves.max(axis=1) == 1, leaves.argmax(axis=1), -1).tolist()
    assert database.evaluate(case_expression(rules, "leaf")) == [None if leaf < 0 else leaf for leaf in whole]
    numbers = np.random.default_rng(len(rules.rules)).uniform(1, 2, leaves.shape[1])
    said = (replace_answer(rule, float(numbers[rule.leaf])) for rule in rules.rules)
    summed = replace(rules, target=Column("y"), classes=None, rules=tuple(said))
    found = [row["prediction"] for row in database.select(select_statement(summed, "rows"))]
    np.testing.assert_allclose(found, leaves @ numbers, rtol=1e-12)


def replace_answer(rule, answer):
    return rule._replace(answer=answer, distribution=None, confidence=None, deviation=0.0, counts=None)


def check_drawings(model, asked, leaves):
    """The boxes and branches that are lit are those on the ways to the row's leaves, with its share in each.

    One row is drawn of those that explanations give the same way; of many ways some, from the simplest to the most
    divided.
    """
    nodes = model.tree_
    share = leaves.copy()
    for node in range(nodes.n_nodes - 1, 0, -1):
        share[:, nodes.parent[node]] += share[:, node]
    ways = {}
    for row, explanation in enumerate(model.explain(asked)):
        ways.setdefault(frozenset(Lit.of(explanation).shares.items()), (row, explanation))
    by_size = sorted(ways.values(), key=lambda way: len(Lit.of(way[1]).shares))
    for row, explanation in by_size[:: -(-len(by_size) // DRAWN)]:
        svg = ElementTree.fromstring(drawn(model, Lit.of(explanation)))
        expected = {int(node): share[row, node] for node in np.flatnonzero(share[row])}
        told, glowing = {}, set()
        for box in svg.iter(SVG + "g"):
            words, frame = box.find(SVG + "title").text, box.find(SVG + "rect")
            node = int(re.match(r"node (\d+): ", words)[1])
            if found := re.search(r"; (\S+) of the row comes here$", words):
                told[node] = found[1]
            if frame.attrib["fill"] == "#fff4e5":
                glowing.add(node)
            assert box.attrib.get("opacity") == (None if node in expected else "0.55")
        assert glowing == set(expected)
        assert told.keys() == expected.keys()
        for node, part in expected.items():
            assert told[node] in {percent(part), percent(part - 1e-12), percent(min(part + 1e-12, 1.0))}
        lit_branches = [one for one in svg.iter(SVG + "path") if one.attrib["stroke"] == "#b35900"]
        assert len(lit_branches) == len(expected) - 1


def drawn(model, lit):
    extent = Extent(max_depth=1000, max_leaves=2000)
    return tree_svg(Picture("m", model.tree_, model.tested_columns_, model.target_, extent, lit=lit))
