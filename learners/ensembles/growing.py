"""Doing something for each member, on one thread or several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from learners.base import Progress

Made = TypeVar("Made")
#: Makes something of a member, by its number.
Make = Callable[[int, Progress], Made]

#: Seconds between two looks at whether the work was cancelled.
_TICK = 0.1


class _Stopped(Exception):
    """The work on another member failed or was cancelled."""


def for_each(make: Make[Made], n_members: int, threads: int, progress: Progress, said: str) -> list[Made]:
    """What is made of each member, in their order; ``progress`` is only told from the calling thread."""
    if threads == 1:
        return [make(member, _portion(progress, member, n_members, said)) for member in range(n_members)]
    stopped = False
    members, made = iter(range(n_members)), dict[int, Made]()

    def check(share: float, message: str) -> None:
        if stopped:
            raise _Stopped

    def make_some() -> None:
        for member in members:  # the threads share them: each takes the next when it is ready
            check(0.0, "")
            made[member] = make(member, check)

    with ThreadPoolExecutor(min(threads, n_members)) as pool:
        # each in a copy of the context, which says whether kernels are compiled
        futures = [pool.submit(copy_context().run, make_some) for _ in range(min(threads, n_members))]
        try:
            progress(0.0, said)
            while _are_at_work(futures):
                progress(len(made) / n_members, f"{len(made)} of {n_members}: {said}")
        except BaseException:
            stopped = True
            raise
    progress(1.0, f"{n_members} of {n_members}: {said}")
    return [made[member] for member in range(n_members)]


def _are_at_work(futures: list[Future[None]]) -> bool:
    """Wait for a moment, or until all are finished; raises what one of them raised."""
    done, waiting = wait(futures, timeout=_TICK, return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()
    return bool(waiting)


def _portion(progress: Progress, member: int, n_members: int, said: str) -> Progress:
    def of_all(share: float, message: str) -> None:
        progress((member + share) / n_members, f"{member} of {n_members}: {said}")

    of_all(0.0, said)
    return of_all


def span(progress: Progress, first: float, last: float) -> Progress:
    """Progress of a part of the work that goes from one share of it to another."""

    def of_all(share: float, message: str) -> None:
        progress(first + (last - first) * share, message)

    return of_all
