"""Minimum description length: in how many bits the classes of the rows can be told, with a learner's help.

* two-part: the bits of a model and those of the classes given its probabilities;
* prequential (Dawid 1984; Rissanen 1984): the classes of each block of rows are told by what was learned
  from the rows before it, the first block without help. It counts what a model is worth without
  writing it down, so it is there for every learner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, no_progress
from learners.errors import DataError, numbered_by
from learners.evaluation.crossval import prepared
from learners.evaluation.failing import AllFailed, Failed, Failure, refusals, told
from learners.evaluation.fold import MakeLearner, answer
from learners.evaluation.folds import dealing_order
from learners.evaluation.judging import Judging
from learners.evaluation.metrics import log_loss
from learners.types import FloatArray

#: Rows that are told without help.
FIRST_BLOCK = 8


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


def n_blocks(n_rows: int) -> int:
    """Into how many blocks rows are parted after the first."""
    count, known = 0, FIRST_BLOCK
    while known < n_rows:
        count, known = count + 1, 2 * known
    return count


def block(
    make_learner: MakeLearner,
    table: Any,
    target: Any,
    number: int,
    seed: int = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """What it takes to tell one block, from 1: ``known`` rows that were told before, its own ``rows``, ``bits``.

    A block is told without help, in log2 K bits a row, where the learner cannot learn from the rows before it;
    ``failure`` has the reason then.

    Args:
        make_learner: of a classifier.
        judging: what rows are numbered by in errors.
    """
    make, data, truth = prepared(make_learner, table, target)
    model = make()
    n_classes, order = len(truth.column.levels), dealing_order(len(truth), seed, None)
    known = FIRST_BLOCK * 2 ** (number - 1)
    rows, learned = order[known : 2 * known], np.sort(order[:known])
    sizes = {"known": known, "rows": len(rows)}
    try:
        with refusals(), numbered_by((judging or Judging()).numbers(learned)):
            model.fit(data.take(learned), truth.take(learned), progress=progress)
    except Failed as failed:
        return sizes | {"bits": len(rows) * float(np.log2(n_classes)), "failure": failed.failure.to_json()}
    found = answer(model, data.take(rows), truth.take(rows), rows)
    if found.probabilities is None:
        raise RuntimeError("a classifier gives probabilities")
    return sizes | {"bits": class_bits(truth.codes[rows], (known * found.probabilities + 1) / (known + n_classes))}


def whole_length(n_rows: int, n_classes: int, blocks: Sequence[Mapping[str, Any]]) -> DescriptionLength:
    """The length from those of all blocks after the first, which is told without help.

    Raises:
        AllFailed: no block could be learned for.
    """
    failures = [({"known": one["known"]}, Failure.from_json(one["failure"])) for one in blocks if "failure" in one]
    if blocks and len(failures) == len(blocks):
        raise AllFailed(f"none of the {len(blocks)} blocks can be learned for: {told(failures)}", failures)
    equal = float(np.log2(n_classes))
    first = min(FIRST_BLOCK, n_rows) * equal
    bits = first + sum(one["bits"] for one in blocks)
    return DescriptionLength(bits, n_rows * equal, tuple((one["known"], one["bits"]) for one in blocks))


def prequential(
    make_learner: Learner | MakeLearner, table: Any, target: Any, seed: int = 0, *, progress: Progress = no_progress
) -> DescriptionLength:
    """Blocks double in size, from 8 rows on, in an order drawn by the seed.

    Every probability gives way a little to an equal one, ``(n p + 1) / (n + K)`` with n rows known, for a
    class that a model holds for impossible would take bits without end.

    Raises:
        DataError: the target is no class.
        AllFailed: the learner can learn from none of the blocks.
    """
    make, data, truth = prepared(make_learner, table, target)
    if not isinstance(make(), Classifier):
        raise DataError("description lengths are of classes; the target is numeric", field=truth.column.name)
    blocks = []
    for number in range(1, n_blocks(len(truth)) + 1):
        blocks.append(block(make, data, truth, number, seed))
        done = blocks[-1]["known"] + blocks[-1]["rows"]
        progress(done / len(truth), f"{done} of {len(truth)} rows told")
    return whole_length(len(truth), len(truth.column.levels), blocks)
