"""Every call into DBOS from outside a workflow, in one place. Imported by workers only."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID
from dbos._dbos import _get_dbos_instance
from dbos._error import DBOSAwaitedWorkflowCancelledError, DBOSWorkflowCancelledError
from dbos._queue import queue_worker_thread
from sqlalchemy import event, make_url
from sqlalchemy.engine import ExceptionContext

from service.jobs.pace import Pace
from service.jobs.workflows import JOBS_QUEUE, PARTS_QUEUE, Steps, Workflows, register
from service.store.engines import without_silence
from service.store.failures import is_out_of_reach

log = logging.getLogger("rulewood.jobs")

#: Pinned, because by default it is a hash of the source and a deploy would strand the jobs before it.
#: Raise it only together with a plan for those.
APPLICATION_VERSION = "1"
#: Finished workflows are of no use after this; the job's own row stays.
RETENTION_SECONDS = 7 * 86_400.0
#: By queue, seconds between two looks while there is work: so long at most is not seen what another worker put there.
_POLL_SECONDS = {PARTS_QUEUE: 0.05, JOBS_QUEUE: 0.1}
#: The same of a worker that is the only one, to whom all that is put there or ends is told.
_ALONE_POLL_SECONDS = 0.25
#: DBOS orders a queue by the millisecond; what is queued so long after another comes behind it.
TICK_SECONDS = 0.002
_PAGE = 500


class Paces(NamedTuple):
    """Of the two queues."""

    jobs: Pace
    parts: Pace

    def tell(self, *, has_work: bool) -> None:
        """See :meth:`~service.jobs.pace.Pace.tell`."""
        for pace in self:
            pace.tell(has_work=has_work)


def launch(
    url: str, schema: str, executor_id: str, steps: Steps, paces: Paces, *, parts: int, jobs: int, alone: bool
) -> Workflows:
    """Start DBOS in this process.

    Args:
        url: database of the workflows, ``sqlite:///FILE`` or a PostgreSQL URL.
        schema: PostgreSQL schema of its tables.
        executor_id: unique to this process's life.
        steps: what the workflows do.
        paces: by which the threads wait that look at the queues.
        parts, jobs: how many of each this worker takes from the queues at a time.
        alone: whether there can be no other worker.
    """
    database = make_url(url)
    is_sqlite = database.get_backend_name() == "sqlite"
    if is_sqlite:
        _switch_to_wal(Path(str(database.database)))
    else:
        database = without_silence(database)
    config: DBOSConfig = {
        "name": "rulewood",
        "system_database_url": database.render_as_string(hide_password=False),
        "dbos_system_schema": schema,
        "application_version": APPLICATION_VERSION,
        "executor_id": executor_id,
        "serializer": DBOSPortableJSONSerializer(),
        "log_level": "ERROR",
        "use_listen_notify": False,
        "notification_listener_polling_interval_sec": 5.0,
        "db_engine_kwargs": {"connect_args": {"factory": _Connection}} if is_sqlite else {},
    }
    DBOS(config=config)
    logging.getLogger("dbos").addFilter(tells_more_than_a_cancellation)
    workflows = register(steps, paces.parts.ring)
    DBOS.listen_queues([])
    DBOS.launch()
    if is_sqlite:
        event.listen(_get_dbos_instance()._sys_db.engine, "handle_error", waits_for_the_file)
    _register_queue(PARTS_QUEUE, parts, alone)
    _register_queue(JOBS_QUEUE, jobs, alone)
    _watch(PARTS_QUEUE, paces.parts)
    _watch(JOBS_QUEUE, paces.jobs)
    return workflows


def tells_more_than_a_cancellation(record: logging.LogRecord) -> bool:
    """Whether a record of DBOS tells something else than that a workflow was cancelled, which somebody wanted."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, DBOSWorkflowCancelledError | DBOSAwaitedWorkflowCancelledError)


def waits_for_the_file(context: ExceptionContext) -> None:
    """Take a full disk, or a file out of reach, for a lost connection: DBOS then tries again until it is found.

    Of SQLite's errors it does so for locks only; by any other a workflow would end, or be left without its end.
    """
    if is_out_of_reach(context.original_exception):
        log.warning("the workflows' file cannot be used, trying again: %s", context.original_exception)
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False  # the other connections may be in the midst of something


