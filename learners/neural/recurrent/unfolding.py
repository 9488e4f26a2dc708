"""Error and gradient of a recurrent network by unfolding it through time (Rumelhart, Hinton and Williams 1986).

A sequence of T steps passes through L hidden layers, each of whose units sees the layer below at the same step and,
if the network is recurrent, all units of its own layer at the step before (0 before the first)::

    a_l(t) = f(W_l a_(l-1)(t) + R_l a_l(t-1) + b_l),    a_0(t) = x(t),    o(t) = V a_L(t) + c

Every copy of a weight in time is the same weight, so its gradient is the sum over the copies. Full unfolding carries
the error of each step back to the first. Cut into pieces of k steps, what enters a piece counts as given and no error
leaves it (truncated backpropagation through time, Williams and Peng 1990; with k = 1 Elman's network of 1990).

Layout: ``theta`` has one layer after the other, each row-major with a row for each input, then for each unit of its
own if it is recurrent, then the biases. The output layer is the last; it has a row for each input of the network too,
before the biases, if there are shortcuts: ``o(t) = V a_L(t) + S x(t) + c``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.types import FloatArray, IntArray

#: Activations of hidden units.
TANH, SIGMOID, RELU = 0, 1, 2
#: What the outputs are: numbers judged by half their squared error; or shares judged by cross-entropy, of two classes
#: by one logistic function, of more by softmax.
LINEAR, LOGISTIC, SOFTMAX = 0, 1, 2


class Shape(NamedTuple):
    """A network for kernels.

    Attributes:
        sizes: int64 (L + 2,), inputs, units of each hidden layer, outputs.
        recurrent, shortcuts: 0 or 1.
        activation, answer: codes, see above.
    """

    sizes: IntArray
    recurrent: int
    shortcuts: int
    activation: int
    answer: int


class Taught(NamedTuple):
    """Sequences with what is wanted.

    Attributes:
        inputs: float64 (S, V), the steps of all sequences, one sequence after the other.
        starts: int64 (n + 1,), where each sequence begins, and S.
        targets: float64 (S, O); numbers, or class shares: of two classes that of the second, else such as sum to 1.
        weights: float64 (S,), what the error of each step counts; 0 where nothing is wanted.
    """

    inputs: FloatArray
    starts: IntArray
    targets: FloatArray
    weights: FloatArray


@kernel
def unfold(
    theta: FloatArray, shape: Shape, taught: Taught, chosen: IntArray, piece: int, gradient: FloatArray
) -> float:
    """The error of some sequences, whose gradient is added to ``gradient``.

    Args:
        theta: float64 (P,), see above.
        chosen: int64 (m,), which sequences.
        piece: steps of a piece; 0 for full unfolding.
        gradient: float64 (P,), changed in place.

    Returns:
        Sum over steps of weight times half the squared error, or times the cross-entropy.
    """
    longest = 0
    for sequence in chosen:
        longest = max(longest, taught.starts[sequence + 1] - taught.starts[sequence])
    n_units = shape.sizes[1:-1].sum()
    states = np.zeros((longest + 1, n_units))
    outputs = np.zeros((longest, shape.sizes[-1]))
    errors, later = np.zeros(n_units), np.zeros(n_units)
    loss = 0.0
    for sequence in chosen:
        first, end = taught.starts[sequence], taught.starts[sequence + 1]
        for at in range(first, end):
            step = at - first
            _advance(theta, shape, taught.inputs[at], states[step], states[step + 1], outputs[step])
            if taught.weights[at] > 0:
                loss += taught.weights[at] * _judge(outputs[step], taught.targets[at], taught.weights[at], shape.answer)
            else:
                outputs[step] = 0.0
        later[:] = 0.0
        for at in range(end - 1, first - 1, -1):
            step = at - first
            _answer_back(theta, shape, taught.inputs[at], states[step + 1], outputs[step], later, gradient)
            errors[:] = later
            _retreat(theta, shape, taught.inputs[at], states[step : step + 2], errors, later, gradient)
            if piece > 0 and step % piece == 0:
                later[:] = 0.0
    return loss


@inner_kernel
def _advance(
    theta: FloatArray, shape: Shape, step: FloatArray, before: FloatArray, after: FloatArray, output: FloatArray
) -> None:
    """One step: the units' states ``after``, shape (U,), from those ``before``; and the outputs before any link."""
    place, first = 0, 0
    came = step
    for layer in range(1, shape.sizes.shape[0] - 1):
        size = shape.sizes[layer]
        units = after[first : first + size]
        units[:] = 0.0
        place = _add_sums(theta, place, came, units)
        if shape.recurrent:
            place = _add_sums(theta, place, before[first : first + size], units)
        for unit in range(size):
            units[unit] = _active(units[unit] + theta[place + unit], shape.activation)
        place, first, came = place + size, first + size, units
    output[:] = 0.0
    place = _add_sums(theta, place, came, output)
    if shape.shortcuts:
        place = _add_sums(theta, place, step, output)
    for answer in range(output.shape[0]):
        output[answer] += theta[place + answer]


