"""Checks that need no reference: changes of the data that must not change what is learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.checks import samples
from learners.checks.require import MakeLearner, answers, require_close, require_same
from learners.table import Column, Kind, Table


def row_order_does_not_matter(make: MakeLearner) -> None:
    """Training rows in another order teach the same."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    for seed in range(3):
        turned = sample.take(np.random.default_rng(seed).permutation(sample.table.n_rows))
        found = answers(make().fit(turned.table, turned.target), sample.table)
        require_close(found, wanted, "training rows in another order")


def column_order_does_not_matter(make: MakeLearner) -> None:
    """Training columns in another order teach the same."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    turned = sample.table.select(sample.table.names[::-1])
    require_close(answers(make().fit(turned, sample.target), turned), wanted, "training columns in another order")


def column_order_decides_ties_only(make: MakeLearner) -> None:
    """Training columns in another order teach the same where no two columns are equally good."""
    sample = samples.stepwise(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    turned = sample.table.select(sample.table.names[::-1])
    require_close(answers(make().fit(turned, sample.target), turned), wanted, "training columns in another order")


def names_do_not_matter(make: MakeLearner) -> None:
    """Other names of columns and levels, in the same order, give the same answers."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    columns = tuple(
        replace(column, name=f"z{index}", levels=tuple(f"l{level}" for level in column.levels), level_type="text")
        for index, column in enumerate(sample.table.columns)
    )
    table = Table(columns, sample.table.values)
    target = sample.target
    if not target.column.is_numeric:
        target = samples.renamed(target, replace(target.column, levels=tuple(f"c{x}" for x in target.column.levels)))
    require_same(answers(make().fit(table, target), table), wanted, "other names")


def class_order_does_not_matter(make: MakeLearner) -> None:
    """Classes listed in another order have the same probabilities."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    turned = samples.recoded(sample.target, tuple(reversed(sample.target.column.levels)))
    found = answers(make().fit(sample.table, turned), sample.table)
    require_close(found[:, ::-1], wanted, "classes in another order")


def constant_column_changes_nothing(make: MakeLearner) -> None:
    """A column that tells nothing is not used."""
    capabilities = type(make()).capabilities
    sample = samples.mixed(capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    further = [Column("constant")]
    if capabilities.categories:
        further.append(Column("constant", Kind.NOMINAL, ("only", "never")))
    for column in further:
        table = samples.with_column(sample.table, column, np.zeros(sample.table.n_rows))
        require_close(answers(make().fit(table, sample.target), table), wanted, f"a constant {column.kind} column")


def scale_does_not_matter(make: MakeLearner) -> None:
    """2x + 1 in place of x, which is exact here, gives the same answers."""
    sample = samples.mixed(type(make()).capabilities)
    wanted = answers(make().fit(sample.table, sample.target), sample.table)
    numeric = np.array([column.is_numeric for column in sample.table.columns])
    table = Table(sample.table.columns, np.where(numeric, 2 * sample.table.values + 1, sample.table.values))
    require_same(answers(make().fit(table, sample.target), table), wanted, "2x + 1 in place of x")
