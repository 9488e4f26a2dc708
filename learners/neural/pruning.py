"""Taking links or units out of a trained network, those that it misses least first, training again in between.

Three ways to tell what is missed least: the error with each weight at 0 in turn; optimal brain damage (Le Cun, Denker
and Solla 1990), which expects a rise of half the second derivative times the weight's square (with decay, and once
decay times this); and, to compare with, the size of the weights. Biases are no links and stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from learners.base import Progress, no_progress
from learners.errors import ParameterError, quoted
from learners.neural.curvature import curvature
from learners.neural.judging import Judge
from learners.neural.layout import Layout, Number
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options, train
from learners.types import BoolArray, FloatArray, IntArray

METHODS = ("damage", "each-weight", "magnitude")
ELEMENTS = ("links", "units")


@dataclass(frozen=True)
class Pruning:
    """How to prune.

    Attributes:
        method: one of :data:`METHODS`. by: ``links`` or hidden ``units``.
        share: of the elements left, how many go in one step, at least one; in [0, 1).
        tolerance: rise of the error, as a share of that before pruning, at which it ends; the last network within it is
            the result. Infinite: until nothing is left.
        retrain: training after each step; ``None``: none.
        gauss_newton: for ``damage``, second derivatives that are never negative.
    """

    method: str = "damage"
    by: str = "links"
    share: float = 0.1
    tolerance: float = 0.0
    retrain: Options | None = None
    gauss_newton: bool = True

    def __post_init__(self) -> None:
        for name, value, allowed in (("method", self.method, METHODS), ("by", self.by, ELEMENTS)):
            if value not in allowed:
                raise ParameterError(f"{name} {quoted(value)} is none of {', '.join(allowed)}", field=name)
        if not 0 <= self.share < 1:
            raise ParameterError(f"share is from 0 to below 1, not {quoted(self.share)}", field="share")
        if not self.tolerance >= 0:
            raise ParameterError(f"tolerance is not below 0, not {quoted(self.tolerance)}", field="tolerance")


@dataclass(frozen=True, eq=False)
class Curve:
    """The network before pruning and after each step, shape (S,) each.

    Attributes:
        links: how many are left. units: hidden units with links on both sides.
        errors: mean loss of the training rows. validation: of the validation rows, or empty.
    """

    links: IntArray
    units: IntArray
    errors: FloatArray
    validation: FloatArray


@dataclass(frozen=True, eq=False)
class Pruned:
    """What is left.

    Attributes:
        layout: without the units that went. theta: weights, shape (P,), 0 where links went. mask: True elsewhere.
        curve: how the error went, also beyond the step that was kept.
        kept: that step, a place in the curve.
    """

    layout: Layout
    theta: FloatArray
    mask: BoolArray
    curve: Curve
    kept: int


def prune(
    problem: Problem,
    theta: FloatArray,
    sample: Sample,
    pruning: Pruning,
    rng: np.random.Generator,
    *,
    validation: Sample | None = None,
    progress: Progress = no_progress,
) -> Pruned:
    """Take out elements step by step until the error worsens: of the validation rows where there are any.

    Args:
        problem: what the network was trained for; its mask tells links that are gone already.
        theta: trained weights, shape (P,).
        sample: the training rows.
        pruning: how.
        rng: for training again.
        validation: rows to judge by.
        progress: told the links left; may raise ``Cancelled``.

    Raises:
        ParameterError: weights are tied: none can go alone.
    """
    if problem.ties is not None:
        raise ParameterError("a network with tied weights is not pruned", field="ties")
    steps = Steps(problem, problem.held(theta), sample, validation)
    limit, kept = steps.judged * (1 + pruning.tolerance), 0
    best = steps.network()
    n_links = max(steps.n_links, 1)

    def tried(share: float) -> None:
        least = max(1, int(pruning.share * steps.n_links)) if pruning.by == "links" else 1  # that go by the next step
        left = steps.n_links - share * least
        progress(1 - left / n_links, f"{steps.n_links} of {n_links} links, {share:.0%} of them tried")

    while steps.n_links and steps.go(pruning, rng, tried):
        progress(1 - steps.n_links / n_links, f"{steps.n_links} of {n_links} links, error {steps.judged:.4g}")
        if steps.judged > limit:
            break
        best, kept = steps.network(), steps.done
    layout, theta, mask = without_idle_units(problem.layout, *best)
    return Pruned(layout, theta, mask, steps.curve(), kept)


class Steps:
    """A network that loses its elements, step by step; for :func:`prune`, and to watch it.

    Args:
        problem, theta, sample, validation: as of :func:`prune`.
    """

    def __init__(self, problem: Problem, theta: FloatArray, sample: Sample, validation: Sample | None) -> None:
        self._problem, self._theta, self._sample, self._validation = problem, theta, sample, validation
        mask = np.ones(len(theta), np.bool_) if problem.mask is None else problem.mask.copy()
        self._mask, self._is_link = mask, ~problem.layout.is_bias()
        self._decay = problem.hold().decay
        self._told: list[tuple[int, int, float, float]] = []
        self._judge = Judge(problem, sample)
        self._aside = None if validation is None else Judge(problem, validation)
        self._drop_idle()
        self._tell()

    @property
    def n_links(self) -> int:
        """Those left."""
        return int((self._mask & self._is_link).sum())

    @property
    def judged(self) -> float:
        """The error after the last step, of the validation rows where there are any."""
        return self._told[-1][3]

    @property
    def done(self) -> int:
        """Steps so far."""
        return len(self._told) - 1

    def network(self) -> tuple[FloatArray, BoolArray]:
        """Weights and mask, as they are now."""
        return self._theta.copy(), self._mask.copy()

    def curve(self) -> Curve:
        """All steps so far."""
        links, units, errors, judged = zip(*self._told, strict=True)
        aside = judged if self._aside is not None else ()
        return Curve(np.array(links), np.array(units), np.array(errors), np.array(aside, dtype=np.float64))

    def go(
        self, pruning: Pruning, rng: np.random.Generator, tried: Callable[[float], None] = lambda share: None
    ) -> bool:
        """One step, if there is any element left; ``tried`` is told the share of them that was left out by turns."""
        elements = self._links() if pruning.by == "links" else self._units()
        if not elements:
            return False
        missed = self._missed(pruning, elements, tried)
        n_gone = max(1, int(pruning.share * len(elements)))
        for place in np.argsort(missed, kind="stable")[:n_gone]:
            self._mask[elements[place]] = False
        self._drop_idle()
        self._theta = np.where(self._mask, self._theta, 0.0)
        if pruning.retrain is not None and self.n_links:
            problem = replace(self._problem, mask=self._mask.copy())
            trained = train(problem, self._theta, self._sample, pruning.retrain, rng, validation=self._validation)
            self._theta = trained.theta
        self._tell()
        return True

    def _links(self) -> list[IntArray]:
        return list(np.flatnonzero(self._mask & self._is_link)[:, None])

    def _units(self) -> list[IntArray]:
        """The outgoing links of each hidden unit that has any."""
        places = self._problem.layout.layers(np.arange(len(self._theta)))
        found = []
        for out in places[1:]:
            links = [row[self._mask[row]] for row in out[:-1]]
            found += [one for one in links if len(one)]
        return found

    def _missed(self, pruning: Pruning, elements: list[IntArray], tried: Callable[[float], None]) -> FloatArray:
        """How much each element would be missed."""
        if pruning.method == "magnitude":
            return np.array([np.square(self._theta[one]).sum() for one in elements])
        if pruning.method == "each-weight":
            missed = np.empty(len(elements))
            for place, one in enumerate(elements):
                missed[place] = self._without(one)
                tried((place + 1) / len(elements))
            return missed
        bends = curvature(self._problem, self._sample, self._theta, gauss_newton=pruning.gauss_newton)
        # At the minimum of loss and decay the loss alone still falls along w, by decay times w.
        slopes = self._decay * self._theta**2
        if pruning.by == "links":
            saliency = slopes + bends.weights * self._theta**2 / 2
            return np.array([saliency[one[0]] for one in elements])
        gains = np.concatenate(bends.gains)[self._has_outgoing()]
        return np.array([slopes[one].sum() for one in elements]) + gains / 2

    def _without(self, element: IntArray) -> float:
        theta = self._theta.copy()
        theta[element] = 0.0
        return self._judge.error(theta)[0]

    def _has_outgoing(self) -> BoolArray:
        layers = self._problem.layout.layers(self._mask)
        return np.concatenate([out[:-1].any(axis=1) for out in layers[1:]] or [np.zeros(0, np.bool_)])

    def _drop_idle(self) -> None:
        """Links into hidden units that nothing asks go with them."""
        layers = self._problem.layout.layers(self._mask)
        for into, out in reversed(list(pairwise(layers))):
            into[:, ~out[:-1].any(axis=1)] = False

    def _tell(self) -> None:
        error = self._judge.error(self._theta)[0]
        judged = error if self._aside is None else self._aside.error(self._theta)[0]
        self._told.append((self.n_links, int(self._has_outgoing().sum()), error, judged))


def without_idle_units(layout: Layout, theta: FloatArray, mask: BoolArray) -> tuple[Layout, FloatArray, BoolArray]:
    """The same network without the hidden units that no link leaves; of each layer one unit stays.

    Args:
        layout: of the network.
        theta: weights, shape (P,). mask: True of free ones.

    Returns:
        Layout, weights and mask of the smaller network, whose answers are the same.
    """
    kept = [np.ones(layout.n_inputs, np.bool_)]
    for out in layout.layers(mask)[1:]:
        busy: BoolArray = np.asarray(out[:-1].any(axis=1))
        busy[0] |= not busy.any()
        kept.append(busy)
    kept.append(np.ones(layout.n_outputs, np.bool_))
    sizes = tuple(int(units.sum()) for units in kept)

    def smaller(vector: NDArray[Number]) -> NDArray[Number]:
        parts = zip(layout.layers(vector), kept[:-1], kept[1:], strict=True)
        return np.concatenate([part[np.append(rows, True)][:, columns].ravel() for part, rows, columns in parts])

    return Layout(sizes, layout.activations), smaller(theta), smaller(mask)
