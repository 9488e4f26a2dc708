"""What runs inside a part's process: preparing it, and carrying out one task.

Nothing but JSON values leaves the process. An exception is turned into an error record here, where
its type is known, so that no foreign exception ever has to cross the border.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service.jobs.outcomes import ErrorRecord, Outcome, describe
from service.jobs.slot import Slot

log = logging.getLogger("rulewood.jobs")

#: What a part is: JSON arguments and a progress callback in, a JSON result out.
PartFunction = Callable[[dict[str, Any], Callable[[float, str], None]], dict[str, Any]]

#: With this a process tells at its start that it goes on without what it should have loaded.
UNPREPARED = "could not load ahead what parts need"
_PR_SET_PDEATHSIG = 1
_PARENT_POLL_SECONDS = 0.5
_slot: Slot | None = None


def prepare(slot_path: str, parent: int, niceness: int, warm: Callable[[], None] | None) -> None:
    """Run once in a new child: tie its life to the worker's, lower its priority, import what it needs.

    What cannot be loaded ahead is not needed for the process to work: its parts load it themselves, or fail by
    it one by one with the reason. The lane reads from the slot that this was so, and says it in the log.
    """
    global _slot  # noqa: PLW0603 - a process has one slot, given by its initialiser
    _die_with_parent(parent)
    trouble = ""
    try:
        if warm is not None:
            warm()
    except Exception as error:
        trouble = f"{UNPREPARED}: {type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        os.nice(niceness)  # after the imports, so that a worker is soon ready on a busy machine too
    _slot = Slot(Path(slot_path))
    _slot.write(os.getpid(), 0.0, trouble)


def _die_with_parent(parent: int) -> None:
    """The kernel's signal at the parent's death where there is one, and a watching thread everywhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_SECONDS)
    os._exit(1)


def perform(function: PartFunction, arguments: dict[str, Any]) -> Outcome:
    """Carry out one part and say how it ended; never raises."""
    try:
        return Outcome(result=function(arguments, report))
    except MemoryError:
        return Outcome(error=ErrorRecord("memory-limit", "the process could not get the memory it asked for"))
    except Exception as error:
        return describe(error)


def report(share: float, message: str) -> None:
    """The progress callback given to a part."""
    if _slot is not None:
        _slot.write(os.getpid(), share, message)
