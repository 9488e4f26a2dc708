"""Growing a cascade: output phase, candidate phase, a new unit, and again, until it answers well enough.

Fahlman and Lebiere (1990), "The cascade-correlation learning architecture", CMU-CS-90-100; siblings in the newest
layer beside descendants in a new one after Baluja and Fahlman (1994), "Reducing network depth in the
cascade-correlation learning architecture", CMU-CS-94-209.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learners.base import Progress
from learners.neural.cascade.growing import Growing
from learners.neural.cascade.outputs import loss_of
from learners.neural.cascade.phase import SOLVED, STATUSES
from learners.neural.cascade.settings import Settings
from learners.neural.cascade.stages import Grown, Rows, Stage
from learners.types import FloatArray


def grow(
    rows: Rows, held: Rows | None, kind: int, settings: Settings, rng: np.random.Generator, progress: Progress
) -> Grown:
    """Grow a cascade.

    Args:
        rows: to learn from.
        held: rows that only judge: the stage of least loss on them is what remains; ``None`` for none.
        kind: what the outputs make of their sums, see :mod:`learners.neural.cascade.outputs`.
        settings: how.
        rng: draws all first weights.
        progress: told the share done by hidden units, and a message; may raise ``Cancelled``.

    Raises:
        ParameterError: training diverged; names the phase, the epoch, the number of hidden units and the rate to lower.
    """
    growing = Growing(rows, kind, settings, rng, progress)
    stages: list[Stage] = []
    kept: list[FloatArray] = []
    newest, stopped = None, ""
    while not stopped:
        stage = growing.train_outputs(newest)
        if held is not None:
            scores = growing.network().scores(held.inputs)
            stage = replace(stage, held_loss=loss_of(scores, held.targets, held.shares, kind))
        stages.append(stage)
        kept.append(growing.weights.copy())
        if stage.end == STATUSES[SOLVED] or growing.is_exact:
            stopped = STATUSES[SOLVED]
        elif held is not None and len(stages) - 1 - _best(stages) >= settings.growth_patience:
            stopped = "validation"
        elif len(stages) > settings.max_hidden:
            stopped = "max_hidden"
        else:
            newest = growing.add_unit()
    best = len(stages) - 1 if held is None else _best(stages)
    return Grown(growing.network(kept[best]), tuple(stages), stopped)


def _best(stages: Sequence[Stage]) -> int:
    """The stage of least loss on the rows held out, the earliest of equal ones."""
    return int(np.argmin([stage.held_loss for stage in stages if stage.held_loss is not None]))
