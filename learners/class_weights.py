"""Factors on the weights of rows by their class, as a classifier's parameter ``class_weight`` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from learners.columns import Column
from learners.errors import DataError, ParameterError, quoted
from learners.params import mapping
from learners.table import Series
from learners.types import FloatArray
from learners.validation import check_named_once, check_weights

PARAMETER = "class_weight"
_SHOWN = 20
#: Bounds of a factor that is not 0; those of single weights and of their sum.
_LEAST, _MOST = 1e-100, 2.0**53


def class_weight_parameter() -> Any:
    """The declaration of ``class_weight``, the same in every learner that has it."""
    return mapping(
        "Factor on the weight of the rows of a class, by label; labels that are not named have 1.",
        none_means="every class counts as its rows do",
    )


def class_factors(class_weight: Mapping[str, float] | None, target: Column) -> FloatArray:
    """The factor of each level of a target, shape (K,); 1 for those that are not named.

    Raises:
        ParameterError: a label is no class, or another's, a factor is out of range, or all are zero.
    """
    factors = np.ones(len(target.levels))
    check_named_once(class_weight or (), target, PARAMETER)
    for label, factor in (class_weight or {}).items():
        text = target.level_text(label)
        if text not in target.levels:
            shown = ", ".join(quoted(level) for level in target.levels[:_SHOWN])
            more = f" and {len(target.levels) - _SHOWN} more" if len(target.levels) > _SHOWN else ""
            raise _refused(f"names {quoted(label)}, which is no class; the classes are {shown}{more}")
        if factor and not _LEAST <= factor <= _MOST:
            raise _refused(f"gives {quoted(label)} the factor {factor:g}; factors are 0 or {_LEAST:g} to 2^53")
        factors[target.levels.index(text)] = factor
    if not factors.any():
        raise _refused("gives every class the factor 0, so there would be no rows to learn from")
    return factors


def weigh(weights: FloatArray, class_weight: Mapping[str, float] | None, target: Series) -> FloatArray:
    """Row weights, shape (n,), times the factors of the rows' classes; as they are where no factors are given.

    Raises:
        ParameterError: as :func:`class_factors`, or the products are no weights, though the weights are.
    """
    if class_weight is None:
        return weights
    factors = class_factors(class_weight, target.column)[target.cells.astype(np.int64)]
    with np.errstate(over="ignore", under="ignore"):
        products = weights * factors
    try:
        return check_weights(products, len(products))
    except DataError as error:
        raise _refused(f"does not fit the rows: with it {error}") from error


def _refused(said: str) -> ParameterError:
    return ParameterError(f"{PARAMETER} {said}", field=PARAMETER)
