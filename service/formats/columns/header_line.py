"""Whether the first line of a delimited file, which named the columns, looks like a row of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from service.formats.faults import shown
from service.formats.written_numbers import NumberSyntax

_NATURAL = re.compile(r"\d+", re.ASCII)
_SHOWN = 3


def looks_like_a_row(profile: Sequence[dict[str, Any]], syntax: NumberSyntax) -> str | None:
    """A warning where the names are what a row would hold, else None.

    They are where every column of numbers has a number for a name, unless the names number the columns: in even steps,
    as years, positions and wavelengths do. Whole numbers must besides lie between the others of
    their columns, in most columns.

    Args:
        profile: of the columns, in the file's order; see :func:`service.formats.columns.profile.profile_column`.
        syntax: how the file writes numbers.
    """
    columns = [one for one in profile if one["kind"] == "numeric" and one.get("min") is not None]
    names = [str(one["name"]) for one in columns]
    numbers = [syntax.number(name) for name in names]
    if not columns or any(number is None for number in numbers):
        return None
    values = np.array(numbers, dtype=np.float64)
    is_whole = all(map(_NATURAL.fullmatch, names))
    steps = np.diff(values)
    # two numbers are always in even steps, so that of two only whole ones that go up count as numbering
    if len(values) > (1 if is_whole else 2) and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-6, atol=0.0):
        return None
    within = [one["min"] <= value <= one["max"] for one, value in zip(columns, values.tolist(), strict=True)]
    if is_whole and sum(within) <= len(within) / 2:
        return None
    listed = ", ".join(shown(name) for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return (
        f"the first line looks like a row: columns of numbers are named {listed}; "
        "upload with header: false if it is one"
    )