def _watch(name: str, pace: threading.Event) -> None:
    """Look at a queue in a thread of its own, by a private call of DBOS's.

    DBOS itself looks at a fixed pace, which costs an idle worker a sixth of a processor; and a pace that is set
    anew while it runs is come to only in some twenty looks.
    """
    queue = DBOS.retrieve_queue(name)
    arguments = (pace, _get_dbos_instance(), queue)
    threading.Thread(target=queue_worker_thread, args=arguments, name=f"queue-{name}", daemon=True).start()


def _register_queue(name: str, worker_concurrency: int, alone: bool) -> None:
    DBOS.register_queue(
        name,
        worker_concurrency=worker_concurrency,
        polling_interval_sec=_ALONE_POLL_SECONDS if alone else _POLL_SECONDS[name],
        on_conflict="always_update",
    )


class _Connection(sqlite3.Connection):
    """To the workflows' own file, that does not wait for the disk at each of some sixty commits a job.

    Whatever kills the worker, all is there. After a power cut the last commits may be gone, and what is there agrees:
    the store's file, which waits, knows every job and every result, and by it lost workflows are started again and
    finished parts are skipped.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute("PRAGMA synchronous=NORMAL")


def _switch_to_wal(path: Path) -> None:
    """Readers and the writer do not wait for each other in this mode; it stays with the file."""
    connection = sqlite3.connect(path, timeout=30.0)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()


def start(workflows: Workflows, job_id: str) -> None:
    """Queue a job's workflow under the job's id; does nothing where it exists."""
    with SetWorkflowID(job_id):
        DBOS.enqueue_workflow(JOBS_QUEUE, workflows.job, job_id)
    time.sleep(TICK_SECONDS)


def start_anew(workflows: Workflows, job_id: str) -> None:
    """Forget a job's workflow, which has ended, and those of its parts, and queue it again."""
    DBOS.delete_workflows([job_id], delete_children=True)
    start(workflows, job_id)


def cancel(job_id: str) -> None:
    """Cancel a job's workflow and those of its parts; does nothing where it is over."""
    DBOS.cancel_workflow(job_id, cancel_children=True)


def states(job_ids: Sequence[str]) -> dict[str, str]:
    """The state of each job's workflow by id; absent where there is none."""
    found = DBOS.list_workflows(workflow_ids=list(job_ids), load_input=False, load_output=False) if job_ids else []
    return {workflow.workflow_id: workflow.status for workflow in found}


def reason(job_id: str) -> str:
    """By what error a job's workflow ended; empty if by none."""
    found = DBOS.list_workflows(workflow_ids=[job_id], load_input=False)
    return str(found[0].error or "") if found else ""


def pending() -> dict[str, str]:
    """The executor that holds each piece of unfinished work, by the workflow's id."""
    found = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    return {workflow.workflow_id: workflow.executor_id for workflow in found if workflow.executor_id}


def running_here() -> set[str]:
    """The ids of the workflows that run in this process."""
    return set(_get_dbos_instance()._active_workflows_set.activeList())


def give_back(workflow_id: str, executor_id: str) -> bool:
    """Give a workflow that an executor holds back to its queue; whether it still held it.

    It is counted as a recovery, so that this too has an end.
    """
    return _get_dbos_instance()._sys_db.reenqueue_for_recovery(workflow_id, [executor_id], PARTS_QUEUE)


def recover(executor_ids: Sequence[str]) -> int:
    """Give the work of dead executors back to the queues; how many workflows that were.

    The private call is guarded inside DBOS against a second recovery of the same work; it is tested
    by really killing workers, and the dependency is capped because of it.
    """
    return len(DBOS._recover_pending_workflows(list(executor_ids)))


def forget_old(now: float | None = None) -> int:
    """Delete finished workflows past :data:`RETENTION_SECONDS`; how many those were."""
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((now or time.time()) - RETENTION_SECONDS))
    gone = 0
    while True:
        old = DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            end_time=before,
            limit=_PAGE,
            load_input=False,
            load_output=False,
        )
        if not old:
            return gone
        DBOS.delete_workflows([workflow.workflow_id for workflow in old])
        gone += len(old)
