"""How much each column counts, as a caller gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from learners.errors import ParameterError, quoted
from learners.types import FloatArray

#: The parameter's name.
COLUMN_WEIGHTS = "column_weights"
#: Columns that a refusal names.
_SHOWN = 20


def column_factors(given: Mapping[str, float] | None, names: Sequence[str]) -> FloatArray:
    """The weights of columns as the parameter ``column_weights`` gives them, shape (d,).

    Raises:
        ParameterError: a name is no column, or no column has weight.
    """
    for name in given or {}:
        if name not in names:
            raise ParameterError(
                f"{COLUMN_WEIGHTS} names {quoted(name)}, which is no column; there are "
                f"{', '.join(quoted(one) for one in names[:_SHOWN])}",
                field=COLUMN_WEIGHTS,
            )
    factors = np.array([float((given or {}).get(name, 1.0)) for name in names])
    if not factors.any():
        raise ParameterError(f"{COLUMN_WEIGHTS} gives every column the weight 0", field=COLUMN_WEIGHTS)
    return factors
