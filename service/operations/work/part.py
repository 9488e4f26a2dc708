"""One part of a job in its process: what it is given, and the kinds of jobs that parts belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from learners import catalog
from learners.base import Learner, Progress
from learners.errors import ParameterError
from learners.table import Table
from service.operations.learning_data import LearningData, prepare
from service.store import jobs
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import Dataset, Job

#: The part that fits the model that is kept.
FIT = "fit"
Request = Mapping[str, Any]
Result = dict[str, Any]
#: Gives the results of a job's parts so far, by name; dear, so called only where they matter.
Results = Callable[[], Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Part:
    """What a part is given.

    Attributes:
        name: its own.
        request: the job's.
        job_id: the job's.
        store, blobs: where things lie.
        progress: told how far it is.
        options: JSON values from the worker's settings.
        prefix: what its name has before it in the job, where several learners are judged.
    """

    name: str
    request: Request
    job_id: str
    store: Store
    blobs: Blobs
    progress: Progress
    options: Mapping[str, Any]
    prefix: str = ""

    @cached_property
    def dataset(self) -> Dataset:
        """The record of the job's dataset."""
        return _dataset(self.store, self.request["dataset"])

    @property
    def data(self) -> LearningData:
        """The rows that the job learns from; kept in the process from part to part."""
        return prepare(self.blobs.path(self.dataset.table_sha256), self.request)

    def found(self) -> dict[str, Result]:
        """The results of the job's parts so far, of those with the same prefix, without it."""
        with self.store.read() as session:
            results = jobs.parts(session, self.job_id)
        own = {name: result for name, result in results.items() if name.startswith(self.prefix)}
        return {name.removeprefix(self.prefix): result for name, result in own.items()}


@dataclass(frozen=True)
class Kind:
    """What a kind of job does.

    Attributes:
        plan: the names of the parts, as far as they are known by the results so far.
        run: carries one part out, in a process of the pool.
        finish: the job's result from those of its parts, in the transaction that ends the job.
        expected: about how many parts there will be; None: those known at the beginning.
    """

    plan: Callable[[Request, Results], list[str]]
    run: Callable[[Part], Result]
    finish: Callable[[Session, Job, Mapping[str, Result]], Result]
    expected: Callable[[Request], int] | None = None


@lru_cache(maxsize=8)
def _dataset(store: Store, dataset_id: str) -> Dataset:
    """A record of a dataset, whose table and options never change; kept in the process from part to part."""
    with store.read() as session:
        return session.get_one(Dataset, dataset_id)


@lru_cache(maxsize=1)
def opened(url: str, cache: str, cache_bytes: int) -> tuple[Store, Blobs]:
    """One store for the life of the process."""
    store = Store(url)
    return store, Blobs(store, Path(cache), cache_bytes)


def cells_to_learn(request: Request, table: Table) -> int:
    """How many cells are learned from, by an ensemble as often as it has members."""
    return table.n_rows * table.n_columns * int(getattr(make_learner(request), "members", 1))


def learners_at_work(request: Request) -> list[str]:
    """The names of the request's learner and of those that its parameters, or those of a grid, name within it."""
    nesting = {one.name for one in catalog.get(request["learner"]).parameters() if one.nesting is not None}
    grid = (request.get("selection") or {}).get("grid") or {}
    named = [request["parameters"].get(name) for name in nesting]
    named += [value for name in nesting for value in grid.get(name, ())]
    return [request["learner"], *(one["learner"] for one in named if one is not None)]


def make_learner(request: Request, changes: Mapping[str, Any] | None = None) -> Learner:
    """The unfitted learner; one with a ``seed`` of its own gets the job's unless it was given.

    Args:
        changes: parameters in place of the request's.
    """
    name = request["learner"]
    parameters = dict(request["parameters"]) | dict(changes or {})
    if "seed" not in parameters and "seed" in {parameter.name for parameter in catalog.get(name).parameters()}:
        try:
            return catalog.make(name, {**parameters, "seed": request["seed"]})
        except ParameterError as error:
            if error.field != "seed":
                raise  # else the learner has nothing to draw beside these parameters
    return catalog.make(name, parameters)
