"""What growth works on and tells: rows, the stages that a network went through, and what came out."""

from __future__ import annotations

from dataclasses import dataclass

from learners.neural.cascade.network import Cascade
from learners.types import FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (n, V), targets (n, O), and weights of the rows with sum 1 (n,)."""

    inputs: FloatArray
    targets: FloatArray
    shares: FloatArray


@dataclass(frozen=True)
class Candidate:
    """The candidate that became a unit.

    Attributes:
        activation, placement: what it is, ``sibling`` or ``descendant`` of the newest layer.
        score: sum of its covariances' magnitudes, over the mean square of the errors.
        epochs: of the candidate phase; ``end`` how it ended.
    """

    activation: str
    placement: str
    score: float
    epochs: int
    end: str


@dataclass(frozen=True)
class Stage:
    """The network of so many hidden units, after its output phase.

    Attributes:
        hidden: hidden units; ``layers`` of them.
        newest: the last of them, or ``None``.
        epochs: of the output phase; ``end`` how it ended.
        wrong: answers, row by row and output by output, that are not within the tolerance.
        first: mean loss of the training rows before the phase's first step; ``loss`` after it; ``held_loss`` of those
            held out, or ``None``.
    """

    hidden: int
    layers: int
    newest: Candidate | None
    epochs: int
    end: str
    wrong: int
    first: float
    loss: float
    held_loss: float | None = None


@dataclass(frozen=True, eq=False)
class Grown:
    """A network, the stages of its growth (its own is ``stages[network.n_hidden]``), and why growth ended."""

    network: Cascade
    stages: tuple[Stage, ...]
    stopped: str

    @property
    def epochs(self) -> int:
        """Presentations of the training rows, in both phases."""
        return sum(stage.epochs + (stage.newest.epochs if stage.newest else 0) for stage in self.stages)
