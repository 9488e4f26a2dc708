"""What a table's columns look like: counts, range, quantiles, histogram, levels; without NaN in the JSON.

All figures are exact, from the sorted column. One column is in memory at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.table import Column, Kind, Table
from learners.types import FloatArray
from service.formats.columns.relation import relation

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BINS = 20
_SHARES = np.linspace(0.0, 1.0, BINS + 1)
TOP_LEVELS = 20
#: Beyond this magnitude sums of squares overflow, and are taken of scaled values.
_HUGE = 1e150


def profile(table: Table, target: str | None = None) -> list[dict[str, Any]]:
    """The profile of every column, related to the target if one is named.

    Raises:
        SchemaError: there is no column of the target's name.
    """
    facts = [profile_column(column, table.values[:, index]) for index, column in enumerate(table.columns)]
    return relate(table, facts, target) if target is not None else facts


def relate(table: Table, facts: list[dict[str, Any]], target: str) -> list[dict[str, Any]]:
    """Profiles with ``relation`` added: see :mod:`service.formats.columns.relation`; None for the target itself."""
    wanted = table.column(target)
    related = []
    for index, (column, one) in enumerate(zip(table.columns, facts, strict=True)):
        found = None
        if column.name != target:
            found = relation(column, table.values[:, index], wanted.column, wanted.cells)
        related.append(one | {"relation": found})
    return related


def profile_column(column: Column, cells: FloatArray) -> dict[str, Any]:
    """Facts of one column, JSON-able.

    Args:
        column: its description.
        cells: shape (n,), coded as in a table.

    Returns:
        ``name, kind, rows, missing, first_missing, distinct, is_constant, is_empty``; of a numeric column besides
        ``min, max, mean, sd`` (of the sample, n - 1), ``min_row, max_row`` (the first with that value), ``zeros``
        and ``negatives`` (how many there are), ``quantiles`` (linear interpolation) and ``histogram``
        (bins of equal width); of one of texts or sequences ``length`` (``min, max, mean``, in characters or steps);
        of any other ``levels`` (the most frequent, with counts) and ``n_levels``.
        A figure that does not exist, or is too large for a double, is null. Rows are counted from 0.
    """
    is_missing = np.isnan(cells)
    known = cells[~is_missing]
    facts: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind.value,
        "rows": int(cells.size),
        "missing": int(cells.size - known.size),
        "first_missing": int(np.argmax(is_missing)) if known.size < cells.size else None,
    }
    if column.is_numeric:
        described = _numeric(known) | _places(cells, known)
    else:
        described = (_open if column.is_open else _levels)(column, known)
    distinct = described["distinct"]
    return facts | described | {"is_constant": distinct == 1, "is_empty": distinct == 0}


def _levels(column: Column, codes: FloatArray) -> dict[str, Any]:
    counts = np.bincount(codes.astype(np.intp), minlength=len(column.levels))
    order = np.argsort(-counts, kind="stable")[:TOP_LEVELS].tolist()
    return {
        "distinct": int(np.count_nonzero(counts)),
        "n_levels": len(column.levels),
        "levels": [{"level": column.labels[code], "count": int(counts[code])} for code in order],
    }


def _open(column: Column, codes: FloatArray) -> dict[str, Any]:
    counts = np.bincount(codes.astype(np.intp), minlength=len(column.levels))
    values = column.sequences if column.kind is Kind.SEQUENCE else column.levels
    sizes = np.array([len(value) for value in values], dtype=np.int64)
    if not codes.size:
        return {"distinct": 0, "length": None}
    met = sizes[counts > 0]
    mean = float(counts @ sizes / codes.size)
    return {"distinct": int(met.size), "length": {"min": int(met.min()), "max": int(met.max()), "mean": mean}}


def _numeric(known: FloatArray) -> dict[str, Any]:
    if not known.size:
        empty: dict[str, Any] = dict.fromkeys(("min", "max", "mean", "sd"))
        return {"distinct": 0, **empty, "quantiles": [], "histogram": None}
    values = np.sort(known)
    mean, sd = _moments(values)
    return {
        "distinct": 1 + int(np.count_nonzero(values[1:] != values[:-1])),
        "min": float(values[0]),
        "max": float(values[-1]),
        "mean": mean,
        "sd": sd,
        "quantiles": [{"share": share, "value": _quantile(values, share)} for share in QUANTILES],
        "histogram": _histogram(values),
    }


def _places(cells: FloatArray, known: FloatArray) -> dict[str, Any]:
    """Where the extremes are first met, and how many numbers are no more than 0."""
    met = known.size > 0
    return {
        "min_row": int(np.nanargmin(cells)) if met else None,
        "max_row": int(np.nanargmax(cells)) if met else None,
        "zeros": int(np.count_nonzero(known == 0)),
        "negatives": int(np.count_nonzero(known < 0)),
    }


def _moments(values: FloatArray) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation of sorted values."""
    largest = max(abs(float(values[0])), abs(float(values[-1])))
    scale = largest if largest > _HUGE else 1.0
    scaled = values / scale if scale != 1.0 else values
    mean = min(max(float(np.mean(scaled)), float(scaled[0])), float(scaled[-1]))  # rounding may leave the range
    sd = None
    if values.size > 1:
        away = scaled - mean
        sd = float(np.sqrt(np.add.reduce(away * away) / (values.size - 1)))
    return _finite(mean * scale), None if sd is None else _finite(sd * scale)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _quantile(values: FloatArray, share: float) -> float:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996), without overflow."""
    position = share * (values.size - 1)
    below = int(position)
    weight = position - below
    low, high = float(values[below]), float(values[min(below + 1, values.size - 1)])
    return low if low == high else low * (1 - weight) + high * weight


def _histogram(values: FloatArray) -> dict[str, Any]:
    """Counts in bins of equal width; a bin holds its left edge, the last one its right edge too."""
    low, high = float(values[0]), float(values[-1])
    if low == high:
        return {"edges": [low, high], "counts": [int(values.size)]}
    edges = low * (1 - _SHARES) + high * _SHARES
    if (edges[1:] <= edges[:-1]).any():
        edges = np.unique(edges)  # of neighbouring doubles some edges coincide
    edges[0], edges[-1] = low, high
    below = np.searchsorted(values, edges, side="left")
    below[-1] = values.size
    return {"edges": edges.tolist(), "counts": np.diff(below).tolist()}
