"""Machine code for the parts: compiled beside them, loaded by them, or done without."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from itertools import cycle
from pathlib import Path

from learners import catalog
from learners._accel import helping, uncompiled
from learners._turns import telling
from learners.base import Progress
from learners.compilation import choices, compile_choice, compile_default, compile_native, is_complete, marks

#: A tree of so many cells is grown in a few seconds by plain Python.
_FEW_CELLS = 30_000
#: Processes that compile everything; each takes some 700 MB.
_MOST_PROCESSES = 4
#: What a part says meanwhile.
WAITING = "waiting for the compiler, once on a machine"
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
    compile_native(done)


def is_compiled(done: Path) -> bool:
    """Whether :func:`compile_ahead` has nothing left to do."""
    return is_complete(done)


def compile_for_good() -> None:
    """Compile what any choice of any learner's needs, on several cores, and leave word of it."""
    spawned = multiprocessing.get_context("spawn")
    everything = list(choices())
    with ProcessPoolExecutor(min(os.cpu_count() or 1, _MOST_PROCESSES), spawned) as pool:
        list(pool.map(_compile_one, *zip(*everything, strict=True), cycle((False, True))))
    done = marks()
    if done is not None:
        _leave_word(done)
        compile_native(done)


def _leave_word(done: Path) -> None:
    for learner in catalog.LEARNERS:
        if not (done / learner.name).exists():  # another user's word need not be this one's to write
            (done / learner.name).touch()


def warm(compiled: Path) -> None:
    """Load the kernels that are compiled already; called once in each new process."""
    for learner in catalog.LEARNERS:
        if (compiled / learner.name).exists():
            compile_default(learner)


def _compile_one(learner: str, params: dict[str, object], helps: bool) -> None:
    with helping() if helps else contextlib.nullcontext():
        compile_choice(learner, params)


def kernels(compiled: str | None, learners: Sequence[str], n_cells: int) -> AbstractContextManager[None]:
    """How kernels are run: those of a small part as plain Python, as long as they are being compiled.

    The first training on a machine so takes some seconds instead of the compiler's time; the model is
    the same to the bit. A large part shares the compiling with the process beside, and so does a network, which goes
    through its rows often.

    Args:
        compiled: the folder of :func:`compile_ahead`, if there is one.
        learners: the names in the catalogue of those that are at work.
        n_cells: of the table, as often as it is learned from.
    """
    if compiled is None or all((Path(compiled) / learner).exists() for learner in learners):
        return contextlib.nullcontext()
    if n_cells <= _FEW_CELLS and all(catalog.get(learner).learns_uncompiled for learner in learners):
        return uncompiled()
    return helping()


@contextlib.contextmanager
def telling_of_compiling(progress: Progress) -> Iterator[Progress]:
    """A part's progress, which meanwhile also says when the part waits for the compiler."""
    reached = 0.0

    def remembering(share: float, message: str) -> None:
        nonlocal reached
        reached = share
        progress(share, message)

    with telling(lambda: progress(reached, WAITING)):
        yield remembering
