"""Where training begins: the error before the first step, beside that of the best answer that is one for all rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learners.errors import ParameterError
from learners.neural.epochs import FAR
from learners.types import FloatArray

#: So many times the error of a constant answer is beyond any sense.
SENSELESS = 1e6
#: Inputs beyond this, which no scaling of a million rows makes, are at fault rather than the initial weights; and
#: beyond that where they are known to be unscaled.
_LARGE, _UNSCALED = 1e3, 10.0


@dataclass(frozen=True)
class Given:
    """What a learner's parameters say that training cannot see by itself, for advice.

    Attributes:
        range_name: the parameter that initial weights are drawn by; ``None``: none has an effect.
        is_unscaled: whether inputs are as they come.
    """

    range_name: str | None = "initial_scale"
    is_unscaled: bool = False

    def are_large(self, largest: float) -> bool:
        """Whether inputs that reach this are at fault for what goes wrong."""
        return largest > (_UNSCALED if self.is_unscaled else _LARGE)


@dataclass(frozen=True)
class Start:
    """Where training begins.

    Attributes:
        error: mean loss of the training rows before the first step.
        constant: the least mean loss that one answer to all of them has.
        largest: of the inputs, in magnitude.
        apart: the largest distance of an output from its target; 0 where it was not looked at.
        penalty: half the decay times the sum of the squared weights, of those before the first step.
        is_still: whether all of these are 0.
        given: what the learner's parameters say.
    """

    error: float
    constant: float
    largest: float
    apart: float = 0.0
    penalty: float = 0.0
    is_still: bool = False
    given: Given = field(default_factory=Given)

    def __post_init__(self) -> None:
        if not self.error < FAR:
            message, field = self.fault()
            raise ParameterError(f"training cannot begin: {message}", field=field)

    @property
    def is_senseless(self) -> bool:
        """Whether what training begins with is at fault, whatever comes of it."""
        return self.error > SENSELESS * max(self.constant, 1.0)

    def fault(self) -> tuple[str, str]:
        """What is wrong with a start whose error is large, and the parameter to change."""
        begun = f"before the first step the error was {self.error:.3g}, where a constant answer has {self.constant:.3g}"
        name = self.given.range_name
        if self.is_large:
            return f"{begun}; {_unscaled(self.largest)}", "scaling"
        if name is None:
            return f"{begun}; give more epochs", "epochs"
        return f"{begun}; initial weights are too large: lower {name}", name

    @property
    def is_large(self) -> bool:
        """Whether inputs are so large that they are at fault."""
        return self.given.are_large(self.largest)

    @property
    def is_held(self) -> bool:
        """Whether weights cost more by decay than they could gain, so that they go to 0 whatever the rows say."""
        return self.penalty > max(self.error, self.constant)

    def remedied(self, advice: str, field: str) -> tuple[str, str]:
        """What to do where training went astray, and the parameter to change, if inputs and decay are well."""
        if self.is_held:
            return "lower the decay", "decay"
        return of_inputs(advice, field, self.largest, self.given)

    def diverged(self, epoch: int, advice: str, field: str) -> ParameterError:
        """What is raised of errors or weights that grew without bounds.

        Args:
            epoch: when.
            advice, field: what to do, and the parameter to change, where the start was well.
        """
        if self.is_senseless:
            advice, field = self.fault()
        else:
            advice, field = self.remedied(advice, field)
        return ParameterError(f"training diverged at epoch {epoch}: {advice}", field=field)


def of_inputs(advice: str, field: str, largest: float, given: Given) -> tuple[str, str]:
    """The advice, and the parameter to change, which are others where unscaled inputs are so large."""
    return (f"{_unscaled(largest)}, or {advice}", "scaling") if given.are_large(largest) else (advice, field)


def _unscaled(largest: float) -> str:
    return f"inputs reach {largest:.3g} in magnitude: give scaling = standard or range"


def constant_error(targets: FloatArray, weights: FloatArray, loss: str, last: str) -> float:
    """The least mean loss that one answer to all rows has, which is their mean; in the loss's own unit.

    Args:
        targets: shape (n, O).
        weights: shape (n,), >= 0, not all 0.
        loss: one of :data:`learners.neural.layout.LOSSES`.
        last: activation of the output units.
    """
    shares = weights / weights.sum()
    means = shares @ targets
    if loss == "squared":
        return 0.5 * float((shares @ (targets - means) ** 2).sum())
    parts = means if last == "softmax" else np.concatenate([means, 1.0 - means])
    kept = parts[parts > 0]
    return max(0.0, -float(kept @ np.log(kept)))
