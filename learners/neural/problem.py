"""What is minimised and of which rows, and the same as the kernels know it.

The loss is the weighted mean over the rows; what is minimised has decay added: ``loss + sum_k decay_k theta_k^2 / 2``,
so that plain descent moves each weight by its own share towards 0 too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners._accel import interpreted
from learners.errors import ParameterError
from learners.neural.layout import ACTIVATIONS, LOSSES, Layout
from learners.neural.sums import row_length
from learners.types import BoolArray, FloatArray, IntArray

#: The least and the most rows of a block, and numbers of units that stay in a near cache: of one block, or of all of a
#: small sample.
_LEAST_ROWS, BLOCK_ROWS, _KEPT = 64, 256, 32_768
#: Numbers in a line of the cache.
_LINE = 8


class Sample(NamedTuple):
    """Rows to learn from or to judge by, C-contiguous and writeable.

    Attributes:
        inputs: shape (n, V). targets: shape (n, O). weights: shape (n,), >= 0, not all 0.
    """

    inputs: FloatArray
    targets: FloatArray
    weights: FloatArray


class Net(NamedTuple):
    """A layout and loss as the kernels know them; ``ignored``: see :class:`Problem`."""

    sizes: IntArray
    codes: IntArray
    loss: int
    ignored: float


class Space(NamedTuple):
    """Where the passes write; made once, used by every call.

    Attributes:
        units: activations of all layers, each with a last unit that is always 1; of a block after the other, or of one.
        deltas: derivatives by weighted sums, of a block.
        wanted: the rows' targets and weights, of as many blocks as ``units``.
    """

    units: FloatArray
    deltas: FloatArray
    wanted: FloatArray


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
        ignored: outputs nearer to their targets than this teach nothing, though they count in the loss; >= 0.

    Raises:
        ParameterError: the loss does not go with the last activation, or a shape or value is wrong.
    """

    layout: Layout
    loss: str
    decay: FloatArray | float = 0.0
    mask: BoolArray | None = None
    ties: IntArray | None = None
    ignored: float = 0.0

    def __post_init__(self) -> None:
        self.layout.check(self.loss)
        size = self.layout.n_weights
        for name, given in (("decay", np.asarray(self.decay)), ("mask", self.mask), ("ties", self.ties)):
            if given is not None and given.shape not in ((), (size,)):
                raise ParameterError(f"{name} has one entry for each of {size} weights", field=name)
        if not (np.isfinite(self.decay).all() and np.min(self.decay) >= 0):
            raise ParameterError("decay is finite and not below 0", field="decay")
        if not (np.isfinite(self.ignored) and self.ignored >= 0):
            raise ParameterError("ignored is finite and not below 0", field="ignored")

    def net(self) -> Net:
        """For the kernels."""
        codes = [ACTIVATIONS.index(name) for name in self.layout.activations]
        return Net(np.array(self.layout.sizes), np.array(codes), LOSSES.index(self.loss), float(self.ignored))

    def hold(self) -> Hold:
        """For the kernels."""
        size = self.layout.n_weights
        decay = np.asarray(self.decay, dtype=np.float64)
        if decay.ndim == 0:
            decay = np.where(self.layout.is_bias(), 0.0, decay) if decay else np.zeros(size)
        else:
            decay = decay.copy()
        free = np.ones(size) if self.mask is None else self.mask.astype(np.float64)
        if self.ties is None:
            return Hold(decay, free, np.full(size, -1), np.zeros(0), np.zeros(0))
        ties = self.ties.astype(np.int64)
        groups = np.unique(ties[ties >= 0])
        ties = np.where(ties >= 0, np.searchsorted(groups, ties), -1)
        return Hold(decay, free, ties, np.zeros(len(groups)), np.zeros(len(groups)))

    def held(self, theta: FloatArray) -> FloatArray:
        """The weights with masked ones at 0 and tied ones at their average, shape (P,); a copy."""
        if self.mask is None and self.ties is None:
            return np.array(theta, dtype=np.float64)
        hold = self.hold()
        theta = np.ascontiguousarray(theta, dtype=np.float64) * hold.free
        if self.ties is None:
            return theta
        tied = (hold.ties >= 0) & (hold.free > 0)
        groups = hold.ties[tied]
        sums = np.bincount(groups, theta[tied], len(hold.sums))
        theta[tied] = sums[groups] / np.bincount(groups, minlength=len(hold.sums))[groups]
        return theta


def space(problem: Problem, n_rows: int) -> Space:
    """Room for passes over at most so many rows at once."""
    total = sum(size + 1 for size in problem.layout.sizes)
    block = max(_LEAST_ROWS, min(BLOCK_ROWS, _KEPT // total) // _LEAST_ROWS * _LEAST_ROWS)
    length = interpreted(row_length)(max(1, min(n_rows, block)))
    all_rows = -(-n_rows // length) * length
    kept = all_rows if total * all_rows <= _KEPT else length
    return Space(_lined(total * kept), _lined(total * length), _lined((problem.layout.n_outputs + 1) * kept))


def _lined(size: int) -> FloatArray:
    """Zeros from the beginning of a line of the cache on: no load or store of eight goes beyond its line."""
    zeros = np.zeros(size + _LINE)
    start = -zeros.ctypes.data // zeros.itemsize % _LINE
    return zeros[start : start + size]