@inner_kernel
def _add_sums(theta: FloatArray, place: int, came: FloatArray, sums: FloatArray) -> int:
    """Add what units ``came`` say by the weights from ``place`` on; returns where these end."""
    size = sums.shape[0]
    for source in range(came.shape[0]):
        value = came[source]
        if value != 0.0:
            for unit in range(size):
                sums[unit] += value * theta[place + unit]
        place += size
    return place


@inner_kernel
def _active(value: float, activation: int) -> float:
    if activation == TANH:
        return math.tanh(value)
    if activation == RELU:
        return max(value, 0.0)
    return 1.0 / (1.0 + math.exp(-value)) if value > -700.0 else 0.0


@inner_kernel
def _slope(state: float, activation: int) -> float:
    """The activation's derivative by its value."""
    if activation == TANH:
        return 1.0 - state * state
    if activation == RELU:
        return 1.0 if state > 0.0 else 0.0
    return state * (1.0 - state)


@inner_kernel
def _judge(output: FloatArray, target: FloatArray, weight: float, answer: int) -> float:
    """The error of one step; ``output`` becomes the weighted derivative by the outputs before any link."""
    loss = 0.0
    if answer == LINEAR:
        for place in range(output.shape[0]):
            apart = output[place] - target[place]
            loss += 0.5 * apart * apart
            output[place] = weight * apart
        return loss
    if answer == LOGISTIC:
        for place in range(output.shape[0]):
            small = math.exp(-abs(output[place]))
            loss += max(output[place], 0.0) - target[place] * output[place] + math.log(1.0 + small)
            output[place] = weight * ((1.0 if output[place] > 0.0 else small) / (1.0 + small) - target[place])
        return loss
    largest, total = output.max(), 0.0
    for place in range(output.shape[0]):
        total += math.exp(output[place] - largest)
    for place in range(output.shape[0]):
        score = output[place] - largest
        loss += target[place] * (math.log(total) - score)
        output[place] = weight * (math.exp(score) / total - target[place])
    return loss


@inner_kernel
def _answer_back(
    theta: FloatArray,
    shape: Shape,
    step: FloatArray,
    states: FloatArray,
    output: FloatArray,
    errors: FloatArray,
    gradient: FloatArray,
) -> None:
    """From the outputs' errors to those of the top layer, which are added; and the output layer's gradient."""
    n_hidden = shape.sizes.shape[0] - 2
    top = states[states.shape[0] - shape.sizes[n_hidden] :]
    rows = top.shape[0] + shape.shortcuts * step.shape[0] + 1
    place = theta.shape[0] - rows * output.shape[0]
    _hand_back(theta, place, output, errors[states.shape[0] - top.shape[0] :])
    place = _add_products(gradient, place, top, output)
    if shape.shortcuts:
        place = _add_products(gradient, place, step, output)
    for answer in range(output.shape[0]):
        gradient[place + answer] += output[answer]


@inner_kernel
def _retreat(
    theta: FloatArray,
    shape: Shape,
    step: FloatArray,
    states: FloatArray,
    errors: FloatArray,
    later: FloatArray,
    gradient: FloatArray,
) -> None:
    """One step back in time, through the hidden layers from the top down.

    Args:
        states: before and after the step, shape (2, U).
        errors: of the states after it, shape (U,); changed.
        later: becomes what they are of the states before it, shape (U,).
        gradient: the hidden layers' is added.
    """
    n_hidden, first = shape.sizes.shape[0] - 2, errors.shape[0]
    place = theta.shape[0] - (shape.sizes[n_hidden] + shape.shortcuts * step.shape[0] + 1) * shape.sizes[-1]
    for layer in range(n_hidden, 0, -1):
        size, below = shape.sizes[layer], shape.sizes[layer - 1]
        first -= size
        own, remembered = errors[first : first + size], states[0, first : first + size]
        for unit in range(size):
            own[unit] *= _slope(states[1, first + unit], shape.activation)
        place -= (below + shape.recurrent * size + 1) * size
        came = step if layer == 1 else states[1, first - below : first]
        at = _add_products(gradient, place, came, own)
        if layer > 1:
            _hand_back(theta, place, own, errors[first - below : first])
        later[first : first + size] = 0.0
        if shape.recurrent:
            _hand_back(theta, at, own, later[first : first + size])
            at = _add_products(gradient, at, remembered, own)
        for unit in range(size):
            gradient[at + unit] += own[unit]


@inner_kernel
def _add_products(gradient: FloatArray, place: int, came: FloatArray, errors: FloatArray) -> int:
    """Add the gradient of the weights from ``place`` on; returns where these end."""
    size = errors.shape[0]
    for source in range(came.shape[0]):
        value = came[source]
        if value != 0.0:
            for unit in range(size):
                gradient[place + unit] += value * errors[unit]
        place += size
    return place


@inner_kernel
def _hand_back(theta: FloatArray, place: int, errors: FloatArray, to: FloatArray) -> None:
    """Add what errors are of the units that they came from by the weights from ``place`` on."""
    size = errors.shape[0]
    for source in range(to.shape[0]):
        back = 0.0
        for unit in range(size):
            back += theta[place + unit] * errors[unit]
        to[source] += back
        place += size
