"""Models for the tests of reasons: random trees as fitted learners, and the rows that matter to them."""

from itertools import product

import numpy as np

from learners.rules.classifier import RuleSetClassifier
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.combined.tests import NUMBER
from tests.learners.trees.random_trees import COLUMNS, random_rows, random_tree

CLASSES = Column("answer", Kind.NOMINAL, ("no", "yes", "maybe"))


def random_model(seed, *, depth=4, follow_missing=False, missing=0.1):
    """A classifier whose tree is random: every kind of test, branches for missing values if asked for."""
    rng = np.random.default_rng(seed)
    table = random_rows(rng, 60, missing)
    codes = rng.integers(0, len(CLASSES.levels), 60)
    nodes = random_tree(rng, table, codes, np.ones(60), len(CLASSES.levels), depth, follow_missing)
    model = DecisionTreeClassifier()
    model._remember(table, table, CLASSES, nodes)
    model.classes_ = np.array(CLASSES.labels, dtype=object)
    return model, rng


def row_of(rng, missing=0.0):
    return random_rows(rng, 1, missing)


def random_rules(seed):
    """A rule set of many overlapping rules, of every kind of condition, with a random default."""
    rng = np.random.default_rng(seed)
    table = random_rows(rng, 60, 0.1)
    labels = Series(CLASSES, rng.integers(0, len(CLASSES.levels), 60).astype(float))
    options = {"postpruning": str(rng.choice(["none", "pessimistic"])), "subset": "all", "max_depth": 3}
    model = RuleSetClassifier(nominal=str(rng.choice(["subset", "multiway", "one-vs-rest"])), **options)
    return model.fit(table, labels), rng


def cuts_of(model, index):
    if isinstance(model, RuleSetClassifier):
        rules = model.ordered_rules_
        bounds = np.concatenate((rules.low, rules.high))[np.tile(rules.feature, 2) == index]
        return set(bounds[np.isfinite(bounds)].tolist())
    tests = model.tree_.combined
    of_terms = tests.number[(tests.feature == index) & (tests.kind == NUMBER)]
    cuts = np.concatenate((model.tree_.threshold[model.tree_.feature == index], of_terms))
    return set(cuts[np.isfinite(cuts)].tolist())


def grid(model, row, *, blanks=False):
    """All rows in which any values are changed to any that a test could tell apart; missing ones filled.

    With ``blanks`` missing ones may also stay missing.
    """
    choices = []
    for index, column in enumerate(COLUMNS):
        own = row[index]
        if column.is_numeric:
            cuts = cuts_of(model, index) | {1.0, 6.0}
            values = cuts | {float(np.nextafter(cut, np.inf)) for cut in cuts}
        else:
            values = {float(code) for code in range(len(column.levels))}
        values = sorted(values | (set() if np.isnan(own) else {float(own)}))
        choices.append([*values, np.nan] if blanks and np.isnan(own) else values)
    return Table(COLUMNS, np.asfortranarray(list(product(*choices))))
