"""Machine code for the parts: compiled beside them, loaded by them, or done without."""

from __future__ import annotations

import contextlib
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path

from learners import catalog
from learners._accel import uncompiled
from learners.base import Progress
from learners.compilation import compile_all, compile_default, marks

#: A tree of so many cells is grown in a few seconds by plain Python.
_FEW_CELLS = 30_000
#: After so long a large part compiles by itself; how often it looks before.
_COMPILER_SECONDS, _LOOK_SECONDS = 300.0, 0.2
#: Added to the priority number of the process that compiles.
_NICENESS = 5


def compile_ahead(done: Path) -> None:
    """Let numba compile the kernels of every learner's defaults into its cache, or load them from there.

    Args:
        done: a folder, in which a file with a learner's name tells that its kernels are there.
    """
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    for learner in catalog.LEARNERS:
        if not (done / learner.name).exists():
            compile_default(learner)
            (done / learner.name).touch()


def is_compiled(done: Path) -> bool:
    """Whether :func:`compile_ahead` has nothing left to do."""
    return all((done / learner.name).exists() for learner in catalog.LEARNERS)


def compile_for_good() -> None:
    """Compile all that any choice of any learner's needs, and leave word of it beside the machine code."""
    compile_all()
    done = marks()
    if done is not None:
        for learner in catalog.LEARNERS:
            (done / learner.name).touch()


def warm(compiled: Path) -> None:
    """Load the kernels that are compiled already; called once in each new process."""
    for learner in catalog.LEARNERS:
        if (compiled / learner.name).exists():
            compile_default(learner)


def kernels(compiled: str | None, learner: str, n_cells: int, progress: Progress) -> AbstractContextManager[None]:
    """How kernels are run: those of a small part as plain Python, as long as they are being compiled.

    The first training on a machine so takes some seconds instead of the compiler's time; the model is
    the same to the bit. A large part waits for the compiler, and so does a network, which goes through its rows often.

    Args:
        compiled: the folder of :func:`compile_ahead`, if there is one.
        learner: its name in the catalogue.
        n_cells: of the table, as often as it is learned from.
        progress: told of the waiting.
    """
    if compiled is None:
        return contextlib.nullcontext()
    flag = Path(compiled) / learner
    if not flag.exists() and n_cells <= _FEW_CELLS and catalog.get(learner).learns_uncompiled:
        return uncompiled()
    give_up_at = time.monotonic() + _COMPILER_SECONDS
    while not flag.exists() and flag.parent.exists() and time.monotonic() < give_up_at:
        progress(0.0, "waiting for the compiler, once on a machine")
        time.sleep(_LOOK_SECONDS)
    return contextlib.nullcontext()
