"""Minimum description length: in how many bits the classes of the rows can be told, with a learner's help.

* two-part: the bits of a model and those of the classes given its probabilities;
* prequential (Dawid 1984; Rissanen 1984): the classes of each block of rows are told by what was learned
  from the rows before it, the first block without help. It counts what a model is worth without
  writing it down, so it is there for every learner.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, no_progress
from learners.errors import DataError, numbered_by
from learners.evaluation.crossval import prepared
from learners.evaluation.fold import MakeLearner, answer
from learners.evaluation.folds import dealing_order
from learners.evaluation.metrics import log_loss
from learners.types import FloatArray

_FIRST_BLOCK = 8


@dataclass(frozen=True)
class DescriptionLength:
    """Bits to tell n classes.

    Attributes:
        bits: with the learner's help.
        uniform_bits: n log2(K): without any.
        blocks: for each block after the first, the rows known before it and its bits.
    """

    bits: float
    uniform_bits: float
    blocks: tuple[tuple[int, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def class_bits(actual: Any, probabilities: FloatArray) -> float:
    """Bits of classes by a model's probabilities: ``-sum log2 p``, each p clipped as in the log loss."""
    loss = log_loss(actual, probabilities)
    return 0.0 if loss is None else loss * len(actual) / float(np.log(2))


def two_part(model_bits: float, actual: Any, probabilities: FloatArray) -> DescriptionLength:
    """The bits of a model, which its family counts, and of the classes that it helps to tell."""
    uniform = len(actual) * float(np.log2(probabilities.shape[1]))
    return DescriptionLength(model_bits + class_bits(actual, probabilities), uniform)


def prequential(
    make_learner: Learner | MakeLearner, table: Any, target: Any, seed: int = 0, *, progress: Progress = no_progress
) -> DescriptionLength:
    """Blocks double in size, from 8 rows on, in an order drawn by the seed.

    Every probability gives way a little to an equal one, ``(n p + 1) / (n + K)`` with n rows known, for a
    class that a model holds for impossible would take bits without end.

    Raises:
        DataError: the target is no class.
    """
    make, data, truth = prepared(make_learner, table, target)
    if not isinstance(make(), Classifier):
        raise DataError("description lengths are of classes; the target is numeric", field=truth.column.name)
    n_classes = len(truth.column.levels)
    order = dealing_order(len(truth), seed, None)
    known = min(_FIRST_BLOCK, len(order))
    bits = known * float(np.log2(n_classes))
    blocks = []
    while known < len(order):
        rows = order[known : 2 * known]
        model = make()
        learned = np.sort(order[:known])
        with numbered_by(learned):
            model.fit(data.take(learned), truth.take(learned))
        found = answer(model, data.take(rows), truth.take(rows), rows)
        if found.probabilities is None:
            raise RuntimeError("a classifier gives probabilities")
        block = class_bits(truth.codes[rows], (known * found.probabilities + 1) / (known + n_classes))
        blocks.append((known, block))
        bits += block
        known += len(rows)
        progress(known / len(order), f"{known} of {len(order)} rows told")
    return DescriptionLength(bits, len(order) * float(np.log2(n_classes)), tuple(blocks))
