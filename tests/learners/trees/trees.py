"""Small help for the tests of trees: tables from arrays, and comparing trees."""

import numpy as np

from learners.table import Column, Kind, Series, Table

__all__ = ["classes", "grown_on", "nominal", "numbers", "rows_of_leaves", "same_tree"]


def classes(*labels):
    """A target of texts."""
    return Series.from_values("y", list(labels), Column("y", Kind.NOMINAL, tuple(sorted(set(labels)))))


def numbers(*values):
    return Series(Column("y"), np.array(values, dtype=float))


def nominal(name, cells, levels=None):
    """A nominal column as (Column, cells); ``None`` is missing."""
    column = Column(name, Kind.NOMINAL, tuple(levels or sorted({cell for cell in cells if cell is not None})))
    return column, np.array([column.encode(cell) for cell in cells])


def grown_on(*columns):
    """A table from (Column, cells) pairs."""
    return Table(tuple(column for column, _ in columns), np.asfortranarray(np.column_stack([c for _, c in columns])))


def same_tree(one, other, *, apart=()):
    """Whether two trees are equal in every array but those named."""
    mine, theirs = one.tree_.to_arrays(), other.tree_.to_arrays()
    return all(
        np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f")
        for name in mine
        if name not in apart
    )


def rows_of_leaves(model, table):
    """Number of rows of a table in each leaf, by its id."""
    return dict(zip(*np.unique(model.apply(table), return_counts=True), strict=True))
