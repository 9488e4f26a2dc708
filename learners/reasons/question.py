"""What to ask next about a partly known row: the column whose value is expected to tell most, for its cost.

With what is known, a row reaches leaves l with shares w_l (products of the branches' shares of the
training weight wherever a value is missing), and its answer is the mean of their answers d_l. What
the tree knows of an unknown column a is where its tests cut: the values fall into cells v between
the cuts, or are levels, and each leaf's path allows a set S_l of cells. How the rows of a leaf lie
within S_l the leaf does not say; it is taken from the other leaves that the row reaches and whose
paths cut finer:

    q(v) = sum over l whose path tests a of w_l [v in S_l] / |S_l|
    P(v | l) = q(v) [v in S_l] / q(S_l),    S_l all cells where the path does not test a
    P(v) = sum over l of w_l P(v | l),      answer(v) = sum over l of w_l P(v | l) d_l / P(v)

The mean of answer(v) over P is the answer now, so the expected gain is never negative: of
information, the entropy of the classes now less its mean over the answers, in bits; of utility, the
expected utility of the best decision after the answer less that of the best decision now; of a
regression, the variance of the leaves' values now less its mean over the answers. Where a is tested
once, by the first test of the tree, the gain is the information gain of that test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from learners._pausing import Pause, no_pause
from learners.base import Classifier, Learner
from learners.errors import ParameterError
from learners.reasons.regions.boxes import Boxes, boxes_of
from learners.reasons.regions.covers import cover_of
from learners.reasons.wanted.targets import answers_of
from learners.reasons.wanted.wishes import check_costs
from learners.table import Table
from learners.trees.estimator import FittedTree
from learners.types import FloatArray, IntArray

#: How good it is to know one of several answers: their rows are masses by class, or (mass, sum, sum of squares);
#: returns the mass times the goodness of each.
Worth: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Candidate:
    """One unknown column and what asking for it is expected to bring.

    Attributes:
        gain: expected, in bits, units of the utility, or of the target squared; >= 0.
        cost: of asking.
        score: gain divided by cost; infinite where it costs nothing and tells something.
    """

    column: str
    gain: float
    cost: float

    @property
    def score(self) -> float:
        if self.cost == 0:
            return np.inf if self.gain > 0 else 0.0
        return self.gain / self.cost

    def to_json(self) -> dict[str, Any]:
        """``score`` is null where asking is free and tells something."""
        score = self.score
        return {"column": self.column, "gain": self.gain, "cost": self.cost, "score": score if score < np.inf else None}


@dataclass(frozen=True)
class Question:
    """What is known of a row, and what to ask next.

    Attributes:
        answers: the model's answer now: class probabilities in class order, or one number.
        uncertainty: entropy in bits, or variance of the leaves' values, of the answer now.
        possible: codes of the classes that some completion of the row is answered with; None for regression.
        leaves: number of leaves that a completion may reach.
        spread: least and greatest value of these leaves; None for classification.
        candidates: the unknown columns, the best to ask first. Where no single value tells anything but several
            together may, those come first that lessen the uncertainty or, if none does, are tested on the way to
            the most weight, for their cost.
    """

    answers: tuple[float, ...]
    uncertainty: float
    possible: tuple[int, ...] | None
    leaves: int
    spread: tuple[float, float] | None
    candidates: tuple[Candidate, ...]

    @property
    def ask(self) -> str | None:
        """The column to ask for; None where no answers can tell anything."""
        best = self.candidates[0] if self.candidates else None
        return best.column if best is not None and (best.gain > 0 or self._is_open) else None

    @property
    def _is_open(self) -> bool:
        """Whether what is not known yet can still change the answer."""
        return len(self.possible) > 1 if self.possible is not None else self.spread[0] < self.spread[1]  # type: ignore[index]


def next_question(
    learner: Learner,
    X: Any,
    costs: Mapping[str, float] | None = None,
    utilities: FloatArray | None = None,
    pause: Pause = no_pause,
) -> list[Question]:
    """For each row what to ask next.

    Args:
        learner: a fitted tree.
        X: rows as for ``predict``; the missing values are what may be asked.
        costs: of asking, >= 0 by column name; 1 where none is given.
        utilities: (decisions, K), what each decision is worth where each class is true; None for information.
        pause: called before each column of each row with how many rows are done.

    Raises:
        LearnerError: the learner is no tree of tests on single columns. ParameterError: a cost or the utilities
            are not allowed.
    """
    boxes = boxes_of(learner)
    assert isinstance(learner, FittedTree)  # noqa: S101 - boxes_of took it
    price = check_costs(learner.columns_, costs)
    if utilities is not None:
        _check_utilities(learner, utilities)
    table = learner.check_table(X)
    return [
        _question(learner, boxes, np.array(row), price, utilities, partial(pause, place, table.n_rows))
        for place, row in enumerate(table.values)
    ]


def _check_utilities(learner: FittedTree, utilities: FloatArray) -> None:
    target = learner.target_
    if target.is_numeric:
        raise ParameterError("utilities are of decisions on classes; the model is a regression", field="utilities")
    shape = np.shape(utilities)
    if len(shape) != 2 or shape[0] < 1 or shape[1] != len(target.levels) or not np.isfinite(utilities).all():
        raise ParameterError(
            f"utilities are finite numbers, one row a decision and one column for each of the {len(target.levels)} "
            "classes",
            field="utilities",
        )


def _question(
    learner: FittedTree,
    boxes: Boxes,
    row: FloatArray,
    price: FloatArray,
    utilities: FloatArray | None,
    pause: Callable[[], None],
) -> Question:
    shares = boxes.shares(row)
    possible = _possible(boxes, row, shares)
    reached, weights = _reached(boxes, row, shares)
    moments = weights[:, None] * _moments(learner, reached)
    regression = learner.target_.is_numeric
    worth: Worth = _negative_variance if regression else _negative_entropy if utilities is None else _best_of(utilities)
    now = float(worth(moments.sum(axis=0)[None])[0])
    states = boxes.last_states(reached, np.flatnonzero(np.isnan(row)).tolist())
    found = []
    for place, column in enumerate(boxes.columns):
        if not np.isnan(row[place]):
            continue
        pause()
        gain = 0.0
        if place in states:
            after = worth(_masses(boxes, place, states[place], weights, moments)).sum()
            gain = max(float(after) - now, 0.0)
        found.append(Candidate(column.name, gain if gain > _NOTHING else 0.0, float(price[place])))
    if all(one.gain == 0 for one in found):
        found = _by_what_they_lead_to(boxes, found, states, weights, moments, price, regression=regression)
    found.sort(key=lambda one: -one.score)  # stable: of equal scores the first column
    answers = answers_of(learner, Table(learner.columns_, np.asfortranarray(row[None])))[0]
    values = learner.packed_tree_.answers[possible]
    uncertainty = -(now if regression or utilities is None else float(_negative_entropy(moments.sum(axis=0)[None])[0]))
    return Question(
        answers=tuple(answers.tolist()),
        uncertainty=max(uncertainty, 0.0) + 0.0,  # not -0.0
        possible=None if regression else _decided(learner, values),
        leaves=len(possible),
        spread=(float(values.min()), float(values.max())) if regression else None,
        candidates=tuple(found),
    )


def _by_what_they_lead_to(
    boxes: Boxes,
    candidates: Sequence[Candidate],
    states: Mapping[int, IntArray],
    weights: FloatArray,
    moments: FloatArray,
    price: FloatArray,
    *,
    regression: bool,
) -> list[Candidate]:
    """Candidates that tell nothing one by one: first those after which others may."""
    worth: Worth = _negative_variance if regression else _negative_entropy
    now = float(worth(moments.sum(axis=0)[None])[0])

    def rank(candidate: Candidate) -> tuple[float, float]:
        place = places[candidate.column]
        if place not in states:
            return (0.0, 0.0)
        gain = float(worth(_masses(boxes, place, states[place], weights, moments)).sum()) - now
        tested = float(weights[states[place] > 0].sum())
        cost = max(float(price[place]), np.finfo(float).tiny)
        return (-gain / cost if gain > _NOTHING else 0.0, -tested / cost)

    places = {column.name: place for place, column in enumerate(boxes.columns)}
    return sorted(candidates, key=rank)


def _decided(learner: FittedTree, answers: FloatArray) -> tuple[int, ...]:
    """Codes of the classes that some of the answers are decided as."""
    assert isinstance(learner, Classifier)  # noqa: S101 - asked of classifiers only
    return tuple(np.unique(learner.decide(answers)).tolist())


#: A gain this small is what is left of nothing by rounding.
_NOTHING = 1e-12


def _possible(boxes: Boxes, row: FloatArray, shares: FloatArray) -> IntArray:
    """The leaves that some completion of the row reaches: what is known leads there, and no state is empty."""
    unknown = np.append(np.isnan(row), True)[boxes.tested]
    empty = boxes.low >= boxes.high
    for sets in boxes.sets.values():
        empty[sets.nodes] = ~sets.bits.any(axis=1)
    barred = np.where(unknown, empty, shares == 0)
    leaves: IntArray = boxes.leaves[~boxes.any_on_path(barred)[boxes.leaves]]
    return leaves


def _reached(boxes: Boxes, row: FloatArray, shares: FloatArray) -> tuple[IntArray, FloatArray]:
    """The leaves that the row reaches by the branches' shares of the training weight, and its shares."""
    unknown = np.append(np.isnan(row), False)[boxes.tested]
    # also where the tree has one branch for missing values; what it holds for them alone, no value reaches
    divided = np.where(unknown, np.where(boxes.only_missing, 0.0, boxes.nodes.fraction), shares)
    weights = boxes.multiply_paths(divided)[boxes.leaves]
    kept = weights > 0
    return boxes.leaves[kept], weights[kept] / weights.sum()


