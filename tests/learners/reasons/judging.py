"""Wishes at random, and what changed rows cost and how far they are, written out plainly."""

import numpy as np

from learners.checks.require import require_json
from learners.reasons import Scales
from tests.learners.trees.random_trees import COLUMNS

SCALES = Scales.of_records(COLUMNS, [{"minimum": 0, "maximum": 8}, {}, {}, {}, {"minimum": 0, "maximum": 4}])


WIDTHS = (8.0, None, 3.0, None, 4.0)


def random_wishes(rng):
    """Random fixed columns, directions, costs and ranges; the same as keyword arguments."""
    names = [column.name for column in COLUMNS]
    return {
        "fixed": [name for name in names if rng.random() < 0.2],
        "directions": {name: str(rng.choice(["up", "down"])) for name in ("size", "grade") if rng.random() < 0.4},
        "costs": {name: float(rng.integers(0, 5)) / 2 for name in names if rng.random() < 0.4},
        "allowed": {"weight": (1.0, 6.0), "colour": ["green", "blue"]} if rng.random() < 0.4 else {},
    }


def judged(rows, row, wishes, wanted_rows, order):
    """Cost and distance of each row that is allowed and wanted, as (first key, second key), written out plainly."""
    found = []
    for cells in rows[wanted_rows]:
        cost = distance = 0.0
        for index, column in enumerate(COLUMNS):
            before, after = row[index], cells[index]
            if before == after or (np.isnan(before) and np.isnan(after)):
                continue
            if column.name in wishes["fixed"] or not may_change(column, before, after, wishes):
                break
            price = wishes["costs"].get(column.name, 1.0)
            width = WIDTHS[index]
            step = 1.0 if np.isnan(before) or width is None else abs(after - before) / width
            cost += price
            distance += step * price if order == "distance" else step
        else:
            found.append((cost, distance) if order == "changes" else (distance, cost))
    return found


def may_change(column, before, after, wishes):
    direction = wishes["directions"].get(column.name)
    if direction is not None and not np.isnan(before) and (after < before) == (direction == "up"):
        return False
    allowed = wishes["allowed"].get(column.name)
    if allowed is None:
        return True
    if column.is_numeric:
        return allowed[0] <= after <= allowed[1]
    return column.labels[int(after)] in allowed


def key_of(found, order):
    """Cost and distance of a counterfactual, which is told in plain JSON."""
    require_json(found.to_json(), "a counterfactual")
    return (found.cost, found.distance) if order == "changes" else (found.distance, found.cost)
