"""From class probabilities to a class: the largest expected utility, or the likeliest class where none is given.

A utility matrix U has a row for each class that may be decided and a column for each that may be
true. Of the classes with probabilities p the first with the largest ``sum over k of U[d, k] p[k]``
is decided. Sums that differ by less than rounding can make them are equal (:data:`TIE`), so that the
same probabilities added up in another order, as a database does, decide alike. Costs are utilities
with the sign turned: that a spam passes costs 1 and that a good message is lost costs 10 is
``{"nospam": {"spam": -1}, "spam": {"nospam": -10}}``, and then spam is decided from a probability of
10/11 on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from learners import params
from learners.columns import UNSEEN, Column
from learners.errors import ParameterError, quoted
from learners.types import FloatArray, IntArray
from learners.validation import check_named_once

PARAMETER = "utility"
_SHOWN = 20
#: Beyond this a sum of utilities might not be finite.
_LARGEST = 1e150
#: Probabilities this close are equal; expected utilities, if this close in units of the largest utility.
TIE = 1e-12


def utility_parameter() -> Any:
    """The declaration of ``utility``, the same in every learner that has it."""
    return params.matrix(
        "What it is worth to decide for a class, by its label, if the true class is another or the same, by its label; "
        "pairs that are not named have 0, costs are negative. The class of largest expected utility is predicted; "
        "probabilities do not change.",
        none_means="the likeliest class is predicted",
    )


def utility_matrix(
    utility: Mapping[Any, Mapping[Any, float]] | None, target: Column, parameter: str = PARAMETER
) -> FloatArray | None:
    """The matrix of a mapping from the decided label to the true label to a number.

    Args:
        utility: pairs that are not named have 0; ``None`` is 1 for a right decision and 0 for a wrong one.
        target: the classes.
        parameter: what a refusal names.

    Returns:
        float64 (K, K), or ``None`` for ``None``.

    Raises:
        ParameterError: a label is no class, or another's, a number is too large, or all are equal.
    """
    if utility is None:
        return None
    matrix = np.zeros((len(target.levels), len(target.levels)))
    check_named_once(utility, target, parameter)
    for decided, row in utility.items():
        check_named_once(row, target, parameter)
        for true, number in row.items():
            check_utility(number, parameter)
            matrix[class_code(decided, target, parameter), class_code(true, target, parameter)] = number
    check_choice(matrix, parameter)
    return matrix


def check_choice(matrix: FloatArray, parameter: str = PARAMETER) -> None:
    """Raise :class:`ParameterError` for utilities (K, K) by which every decision is worth the same."""
    if len(matrix) > 1 and (matrix == matrix[0]).all():
        raise ParameterError(
            f"{parameter} does not depend on the class that is decided, so there is nothing to decide by",
            field=parameter,
        )


def check_utility(number: float, parameter: str = PARAMETER) -> None:
    """Raise :class:`ParameterError` for a utility with which sums might not be finite."""
    if not abs(number) <= _LARGEST:
        raise ParameterError(
            f"{parameter} gives {quoted(number)}; numbers are at most {_LARGEST:g} in magnitude", field=parameter
        )


def decide(probabilities: FloatArray, utility: FloatArray | None = None) -> IntArray:
    """The code of the class to decide for in each row: the first of those within :func:`tie_width` of the best.

    Args:
        probabilities: shape (n, K).
        utility: shape (K, K), see :func:`utility_matrix`; ``None`` decides for the likeliest class.

    Returns:
        Class codes, shape (n,).
    """
    worth = expected_utility(probabilities, utility)
    good = worth >= worth.max(axis=1, keepdims=True) - tie_width(utility)
    decided: IntArray = np.argmax(good, axis=1)
    return decided


def tie_width(utility: FloatArray | None = None) -> float:
    """By how much a class may fall short of the best one and still be as good."""
    return TIE if utility is None else TIE * float(np.abs(utility).max())


def expected_utility(probabilities: FloatArray, utility: FloatArray | None = None) -> FloatArray:
    """What each decision is expected to be worth, shape (n, K); the probabilities themselves without utilities.

    Added up class by class, so that a row alone and among others has the same numbers to the bit.
    """
    if utility is None:
        return probabilities
    worth = np.zeros((len(probabilities), len(utility)))
    for true in range(utility.shape[1]):
        worth += probabilities[:, true, None] * utility[:, true]
    return worth


def regrets(utility: FloatArray | None, n_classes: int) -> FloatArray:
    """What a decision loses against the best one for the true class, shape (K, K); 0 and 1 without utilities."""
    if utility is None:
        return 1.0 - np.eye(n_classes)
    lost: FloatArray = utility.max(axis=0) - utility
    return lost


def threshold_utility(positive: int, threshold: float) -> FloatArray:
    """The utilities of two classes by which one of them is decided from a probability on, that included.

    Ties go to the first class; so that the second one is decided at exactly its threshold, this is lowered by
    the width of two ties.

    Args:
        positive: code of that class, 0 or 1.
        threshold: from 0 to 1.
    """
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold must be >= 0 and <= 1; it is {quoted(threshold)}", field="threshold")
    if positive == 1:
        threshold -= 2 * TIE * max(threshold, 1 - threshold)
    matrix = np.zeros((2, 2))
    matrix[positive, positive] = 1 - threshold
    matrix[1 - positive, 1 - positive] = threshold
    return matrix


def plain_utility(utility: Mapping[Any, Mapping[Any, float]], target: Column) -> dict[str, dict[str, float]]:
    """The same mapping with the labels' canonical texts as keys, as JSON has it."""
    return {
        target.level_text(decided): {target.level_text(true): float(number) for true, number in row.items()}
        for decided, row in utility.items()
    }


def class_code(label: Any, target: Column, parameter: str = PARAMETER) -> int:
    """The code of a class by its label.

    Raises:
        ParameterError: the target has no such class.
    """
    text = target.level_text(label)
    code = int(target.encode(text))
    if code == UNSEEN:
        shown = ", ".join(quoted(level) for level in target.levels[:_SHOWN])
        more = f" and {len(target.levels) - _SHOWN} more" if len(target.levels) > _SHOWN else ""
        raise ParameterError(
            f"{parameter} names {quoted(label)}, which is no class; the classes are {shown}{more}", field=parameter
        )
    return code
