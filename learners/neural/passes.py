"""Errors and gradients of a network, as kernels: forward and back through its layers, some rows at a time.

Backpropagation (Rumelhart, Hinton and Williams 1986).
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.neural.activations import activate, by_slopes
from learners.neural.layout import ACTIVATIONS
from learners.neural.problem import Hold, Net, Sample, Space
from learners.neural.sums import add_products, add_products_of_rows, turn, weighted_sums
from learners.types import FloatArray, IntArray

_SQUARED = 0
_SIGMOID, _SOFTMAX = ACTIVATIONS.index("sigmoid"), ACTIVATIONS.index("softmax")


@lean_inner_kernel
def rows_pass(
    net: Net,
    theta: FloatArray,
    sample: Sample,
    order: IntArray,
    space: Space,
    is_entered: bool,
    gradient: FloatArray,
    found: FloatArray,
) -> None:
    """Both passes of some rows.

    Args:
        order: the rows.
        is_entered: whether the call before was for the same rows, all of which ``space`` has room for.
        gradient: shape (P,), added to; empty: no way back.
        found: the weighted losses are added to the first entry; the second becomes the largest distance of an output
            from its target, if it is larger.
    """
    total = n_units(net)
    block = max(1, space.deltas.shape[0] // total)
    has_room = space.units.shape[0] >= total * order.shape[0]
    for first in range(0, order.shape[0], block):
        rows = order[first : first + block]
        n = rows.shape[0]
        place = total * first if has_room else 0
        units = space.units[place : place + total * n].reshape(total, n)
        deltas = space.deltas[: total * n].reshape(total, n)
        if not is_entered:
            _enter(sample.inputs, rows, units)
        _forward(net, theta, units, deltas, space)
        _judge(net, sample, rows, units, deltas, found)
        if gradient.shape[0]:
            _back(net, theta, sample.inputs, rows, units, deltas, space, gradient)


@lean_inner_kernel
def n_units(net: Net) -> int:
    """Units of all layers, with one in each that is always 1."""
    total = 0
    for size in net.sizes:
        total += size + 1
    return total


@lean_inner_kernel
def _enter(inputs: FloatArray, rows: IntArray, units: FloatArray) -> None:
    """Chosen rows to units, four of these at a time: few lines of the cache are written at once."""
    n_inputs = inputs.shape[1]
    n_fours = n_inputs // 4 * 4
    for v in range(0, n_fours, 4):
        u0, u1, u2, u3 = units[v], units[v + 1], units[v + 2], units[v + 3]
        for r in range(rows.shape[0]):
            own = inputs[rows[r]]
            u0[r], u1[r], u2[r], u3[r] = own[v], own[v + 1], own[v + 2], own[v + 3]
    for v in range(n_fours, n_inputs):
        for r in range(rows.shape[0]):
            units[v, r] = inputs[rows[r], v]


@lean_inner_kernel
def _forward(net: Net, theta: FloatArray, units: FloatArray, deltas: FloatArray, space: Space) -> None:
    """Fill ``units``; the last layer's weighted sums are left in ``deltas``."""
    first, at = 0, 0
    for layer in range(net.codes.shape[0]):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        units[first + n_from] = 1.0
        start = first + n_from + 1
        to = units[start : start + n_to]
        weighted_sums(theta[at : at + (n_from + 1) * n_to], n_to, 1, units[first:start], space.places[: n_from + 1], to)
        if layer == net.codes.shape[0] - 1:
            for j in range(n_to):
                for r in range(to.shape[1]):
                    deltas[start + j, r] = to[j, r]
        activate(net.codes[layer], to, space.turned)
        first = start
        at += (n_from + 1) * n_to


@lean_inner_kernel
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
            sums[j, r] = 0.0 if abs(apart) < net.ignored else weight * apart
        found[0] += weight * loss
    if net.loss == _SQUARED:
        by_slopes(code, outputs, sums)


@lean_inner_kernel
def _back(
    net: Net,
    theta: FloatArray,
    inputs: FloatArray,
    rows: IntArray,
    units: FloatArray,
    deltas: FloatArray,
    space: Space,
    gradient: FloatArray,
) -> None:
    """From the last layer's derivatives by weighted sums to all weights'."""
    start, at = units.shape[0] - net.sizes[-1] - 1, theta.shape[0]
    for layer in range(net.codes.shape[0] - 1, -1, -1):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        first = start - n_from - 1
        at -= (n_from + 1) * n_to
        end = at + (n_from + 1) * n_to
        own = deltas[start : start + n_to]
        scratch, places = space.scratch, space.places
        if n_to > n_from:
            add_products(units[first:start], own, gradient[at:end], space.turned, places)
        elif layer:
            came = space.turned[: n_from * own.shape[1]].reshape(own.shape[1], n_from)
            turn(units[first : first + n_from], came)
            add_products_of_rows(came, places[: own.shape[1]], own, gradient[at:end], scratch)
        else:
            add_products_of_rows(inputs, rows, own, gradient[at:end], scratch)
        if layer:
            before = deltas[first : first + n_from]
            weighted_sums(theta[at:end], 1, n_to, own, places[:n_to], before)
            by_slopes(net.codes[layer - 1], units[first : first + n_from], before)
        start = first


@lean_inner_kernel
def hold_gradient(theta: FloatArray, gradient: FloatArray, hold: Hold) -> None:
    """Add decay to a gradient, and let masked weights stand and tied ones move as one."""
    for k in range(theta.shape[0]):
        gradient[k] = (gradient[k] + hold.decay[k] * theta[k]) * hold.free[k]
    _average(gradient, hold)


@lean_inner_kernel
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
