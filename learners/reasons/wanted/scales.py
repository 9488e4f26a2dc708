"""What one step on a column counts, so that changes of different columns can be compared.

A fitted tree keeps no statistics of its training columns, so they are given beside it: from a table
(:meth:`Scales.of_table`) or from ranges that were kept elsewhere (the service keeps them with each
version). Without either, the tree's own thresholds stand for them (:meth:`Scales.of_boxes`): they
lie between training values, so their spread is at most the training range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.reasons.regions.boxes import Boxes
from learners.rules.ordered import OrderedRules
from learners.table import Column, Table
from learners.trees.combined.tests import NUMBER
from learners.trees.nodes import Nodes
from learners.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Scales:
    """Of each of d columns; meaningless for those with levels.

    Attributes:
        width: > 0; a change of a number counts as its share of this.
        centre: the value that a missing number is given where nothing speaks for another.
        integral: whether only whole numbers make sense.
    """

    width: FloatArray
    centre: FloatArray
    integral: BoolArray

    @classmethod
    def of_table(cls, table: Table) -> Scales:
        """From training rows: the range, its middle, and whether all values are whole."""
        records: list[dict[str, Any]] = []
        for index, column in enumerate(table.columns):
            cells = table.values[:, index]
            known = cells[~np.isnan(cells)]
            if not column.is_numeric or not len(known):
                records.append({})
                continue
            whole = bool((known == np.floor(known)).all())
            records.append({"minimum": float(known.min()), "maximum": float(known.max()), "integral": whole})
        return cls.of_records(table.columns, records)

    @classmethod
    def of_records(cls, columns: Sequence[Column], records: Sequence[Mapping[str, Any]]) -> Scales:
        """From ``minimum``, ``maximum`` and ``integral`` of each column; a column without a range has width 1."""
        width, centre = np.ones(len(columns)), np.zeros(len(columns))
        integral = np.zeros(len(columns), np.bool_)
        for index, record in enumerate(records):
            if "minimum" not in record:
                continue
            low, high = float(record["minimum"]), float(record["maximum"])
            integral[index] = bool(record.get("integral", False))
            width[index] = _width(low, high)
            middle = low / 2 + high / 2
            centre[index] = np.floor(middle) if integral[index] else middle
        return cls(width, centre, integral)

    @classmethod
    def of_boxes(cls, boxes: Boxes) -> Scales:
        """From the thresholds of a tree; of a single one its magnitude."""
        records = [{} if span is None else {"minimum": span[0], "maximum": span[1]} for span in boxes.spans]
        return cls.of_records(boxes.columns, records)

    @classmethod
    def of_combined(cls, nodes: Nodes, columns: Sequence[Column]) -> Scales:
        """The same of a tree with tests of several values, from those of its thresholds that are of one column."""
        simple, terms = nodes.feature < len(columns), nodes.combined.kind == NUMBER
        bounds = np.concatenate((nodes.threshold[simple], nodes.combined.number[terms]))
        features = np.concatenate((nodes.feature[simple], nodes.combined.feature[terms]))
        return cls._of_bounds(bounds, features, columns)

    @classmethod
    def of_rules(cls, rules: OrderedRules, columns: Sequence[Column]) -> Scales:
        """The same from the bounds of an ordered rule set."""
        return cls._of_bounds(np.concatenate((rules.low, rules.high)), np.tile(rules.feature, 2), columns)

    @classmethod
    def _of_bounds(cls, bounds: FloatArray, features: IntArray, columns: Sequence[Column]) -> Scales:
        """From some bounds, finite or not, and the columns that they are of."""
        records: list[dict[str, Any]] = []
        for place, column in enumerate(columns):
            own = bounds[(features == place) & np.isfinite(bounds)]
            spans = column.is_numeric and len(own) > 0
            records.append({"minimum": float(own.min()), "maximum": float(own.max())} if spans else {})
        return cls.of_records(columns, records)


def _width(low: float, high: float) -> float:
    """``high - low``; where that is 0 the magnitude, where it is no double the largest one."""
    with np.errstate(over="ignore"):
        width = float(np.float64(high) - np.float64(low))
    if width == 0:
        width = abs(high)
    return min(width, float(np.finfo(np.float64).max)) or 1.0
