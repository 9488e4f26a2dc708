"""Trees of random tests over random rows: every kind of test, missing values and weights, no grower needed."""

from collections import deque

import numpy as np

from learners.table import Column, Kind, Table
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD, Nodes

COLUMNS = (
    Column("size"),
    Column("colour", Kind.NOMINAL, ("red", "green", "blue", "black")),
    Column("grade", Kind.ORDINAL, ("low", "middle", "high", "top")),
    Column("flag", Kind.BOOLEAN, ("false", "true"), "boolean"),
    Column("weight"),
)


def random_rows(rng, n_rows, missing=0.0):
    """A table over ``COLUMNS`` with whole numbers where numeric, so that ties and thresholds meet."""
    values = np.empty((n_rows, len(COLUMNS)), order="F")
    for index, column in enumerate(COLUMNS):
        values[:, index] = rng.integers(0, 8 if column.is_numeric else len(column.levels), n_rows)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(COLUMNS, values)


def branch_of(test, cell, numeric):
    """The branch a cell takes under a test as written in ``random_tree``; -1 for all."""
    if np.isnan(cell):
        return test["missing_branch"]
    if test["test"] == THRESHOLD:
        return test["missing_branch"] if cell < 0 and not numeric else int(cell > test["threshold"])
    branch = test["levels"].get(int(cell), test["other"])
    return branch if branch >= 0 else test["missing_branch"]  # a level without a branch is as good as missing


def random_tree(rng, table, codes, weights, n_classes, depth=6, follow_missing=False):
    """Nodes whose statistics are those of the rows, missing values by shares."""
    fields, levels = [], []
    queue = deque([(np.flatnonzero(weights > 0), weights[weights > 0].astype(float), -1, 0, 1.0, None)])
    while queue:
        rows, shares, parent, level, fraction, above = queue.popleft()
        me = len(fields)
        counts = np.bincount(codes[rows], weights=shares, minlength=n_classes) if len(rows) else np.zeros(n_classes)
        total = counts.sum()
        value = counts if total > 0 else above
        node = {
            "test": LEAF, "feature": -1, "threshold": np.nan, "first_child": -1, "n_children": 0, "parent": parent,
            "depth": level, "missing_branch": -1, "other_branch": -1, "fraction": fraction, "level_start": len(levels),
            "level_count": 0, "rows": len(rows), "weight": total, "value": value,
            "impurity": 1 - ((value / value.sum()) ** 2).sum(), "gain": 0.0,
        }  # fmt: skip
        fields.append(node)
        if level < depth and len(rows) >= 2 and rng.random() < 0.9:
            _split(rng, node, levels, table, rows, follow_missing)
            test = node | {"levels": dict(levels[node["level_start"] :]), "other": node["other_branch"]}
            numeric = table.columns[node["feature"]].is_numeric
            cells = table.values[rows, node["feature"]]
            branches = np.array([branch_of(test, cell, numeric) for cell in cells])
            known = np.bincount(branches[branches >= 0], shares[branches >= 0], node["n_children"])
            parts = known / known.sum() if known.sum() > 0 else np.full(node["n_children"], 1 / node["n_children"])
            node["first_child"] = len(fields) + len(queue)
            for branch, part in enumerate(parts):
                here = (branches == branch) | ((branches < 0) & (part > 0))
                below = np.where(branches == branch, shares, shares * part)[here]
                queue.append((rows[here], below, me, level + 1, part, value))
    return _nodes(fields, levels)


def _split(rng, node, levels, table, rows, follow_missing):
    feature = int(rng.integers(len(table.columns)))
    column = table.columns[feature]
    node["feature"] = feature
    width = 2
    if column.kind in (Kind.NUMERIC, Kind.ORDINAL):
        node["test"] = THRESHOLD
        node["threshold"] = float(rng.integers(0, 7 if column.is_numeric else len(column.levels) - 1))
    else:
        node["test"] = LEVELS
        codes = rng.permutation(len(column.levels))
        form = rng.integers(4)
        if form == 0:  # multiway over every level
            entries, width = [(int(code), branch) for branch, code in enumerate(np.sort(codes))], len(codes)
        elif form == 1 and len(codes) > 2:  # multiway, the levels that did not occur in one more child
            entries, width = [(int(code), branch) for branch, code in enumerate(np.sort(codes[:-1]))], len(codes)
            node["other_branch"] = width - 1
        elif form == 2:  # one against the rest
            entries, node["other_branch"] = [(int(codes[0]), 0)], 1
        else:  # subset; a level that did not occur takes the heavier branch
            entries = sorted((int(code), int(place % 2)) for place, code in enumerate(codes[: max(2, len(codes) - 1)]))
            node["other_branch"] = int(rng.integers(2))
        levels.extend(entries)
        node["level_count"] = len(entries)
    node["n_children"] = width
    if follow_missing and rng.random() < 0.5:
        node["missing_branch"] = int(rng.integers(width))


def _nodes(fields, levels):
    types = {
        "test": np.int8, "threshold": float, "fraction": float, "rows": np.int64, "weight": float, "value": float,
        "impurity": float, "gain": float,
    }  # fmt: skip
    arrays = {name: np.array([node[name] for node in fields], dtype=types.get(name, np.int32)) for name in fields[0]}
    arrays["level_codes"] = np.array([code for code, _ in levels], dtype=np.int32)
    arrays["level_branch"] = np.array([branch for _, branch in levels], dtype=np.int32)
    return Nodes.from_arrays(arrays)
