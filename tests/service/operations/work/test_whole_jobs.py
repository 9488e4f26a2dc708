"""Whole jobs with the worker of `rulewood serve` under its supervisor, also where it is killed in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from learners import catalog, persist
from service import registry
from service.operations.jobs import download
from service.settings import Settings
from service.store import jobs
from service.store.tables import Dataset
from service.supervisor import WorkerSupervisor
from tests.conftest import DATABASES, migrated_database
from tests.service.jobs.conftest import is_alive, wait_for
from tests.service.operations.work.bench import ROWS, Bench
from tests.shared import table_path


class Shop(Bench):
    """A bench with a worker."""

    def __init__(self, database_url, folder) -> None:
        super().__init__(database_url, folder)
        self.supervisor = WorkerSupervisor(Settings(data=folder, database=database_url, processes=1))
        self.supervisor.start()

    def close(self) -> None:
        pid = self.supervisor.pid
        self.supervisor.stop()
        super().close()
        assert pid is None or not is_alive(pid)


@pytest.fixture(scope="module", params=DATABASES)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One for all tests on a database: a worker takes seconds to start."""
    folder = tmp_path_factory.mktemp("shop")
    with migrated_database(request, request.param, folder) as url:
        made = Shop(url, folder)
        yield made
        made.close()


def test_whole_jobs_with_a_worker_that_is_killed(shop):
    """Train, cross-validate and register; once undisturbed, once with the worker killed in between: same bits."""
    dataset = shop.put(table_path("credit-g.csv"))
    evaluation = {"method": "k-fold", "folds": 10}
    model = {"name": "credit", "aliases": ["champion"], "notes": "first", "tags": ["german"]}
    request = shop.request(dataset, target="class", evaluation=evaluation, model=model)
    undisturbed = shop.finished(shop.submit(request))
    assert undisturbed.state == "succeeded", undisturbed.error
    assert 0.6 < undisturbed.result["evaluation"]["metrics"]["accuracy"]["mean"] < 0.8

    disturbed_id = shop.submit(request)
    wait_for(lambda: _count_parts(shop, disturbed_id) >= 3)
    first = shop.supervisor.pid
    os.kill(first, signal.SIGKILL)
    assert shop.job(disturbed_id).state == "running"
    disturbed = shop.finished(disturbed_id)
    assert disturbed.state == "succeeded", disturbed.error
    assert shop.supervisor.pid != first
    assert _without_version(disturbed.result) == _without_version(undisturbed.result)
    assert [job.result["model"]["version"] for job in (undisturbed, disturbed)] == [1, 2]
    starts = _starts(shop, disturbed_id)
    assert len(starts) - len(set(starts)) <= 1  # at most the part in work started twice

    with shop.store.read() as session:
        version = registry.resolve(session, "default", "credit@champion")
    assert (version.version, version.job_id) == (2, disturbed_id)
    assert version.lineage["table_sha256"] == _table_sha256(shop, dataset)
    assert version.metrics == disturbed.result["evaluation"]
    learner = catalog.load_model(persist.load_file(shop.blobs.path(version.blob_sha256)))
    assert learner.target_.name == "class"


def test_a_failed_and_a_cancelled_job_leave_no_model(shop):
    rows = list(ROWS)
    rows[3] = "3,red,-1,no"
    request = shop.request(shop.small(ROWS), weights="w", model={"name": "half"})
    request["dataset"] = shop.small(rows)  # else it is refused when it is submitted
    failed = shop.finished(shop.submit(request))
    assert (failed.state, failed.error["type"], failed.error["column"]) == ("failed", "invalid", "w")
    assert "row 3" in failed.error["detail"]

    big = shop.put(table_path("credit-g.csv"))
    evaluation = {"method": "k-fold", "folds": 100}
    job_id = shop.submit(shop.request(big, target="class", evaluation=evaluation, model={"name": "half"}))
    wait_for(lambda: _count_parts(shop, job_id) >= 1)
    with shop.store.begin() as session:
        jobs.request_cancel(session, "default", job_id)
    assert shop.finished(job_id).state == "cancelled"
    with shop.store.read() as session, pytest.raises(Exception, match="no model"):
        registry.resolve(session, "default", "half")


