"""What a test is worth beside what its column costs to find out.

The published forms, with the gain G of a test and the cost C of its column (Lomax and Vadera, 2013, compare them):

* ``idx``: G / C (Norton 1989).
* ``cs-id3``: G^2 / C (Tan and Schlimmer 1990, Tan 1993).
* ``eg2``: (2^G - 1) / (C + 1)^w, with w from 0, where cost does not matter, to 1 (Nunez 1991).

By gain ratio, G is that. A column that is tested further up the path has been paid for: its C is 0 by
``eg2`` and, by the other forms, that of the cheapest column, 1 at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from learners._accel import lean_inner_kernel
from learners.errors import ParameterError, quoted
from learners.table import Column
from learners.trees.problem import Extras, Grown
from learners.types import FloatArray

PARAMETER = "costs"
FREE, IDX, CS_ID3, EG2 = range(4)
COST_FORMS = {"none": FREE, "idx": IDX, "cs-id3": CS_ID3, "eg2": EG2}
_SHOWN = 20
_MOST = 1e100


def column_costs(costs: Mapping[str, float] | None, columns: Sequence[Column]) -> FloatArray:
    """The cost of each column, shape (d,); 1 of those that are not named.

    Raises:
        ParameterError: a name is no column's, or a cost is out of range.
    """
    names = [column.name for column in columns]
    found = np.ones(len(names))
    for name, cost in (costs or {}).items():
        if name not in names:
            shown = ", ".join(quoted(one) for one in names[:_SHOWN])
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            message = f"{PARAMETER} names {quoted(name)}, which is no attribute; the attributes are {shown}{more}"
            raise ParameterError(message, field=PARAMETER)
        if not 1 / _MOST <= cost <= _MOST:
            message = f"{PARAMETER} gives {quoted(name)} the cost {cost:g}; costs are {1 / _MOST:g} to {_MOST:g}"
            raise ParameterError(message, field=PARAMETER)
        found[names.index(name)] = cost
    return found


def with_paid(extras: Extras | None, grown: Grown, node: int) -> Extras | None:
    """The extras for a subtree that is grown apart: the columns tested above its root are paid for."""
    if extras is None or extras.cost_form == FREE:
        return extras
    costs = extras.costs.copy()
    above = int(grown.nodes[node].parent)
    while above >= 0:
        costs[grown.nodes[above].feature] = extras.paid
        above = int(grown.nodes[above].parent)
    return extras._replace(costs=costs)


@lean_inner_kernel
def prices_tests(extras: Extras | None) -> bool:
    """Whether a test's score depends on its column's cost."""
    if extras is None:
        return False
    return extras.cost_form != FREE


@lean_inner_kernel
def priced(extras: Extras | None, grown: Grown, node: int, column: int, gain: float) -> float:
    """What a test is worth that gains ``gain``."""
    if extras is None:
        return gain
    if extras.cost_form == FREE:
        return gain
    cost = extras.costs[column]
    above = grown.nodes[node].parent
    while above >= 0:
        if grown.nodes[above].feature == column:
            cost = extras.paid
            break
        above = grown.nodes[above].parent
    if extras.cost_form == EG2:
        return float((2.0**gain - 1.0) / (cost + 1.0) ** extras.exponent)
    return float((gain * gain if extras.cost_form == CS_ID3 else gain) / cost)
