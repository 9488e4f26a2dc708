"""Errors and gradients of a network: forward and back through its layers, some rows at a time.

Backpropagation (Rumelhart, Hinton and Williams 1986). The loss is the weighted mean over the rows, what is minimised
has decay added: ``loss + sum_k decay_k theta_k^2 / 2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.errors import ParameterError
from learners.neural.activations import activate, by_slopes
from learners.neural.layout import ACTIVATIONS, LOSSES, Layout
from learners.neural.sums import add_products, weighted_sums
from learners.types import BoolArray, FloatArray, IntArray

#: Rows of a block: few enough that all activations of a usual network stay in the nearest caches.
BLOCK_ROWS = 64
_SQUARED = 0
_SIGMOID, _SOFTMAX = ACTIVATIONS.index("sigmoid"), ACTIVATIONS.index("softmax")


class Sample(NamedTuple):
    """Rows to learn from or to judge by, C-contiguous and writeable.

    Attributes:
        inputs: shape (n, V). targets: shape (n, O). weights: shape (n,), >= 0, not all 0.
    """

    inputs: FloatArray
    targets: FloatArray
    weights: FloatArray


class Net(NamedTuple):
    """A layout and loss as the kernels know them."""

    sizes: IntArray
    codes: IntArray
    loss: int


class Space(NamedTuple):
    """Where the passes write; made once, used by every call.

    Attributes:
        units: activations of all layers, each with a last unit that is always 1. deltas: as long.
        turned, scratch: of the gradient's loops.
    """

    units: FloatArray
    deltas: FloatArray
    turned: FloatArray
    scratch: FloatArray


class Hold(NamedTuple):
    """What is asked of weights beside the loss.

    Attributes:
        decay: of each weight, shape (P,).
        free: 1 of a weight that may move, 0 of one held at 0; shape (P,).
        ties: the group of each weight whose value is shared, -1 of others; shape (P,).
        sums, counts: scratch, one entry a group.
    """

    decay: FloatArray
    free: FloatArray
    ties: IntArray
    sums: FloatArray
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised, of which network.

    Attributes:
        layout: of the network.
        loss: one of ``LOSSES``: half the squared error summed over outputs, or cross-entropy in nats (softmax: of
            targets that sum to 1; sigmoid: unit by unit, of targets within 0 .. 1).
        decay: strength by weight, shape (P,) or a number for all weights but biases.
        mask: True of the weights that may differ from 0, shape (P,); ``None``: all.
        ties: group of each weight that shares its value with others, -1 of the rest, shape (P,); ``None``: no groups.
            Tied weights move by the average of their updates.

    Raises:
        ParameterError: the loss does not go with the last activation, or a shape or value is wrong.
    """

    layout: Layout
    loss: str
    decay: FloatArray | float = 0.0
    mask: BoolArray | None = None
    ties: IntArray | None = None

    def __post_init__(self) -> None:
        self.layout.check(self.loss)
        size = self.layout.n_weights
        for name, given in (("decay", np.asarray(self.decay)), ("mask", self.mask), ("ties", self.ties)):
            if given is not None and given.shape not in ((), (size,)):
                raise ParameterError(f"{name} has one entry for each of {size} weights", field=name)
        if not (np.isfinite(self.decay).all() and np.min(self.decay) >= 0):
            raise ParameterError("decay is finite and not below 0", field="decay")

    def net(self) -> Net:
        """For the kernels."""
        codes = [ACTIVATIONS.index(name) for name in self.layout.activations]
        return Net(np.array(self.layout.sizes), np.array(codes), LOSSES.index(self.loss))

    def hold(self) -> Hold:
        """For the kernels."""
        size = self.layout.n_weights
        decay = np.asarray(self.decay, dtype=np.float64)
        decay = np.where(self.layout.is_bias(), 0.0, decay) if decay.ndim == 0 else decay.copy()
        free = np.ones(size) if self.mask is None else self.mask.astype(np.float64)
        ties = np.full(size, -1) if self.ties is None else self.ties.astype(np.int64)
        groups = np.unique(ties[ties >= 0])
        ties = np.where(ties >= 0, np.searchsorted(groups, ties), -1)
        return Hold(decay, free, ties, np.zeros(len(groups)), np.zeros(len(groups)))

    def held(self, theta: FloatArray) -> FloatArray:
        """The weights with masked ones at 0 and tied ones at their average, shape (P,); a copy."""
        hold = self.hold()
        theta = np.ascontiguousarray(theta, dtype=np.float64) * hold.free
        tied = (hold.ties >= 0) & (hold.free > 0)
        groups = hold.ties[tied]
        sums = np.bincount(groups, theta[tied], len(hold.sums))
        theta[tied] = sums[groups] / np.bincount(groups, minlength=len(hold.sums))[groups]
        return theta


