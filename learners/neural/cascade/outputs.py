"""The output phase: quickprop of the weights from all units to the outputs, everything else being fixed."""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.neural.cascade.phase import (
    DECAY,
    EPOCH,
    KIND,
    LEAST,
    LIMIT,
    MU,
    OFFSET,
    RATE,
    RUNNING,
    SOLVED,
    STATUS,
    TOLERANCE,
    WRONG,
    settle,
)
from learners.neural.cascade.quickprop import step_weights
from learners.types import FloatArray

#: What an output makes of its sum, and the loss: squared error of a linear output or of a sigmoid, and cross-entropy
#: of a sigmoid or of softmax over the outputs.
LINEAR_SQUARED, SIGMOID_SQUARED, SIGMOID_ENTROPY, SOFTMAX_ENTROPY = 0, 1, 2, 3
#: A sigmoid's sums and softmax's differences beyond this count as this, lest an exponential overflow.
_LARGEST = 700.0
#: A loss must be lower by this share to be the least: not by rounding.
_LOWER = 1.0 - 1e-9


@lean_kernel
def train_outputs(
    values: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    weights: FloatArray,
    memory: FloatArray,
    errors: FloatArray,
    phase: FloatArray,
) -> None:
    """At most ``LIMIT`` epochs of the output phase, or until it ends; called again, it goes on.

    An epoch is one presentation of all rows: the loss at the weights as they are, and unless that ends the phase a step
    of every weight.

    Args:
        values: what the units answer, shape (n, U_max); the first is the bias, 1.
        targets: shape (n, O).
        shares: weights of the rows, sum 1, shape (n,).
        weights: shape (O, U), of the first U units.
        memory: slopes, slopes before, steps, and the weights of the least loss, shape (4, O, U); kept between calls.
        errors: derivatives of each row's loss by the outputs' sums, shape (n, O), at the weights at the end.
        phase: see :mod:`learners.neural.cascade.phase`, with ``KIND``, see this module; ``OFFSET``, which is added to
            the derivative of a sigmoid with squared error; and ``TOLERANCE``, within which an answer is right.
    """
    for _ in range(int(phase[LIMIT])):
        loss = _present(values, targets, shares, weights, memory, errors, phase)
        if phase[EPOCH] == 0.0 or loss < phase[LEAST] * _LOWER:
            phase[LEAST] = loss
            for o in range(weights.shape[0]):
                for unit in range(weights.shape[1]):
                    memory[3, o, unit] = weights[o, unit]
        settle(loss, phase)
        if phase[STATUS] == RUNNING and phase[WRONG] == 0.0:
            phase[STATUS] = SOLVED
        if phase[STATUS] != RUNNING:
            return
        step_weights(weights, memory, phase[RATE], phase[MU])
        phase[EPOCH] += 1.0


@lean_inner_kernel
def _present(
    values: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    weights: FloatArray,
    memory: FloatArray,
    errors: FloatArray,
    phase: FloatArray,
) -> float:
    """Present all rows: errors, slopes and the number of wrong answers are set, the mean loss is returned."""
    n_outputs, n_units = weights.shape
    kind = int(phase[KIND])
    for o in range(n_outputs):
        for unit in range(n_units):
            memory[0, o, unit] = phase[DECAY] * weights[o, unit]
    loss, wrong = 0.0, 0.0
    for row in range(values.shape[0]):
        own = errors[row]
        for o in range(n_outputs):
            summed = 0.0
            for unit in range(n_units):
                summed += values[row, unit] * weights[o, unit]
            own[o] = summed
        _answer(own, kind)
        for o in range(n_outputs):
            if not abs(own[o] - targets[row, o]) < phase[TOLERANCE]:
                wrong += 1.0
        loss += shares[row] * _judge(own, targets[row], kind, phase[OFFSET])
        for o in range(n_outputs):
            pull = shares[row] * own[o]
            for unit in range(n_units):
                memory[0, o, unit] += pull * values[row, unit]
    phase[WRONG] = wrong
    return loss


@lean_inner_kernel
def _answer(sums: FloatArray, kind: int) -> None:
    """Put the outputs' answers in place of their sums, shape (O,)."""
    if kind == SOFTMAX_ENTROPY:
        largest = sums[0]
        for o in range(1, sums.shape[0]):
            largest = max(largest, sums[o])
        total = 0.0
        for o in range(sums.shape[0]):
            sums[o] = math.exp(max(sums[o] - largest, -_LARGEST))
            total += sums[o]
        for o in range(sums.shape[0]):
            sums[o] /= total
    elif kind != LINEAR_SQUARED:
        for o in range(sums.shape[0]):
            sums[o] = 1.0 / (1.0 + math.exp(min(max(-sums[o], -_LARGEST), _LARGEST)))


@lean_inner_kernel
def _judge(answer: FloatArray, wanted: FloatArray, kind: int, offset: float) -> float:
    """The loss of one row; its derivatives by the outputs' sums take the answers' place, both of shape (O,)."""
    loss = 0.0
    for o in range(answer.shape[0]):
        own = answer[o]
        rest = own - wanted[o]
        answer[o] = rest
        if kind in (LINEAR_SQUARED, SIGMOID_SQUARED):
            loss += 0.5 * rest * rest
            if kind == SIGMOID_SQUARED:
                answer[o] = rest * (own * (1.0 - own) + offset)
        else:
            loss -= wanted[o] * math.log(max(own, 1e-300))
            if kind == SIGMOID_ENTROPY:
                loss -= (1.0 - wanted[o]) * math.log(max(1.0 - own, 1e-300))
    return loss


def answers(sums: FloatArray, kind: int) -> FloatArray:
    """The outputs' answers to their sums, both of shape (n, O)."""
    if kind == LINEAR_SQUARED:
        return sums
    if kind == SOFTMAX_ENTROPY:
        powers = np.exp(np.maximum(sums - sums.max(axis=1, keepdims=True), -_LARGEST))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(sums, -_LARGEST, _LARGEST))))


def loss_of(sums: FloatArray, targets: FloatArray, shares: FloatArray, kind: int) -> float:
    """The mean loss of rows: half the squared error, or the cross-entropy in nats, summed over the outputs.

    Args:
        sums, targets: shape (n, O).
        shares: shape (n,), sum 1.
    """
    answered = answers(sums, kind)
    if kind in (LINEAR_SQUARED, SIGMOID_SQUARED):
        losses = 0.5 * (answered - targets) ** 2
    else:
        losses = -targets * np.log(np.maximum(answered, 1e-300))
        if kind == SIGMOID_ENTROPY:
            losses -= (1.0 - targets) * np.log(np.maximum(1.0 - answered, 1e-300))
    return float(shares @ losses.sum(axis=1))
