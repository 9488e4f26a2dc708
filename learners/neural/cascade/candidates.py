"""The candidate phase: quickprop of the input weights of units that are not yet part of the network.

Each candidate climbs by its score, the sum over the outputs of ``|covariance of its value with the residual error|``
(Fahlman and Lebiere 1990, who also divide by the sum of the squared errors, so that one rate fits early and late).
Errors come centred, so the mean of the candidate's values does not matter to the covariance.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel, lean_kernel
from learners.neural.cascade.activation import unit_slope, unit_value
from learners.neural.cascade.phase import DECAY, EPOCH, LIMIT, MU, RATE, RUNNING, STATUS, settle
from learners.neural.cascade.quickprop import step_weights
from learners.types import FloatArray, IntArray


@lean_kernel
def train_candidates(
    values: FloatArray,
    errors: FloatArray,
    kinds: IntArray,
    weights: FloatArray,
    memory: FloatArray,
    room: FloatArray,
    scores: FloatArray,
    phase: FloatArray,
) -> None:
    """At most ``LIMIT`` epochs of the candidate phase, or until it ends; called again, it goes on.

    An epoch is one presentation of all rows: scores at the weights as they are, and unless that ends the phase a step
    of every weight. The phase goes by the best of the scores.

    Args:
        values: what the units answer, shape (n, U_max).
        errors: residual errors by row and output, times the row's share, centred by output and divided by their mean
            square; shape (n, O).
        kinds: the candidates' activations, shape (C,).
        weights: from the first U units, shape (U, C).
        memory: slopes, slopes before, steps, and which connections there are (0 or 1), shape (4, U, C).
        room: for the candidates' sums and values, shape (2, n, C).
        scores: row 0 is set to the candidates' scores, row 1 is what counts of each; from row 2 on are the covariances
            with the outputs' errors. Shape (2 + O, C).
        phase: see :mod:`learners.neural.cascade.phase`; its figure is the best score that counts.
    """
    for _ in range(int(phase[LIMIT])):
        _score(values, errors, kinds, weights, room, scores)
        best = 0.0
        for one in range(weights.shape[1]):
            best = max(best, scores[0, one] * scores[1, one])
        settle(best, phase)
        if phase[STATUS] != RUNNING:
            return
        _slopes(values, errors, kinds, room, scores, memory)
        for unit in range(weights.shape[0]):
            for one in range(weights.shape[1]):
                memory[0, unit, one] += phase[DECAY] * weights[unit, one]
                memory[0, unit, one] *= memory[3, unit, one]
        step_weights(weights, memory, phase[RATE], phase[MU])
        phase[EPOCH] += 1.0


@lean_inner_kernel
def _score(
    values: FloatArray, errors: FloatArray, kinds: IntArray, weights: FloatArray, room: FloatArray, scores: FloatArray
) -> None:
    """The candidates' sums, values, covariances and scores."""
    n_units, n_candidates = weights.shape
    scores[0] = 0.0
    scores[2:] = 0.0
    for row in range(errors.shape[0]):
        own = room[0, row]
        own[:] = 0.0
        for unit in range(n_units):
            value = values[row, unit]
            for one in range(n_candidates):
                own[one] += value * weights[unit, one]
        for one in range(n_candidates):
            room[1, row, one] = unit_value(kinds[one], own[one])
        for o in range(errors.shape[1]):
            for one in range(n_candidates):
                scores[2 + o, one] += errors[row, o] * room[1, row, one]
    for o in range(errors.shape[1]):
        for one in range(n_candidates):
            scores[0, one] += abs(scores[2 + o, one])


@lean_inner_kernel
def _slopes(
    values: FloatArray, errors: FloatArray, kinds: IntArray, room: FloatArray, scores: FloatArray, memory: FloatArray
) -> None:
    """The derivatives of minus the scores by the weights; the candidates' sums are overwritten."""
    n_units, n_candidates = memory.shape[1:]
    memory[0] = 0.0
    for row in range(errors.shape[0]):
        pull = room[0, row]
        for one in range(n_candidates):
            climb = 0.0
            for o in range(errors.shape[1]):
                climb += errors[row, o] if scores[2 + o, one] >= 0.0 else -errors[row, o]
            pull[one] = -climb * unit_slope(kinds[one], pull[one], room[1, row, one])
        for unit in range(n_units):
            value = values[row, unit]
            for one in range(n_candidates):
                memory[0, unit, one] += value * pull[one]
