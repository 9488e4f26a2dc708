"""How much one column tells of another, by the measure that suits their kinds.

==========  =============================  ===========================================
target      column with levels             numeric column
==========  =============================  ===========================================
levels      information gain in bits       gain in bits of the best threshold
numeric     correlation ratio (eta^2)      squared correlation (R^2 of a straight line)
==========  =============================  ===========================================

Rows in which either is missing are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.table import Column
from learners.types import Array, FloatArray, IntArray


def relation(column: Column, cells: FloatArray, target: Column, target_cells: FloatArray) -> dict[str, Any]:
    """``{"measure", "value", "rows"}``, with ``threshold`` for a numeric column and a target with levels.

    ``value`` is None where it is not defined: no rows, or a numeric side without any spread.
    """
    known = ~(np.isnan(cells) | np.isnan(target_cells))
    x, y = cells[known], target_cells[known]
    facts: dict[str, Any] = {"rows": int(x.size), "value": None}
    if column.is_open or target.is_open:
        return facts | {"measure": "none for texts and sequences"}
    if not target.is_numeric:
        classes, n_classes = y.astype(np.int64), len(target.levels)
        facts["measure"] = "information gain in bits" + (", best threshold" if column.is_numeric else "")
        if x.size and column.is_numeric:
            facts["value"], facts["threshold"] = threshold_gain(x, classes, n_classes)
        elif x.size:
            facts["value"] = level_gain(x.astype(np.int64), len(column.levels), classes, n_classes)
    elif column.is_numeric:
        facts |= {"measure": "squared correlation", "value": _squared_correlation(x, y)}
    else:
        facts |= {"measure": "correlation ratio", "value": _correlation_ratio(x.astype(np.int64), y)}
    return facts


def level_gain(codes: IntArray, n_levels: int, classes: IntArray, n_classes: int) -> float:
    """H(class) - H(class | level) in bits (Quinlan, 1986)."""
    pairs, counts = np.unique(codes * n_classes + classes, return_counts=True)
    by_level = np.bincount(pairs // n_classes, weights=counts, minlength=n_levels)
    by_class = np.bincount(classes, minlength=n_classes)
    gain = _weighed([codes.size]) - _weighed(by_class) - _weighed(by_level) + _weighed(counts)
    return max(0.0, gain / codes.size)


def threshold_gain(x: FloatArray, classes: IntArray, n_classes: int) -> tuple[float, float | None]:
    """The largest gain in bits of a test ``x <= t``, and its t: halfway between two values, or None if all are equal.

    Time O(n log n + n k) for n rows and k classes; memory O(n).
    """
    order = np.argsort(x, kind="stable")
    values, labels = x[order], classes[order]
    cuts = np.flatnonzero(values[1:] != values[:-1])
    if not cuts.size:
        return 0.0, None
    n, left = x.size, cuts + 1.0
    inside = np.zeros(cuts.size)
    for code in range(n_classes):
        running = np.cumsum(labels == code)
        total, before = float(running[-1]), running[cuts].astype(np.float64)
        inside += _x_log_x(before) + _x_log_x(total - before)
    remaining = (_x_log_x(left) + _x_log_x(n - left) - inside) / n
    best = int(np.argmin(remaining))
    entropy = (_weighed([n]) - _weighed(np.bincount(classes, minlength=n_classes))) / n
    low, high = float(values[cuts[best]]), float(values[cuts[best] + 1])
    return max(0.0, entropy - float(remaining[best])), _between(low, high)


def _between(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def _x_log_x(counts: Array) -> FloatArray:
    values = np.asarray(counts, dtype=np.float64)
    return values * np.log2(np.where(values > 0, values, 1.0))


def _weighed(counts: Any) -> float:
    return float(_x_log_x(np.asarray(counts)).sum())


def _squared_correlation(x: FloatArray, y: FloatArray) -> float | None:
    if not x.size:
        return None
    dx, dy = _deviations(x), _deviations(y)
    spread = float(dx @ dx) * float(dy @ dy)
    return min(1.0, float(dx @ dy) ** 2 / spread) if spread > 0 else None


def _correlation_ratio(codes: IntArray, y: FloatArray) -> float | None:
    """Share of the variance that lies between the levels' means (Pearson, 1905)."""
    if not y.size:
        return None
    deviations = _deviations(y)
    total = float(deviations @ deviations)
    if total == 0:
        return None
    counts = np.bincount(codes)
    sums = np.bincount(codes, weights=deviations)
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    return min(1.0, between / total)


def _deviations(values: FloatArray) -> FloatArray:
    """Values less their mean, scaled to at most 1, so that no square overflows or vanishes."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return np.zeros_like(values)
    scaled = values / largest
    centred = scaled - scaled.mean()
    width = float(np.abs(centred).max())
    # What rounding leaves of a constant is no spread.
    return centred / width if width > 1e-14 else np.zeros_like(values)
