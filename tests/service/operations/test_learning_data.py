"""What a training is given of a dataset's weights."""

from __future__ import annotations

import pytest

from learners.errors import DataError
from learners.table import Table
from service.operations.learning_data import weights_of


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