def space(problem: Problem, n_rows: int) -> Space:
    """Room for passes over at most so many rows at once."""
    rows = max(1, min(n_rows, BLOCK_ROWS))
    sizes = [size + 1 for size in problem.layout.sizes]
    units = sum(sizes) * rows
    return Space(np.empty(units), np.empty(units), np.empty(rows * max(sizes)), np.empty(problem.layout.n_weights))


def loss_and_gradient(problem: Problem, sample: Sample, theta: FloatArray) -> tuple[float, FloatArray]:
    """What is minimised and its gradient, shape (P,): 0 of masked weights, the average of a group for tied ones."""
    gradient, hold = np.zeros(problem.layout.n_weights), problem.hold()
    loss = _whole(problem, sample, theta, gradient)
    return loss + 0.5 * float(hold.decay @ theta**2), gradient


def error(problem: Problem, sample: Sample, theta: FloatArray) -> float:
    """The mean loss alone, without decay."""
    return _whole(problem, sample, theta, np.zeros(0))


def _whole(problem: Problem, sample: Sample, theta: FloatArray, gradient: FloatArray) -> float:
    shares = sample._replace(weights=sample.weights / sample.weights.sum())
    theta, room = np.ascontiguousarray(theta), space(problem, len(sample.inputs))
    with np.errstate(all="ignore"):
        return float(whole_pass(problem.net(), theta, shares, room, problem.hold(), gradient))


@kernel
def whole_pass(net: Net, theta: FloatArray, sample: Sample, space: Space, hold: Hold, gradient: FloatArray) -> float:
    """The sum of all rows' losses, each times its weight, and the gradient of what is minimised.

    Args:
        gradient: zeros of shape (P,), filled; empty: not asked for.
    """
    found = np.zeros(2)
    rows_pass(net, theta, sample, np.arange(sample.inputs.shape[0]), space, gradient, found)
    if gradient.shape[0]:
        hold_gradient(theta, gradient, hold)
    return float(found[0])


