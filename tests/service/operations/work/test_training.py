"""Trainings and cross-validations: what is refused, and what the parts find."""

from __future__ import annotations

import numpy as np
import pytest

from learners import catalog
from learners.errors import DataError
from learners.evaluation import cross_validate
from learners.table import Column, Table
from learners.trees import wholes
from service.errors import Invalid
from service.formats.table_file import open_table
from service.operations import work
from service.operations.learning_data import prepare, select
from service.store.tables import Dataset
from tests.service.operations.training_data import write_csv
from tests.service.operations.work.bench import ROWS
from tests.shared import table_path


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
        ({"weights": "gaps"}, "weights", "gaps", "missing in row 0"),
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


def test_a_bad_target_is_named_by_its_row_in_the_dataset(bench):
    rows = ["1,red,1,", "2,red,1,", *(f"{row},red,1,{row}" for row in range(6)), "8,red,1,1e150", "9,red,1,"]
    request = bench.request(
        bench.small([row.replace("1e150", "1") for row in rows]),
        learner="decision-tree-regressor",
        evaluation={"method": "k-fold", "folds": 2},
    )
    request["dataset"] = bench.small(rows)  # else it is refused when it is submitted
    told = []
    for part in ("fit", "fold-1", "fold-2"):
        try:
            bench.run(request, part)
        except DataError as error:
            told.append((str(error).partition(";")[0], error.row))
    assert told == [("the target is 1e+150 in row 8", 8)] * 2  # in one of the folds it is no row to learn from


def test_a_bad_weight_is_named_by_its_row(bench):
    rows = list(ROWS)
    rows[3] = "3,red,-1,no"
    request = bench.request(bench.small(ROWS), weights="w")
    request["dataset"] = bench.small(rows)  # else it is refused when it is submitted
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


def test_the_folds_of_a_job_share_a_layout_of_the_columns_and_one_fit_has_none(bench):
    dataset = bench.put(table_path("iris.csv"))
    with bench.store.read() as session:
        path = bench.blobs.path(session.get(Dataset, dataset).table_sha256)
    folds = {"method": "k-fold", "folds": 5}
    request = bench.request(dataset, kind="cross-validate", target="class", evaluation=folds)
    table, laid = prepare(path, request).table, []
    for part in work.plan(request):
        bench.run(request, part)
        laid.append(wholes._laid[table])
    assert all(one is laid[0] for one in laid)
    for evaluation in ({"method": "none"}, {"method": "hold-out", "fraction": 0.25}):
        request = bench.request(dataset, target="class", evaluation=evaluation)
        bench.run(request, "fit")
        assert prepare(path, request).table not in wholes._laid