# The engine goes on with a job's stages alike on both databases (test_recovery); each kind of job shows it on one.


@pytest.mark.parametrize("shop", ["sqlite"], indirect=True)
def test_a_search_whose_worker_is_killed_goes_on_and_finds_the_same(shop):
    """Sizes come in stages; the worker dies in one of them, and nothing that was finished is done again."""
    dataset = shop.put(table_path("iris.csv"))
    selection = {"method": "size", "size": "max_leaves", "most": 8, "patience": 2, "tolerance": 0.0}
    given = {"target": "class", "selection": selection, "evaluation": {"folds": 4}}
    request = shop.request(dataset, kind="select", model={"name": "sized"}, **given)
    undisturbed = shop.finished(shop.submit(request))
    assert undisturbed.state == "succeeded", undisturbed.error

    disturbed_id = shop.submit(request)
    wait_for(lambda: _count_parts(shop, disturbed_id) >= 5)
    os.kill(shop.supervisor.pid, signal.SIGKILL)
    disturbed = shop.finished(disturbed_id)
    assert disturbed.state == "succeeded", disturbed.error
    assert _without_version(disturbed.result) == _without_version(undisturbed.result)
    starts = _starts(shop, disturbed_id)
    assert len(starts) - len(set(starts)) <= 1

    unwanted = shop.submit(request)
    wait_for(lambda: _count_parts(shop, unwanted) >= 1)
    with shop.store.begin() as session:
        jobs.request_cancel(session, "default", unwanted)
    assert shop.finished(unwanted).state == "cancelled"
    with shop.store.read() as session:
        assert registry.resolve(session, "default", "sized").version == 2


@pytest.mark.parametrize("shop", ["postgresql"], indirect=True)
def test_a_comparison_whose_worker_is_killed_goes_on_and_finds_the_same(shop):
    """Learners, then their answers and the comparison; what is to be downloaded is the same to the byte."""
    dataset = shop.put(table_path("iris.csv"))
    learners = [
        {"learner": "decision-tree-classifier", "parameters": {"max_depth": 2}, "name": "tree"},
        {"learner": "decision-tree-classifier"},
        {"learner": "logistic-classifier"},
    ]
    given = {"kind": "compare", "dataset": dataset, "target": "class", "learners": learners}
    request = shop.check(**given, evaluation={"folds": 4}, output={"format": "csv"})
    undisturbed_id = shop.submit(request)
    undisturbed = shop.finished(undisturbed_id)
    assert undisturbed.state == "succeeded", undisturbed.error
    assert len(undisturbed.result["comparisons"]) == 3
    assert undisturbed.result["predictions"]["rows"] == 3 * 150

    disturbed_id = shop.submit(request)
    wait_for(lambda: _count_parts(shop, disturbed_id) >= 4)
    os.kill(shop.supervisor.pid, signal.SIGKILL)
    disturbed = shop.finished(disturbed_id)
    assert disturbed.state == "succeeded", disturbed.error
    assert disturbed.result == undisturbed.result
    assert _downloaded(shop, disturbed_id) == _downloaded(shop, undisturbed_id)
    starts = _starts(shop, disturbed_id)
    assert len(starts) - len(set(starts)) <= 1

    unwanted = shop.submit(request)
    wait_for(lambda: _count_parts(shop, unwanted) >= 1)
    with shop.store.begin() as session:
        jobs.request_cancel(session, "default", unwanted)
    assert shop.finished(unwanted).state == "cancelled"


def _downloaded(shop, job_id):
    return b"".join(download(shop.store, shop.blobs, "default", job_id).blocks)


def _starts(shop, job_id):
    """The parts that were started, each as often as it was."""
    with shop.store.read() as session:
        events = jobs.events_after(session, job_id)
    return [event.data["message"] for event in events if event.data.get("message", "").endswith(": started")]


def _count_parts(shop, job_id):
    with shop.store.read() as session:
        return jobs.count_parts(session, job_id)


def _without_version(result):
    return result | {"model": {"sha256": result["model"]["sha256"]}}


def _table_sha256(shop, dataset):
    with shop.store.read() as session:
        return session.get(Dataset, dataset).table_sha256
