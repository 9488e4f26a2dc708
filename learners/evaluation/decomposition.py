"""Where a learner's error comes from: bias and variance, estimated by bootstrap samples of the training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from learners.base import Classifier, Learner, Progress, check_weights, no_progress
from learners.errors import ParameterError, numbered_by, quoted
from learners.evaluation.crossval import prepared
from learners.evaluation.fold import MakeLearner, answer
from learners.evaluation.folds import Split, is_whole
from learners.evaluation.judging import Judging
from learners.evaluation.metrics import weighted_mean
from learners.evaluation.plan import Plan
from learners.parts import part_of, parted
from learners.types import FloatArray, IntArray

#: Bootstrap samples of a fold where no number is asked for.
ROUNDS = 50


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

    Means are ``None`` where the tested rows have no weight or the mean is no finite number.
    """

    loss: str
    rounds: int
    error: float | None = None
    bias: float | None = None
    variance: float | None = None
    unbiased_variance: float | None = None
    biased_variance: float | None = None
    kohavi_wolpert_bias: float | None = None
    kohavi_wolpert_variance: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Only the parts that the loss has."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def bias_variance(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    plan: Plan | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """The parts of the loss in every fold of a plan, and in all of them.

    Args:
        plan: k-fold or hold-out.

    Returns:
        See :func:`combined`; ``folds`` as :func:`of_fold` gives them.
    """
    make, data, truth = prepared(make_learner, table, target)
    given = judging or Judging()
    splits = (plan or Plan()).splits(truth, seed, groups=given.groups, times=given.times)
    data = parted(data)
    folds = []
    for number in range(1, len(splits) + 1):

        def tell(share: float, words: str, done: int = number - 1) -> None:
            progress((done + share) / len(splits), f"fold {done + 1}: {words}")

        split = splits[number - 1]
        found = decompose(make, data, truth, split, rounds, (seed, number), judging=given, progress=tell)
        folds.append(of_fold(found, split, number, given))
    return combined(folds)


def of_fold(found: Decomposition, split: Split, fold: int, judging: Judging | None = None) -> dict[str, Any]:
    """A fold's decomposition with its number and sizes: ``fold``, ``n_train``, ``n_test`` and ``test_weight``."""
    weights = None if judging is None else judging.weights
    weight = len(split.test) if weights is None else np.asarray(weights)[split.test].sum()
    sizes = {"fold": fold, "n_train": len(split.train), "n_test": len(split.test), "test_weight": float(weight)}
    return sizes | found.to_json()


def combined(folds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean over all tested rows from the folds' means, each counted by the weight of its tested rows.

    Args:
        folds: of :func:`of_fold`.

    Returns:
        The entries of a :class:`Decomposition`, and ``folds``.
    """
    judged = [fold for fold in folds if fold["test_weight"] > 0]
    weights = np.array([fold["test_weight"] for fold in judged])
    whole: dict[str, Any] = {"loss": folds[0]["loss"], "rounds": folds[0]["rounds"]}
    for name in (field.name for field in fields(Decomposition) if field.name not in whole):
        if judged and all(name in fold for fold in judged):
            whole[name] = weighted_mean(np.array([fold[name] for fold in judged]), weights)
    return whole | {"folds": [dict(fold) for fold in folds]}


def decompose(
    make_learner: Learner | MakeLearner,
    table: Any,
    target: Any,
    split: Split,
    rounds: int = ROUNDS,
    seed: int | Sequence[int] = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> Decomposition:
    """Fit on ``rounds`` bootstrap samples of the training rows and take the answers to the test rows apart.

    Args:
        seed: of the samples; of a fold the seed and its number, so that each draws samples of its own.
        judging: weights, with which samples are learned from and tested rows count; a row drawn twice counts twice.

    Raises:
        ParameterError: fewer than 2 rounds.
        DataError: what the learner's ``fit`` refuses; rows are numbered as in the whole table.
    """
    if not is_whole(rounds) or rounds < 2:
        raise ParameterError(f"parameter rounds must be a whole number >= 2; it is {quoted(rounds)}", field="rounds")
    make, data, truth = prepared(make_learner, table, target)
    given = judging or Judging()
    weights = None if given.weights is None else check_weights(given.weights, data.n_rows)
    asked, wanted = part_of(data, split.test), truth.take(split.test)
    generator = np.random.Generator(np.random.PCG64(seed))
    answers = np.empty((rounds, len(split.test)))
    for number in range(rounds):
        rows = split.train[generator.integers(0, len(split.train), len(split.train))]
        model = make()
        with numbered_by(given.numbers(rows)):
            model.fit(data.take(rows), truth.take(rows), None if weights is None else weights[rows])
        answers[number] = answer(model, asked, wanted, split.test).predicted
        progress((number + 1) / rounds, f"sample {number + 1} of {rounds}")
    tested = None if weights is None else weights[split.test]
    if isinstance(make(), Classifier):
        return zero_one(answers.astype(np.int64), wanted.codes, len(truth.column.levels), tested)
    return squared(answers, wanted.cells, tested)


def zero_one(answers: IntArray, actual: Any, n_classes: int, weights: FloatArray | None = None) -> Decomposition:
    """The parts of the 0/1 loss.

    Args:
        answers: class codes, shape (rounds, m).
        actual: class codes, shape (m,).
        weights: of the m rows; ``None``: all alike.
    """
    if weights is not None and not weights.sum() > 0:
        return Decomposition("0/1", len(answers))
    truth = np.asarray(actual, dtype=np.int64)
    shares = np.stack([(answers == code).mean(axis=0) for code in range(n_classes)], axis=1)
    main = np.argmax(shares, axis=1)
    right = shares[np.arange(len(truth)), truth]
    is_biased = main != truth
    agreeing = shares[np.arange(len(truth)), main]
    squares = (shares**2).sum(axis=1)

    def mean(values: FloatArray) -> float:
        return float(np.average(values, weights=weights))

    unbiased, biased = mean(np.where(is_biased, 0.0, 1.0 - agreeing)), mean(np.where(is_biased, right, 0.0))
    return Decomposition(
        "0/1",
        len(answers),
        error=mean(1 - right),
        bias=mean(is_biased.astype(np.float64)),
        variance=unbiased - biased,
        unbiased_variance=unbiased,
        biased_variance=biased,
        kohavi_wolpert_bias=mean((1 - 2 * right + squares) / 2),
        kohavi_wolpert_variance=mean((1 - squares) / 2),
    )


def squared(answers: FloatArray, actual: FloatArray, weights: FloatArray | None = None) -> Decomposition:
    """The parts of the squared loss: ``mean (y - f)^2 = (y - mean f)^2 + variance of f``, the variance over rounds."""
    with np.errstate(over="ignore", invalid="ignore"):  # what no double holds is None, or of a row without weight
        main = answers.mean(axis=0)
        error, bias, variance = ((answers - actual) ** 2).mean(axis=0), (main - actual) ** 2, answers.var(axis=0)
    return Decomposition(
        "squared",
        len(answers),
        error=weighted_mean(error, weights),
        bias=weighted_mean(bias, weights),
        variance=weighted_mean(variance, weights),
    )
