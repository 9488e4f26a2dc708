"""The durable side of a job: a workflow that starts its parts as child workflows, stage by stage, and finishes it.

Arguments and results are ids and names only; what a part finds goes to the store. A step that was
checkpointed is not run again after a crash, and a part whose result is in the store is skipped even
where the crash came between the two.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from dbos import DBOS, SetWorkflowID
from dbos._error import DBOSAwaitedWorkflowCancelledError, DBOSAwaitedWorkflowMaxRecoveryAttemptsExceeded

JOBS_QUEUE = "rulewood-jobs"
PARTS_QUEUE = "rulewood-parts"
#: A part that took its worker down with it this often in a row is given up.
PART_RECOVERIES = 5
#: The job's own workflow only waits, but it is recovered at every death of a worker that it lives through.
JOB_RECOVERIES = 50
_RESULT_POLL_SECONDS = 0.1
_MOST_REMEMBERED = 1000


class Steps(Protocol):
    """What the workflows call; each may be repeated without harm."""

    def plan(self, job_id: str) -> list[str]:
        """The names of the job's parts in order, as far as they are known by what its parts found so far.

        Each time it begins as it did before; a list that is no longer than before is the whole.
        """

    def await_turn(self, job_id: str) -> None:
        """Wait until the parts of the jobs submitted earlier are in the queue, so that the job's come behind."""

    async def run_part(self, job_id: str, part: str) -> None:
        """Compute a part and store its result, or fail the job."""

    def finish(self, job_id: str) -> None:
        """Combine the parts and end the job."""

    def give_up(self, job_id: str, reason: str) -> None:
        """Fail the job because the engine cannot go on with it."""


class PartError(RuntimeError):
    """The workflow of a part ended by an error, which only the engine itself can be the cause of."""


@dataclass(frozen=True)
class Workflows:
    """The registered workflows."""

    job: Callable[[str], Awaitable[None]]
    part: Callable[[str, str], Awaitable[None]]


def part_id(job_id: str, part: str) -> str:
    """The id of a part's workflow."""
    return f"{job_id}:{part}"


def register(steps: Steps, ring: Callable[[], None]) -> Workflows:
    """Register the workflows with DBOS; once a process, before it launches.

    Args:
        steps: what they do.
        ring: called when a part was queued or has ended here, so that the queue is looked at.
    """
    ended = Ended(ring)

    @DBOS.step(name="plan")
    async def plan(job_id: str) -> list[str]:
        parts = await asyncio.to_thread(steps.plan, job_id)
        # In an executor's thread as it is: a copied context would make DBOS take the looks for steps.
        await asyncio.get_running_loop().run_in_executor(None, steps.await_turn, job_id)
        return parts

    @DBOS.step(name="run-part", preemptible=True)
    async def run_part(job_id: str, part: str) -> None:
        await steps.run_part(job_id, part)

    @DBOS.step(name="finish")
    async def finish(job_id: str) -> None:
        await asyncio.to_thread(steps.finish, job_id)

    @DBOS.step(name="give-up")
    async def give_up(job_id: str, reason: str) -> None:
        await asyncio.to_thread(steps.give_up, job_id, reason)

    @DBOS.workflow(name="part", max_recovery_attempts=PART_RECOVERIES)
    async def part_workflow(job_id: str, part: str) -> None:
        ended.follow(part_id(job_id, part))
        await run_part(job_id, part)

    @DBOS.workflow(name="job", max_recovery_attempts=JOB_RECOVERIES)
    async def job_workflow(job_id: str) -> None:
        done = 0
        while len(parts := await plan(job_id)) > done:
            failure = await _run_stage(part_workflow, job_id, parts[done:], ended)
            if failure:
                await give_up(job_id, failure)
                return
            done = len(parts)
        await finish(job_id)

    return Workflows(job_workflow, part_workflow)


class Ended:
    """Tells the workflow of a job at once that one of a part has ended in this process.

    Args:
        ring: called at every end.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring = ring
        self._running: set[str] = set()
        self._events: dict[str, asyncio.Event] = {}

    def follow(self, workflow_id: str) -> None:
        """Called by a workflow when it begins. Its end is that of its task, which stores how it ended."""
        task = asyncio.current_task()
        if task is not None:
            self._running.add(workflow_id)
            task.add_done_callback(lambda _: self._tell(workflow_id))

    def _tell(self, workflow_id: str) -> None:
        self._running.discard(workflow_id)
        self._event(workflow_id).set()
        self.ring()

    async def wait(self, workflow_id: str) -> None:
        """Wait until a workflow has ended; of one that does not run in this process, a moment at most."""
        event = self._event(workflow_id)
        waits = True
        while waits:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), _RESULT_POLL_SECONDS)
            waits = not event.is_set() and workflow_id in self._running
        self._events.pop(workflow_id, None)

    def _event(self, workflow_id: str) -> asyncio.Event:
        if workflow_id not in self._events and len(self._events) >= _MOST_REMEMBERED:
            # Nobody here asks for those whose job is another worker's.
            del self._events[next(iter(self._events))]
        return self._events.setdefault(workflow_id, asyncio.Event())


async def _run_stage(
    part_workflow: Callable[[str, str], Coroutine[Any, Any, None]], job_id: str, parts: list[str], ended: Ended
) -> str:
    """Run parts beside each other as child workflows.

    Returns:
        Why the engine gave a part up, if it did: then the job must end too.

    Raises:
        PartError: a part's workflow ended by an error; the job's is begun anew.
    """
    handles: list[Any] = []
    for number, part in enumerate(parts, 1):
        with SetWorkflowID(part_id(job_id, part)):
            handles.append(await DBOS.enqueue_workflow_async(PARTS_QUEUE, part_workflow, job_id, part))
        if number & (number - 1) == 0 or number == len(parts):  # the first ones begin while the others are queued
            ended.ring()
    for handle in handles:
        await ended.wait(handle.workflow_id)
        try:
            await handle.get_result(polling_interval_sec=_RESULT_POLL_SECONDS)
        except (DBOSAwaitedWorkflowCancelledError, DBOSAwaitedWorkflowMaxRecoveryAttemptsExceeded) as error:
            return _told(job_id, handle.workflow_id, error)
        except Exception as error:  # whatever ended the part
            raise PartError(_told(job_id, handle.workflow_id, error)) from error
    return ""


def _told(job_id: str, workflow_id: str, error: Exception) -> str:
    return f"part {workflow_id.removeprefix(job_id + ':')}: {error}"
