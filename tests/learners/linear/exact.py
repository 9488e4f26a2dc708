"""Least squares in fractions: what certified values are made of."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm, log10


def least_squares(rows: Sequence[Sequence[float]], target: Sequence[float]) -> tuple[list[Fraction], Fraction]:
    """Intercept and coefficients, and R^2, of the numbers as they are, without any rounding."""
    design = [[Fraction(1), *map(Fraction, row)] for row in rows]
    wanted = [Fraction(value) for value in target]
    size = range(len(design[0]))
    system = [
        [
            *(sum(row[i] * row[j] for row in design) for j in size),
            sum(row[i] * y for row, y in zip(design, wanted, strict=True)),
        ]
        for i in size
    ]
    for i in size:
        system[i] = [entry / system[i][i] for entry in system[i]]
        for k in size:
            if k != i:
                system[k] = [a - system[k][i] * b for a, b in zip(system[k], system[i], strict=True)]
    solution = [row[-1] for row in system]
    rest = [y - sum(b * x for b, x in zip(solution, row, strict=True)) for row, y in zip(design, wanted, strict=True)]
    mean = sum(wanted) / len(wanted)
    return solution, 1 - sum(e * e for e in rest) / sum((y - mean) ** 2 for y in wanted)


def digits(found: float, wanted: Fraction) -> float:
    """How many digits agree: the log relative error, at most 16."""
    return 16.0 if Fraction(found) == wanted else min(16.0, -log10(abs((Fraction(found) - wanted) / wanted)))


def without_polynomial(n_points: int, degree: int) -> list[int]:
    """Whole numbers at 0, 1, 2, ... that no polynomial below that degree has any part of."""
    found: list[list[Fraction]] = []
    for power in range(degree + 1):
        vector = [Fraction(point) ** power for point in range(n_points)]
        for other in found:
            share = sum(a * b for a, b in zip(vector, other, strict=True)) / sum(a * a for a in other)
            vector = [a - share * b for a, b in zip(vector, other, strict=True)]
        found.append(vector)
    scale = lcm(*(entry.denominator for entry in found[-1]))
    whole = [int(entry * scale) for entry in found[-1]]
    return [entry // gcd(*whole) for entry in whole]