@inner_kernel
def rows_pass(
    net: Net,
    theta: FloatArray,
    sample: Sample,
    order: IntArray,
    space: Space,
    gradient: FloatArray,
    found: FloatArray,
) -> None:
    """Both passes of some rows.

    Args:
        order: the rows.
        gradient: shape (P,), added to; empty: no way back.
        found: the weighted losses are added to the first entry; the second becomes the largest distance of an output
            from its target, if it is larger.
    """
    total = 0
    for size in net.sizes:
        total += size + 1
    block = max(1, min(BLOCK_ROWS, space.units.shape[0] // total))
    for first in range(0, order.shape[0], block):
        rows = order[first : first + block]
        n = rows.shape[0]
        units = space.units[: total * n].reshape(total, n)
        deltas = space.deltas[: total * n].reshape(total, n)
        _enter(sample.inputs, rows, units)
        _forward(net, theta, units, deltas)
        _judge(net, sample, rows, units, deltas, found)
        if gradient.shape[0]:
            _back(net, theta, units, deltas, space, gradient)


@inner_kernel
def _enter(inputs: FloatArray, rows: IntArray, units: FloatArray) -> None:
    for r in range(rows.shape[0]):
        own = inputs[rows[r]]
        for v in range(own.shape[0]):
            units[v, r] = own[v]


@inner_kernel
def _forward(net: Net, theta: FloatArray, units: FloatArray, deltas: FloatArray) -> None:
    """Fill ``units``; the last layer's weighted sums are left in ``deltas``."""
    first, at = 0, 0
    for layer in range(net.codes.shape[0]):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        units[first + n_from] = 1.0
        start = first + n_from + 1
        to = units[start : start + n_to]
        weighted_sums(theta[at : at + (n_from + 1) * n_to], n_to, 1, units[first:start], n_from + 1, to)
        if layer == net.codes.shape[0] - 1:
            deltas[start : start + n_to] = to
        activate(net.codes[layer], to)
        first = start
        at += (n_from + 1) * n_to


@inner_kernel
def _judge(net: Net, sample: Sample, rows: IntArray, units: FloatArray, deltas: FloatArray, found: FloatArray) -> None:
    """Losses of a block; the last layer's weighted sums in ``deltas`` become the loss's derivatives by them."""
    n_to = net.sizes[-1]
    first = units.shape[0] - n_to - 1
    outputs, sums = units[first : first + n_to], deltas[first : first + n_to]
    code = net.codes[-1]
    for r in range(rows.shape[0]):
        targets, weight = sample.targets[rows[r]], sample.weights[rows[r]]
        loss = 0.0
        top = 0.0
        if code == _SOFTMAX:
            top = sums[0, r]
            shift = outputs[0, r]
            for j in range(1, n_to):
                if sums[j, r] > top:
                    top, shift = sums[j, r], outputs[j, r]
            top -= np.log(shift)  # the log of the sum of all exponentials
        for j in range(n_to):
            output, target, score = outputs[j, r], targets[j], sums[j, r]
            apart = output - target
            found[1] = max(found[1], abs(apart))
            if net.loss == _SQUARED:
                loss += 0.5 * apart * apart
            elif code == _SIGMOID:
                loss += max(score, 0.0) - score * target - np.log(max(output, 1.0 - output))
            elif target != 0.0:
                loss += target * (top - score)
            sums[j, r] = weight * apart
        found[0] += weight * loss
    if net.loss == _SQUARED:
        by_slopes(code, outputs, sums)


@inner_kernel
def _back(
    net: Net, theta: FloatArray, units: FloatArray, deltas: FloatArray, space: Space, gradient: FloatArray
) -> None:
    """From the last layer's derivatives by weighted sums to all weights'."""
    start, at = units.shape[0] - net.sizes[-1] - 1, theta.shape[0]
    for layer in range(net.codes.shape[0] - 1, -1, -1):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        first = start - n_from - 1
        at -= (n_from + 1) * n_to
        end = at + (n_from + 1) * n_to
        own = deltas[start : start + n_to]
        add_products(units[first:start], own, gradient[at:end], space.turned, space.scratch)
        if layer:
            before = deltas[first : first + n_from]
            weighted_sums(theta[at:end], 1, n_to, own, n_to, before)
            by_slopes(net.codes[layer - 1], units[first : first + n_from], before)
        start = first


@inner_kernel
def hold_gradient(theta: FloatArray, gradient: FloatArray, hold: Hold) -> None:
    """Add decay to a gradient, and let masked weights stand and tied ones move as one."""
    for k in range(theta.shape[0]):
        gradient[k] = (gradient[k] + hold.decay[k] * theta[k]) * hold.free[k]
    _average(gradient, hold)


@inner_kernel
def _average(values: FloatArray, hold: Hold) -> None:
    """Each group's values become their average over those that are free."""
    if not hold.sums.shape[0]:
        return
    for g in range(hold.sums.shape[0]):
        hold.sums[g], hold.counts[g] = 0.0, 0.0
    for k in range(values.shape[0]):
        if hold.ties[k] >= 0 and hold.free[k] != 0.0:
            hold.sums[hold.ties[k]] += values[k]
            hold.counts[hold.ties[k]] += 1.0
    for k in range(values.shape[0]):
        if hold.ties[k] >= 0 and hold.free[k] != 0.0:
            values[k] = hold.sums[hold.ties[k]] / hold.counts[hold.ties[k]]
