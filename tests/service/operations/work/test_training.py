"""Trainings and cross-validations: what is refused, what the parts find, and whole jobs with a real worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from learners import _accel, _turns, catalog, persist
from learners.errors import DataError
from learners.evaluation import cross_validate
from learners.table import Column, Table
from service import registry
from service.errors import Invalid
from service.formats.table_file import open_table
from service.operations import work
from service.operations.learning_data import prepare, select
from service.operations.submission import check_submission
from service.operations.work import kernels
from service.operations.work.part import opened
from service.settings import Settings
from service.store import jobs
from service.store.blobs import Blobs
from service.store.tables import Dataset
from service.supervisor import WorkerSupervisor
from tests.service.jobs.conftest import is_alive, wait_for
from tests.service.operations.training_data import put_dataset, write_csv
from tests.shared import table_path

CACHE_BYTES = 1 << 30
ROWS = [f"{x},{'red' if x % 2 else 'blue'},{x % 3},{'yes' if x > 5 else 'no'}" for x in range(12)]


class Bench:
    """A store with its blobs and a small dataset: x, colour, w (weights) and y."""

    def __init__(self, store, data_dir: Path, database_url: str) -> None:
        self.store, self.folder, self.url = store, data_dir, database_url
        self.cache = str(data_dir / "cache")
        self.blobs = Blobs(store, data_dir / "cache")

    def put(self, path: Path, **options) -> str:
        return put_dataset(self.store, self.blobs, path, self.folder, **options)

    def small(self, rows=ROWS, **options) -> str:
        return self.put(write_csv(self.folder / "small.csv", "x,colour,w,y", *rows), **options)

    def check(self, **request):
        with self.store.read() as session:
            return check_submission(session, "default", request)

    def request(self, dataset, /, **changes):
        given = {"kind": "train", "dataset": dataset, "target": "y", "learner": "decision-tree-classifier"}
        return self.check(**(given | changes))

    def arguments(self, request, part):
        return {
            "store": self.url,
            "cache": self.cache,
            "cache_bytes": CACHE_BYTES,
            "job_id": "job_test",
            "request": request,
            "part": part,
        }

    def run(self, request, part):
        return work.run_part(self.arguments(request, part), lambda share, message: None)

    def submit(self, request) -> str:
        with self.store.begin() as session:
            return jobs.insert_or_get(session, "default", request["kind"], request, request["dataset"])[0].id

    def job(self, job_id):
        with self.store.read() as session:
            return jobs.find(session, job_id)

    def finished(self, job_id):
        return wait_for(lambda: (job := self.job(job_id)).state in ("succeeded", "failed", "cancelled") and job)


@pytest.fixture
def bench(store, data_dir, database_url):
    made = Bench(store, data_dir, database_url)
    yield made
    if opened.cache_info().currsize:  # a part opens one store for the life of its process, here the test's
        opened(made.url, made.cache, CACHE_BYTES)[0].dispose()
        opened.cache_clear()


@pytest.fixture
def start_worker(data_dir, database_url):
    """Starts the worker of `rulewood serve` under its supervisor."""
    started = []

    def start() -> WorkerSupervisor:
        supervisor = WorkerSupervisor(Settings(data=data_dir, database=database_url, processes=1))
        supervisor.start()
        started.append(supervisor)
        return supervisor

    yield start
    for supervisor in started:
        supervisor.stop()


def test_a_submission_gets_its_defaults(bench):
    dataset = bench.small()
    assert bench.request(dataset, model={"name": "m"}) == {
        "kind": "train",
        "dataset": dataset,
        "target": "y",
        "learner": "decision-tree-classifier",
        "parameters": {},
        "features": ["x", "colour", "w"],
        "weights": None,
        "seed": 0,
        "evaluation": {"method": "none"},
        "model": {"name": "m", "aliases": [], "notes": "", "tags": []},
    }
    crossed = bench.request(dataset, kind="cross-validate", weights="w", excluded=["colour"])
    assert crossed["features"] == ["x"]
    assert crossed["evaluation"] == {"method": "k-fold", "stratified": True, "folds": 10}
    assert work.plan(crossed) == [f"fold-{number}" for number in range(1, 11)]
    held = bench.request(dataset, evaluation={"method": "hold-out"})
    assert work.plan(held) == ["hold-out", "fit"]


@pytest.mark.parametrize(
    ("changes", "parameter", "column", "words"),
    [
        ({"dataset": "ds_nowhere"}, "dataset", None, "no dataset"),
        ({"learner": "oracle"}, "learner", None, "no learner 'oracle'"),
        ({"target": "z"}, "target", "z", "not in the dataset"),
        ({"target": "x"}, "target", "x", "is numeric"),
        ({"target": "colour", "learner": "decision-tree-regressor"}, "target", "colour", "learns numbers"),
        ({"target": "gone"}, "target", "gone", "excluded"),
        ({"parameters": {"depth": 3}}, "parameters.depth", None, "no parameter 'depth'"),
        ({"parameters": {"confidence": 0.9}}, "parameters.confidence", None, "confidence must be"),
        ({"parameters": {"criterion": "luck"}}, "parameters.criterion", None, "one of"),
        ({"features": []}, "features", None, "no column is left"),
        ({"features": ["x", "y"]}, "features", "y", "cannot be learned from"),
        ({"features": ["x", "x"]}, "features", "x", "named twice"),
        ({"features": ["q"]}, "features", "q", "not in the dataset"),
        ({"features": ["x"], "excluded": ["w"]}, "features", None, "not both"),
        ({"excluded": ["y"]}, "excluded", "y", "not learned from anyway"),
        ({"excluded": ["w"], "weights": "w"}, "excluded", "w", "not learned from anyway"),
        ({"excluded": ["x", "x"]}, "excluded", "x", "named twice"),
        ({"evaluation": {"method": "hold-out", "folds": 3}}, "evaluation.folds", None, "no effect"),
        ({"parameters": {"max_depth": 10**19}}, "parameters.max_depth", None, "<= 2147483647"),
        (
            {"learner": "rule-set-classifier", "parameters": {"subset": "all", "theory_weight": 50}},
            "parameters.theory_weight",
            None,
            "no effect with subset",
        ),
        ({"excluded": ["x", "colour", "w", "gaps"]}, "features", None, "no column is left"),
        ({"weights": "colour"}, "weights", "colour", "must be numeric"),
        ({"weights": "y"}, "weights", "y", "cannot be the target"),
        ({"weights": "gaps"}, "weights", "gaps", "missing in 1 rows"),
        ({"seed": -1}, "seed", None, ">= 0"),
        ({"seed": True}, "seed", None, "whole number"),
        ({"evaluation": {"method": "k-fold", "folds": 1}}, "evaluation.folds", None, ">= 2 and <= 12"),
        ({"evaluation": {"method": "k-fold", "folds": 13}}, "evaluation.folds", None, "<= 12"),
        ({"evaluation": {"method": "hold-out", "fraction": 1.0}}, "evaluation.fraction", None, "< 1"),
        ({"kind": "cross-validate", "evaluation": {"method": "none"}}, "evaluation.method", None, "hold-out"),
        ({"kind": "cross-validate", "model": {"name": "m"}}, "model", None, "makes no model"),
        ({"model": {"name": "a model"}}, "model.name", None, "name"),
        ({"model": {"name": "m", "aliases": ["-"]}}, "model.aliases", None, "name"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(bench, changes, parameter, column, words):
    dataset = bench.put(
        write_csv(
            bench.folder / "small.csv",
            "x,colour,w,y,gone,gaps",
            *[f"{row},1,{number or ''}" for number, row in enumerate(ROWS)],
        ),
        kinds={"gone": "excluded"},
    )
    with pytest.raises(Invalid) as refused:
        bench.request(dataset, **changes)
    fault = refused.value.faults[0]
    assert (fault.parameter, fault.column) == (parameter, column)
    assert words in fault.message or words in str(fault.allowed)


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [
        ({"costs": {"q": 1}, "cost_form": "eg2"}, ["x", "colour", "w"]),
        ({"costs": {"x": 1e300}, "cost_form": "eg2"}, None),
        ({"class_weight": {"q": 1}}, ["no", "yes"]),
        ({"class_weight": {"no": 1e-300}}, None),
    ],
)
def test_names_are_told_as_allowed_only_where_a_name_is_at_fault(bench, parameters, allowed):
    with pytest.raises(Invalid) as refused:
        bench.request(bench.small(), parameters=parameters)
    assert refused.value.faults[0].parameter == f"parameters.{next(iter(parameters))}"
    assert refused.value.faults[0].allowed == allowed


@pytest.mark.parametrize(
    ("learner", "parameters", "notes"),
    [
        ("nearest-neighbors-classifier", {"choose_k": "leave-one-out", "k": 1}, {"k": 1}),
        ("nearest-neighbors-classifier", {}, {}),
        ("logistic-classifier", {}, {}),
        ("adaboost-classifier", {"max_depth": None}, {"members": 1, "ended": "perfect"}),
    ],
)
def test_a_fit_tells_what_it_chose_and_a_seed_that_draws_nothing_does_no_harm(bench, learner, parameters, notes):
    request = bench.request(bench.small(), learner=learner, parameters=parameters, seed=7)
    assert bench.run(request, "fit")["notes"] == notes


def test_every_fault_is_told_at_once(bench):
    with pytest.raises(Invalid) as refused:
        bench.request(bench.small(), target="z", parameters={"depth": 1}, seed=-1)
    assert {fault.parameter for fault in refused.value.faults} == {"target", "parameters.depth", "seed"}


def test_rows_without_a_target_are_dropped_and_counted(bench):
    dataset = bench.small([*ROWS, "99,red,1,", "98,red,1,"])
    request = bench.request(dataset, evaluation={"method": "k-fold", "folds": 12})
    fit = bench.run(request, "fit")
    assert (fit["rows"], fit["dropped_rows"]) == (12, 2)
    with pytest.raises(Invalid, match="<= 12"):
        bench.request(dataset, evaluation={"method": "k-fold", "folds": 13})


def test_a_bad_weight_is_named_by_its_row(bench):
    rows = list(ROWS)
    rows[3] = "3,red,-1,no"
    request = bench.request(bench.small(rows), weights="w")
    with pytest.raises(DataError, match=r"row 3 .* is -1\.0") as refused:
        bench.run(request, "fit")
    assert refused.value.field == "w"


def test_the_schema_tells_what_the_model_takes(bench):
    rows = [",red,1,no", *ROWS]
    fit = bench.run(bench.request(bench.small(rows), weights="w"), "fit")
    assert fit["schema"] == {
        "inputs": [
            {"name": "x", "kind": "numeric", "missing": 1, "minimum": 0.0, "maximum": 11.0, "integral": True},
            {"name": "colour", "kind": "nominal", "levels": ["blue", "red"], "level_type": "text", "missing": 0},
        ],
        "target": {"name": "y", "kind": "nominal", "levels": ["no", "yes"], "level_type": "text"},
        "missing_tokens": [""],
        "numbers": {"decimal": ".", "thousands": None},
        "example": {"x": 0, "colour": "blue"},
    }


def test_folds_find_what_the_library_finds(bench):
    dataset = bench.put(table_path("iris.csv"))
    request = bench.request(
        dataset, kind="cross-validate", target="class", seed=3, evaluation={"method": "k-fold", "folds": 5}
    )
    found = [bench.run(request, part)["metrics"] for part in work.plan(request)]
    with bench.store.read() as session:
        table = open_table(bench.blobs.path(session.get(Dataset, dataset).table_sha256))
    whole = cross_validate(
        catalog.make("decision-tree-classifier"), table.drop(["class"]), table.column("class"), folds=5, seed=3
    )
    assert found == [result.metrics for result in whole.results]


def test_neighbouring_columns_are_not_copied():
    table = Table(tuple(Column(name) for name in "abcd"), np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    side_by_side, scattered = select(table, ["b", "c"]), select(table, ["c", "a"])
    assert np.shares_memory(side_by_side.values, table.values)
    assert side_by_side.to_columns() == {"b": [1, 5, 9], "c": [2, 6, 10]}
    assert scattered.to_columns() == {"c": [2, 6, 10], "a": [0, 4, 8]}


def test_a_process_keeps_the_last_preparation(bench):
    dataset = bench.small()
    with bench.store.read() as session:
        path = bench.blobs.path(session.get(Dataset, dataset).table_sha256)
    request = bench.request(dataset)
    assert prepare(path, request) is prepare(path, dict(request))
    assert prepare(path, request) is not prepare(path, request | {"features": ["x"]})


_ALONE = """
import json, sys
from service.operations import work
result = work.run_part(json.loads(sys.argv[1]), lambda share, message: None)
print(json.dumps([result, "numba" in sys.modules]))
"""


@pytest.mark.parametrize("learner", ["decision-tree-classifier", "rule-set-classifier"])
def test_small_parts_do_not_wait_for_the_compiler_and_find_the_same(bench, learner):
    request = bench.request(
        bench.put(table_path("iris.csv")), target="class", learner=learner, evaluation={"method": "k-fold"}
    )
    for part in ("fit", "fold-1"):
        arguments = bench.arguments(request, part) | {"compiled": str(bench.folder / "not-there")}
        said = subprocess.run(
            [sys.executable, "-c", _ALONE, json.dumps(arguments)], capture_output=True, text=True, check=True
        )
        result, loaded = json.loads(said.stdout)
        assert not loaded
        assert result == json.loads(json.dumps(bench.run(request, part)))


def test_large_parts_and_networks_compile_from_the_end_until_word_is_there(tmp_path):
    def helps(learner, n_cells, compiled):
        with kernels.kernels(compiled, learner, n_cells):
            return _accel._helps.get(), _accel._plain.get()

    tree, network = "decision-tree-classifier", "neural-network-classifier"
    (tmp_path / tree).touch()
    assert helps(tree, 10**6, str(tmp_path)) == helps(tree, 10, None) == (False, False)
    missing = str(tmp_path / "missing")
    assert helps(tree, 10, missing) == (False, True)
    assert helps(tree, 10**6, missing) == helps(network, 10, str(tmp_path)) == (True, False)


def test_word_that_another_user_left_stays_as_it_is(tmp_path):
    missing = tmp_path / catalog.LEARNERS[-1].name
    for learner in catalog.LEARNERS[:-1]:
        (tmp_path / learner.name).touch()
        os.utime(tmp_path / learner.name, (0, 0))
    kernels._leave_word(tmp_path)
    assert missing.stat().st_mtime > 0
    assert {path.stat().st_mtime for path in tmp_path.iterdir() if path != missing} == {0}


def test_a_part_that_waits_for_the_compiler_says_so_and_how_far_it_is():
    told = []
    with kernels.telling_of_compiling(lambda share, message: told.append((share, message))) as progress:
        _turns.tell_waiting()
        progress(0.25, "3 nodes")
        _turns.tell_waiting()
    _turns.tell_waiting()
    assert told == [(0.0, kernels.WAITING), (0.25, "3 nodes"), (0.25, kernels.WAITING)]


def test_whole_jobs_with_a_worker_that_is_killed(bench, start_worker):
    """Train, cross-validate and register; once undisturbed, once with the worker killed in between: same bits."""
    dataset = bench.put(table_path("credit-g.csv"))
    evaluation = {"method": "k-fold", "folds": 20}
    model = {"name": "credit", "aliases": ["champion"], "notes": "first", "tags": ["german"]}
    request = bench.request(dataset, target="class", evaluation=evaluation, model=model)
    supervisor = start_worker()
    undisturbed = bench.finished(bench.submit(request))
    assert undisturbed.state == "succeeded", undisturbed.error
    assert 0.6 < undisturbed.result["evaluation"]["metrics"]["accuracy"]["mean"] < 0.8

    disturbed_id = bench.submit(request)
    wait_for(lambda: _count_parts(bench, disturbed_id) >= 3)
    first = supervisor.pid
    os.kill(first, signal.SIGKILL)
    assert bench.job(disturbed_id).state == "running"
    disturbed = bench.finished(disturbed_id)
    assert disturbed.state == "succeeded", disturbed.error
    assert supervisor.pid != first
    assert _without_version(disturbed.result) == _without_version(undisturbed.result)
    assert [job.result["model"]["version"] for job in (undisturbed, disturbed)] == [1, 2]
    starts = _starts(bench, disturbed_id)
    assert len(starts) - len(set(starts)) <= 1  # at most the part in work started twice

    with bench.store.read() as session:
        version = registry.resolve(session, "default", "credit@champion")
    assert (version.version, version.job_id) == (2, disturbed_id)
    assert version.lineage["table_sha256"] == _table_sha256(bench, dataset)
    assert version.metrics == disturbed.result["evaluation"]
    learner = catalog.load_model(persist.load_file(bench.blobs.path(version.blob_sha256)))
    assert learner.target_.name == "class"


def test_a_failed_and_a_cancelled_job_leave_no_model(bench, start_worker):
    rows = list(ROWS)
    rows[3] = "3,red,-1,no"
    dataset = bench.small(rows)
    supervisor = start_worker()
    failed = bench.finished(bench.submit(bench.request(dataset, weights="w", model={"name": "half"})))
    assert (failed.state, failed.error["type"], failed.error["column"]) == ("failed", "invalid", "w")
    assert "row 3" in failed.error["detail"]

    big = bench.put(table_path("credit-g.csv"))
    evaluation = {"method": "k-fold", "folds": 500}
    job_id = bench.submit(bench.request(big, target="class", evaluation=evaluation, model={"name": "half"}))
    wait_for(lambda: _count_parts(bench, job_id) >= 1)
    with bench.store.begin() as session:
        jobs.request_cancel(session, "default", job_id)
    assert bench.finished(job_id).state == "cancelled"
    with bench.store.read() as session, pytest.raises(Exception, match="no model"):
        registry.resolve(session, "default", "half")

    pid = supervisor.pid
    supervisor.stop()
    assert not is_alive(pid)


def _starts(bench, job_id):
    """The parts that were started, each as often as it was."""
    with bench.store.read() as session:
        events = jobs.events_after(session, job_id)
    return [event.data["message"] for event in events if event.data.get("message", "").endswith(": started")]


def _count_parts(bench, job_id):
    with bench.store.read() as session:
        return jobs.count_parts(session, job_id)


def _without_version(result):
    return result | {"model": {"sha256": result["model"]["sha256"]}}


def _table_sha256(bench, dataset):
    with bench.store.read() as session:
        return session.get(Dataset, dataset).table_sha256


def test_a_search_whose_worker_is_killed_goes_on_and_finds_the_same(bench, start_worker):
    """Sizes come in stages; the worker dies in one of them, and nothing that was finished is done again."""
    dataset = bench.put(table_path("iris.csv"))
    selection = {"method": "size", "size": "max_leaves", "most": 8, "patience": 2, "tolerance": 0.0}
    given = {"target": "class", "selection": selection, "evaluation": {"folds": 4}}
    request = bench.request(dataset, kind="select", model={"name": "sized"}, **given)
    supervisor = start_worker()
    undisturbed = bench.finished(bench.submit(request))
    assert undisturbed.state == "succeeded", undisturbed.error

    disturbed_id = bench.submit(request)
    wait_for(lambda: _count_parts(bench, disturbed_id) >= 5)
    os.kill(supervisor.pid, signal.SIGKILL)
    disturbed = bench.finished(disturbed_id)
    assert disturbed.state == "succeeded", disturbed.error
    assert _without_version(disturbed.result) == _without_version(undisturbed.result)
    starts = _starts(bench, disturbed_id)
    assert len(starts) - len(set(starts)) <= 1

    unwanted = bench.submit(request)
    wait_for(lambda: _count_parts(bench, unwanted) >= 1)
    with bench.store.begin() as session:
        jobs.request_cancel(session, "default", unwanted)
    assert bench.finished(unwanted).state == "cancelled"
    with bench.store.read() as session:
        assert registry.resolve(session, "default", "sized").version == 2
