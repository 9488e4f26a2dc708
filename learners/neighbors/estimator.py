"""What the learners by neighbours share: parameters, fitting the rows, finding who votes, state."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Learner, ModelState
from learners.errors import ModelFormatError, ParameterError
from learners.neighbors.coordinates import Coordinates, fit_coordinates, own_coordinates, refuse_huge
from learners.neighbors.distances import LARGEST_P, LARGEST_WEIGHT, METRICS, Distance, Metric
from learners.neighbors.electorate import Electorate
from learners.neighbors.explanation import Neighbour, NeighbourExplanation
from learners.neighbors.given_weights import column_factors
from learners.neighbors.index import RowIndex, make_index
from learners.neighbors.notes import training_notes
from learners.neighbors.search.found import Found
from learners.neighbors.voting import KERNELS, Kernel, counted, votes_of
from learners.params import choice, integer, learner, mapping, real
from learners.preprocessing.scale import SCALINGS
from learners.table import Column, Table
from learners.types import Array, FloatArray, IntArray

#: Distances that are held at once.
_BLOCK = 2_000_000
#: So many neighbours are told of one answer at most, the nearest.
MAX_TOLD = 1_000
_LARGEST_SEED = 2**53 - 1
_NEAREST = {"voters": ("nearest",)}


@dataclass(frozen=True)
class FittedRows:
    """What fitting makes of training rows; see :class:`FittedNeighbors`."""

    coordinates: Coordinates
    index: RowIndex
    origin: IntArray
    numbers: FloatArray
    k: float
    n_given: int


class FittedNeighbors(Learner):
    """What a fitted learner by neighbours holds beside what every learner does.

    Fitted attributes:
        coordinates_: how rows become points.
        index_: the fitted rows and how they are searched.
        origin_: int64 (n,), the fitted rows' places among the training rows.
        numbers_: float64 (n,), their classes' codes, or their numbers.
        k_: how many neighbours vote, by weight.
        n_given_: how many rows of weight > 0 there were, of which a reduction may have kept fewer.
        distance_function_: a caller's own distance, or ``None``; see :meth:`measuring_by`.
    """

    own_functions: ClassVar[tuple[str, ...]] = ("distance_function_",)
    distance_function_: Distance | None = None

    coordinates_: Coordinates
    index_: RowIndex
    origin_: IntArray
    numbers_: FloatArray
    k_: float
    n_given_: int

    @property
    def recall_(self) -> float:
        """What share of the true k nearest rows hashing finds, told by a sample; 1 of the exact searches."""
        self.check_fitted()
        tables = self.index_.tables
        return 1.0 if tables is None else tables.recall


@learner
class NeighborsEstimator(FittedNeighbors):
    """Base of the learners by neighbours."""

    k: int = integer(
        5,
        "How many neighbours vote: the nearest rows until their weights reach k, the last with what is left; all rows "
        "where there are fewer. Of equally distant rows the one that comes first in training counts first.",
        minimum=1,
        only_with=_NEAREST,
        is_size=True,
    )
    voters: str = choice("nearest", ("nearest", "all"), "Whether the k nearest rows vote, or all by their kernel.")
    choose_k: str = choice(
        "given",
        ("given", "leave-one-out"),
        "Whether k is as given, or the number from 1 to k with the least error on training rows, each answered by the "
        "others; of equal ones the smallest.",
        only_with=_NEAREST,
    )
    metric: str = choice(
        "euclidean",
        ("euclidean", "manhattan", "chebyshev", "minkowski", "minimum"),
        "How differences in the columns make a distance: the root of the sum of squares, the sum, the largest, or "
        "Minkowski's with the power p; or the smallest difference along any column, which is no metric: rows alike in "
        "one column are at distance 0. Levels differ by 1 or not at all, ordinal ones by their ranks.",
    )
    p: float = real(
        3.0,
        "The power of Minkowski's distance; below 1 it would be none.",
        minimum=1,
        maximum=LARGEST_P,
        only_with={"metric": ("minkowski",)},
    )
    scaling: str = choice(
        "range",
        SCALINGS,
        "What numbers are measured by: the range of training values, their standard deviation, or their own unit. A "
        "column without spread does not count.",
    )
    missing: str = choice(
        "farthest",
        ("farthest", "left-out"),
        "Where a value is missing in one of two rows: they differ there as much as training rows do at most (HEOM), or "
        "the column is left out and the others count for more (Gower), by the most that rows differ in them.",
    )
    weighting: str = choice(
        "equal",
        ("equal", "given", "information-gain", "cross-validation"),
        "How much columns count: alike; by column_weights; by what they tell of the target (information gain, or the "
        "share of explained variance); or by what lowers the error of training rows that the others answer.",
    )
    column_weights: dict[str, float] | None = mapping(
        "What the difference in a column, raised to the metric's power, is multiplied by, by name; 1 of others.",
        none_means="1 of every column",
        maximum=LARGEST_WEIGHT,
        only_with={"weighting": ("given",)},
    )
    kernel: str = choice(
        "uniform",
        KERNELS,
        "How a vote falls with the distance d: not; as 1/d, 1/d^2 (exact matches alone decide), 1/(shift + d^2), or "
        "exp(-d^2 / bandwidth^2).",
    )
    shift: float = real(
        1.0,
        "What is added to d^2.",
        minimum=0,
        exclusive_minimum=True,
        maximum=1e9,
        only_with={"kernel": ("shifted-inverse-square",)},
    )
    bandwidth: float = real(
        0.3,
        "The distance at which a vote has fallen to 1/e.",
        minimum=1e-9,
        maximum=1e9,
        only_with={"kernel": ("gaussian",)},
    )
    search: str = choice(
        "auto",
        ("auto", "brute", "kd-tree", "hashing"),
        "How the nearest rows are found: by looking at all; by a kd-tree; by hashing, which misses some, for Euclidean "
        "distance; or by a tree where it is of use. Where training rows have levels or gaps, all are looked at, of "
        "which a warning tells.",
    )
    recall: float = real(
        0.95,
        "Share of the true k nearest rows that hashing should find. What it finds of some training rows' is told as "
        "recall_; where it would compare half of all rows for it, or there are fewer than 8 k, all are looked at.",
        minimum=0.5,
        maximum=0.999,
        only_with={"search": ("hashing",)},
    )
    seed: int = integer(
        0, "Of the directions of hashing.", minimum=0, maximum=_LARGEST_SEED, only_with={"search": ("hashing",)}
    )
    interval_level: float = real(
        0.9, "How often the interval that reasons and answers tell should hold.", minimum=0.5, maximum=0.999
    )

    def check_together(self) -> None:
        super().check_together()
        if self.search == "hashing" and (self.metric != "euclidean" or self.missing == "left-out"):
            raise ParameterError(
                "search = hashing is for metric = euclidean and missing = farthest only", field="search"
            )
        if self.metric == "minimum" and self.search == "kd-tree":
            raise ParameterError(
                "search must be auto or brute where metric = minimum: a tree bounds metrics", field="search"
            )
        if self.metric == "minimum" and self.weighting != "equal":
            raise ParameterError(
                "weighting must be equal where metric = minimum, whose one column is the one of least difference",
                field="weighting",
            )

    @property
    def _power(self) -> float:
        return float(self.p) if self.metric == "minkowski" else METRICS[self.metric]

    @property
    def _leaves_out(self) -> bool:
        return self.missing == "left-out"

    @property
    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, float(self.shift), float(self.bandwidth))

    def _points(self, table: Table, weights: FloatArray) -> Coordinates:
        """Coordinates fitted to training rows, columns weighted by what the caller gave."""
        if self.distance_function_ is not None:
            return own_coordinates(table, self.distance_function_)
        refuse_huge(table, self.scaling, self._power)
        fitted = fit_coordinates(table, weights, self._power, self.scaling, leaves_out=self._leaves_out)
        if self.weighting != "given":
            return fitted
        return fitted.weighted(column_factors(self.column_weights, table.names))

    def asked_rows(self, weights: FloatArray) -> int:
        """How many of some rows, by their weights, a question asks for in the mean."""
        return math.ceil(self.k / weights.mean()) if self.voters == "nearest" else len(weights)

    def _index(self, metric: Metric, points: FloatArray, weights: FloatArray) -> RowIndex:
        hashing = {"recall": float(self.recall), "seed": int(self.seed), "k": self.asked_rows(weights)}
        return make_index(metric, points, weights, self.search, **hashing)

    def _voters(self, index: RowIndex, queries: FloatArray) -> Iterator[tuple[slice, Electorate]]:
        """Who votes on each of some points at a time."""
        width = index.n_rows if self.voters == "all" else min(int(self.k_), index.n_rows)
        at_once = max(1, _BLOCK // max(width, index.metric.n_columns))
        for first in range(0, len(queries), at_once):
            place = slice(first, min(first + at_once, len(queries)))
            part = queries[place]
            found = index.everything(part) if self.voters == "all" else index.by_weight(part, self.k_)
            yield place, self._elected(index, found)

    def _elected(self, index: RowIndex, found: Found) -> Electorate:
        distances = index.metric.root(found.powers)
        counts = counted(index.weights[found.rows], None if self.voters == "all" else float(self.k_))
        votes, n_classes = votes_of(counts, distances, self._kernel), len(self.target_.levels)
        return Electorate(index, found.rows, distances, counts, votes, self.numbers_[found.rows], n_classes)

    def answer_from(self, place: Sequence[float] | FloatArray, found: Found) -> list[float]:
        """What neighbours that were found already make of one row: class probabilities, or the one value.

        Args:
            place: the row's coordinates in the columns of weight.
            found: the nearest rows, of weight 1, of which each has a whole vote.
        """
        answers: list[float] = self._answer(self._point(place), self._elected(self.index_, found))[0].tolist()
        return answers

    def reason_from(self, place: Sequence[float] | FloatArray, found: Found) -> tuple[list[float], Any]:
        """The same, and the reason as :meth:`explain` gives it."""
        point, electorate = self._point(place), self._elected(self.index_, found)
        answers = self._answer(point, electorate)
        return answers[0].tolist(), self._explained(point[0], electorate, 0, answers[0])

    def _point(self, place: Sequence[float] | FloatArray) -> FloatArray:
        """All coordinates of a row, shape (1, d)."""
        point = np.zeros((1, self.index_.metric.n_columns))
        point[0, self.index_.active] = place
        return point

    def _asked(self, X: Any) -> tuple[FloatArray, RowIndex]:
        """The points of a question, and the fitted rows compared as its texts and sequences ask."""
        table = self.check_table(X)
        metric = self.coordinates_.metric_for(table)
        index = self.index_ if metric is self.index_.metric else replace(self.index_, metric=metric)
        return self.coordinates_.of(table), index

    def _answers(self, X: Any) -> FloatArray:
        """What :meth:`_answer` gives for each row, shape (n, answers)."""
        points, index = self._asked(X)
        answers = np.empty((len(points), self._n_answers))
        for place, electorate in self._voters(index, points):
            answers[place] = self._answer(points[place], electorate)
        return answers

    @property
    @abstractmethod
    def _n_answers(self) -> int:
        """1, or the number of classes."""

    @abstractmethod
    def _answer(self, points: FloatArray, electorate: Electorate) -> FloatArray:
        """What the voters say of each point, shape (m, answers)."""

    def explain(self, X: Any) -> list[Any]:
        """The neighbours that voted on each row; of more than 1,000 the nearest (of a median all)."""
        self.check_fitted()
        points, index = self._asked(X)
        found: list[NeighbourExplanation] = []
        for place, electorate in self._voters(index, points):
            part = points[place]
            answers = self._answer(part, electorate)
            found += [self._explained(part[row], electorate, row, answers[row]) for row in range(len(part))]
        return found

    @abstractmethod
    def _explained(self, point: FloatArray, electorate: Electorate, row: int, answer: FloatArray) -> Any:
        """The reason of the answer to a point, by its row of the electorate."""

    def _told(
        self, point: FloatArray, electorate: Electorate, row: int, votes: FloatArray, most: int
    ) -> tuple[tuple[Neighbour, ...], IntArray]:
        """The nearest voters of a row, and the places of all of them."""
        voting = np.flatnonzero(electorate.counts[row] > 0)
        told = voting[:most]
        rows = electorate.rows[row, told]
        shares = electorate.index.metric.shares(point, self.index_.points[rows])
        names = [column.name for column in self.columns_]
        each = (
            self.origin_[rows],
            electorate.distances[row, told],
            electorate.counts[row, told],
            votes[told],
            electorate.numbers[row, told],
            shares,
        )
        return tuple(
            Neighbour(
                row=origin,
                distance=distance,
                weight=weight,
                vote=vote,
                answer=self._label(number),
                shares=tuple((name, share) for name, share in zip(names, parts, strict=True) if share),
            )
            for origin, distance, weight, vote, number, parts in zip(*(one.tolist() for one in each), strict=True)
        ), voting

    @abstractmethod
    def _label(self, number: float) -> Any:
        """A class's label, or a number, as it is given back."""

    def reason_sizes(self, n_rows: int) -> IntArray:
        """The most neighbours and columns that the reasons of so many rows may tell, shape (n_rows,)."""
        lightest = float(self.index_.weights.min())
        most = self.index_.n_rows
        if self.voters == "nearest":
            most = int(min(most, math.ceil(self.k_ / min(lightest, 1.0)) + 1))
        told = most if getattr(self, "answer", "") == "median" else min(most, MAX_TOLD)
        return np.full(n_rows, told * (1 + len(self.index_.active)), np.int64)

    def _learned(self, X: Any, table: Table, target: Column, fitted: FittedRows) -> None:
        self._remember_columns(X, table)
        self.target_ = target
        self.coordinates_, self.index_, self.k_ = fitted.coordinates, fitted.index, fitted.k
        self.origin_, self.numbers_, self.n_given_ = fitted.origin, fitted.numbers, fitted.n_given

    def training_notes(self) -> dict[str, Any]:
        """What the fit chose and found: see :func:`learners.neighbors.notes.training_notes`."""
        return training_notes(self)

    def measuring_by(self, distance: Distance) -> Self:
        """A copy that measures by a function of the caller's own in place of ``metric``; it cannot be saved.

        Args:
            distance: two rows of cells, float64 (d,), coded as in :mod:`learners.table`, to a finite number >= 0. All
                rows are looked at; columns are neither scaled nor weighted.
        """
        made = self.copied()
        made.distance_function_ = distance
        return made

    def get_state(self) -> ModelState:
        self.check_fitted()
        if self.distance_function_ is not None:
            raise ModelFormatError("a model that measures by a function of Python cannot be saved")
        header = self._header() | {"k": float(self.k_)}
        header |= {"n_given": self.n_given_} if self.n_given_ > len(self.origin_) else {}
        arrays = {f"coordinates.{name}": array for name, array in self.coordinates_.to_arrays().items()}
        arrays |= {f"index.{name}": array for name, array in self.index_.to_arrays().items()}
        return ModelState(header, arrays | {"origin": self.origin_, "numbers": self.numbers_})

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        own = _under("coordinates.", state.arrays)
        made.coordinates_ = Coordinates.from_arrays(own, made.columns_, made._power, leaves_out=made._leaves_out)
        made.index_ = RowIndex.from_arrays(made.coordinates_.metric, _under("index.", state.arrays))
        made.origin_, made.numbers_ = state.arrays["origin"], state.arrays["numbers"]
        made.k_ = state.header["k"]
        made.n_given_ = state.header.get("n_given", len(made.origin_))
        return made


def _under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
