"""Where a learner's error comes from: bias and variance, estimated by bootstrap samples of the training rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, no_progress
from learners.errors import ParameterError, numbered_by, quoted
from learners.evaluation.crossval import prepared
from learners.evaluation.fold import MakeLearner, answer
from learners.evaluation.folds import Split, is_whole
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Decomposition:
    """The mean loss over samples and tested rows, in parts.

    Attributes:
        loss: ``0/1`` or ``squared``.
        error: the mean loss.
        bias: the loss of the main answer, which is the mode (of ties the first class) or the mean over samples.
        variance: what the samples' answers lose by differing from it, net. ``error = bias + variance``, the
            noise being part of the bias.
        unbiased_variance, biased_variance: 0/1 loss only (Domingos, ICML 2000): variance where the main
            answer is right, and what variance gains where it is wrong; ``variance`` is the first less the second.
        kohavi_wolpert_bias, kohavi_wolpert_variance: 0/1 loss only (Kohavi and Wolpert, ICML 1996): squared
            distance of the shares of answers from the truth, halved, and half their Gini impurity; their
            sum is the error too.
        rounds: number of samples.
    """

    loss: str
    error: float
    bias: float
    variance: float
    rounds: int
    unbiased_variance: float | None = None
    biased_variance: float | None = None
    kohavi_wolpert_bias: float | None = None
    kohavi_wolpert_variance: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def decompose(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    split: Split,
    rounds: int = 50,
    seed: int = 0,
    *,
    progress: Progress = no_progress,
) -> Decomposition:
    """Fit on ``rounds`` bootstrap samples of the training rows and take the answers to the test rows apart.

    Raises:
        ParameterError: fewer than 2 rounds.
    """
    if not is_whole(rounds) or rounds < 2:
        raise ParameterError(f"parameter rounds must be a whole number >= 2; it is {quoted(rounds)}", field="rounds")
    make, data, truth = prepared(make_learner, table, target)
    asked, wanted = data.take(split.test), truth.take(split.test)
    generator = np.random.Generator(np.random.PCG64(seed))
    answers = np.empty((rounds, len(split.test)))
    for number in range(rounds):
        rows = split.train[generator.integers(0, len(split.train), len(split.train))]
        model = make()
        with numbered_by(rows):
            model.fit(data.take(rows), truth.take(rows))
        answers[number] = answer(model, asked, wanted, split.test).predicted
        progress((number + 1) / rounds, f"sample {number + 1} of {rounds}")
    if isinstance(make(), Classifier):
        return zero_one(answers.astype(np.int64), wanted.codes, len(truth.column.levels))
    return squared(answers, wanted.cells)


def zero_one(answers: IntArray, actual: Any, n_classes: int) -> Decomposition:
    """The parts of the 0/1 loss.

    Args:
        answers: class codes, shape (rounds, m).
        actual: class codes, shape (m,).
    """
    truth = np.asarray(actual, dtype=np.int64)
    shares = np.stack([(answers == code).mean(axis=0) for code in range(n_classes)], axis=1)
    main = np.argmax(shares, axis=1)
    right = shares[np.arange(len(truth)), truth]
    is_biased = main != truth
    agreeing = shares[np.arange(len(truth)), main]
    unbiased = float(np.where(is_biased, 0.0, 1.0 - agreeing).mean())
    biased = float(np.where(is_biased, right, 0.0).mean())
    squares = (shares**2).sum(axis=1)
    return Decomposition(
        "0/1",
        error=float((1 - right).mean()),
        bias=float(is_biased.mean()),
        variance=unbiased - biased,
        rounds=len(answers),
        unbiased_variance=unbiased,
        biased_variance=biased,
        kohavi_wolpert_bias=float(((1 - 2 * right + squares) / 2).mean()),
        kohavi_wolpert_variance=float(((1 - squares) / 2).mean()),
    )


def squared(answers: FloatArray, actual: FloatArray) -> Decomposition:
    """The parts of the squared loss: ``mean (y - f)^2 = (y - mean f)^2 + variance of f``, the variance over rounds."""
    main = answers.mean(axis=0)
    return Decomposition(
        "squared",
        error=float(((answers - actual) ** 2).mean()),
        bias=float(((main - actual) ** 2).mean()),
        variance=float(answers.var(axis=0).mean()),
        rounds=len(answers),
    )
