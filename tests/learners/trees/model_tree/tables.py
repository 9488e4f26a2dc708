"""Tables with numbers to learn, for the tests of model trees."""

import numpy as np

from learners.table import Column, Kind, Series, Table, parse_number
from tests.learners.tables import read

LEVELS = ("a", "b", "c d", "é'", "never")


def numeric_target(name, target, drop=()):
    """A shared table whose target is a column of numbers; all columns of ``servo`` are nominal, as its authors say."""
    table, texts = read(name, target, drop)
    if name == "servo":
        data = {column: [value if isinstance(value, str) else f"{value:g}" for value in values]
                for column, values in table.to_columns().items()}  # fmt: skip
        table = Table.from_columns(data)
    numbers = [parse_number(texts.column.decode(cell)) for cell in texts.cells.tolist()]
    return table, Series(Column(target), np.array(numbers))


def mixed(seed, n_rows=120, missing=0.0, noise=0.3):
    """Numbers, a nominal, an ordinal and a boolean column; the target is piecewise linear, with noise."""
    rng = np.random.default_rng(seed)
    x, z = rng.integers(-40, 40, (2, n_rows)) / 8
    colour = rng.integers(0, 4, n_rows).astype(float)
    grade = rng.integers(0, 3, n_rows).astype(float)
    flag = rng.integers(0, 2, n_rows).astype(float)
    y = np.where(x <= 0, 2 * x + z, 20 - x + 3 * (colour >= 2)) + grade * flag + noise * rng.normal(size=n_rows)
    columns = (
        Column("x"),
        Column("z"),
        Column("colour", Kind.NOMINAL, LEVELS),
        Column("grade", Kind.ORDINAL, ("low", "middle", "high")),
        Column("flag", Kind.BOOLEAN, ("false", "true"), "boolean"),
    )
    values = np.asfortranarray(np.column_stack([x, z, colour, grade, flag]))
    values[rng.random(values.shape) < missing] = np.nan
    return Table(columns, values), Series(Column("y"), y)
