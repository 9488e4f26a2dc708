"""Bias, variance and description lengths as jobs, on both stores: the library's figures, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners import catalog
from learners.evaluation import Plan
from learners.evaluation.decomposition import bias_variance
from learners.evaluation.description import prequential
from learners.evaluation.folds import dealing_order
from learners.table import Table
from service.errors import Invalid
from service.jobs.outcomes import error_record
from tests.service.routes.test_selections import ROWS, columns, data, done, request, uploaded
from tests.service.running import Api, problem
from tests.service.working import do_job

FOREST = {"learner": "random-forest-classifier", "parameters": {"members": 3}}


@pytest.mark.parametrize("more", [{}, FOREST])
def test_the_parts_of_the_error_are_the_librarys(api: Api, more: dict[str, Any]) -> None:
    ended = done(api, request(uploaded(api), "bias-variance", rounds=6, **more))
    learner = catalog.make(more.get("learner", "decision-tree-classifier"), {**more.get("parameters", {})})
    if more:
        learner.set_params(seed=4)
    own = bias_variance(learner, *data(), Plan(folds=3), 6, 4)
    assert ended["result"] == {"dropped_rows": 0, "decomposition": own, "warnings": []}
    found = ended["result"]["decomposition"]
    assert found["error"] == pytest.approx(found["bias"] + found["variance"])
    assert found["error"] == pytest.approx(found["kohavi_wolpert_bias"] + found["kohavi_wolpert_variance"])
    assert [part["part"] for part in ended["parts"]] == ["fold-1", "fold-2", "fold-3"]
    assert ended["request"]["rounds"] == 6


def test_numbers_have_the_parts_of_the_squared_loss(api: Api) -> None:
    body = request(
        uploaded(api),
        "bias-variance",
        target="z",
        learner="linear-regressor",
        features=["x"],
        evaluation={"method": "hold-out", "fraction": 0.5},
    )
    found = done(api, body)["result"]["decomposition"]
    table = Table.from_columns(columns())
    learner = catalog.make("linear-regressor")
    own = bias_variance(learner, table.select(["x"]), table.column("z"), Plan("hold-out", fraction=0.5), 50, 4)
    assert found == own
    assert found["loss"] == "squared"
    assert found["error"] == pytest.approx(found["bias"] + found["variance"])


def test_the_bits_of_the_classes_are_the_librarys(api: Api) -> None:
    body = request(uploaded(api), "description-length")
    del body["evaluation"]
    ended = done(api, body)
    own = prequential(catalog.make("decision-tree-classifier"), *data(), 4)
    found = ended["result"]["description"]
    assert (found["bits"], found["uniform_bits"], found["rows"]) == (own.bits, ROWS, ROWS)
    assert [(one["known"], one["bits"]) for one in found["blocks"]] == list(own.blocks)
    assert [one["rows"] for one in found["blocks"]] == [8, 16, 32, ROWS - 64]
    assert [part["part"] for part in ended["parts"]] == ["block-1", "block-2", "block-3", "block-4"]


def test_a_block_that_cannot_be_learned_for_has_its_reason(shared_api: Api) -> None:
    place = int(dealing_order(24, 0, None)[10])  # in the second eight of the order: not in the first
    x = np.random.default_rng(1).random(24).round(3).tolist()
    x[place] = 1e300  # too large for distances without scaling
    lines = ["x,y", *(f"{one},{label}" for one, label in zip(x, "ab" * 12, strict=True))]
    body = {
        "kind": "description-length",
        "dataset": shared_api.upload("\n".join(lines)).json()["id"],
        "target": "y",
        "learner": "nearest-neighbors-classifier",
        "parameters": {"scaling": "none", "k": 1},
    }
    ended = done(shared_api, body)
    first, second = ended["result"]["description"]["blocks"]
    assert "failure" not in first
    assert (second["known"], second["rows"], second["bits"]) == (16, 8, 8.0)
    assert second["failure"]["column"] == "x"
    # of no block can be told what is known where all rows are too large
    lines = ["x,y", *(f"{1e300 + 1e299 * place},{label}" for place, label in enumerate("ab" * 12))]
    made = shared_api.upload("\n".join(lines)).json()["id"]
    job = shared_api.post("/api/v1/jobs", json=body | {"dataset": made}).json()["id"]
    with pytest.raises(Invalid, match="None of the 2 blocks can be learned for") as caught:
        do_job(shared_api, job)
    assert error_record(caught.value).to_json()["column"] == "x"


@pytest.mark.parametrize(
    ("kind", "changes", "parameter", "words"),
    [
        ("bias-variance", {"rounds": 1}, "rounds", "2"),
        ("bias-variance", {"rounds": 700}, "rounds", "<= 666"),
        ("bias-variance", {"evaluation": {"method": "leave-one-out"}}, "evaluation.method", "k-fold, hold-out"),
        (
            "bias-variance",
            {"evaluation": {"utility": {"yes": {"no": -1}, "no": {"yes": -2}}}},
            "evaluation.utility",
            "no effect on bias and variance",
        ),
        ("bias-variance", {"learner": "autoencoder", "target": None}, "learner", "answers no target"),
        ("bias-variance", {"model": {"name": "m"}}, "model", "it is of train, select"),
        ("learning-curve", {"rounds": 5}, "rounds", "it is of bias-variance"),
        ("description-length", {}, "evaluation", "no effect in a job description-length"),
        (
            "description-length",
            {"evaluation": None, "learner": "linear-regressor", "target": "z"},
            "learner",
            "learns none",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    api: Api, kind: str, changes: dict[str, Any], parameter: str, words: str
) -> None:
    body = {name: value for name, value in request(uploaded(api), kind, **changes).items() if value is not None}
    response = api.post("/api/v1/jobs", json=body)
    found = problem(response, 422)["errors"]
    assert [one["parameter"] for one in found] == [parameter]
    assert words in found[0]["message"]


def test_few_rows_cannot_be_told_in_blocks(api: Api) -> None:
    dataset = api.upload("x,y\n" + "1,a\n2,b\n" * 4, name="few.csv").json()["id"]
    body = {"kind": "description-length", "dataset": dataset, "target": "y", "learner": "decision-tree-classifier"}
    found = problem(api.post("/api/v1/jobs", json=body), 422)["errors"]
    assert found[0]["parameter"] == "dataset"
    assert "more than 8 rows" in found[0]["message"]
