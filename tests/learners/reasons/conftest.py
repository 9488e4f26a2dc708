"""Models that several tests of reasons look at."""

import numpy as np
import pytest

from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier

COUNTS = {"pu": (9, 1), "pv": (8, 2), "pw": (4, 6), "qu": (1, 9), "qv": (0, 10), "qw": (1, 9)}


@pytest.fixture(scope="module")
def two_columns():
    """A tree of a, then b below a = p: 21 of 30 are yes with a = p, 2 of 30 with a = q."""
    columns = (Column("a", Kind.NOMINAL, ("p", "q")), Column("b", Kind.NOMINAL, ("u", "v", "w")))
    cells = [("pq".index(a), "uvw".index(b)) for (a, b), (yes, no) in COUNTS.items() for _ in range(yes + no)]
    labels = [float(place < yes) for yes, no in COUNTS.values() for place in range(yes + no)]
    target = Series(Column("y", Kind.NOMINAL, ("no", "yes")), np.array(labels))
    table = Table(columns, np.asfortranarray(np.array(cells, dtype=float)))
    return DecisionTreeClassifier(nominal="multiway").fit(table, target), Table(columns, np.full((1, 2), np.nan))
