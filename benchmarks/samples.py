"""Training samples of problems whose makers are known: seven or 24 lights of a digit, and waveforms (CART 1984, 2.6).

Published figures of these are means over samples, or of one sample that nobody has any more; so several are drawn here.
"""

from __future__ import annotations

import numpy as np

from learners.table import Column, Kind, Series, Table

#: The lights of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
_LIGHTS = np.array([
    [1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 1, 0],
    [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1],
])  # fmt: skip
_FLIPPED = 0.1
#: Two of these three triangles, mixed, are a wave.
_PEAKS = (7, 15, 11)
_MIXED = ((0, 1), (0, 2), (1, 2))
Rows = tuple[Table, Series]


def lights(rows: int, seed: int, irrelevant: int = 0) -> Rows:
    """Digits shown by lights of which each fails with probability 0.1; and lights that are drawn."""
    random = np.random.default_rng(seed)
    digits = random.integers(0, 10, rows)
    shown = _LIGHTS[digits] ^ (random.random((rows, 7)) < _FLIPPED)
    cells = np.column_stack([shown, random.integers(0, 2, (rows, irrelevant))])
    return _labelled(cells, digits, 10)


def waveforms(rows: int, seed: int) -> Rows:
    """Of 21 numbers: u h + (1 - u) h' + noise, u uniform, the noise normal."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 3, rows)
    share, places = random.random(rows)[:, None], np.arange(1, 22)
    peaks = np.array([np.maximum(6 - abs(places - peak), 0) for peak in _PEAKS])
    pairs = np.array(_MIXED)[classes]
    waves = share * peaks[pairs[:, 0]] + (1 - share) * peaks[pairs[:, 1]]
    return _labelled(waves + random.normal(size=(rows, 21)), classes, 3)


def friedman(rows: int, seed: int) -> Rows:
    """Friedman's first problem: 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise, of ten uniform numbers."""
    random = np.random.default_rng(seed)
    x = random.random((rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return Table.from_array(x), Series(Column("y"), y + random.normal(size=rows))


def _labelled(cells: np.ndarray, classes: np.ndarray, n_classes: int) -> Rows:
    column = Column("class", Kind.NOMINAL, tuple(str(label) for label in range(n_classes)))
    return Table.from_array(cells.astype(np.float64)), Series(column, classes.astype(np.float64))
