"""Errors and gradients of a network, as kernels: forward and back through its layers, some rows at a time.

Backpropagation (Rumelhart, Hinton and Williams 1986).
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners._lanes import LANES, Lanes, fused, lane, load, spread, store, where_less
from learners.neural.activations import activate, by_slopes, logarithm
from learners.neural.layout import ACTIVATIONS
from learners.neural.problem import Hold, Net, Sample, Space
from learners.neural.sums import add_products, row_length, weighted_sums
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
    size = space.deltas.shape[0]
    block = size // total
    keeps = has_room(net, space, order.shape[0])
    for first in range(0, order.shape[0], block):
        rows = order[first : first + block]
        place = first // block * size if keeps else 0
        units = space.units[place : place + size]
        wanted = space.wanted[place // total * (sample.targets.shape[1] + 1) :]
        if not is_entered:
            _enter(sample.inputs, rows, units)
            _want(sample, rows, wanted)
        _forward(net, theta, units, space.deltas, rows.shape[0])
        _judge(net, wanted, units, space.deltas, rows.shape[0], found)
        if gradient.shape[0]:
            _back(net, theta, units, space.deltas, rows.shape[0], gradient)


@lean_inner_kernel
def has_room(net: Net, space: Space, n: int) -> bool:
    """Whether the units of so many rows are all kept, block by block."""
    size = space.deltas.shape[0]
    block = size // n_units(net)
    n_blocks = (n + block - 1) // block
    return bool(n_blocks * size <= space.units.shape[0])


@lean_inner_kernel
def n_units(net: Net) -> int:
    """Units of all layers, with one in each that is always 1."""
    total = 0
    for size in net.sizes:
        total += size + 1
    return total


@lean_inner_kernel
def _enter(inputs: FloatArray, rows: IntArray, units: FloatArray) -> None:
    """Chosen rows to units, four of these at a time: few lines of the cache are written at once. Beyond them zeros."""
    n_inputs, n = inputs.shape[1], rows.shape[0]
    length = row_length(n)
    n_fours = n_inputs // 4 * 4
    for v in range(0, n_fours, 4):
        u0, u1 = units[v * length :], units[(v + 1) * length :]
        u2, u3 = units[(v + 2) * length :], units[(v + 3) * length :]
        for r in range(n):
            own = inputs[rows[r]]
            u0[r], u1[r], u2[r], u3[r] = own[v], own[v + 1], own[v + 2], own[v + 3]
    for v in range(n_fours, n_inputs):
        for r in range(n):
            units[v * length + r] = inputs[rows[r], v]
    for v in range(n_inputs):
        for r in range(v * length + n, (v + 1) * length):
            units[r] = 0.0


@lean_inner_kernel
def _want(sample: Sample, rows: IntArray, wanted: FloatArray) -> None:
    """Targets of chosen rows, as units are, and their weights after them; beyond the rows zeros."""
    n, n_targets = rows.shape[0], sample.targets.shape[1]
    length = row_length(n)
    for j in range(n_targets):
        for r in range(n):
            wanted[j * length + r] = sample.targets[rows[r], j]
    for r in range(n):
        wanted[n_targets * length + r] = sample.weights[rows[r]]
    for j in range(n_targets + 1):
        for r in range(j * length + n, (j + 1) * length):
            wanted[r] = 0.0


@lean_inner_kernel
def _forward(net: Net, theta: FloatArray, units: FloatArray, deltas: FloatArray, n: int) -> None:
    """Fill ``units``; the last layer's weighted sums are left in ``deltas``."""
    length = row_length(n)
    first, at = 0, 0
    for layer in range(net.codes.shape[0]):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        came = units[first:]
        for r in range(n_from * length, (n_from + 1) * length):
            came[r] = 1.0
        first += (n_from + 1) * length
        to = units[first:]
        weighted_sums(theta[at:], n_to, 1, came, n_from + 1, to, n_to, n)
        if layer == net.codes.shape[0] - 1:
            for k in range(n_to * length):
                deltas[first + k] = to[k]
        activate(net.codes[layer], to, n_to, n)
        at += (n_from + 1) * n_to


@lean_inner_kernel
def _judge(net: Net, wanted: FloatArray, units: FloatArray, deltas: FloatArray, n: int, found: FloatArray) -> None:
    """Losses of a block; the last layer's weighted sums in ``deltas`` become the loss's derivatives by them.

    Beyond the rows, where weights are 0, derivatives are 0 too.
    """
    n_to, length = net.sizes[-1], row_length(n)
    first = (n_units(net) - n_to - 1) * length
    outputs, sums = units[first:], deltas[first:]
    code = net.codes[-1]
    losses, furthest = spread(0.0), spread(0.0)
    for r in range(0, n, LANES):
        weight = load(wanted, n_to * length + r)
        loss = spread(0.0)
        base = _all_exponentials(outputs, sums, n_to, length, r) if code == _SOFTMAX else loss
        for at in range(r, n_to * length, length):
            output, target, score = load(outputs, at), load(wanted, at), load(sums, at)
            apart = where_less(0.0, weight, output - target, 0.0)
            size = where_less(apart, 0.0, 0.0 - apart, apart)
            furthest = where_less(furthest, size, size, furthest)
            if net.loss == _SQUARED:
                loss = fused(0.5 * apart, apart, loss)
            elif code == _SIGMOID:
                sure = where_less(output, 0.5, 1.0 - output, output)
                loss = loss + (where_less(0.0, score, score, 0.0) - score * target - logarithm(sure))
            else:
                loss = fused(target, base - score, loss)
            store(sums, at, where_less(size, net.ignored, 0.0, weight * apart))
        losses = fused(weight, loss, losses)
    for k in range(LANES):
        found[0] += lane(losses, k)
        found[1] = max(found[1], lane(furthest, k))
    if net.loss == _SQUARED:
        by_slopes(code, outputs, sums, n_to, n)


@lean_inner_kernel
def _all_exponentials(outputs: FloatArray, sums: FloatArray, n_to: int, length: int, r: int) -> Lanes:
    """The log of the sum of eight rows' exponentials, by the likeliest output of each."""
    top, share = load(sums, r), load(outputs, r)
    for at in range(length + r, n_to * length, length):
        score, output = load(sums, at), load(outputs, at)
        share = where_less(top, score, output, share)
        top = where_less(top, score, score, top)
    return top - logarithm(share)


@lean_inner_kernel
def _back(net: Net, theta: FloatArray, units: FloatArray, deltas: FloatArray, n: int, gradient: FloatArray) -> None:
    """From the last layer's derivatives by weighted sums to all weights'."""
    length = row_length(n)
    start, at = (n_units(net) - net.sizes[-1] - 1) * length, theta.shape[0]
    for layer in range(net.codes.shape[0] - 1, -1, -1):
        n_from, n_to = net.sizes[layer], net.sizes[layer + 1]
        first = start - (n_from + 1) * length
        at -= (n_from + 1) * n_to
        own = deltas[start:]
        add_products(units[first:], n_from + 1, own, n_to, n, gradient[at:])
        if layer:
            before = deltas[first:]
            weighted_sums(theta[at:], 1, n_to, own, n_to, before, n_from, n)
            by_slopes(net.codes[layer - 1], units[first:], before, n_from, n)
        start = first


@lean_inner_kernel
def hold_gradient(theta: FloatArray, gradient: FloatArray, share: float, hold: Hold) -> None:
    """Sums to means, each row's share of which is told; decay is added, masked weights stand, tied ones move as one."""
    for k in range(gradient.shape[0]):
        gradient[k] = (share * gradient[k] + hold.decay[k] * theta[k]) * hold.free[k]
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