def _moments(learner: FittedTree, leaves: IntArray) -> FloatArray:
    """Of each leaf what is added up: class shares, or 1, value and value squared from the tree's mean."""
    answers = learner.packed_tree_.answers[leaves]
    if not learner.target_.is_numeric:
        return answers
    centred = answers[:, 0] - learner.packed_tree_.answers[0, 0]
    return np.column_stack((np.ones(len(leaves)), centred, centred**2))


def _masses(boxes: Boxes, place: int, states: IntArray, weights: FloatArray, moments: FloatArray) -> FloatArray:
    """The moments of each cell of a column's values, shape (cells, number of moments): P(v) times those given v."""
    nodes, inverse = np.unique(states, return_inverse=True)
    weight = np.bincount(inverse, weights)
    sums = np.column_stack([np.bincount(inverse, moments[:, k]) for k in range(moments.shape[1])])
    cover = cover_of(boxes, place, nodes)
    counts = cover.count()
    tests = (nodes > 0) & (counts > 0)
    parts = np.where(tests, weight / np.maximum(counts, 1), 0.0)
    prior = np.maximum(cover.spread(parts[:, None])[:, 0], 0.0)
    if prior.sum() <= 0:
        return np.asarray(sums.sum(axis=0)[None])
    inside = cover.gather(prior)
    lost = inside <= 0  # no value leads there: it tells nothing of the value
    inside[lost] = prior.sum()
    masses = cover.spread(np.where(lost[:, None], 0.0, sums / inside[:, None]))
    masses += (sums[lost] / inside[lost][:, None]).sum(axis=0)
    return np.asarray(masses * prior[:, None])


def _negative_entropy(masses: FloatArray) -> FloatArray:
    """Mass times minus the entropy in bits; ``masses`` (n, K) by class."""
    totals = masses.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(masses > 0, masses * np.log2(masses / totals[:, None]), 0.0)
    return np.asarray(terms.sum(axis=1))


def _negative_variance(masses: FloatArray) -> FloatArray:
    """Mass times minus the variance of the leaves' values; ``masses`` (n, 3): 1, value, value squared."""
    mass = masses[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(mass > 0, masses[:, 1] ** 2 / mass, 0.0)
    return np.asarray(explained - masses[:, 2])


def _best_of(utilities: FloatArray) -> Worth:
    """Mass times the expected utility of the best decision."""
    return lambda masses: (masses @ utilities.T).max(axis=1)
