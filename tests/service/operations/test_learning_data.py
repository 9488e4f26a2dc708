"""What a training is given of a dataset's weights."""

from __future__ import annotations

import numpy as np
import pytest

from learners.errors import DataError
from learners.table import Column, Table
from service.operations.learning_data import select, weights_of


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([1.0, None], r"column 'w', row 1 \(counted from 0\) is missing"),
        ([1.0, -1.0], r"column 'w', row 1 \(counted from 0\) is -1.0"),
        ([0.0, 0.0], "column 'w': every weight is zero"),
        ([1e300, 1.0], "column 'w': the weights sum to 1e[+]300"),
        ([1.0, 1e-300], "column 'w': the weight of row 1 is 1e-300"),
    ],
)
def test_a_weight_that_is_none_names_its_column(cells: list[float | None], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        weights_of(Table.from_columns({"w": cells}), "w")
    assert caught.value.field == "w"


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("step", [1, -1])
def test_columns_are_found_without_going_through_all_for_each(step: int) -> None:
    names = [f"x{at}" for at in range(400)]
    table = Table(tuple(Column(Counted(name)) for name in names), np.arange(800.0).reshape(2, 400))
    Counted.compared = 0
    chosen = select(table, [Counted(name) for name in names[::step]])
    assert Counted.compared < 10 * len(names)
    assert chosen.names == names[::step]
    np.testing.assert_array_equal(chosen.values, table.values[:, ::step])
