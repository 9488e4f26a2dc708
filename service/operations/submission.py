"""Checking a job's request against its dataset and the catalogue before the job is accepted.

Only what the dataset's record tells is used, so a submission costs a query and no reading of data.
What only the data can tell (a weight's value, a class that vanishes with its rows) fails the job with
the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from learners import catalog, class_weights, decisions
from learners.base import Learner
from learners.errors import ParameterError, quoted
from learners.params import PRESET
from learners.table import Column, Kind
from service import registry
from service.errors import Fault, Invalid
from service.formats.options import EXCLUDED
from service.store.tables import Dataset

KINDS = ("train", "cross-validate")
METHODS = ("k-fold", "hold-out", "none")
DEFAULT_FOLDS = 10
DEFAULT_FRACTION = 0.25
#: Largest seed: what every part of the system, JavaScript clients included, keeps exactly.
LARGEST_SEED = 2**53 - 1
_SHOWN_NAMES = 20
#: Parameters that speak of classes, and what checks them against the target.
_OF_CLASSES: dict[str, Callable[[Any, Column], Any]] = {
    class_weights.PARAMETER: class_weights.class_factors,
    decisions.PARAMETER: decisions.utility_matrix,
}


def check_submission(session: Session, workspace: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with every default filled in.

    Args:
        session: a reading transaction.
        workspace: where the dataset must lie.
        request: the JSON body of a submission.

    Raises:
        Invalid: with a fault for everything that is wrong, each naming its parameter or column.
    """
    dataset = _dataset(session, workspace, request.get("dataset"))
    columns = {column["name"]: column for column in dataset.columns}
    checks = _Checks(dataset, columns, request)
    normal = {
        "kind": checks.kind(),
        "dataset": dataset.id,
        "target": checks.target(),
        "learner": request.get("learner"),
        "parameters": checks.parameters(),
        "features": checks.features(),
        "weights": checks.weights(),
        "seed": checks.seed(),
        "evaluation": checks.evaluation(),
        "model": checks.model(),
    }
    if checks.faults:
        raise Invalid("The job cannot be run as it is asked for: " + checks.faults[0].message, checks.faults)
    return normal


def _dataset(session: Session, workspace: str, dataset_id: Any) -> Dataset:
    found = session.get(Dataset, dataset_id) if isinstance(dataset_id, str) else None
    if found is None or found.workspace != workspace:
        message = f"there is no dataset {quoted(dataset_id)}"
        raise Invalid(message, [Fault(message, parameter="dataset")])
    return found


class _Checks:
    """One method for each field: its normal value, and a fault for whatever is wrong with it."""

    def __init__(self, dataset: Dataset, columns: Mapping[str, Mapping[str, Any]], request: Mapping[str, Any]) -> None:
        self._dataset = dataset
        self._columns = columns
        self._request = request
        self.faults: list[Fault] = []
        self._learner = self._find_learner()

    def _refuse(self, message: str, parameter: str, *, column: Any = None, allowed: Any = None) -> None:
        name = column if isinstance(column, str) else None
        self.faults.append(Fault(message, parameter=parameter, column=name, allowed=allowed))

    def _find_learner(self) -> type[Learner] | None:
        name = self._request.get("learner")
        try:
            return catalog.get(str(name))
        except ParameterError:
            names = [known.name for known in catalog.LEARNERS]
            self._refuse(f"there is no learner {quoted(name)}", "learner", allowed=names)
            return None

    def kind(self) -> Any:
        kind = self._request.get("kind")
        if kind not in KINDS:
            self._refuse(f"kind is {' or '.join(KINDS)}, not {quoted(kind)}", "kind", allowed=list(KINDS))
        return kind

    def target(self) -> Any:
        name: Any = self._request.get("target")
        if not self._is_column(name, "target") or self._learner is None:
            return name
        numeric = self._columns[name]["kind"] == Kind.NUMERIC
        wants_classes = self._learner.capabilities.task == "classification"
        if numeric and wants_classes:
            self._refuse(
                f"the target {quoted(name)} is numeric, but {self._learner.name} learns classes; make a revision of "
                "the dataset in which the column is nominal, or take a learner of numbers",
                "target",
                column=name,
            )
        if not numeric and not wants_classes:
            self._refuse(
                f"the target {quoted(name)} is {self._columns[name]['kind']}, but {self._learner.name} learns numbers",
                "target",
                column=name,
            )
        if self._usable_rows() < 1:
            self._refuse(f"the target {quoted(name)} is missing in every row", "target", column=name)
        return name

    def parameters(self) -> dict[str, Any]:
        given = self._request.get("parameters") or {}
        if self._learner is None:
            return dict(given)
        declared = {parameter.name: parameter for parameter in self._learner.parameters()}
        faults_before = len(self.faults)
        for name, value in given.items():
            if name == PRESET and self._learner.presets:
                continue
            if name not in declared:
                self._refuse(
                    f"{self._learner.name} has no parameter {quoted(name)}",
                    f"parameters.{name}"[:200],
                    allowed=sorted(declared),
                )
                continue
            try:
                declared[name].check(value)
            except ParameterError as error:
                self._refuse(str(error), f"parameters.{name}", allowed=declared[name].allowed())
                continue
            if name in _OF_CLASSES and value is not None:
                self._check_labels(_OF_CLASSES[name], value)
        if len(self.faults) == faults_before:
            self._check_together(self._learner, given)
        return dict(given)

    def _check_labels(self, check: Callable[[Any, Column], Any], value: Any) -> None:
        """What the target's levels tell of a parameter; what the rows' weights tell fails the job."""
        record = self._columns.get(str(self._request.get("target")))
        if record is None or not record.get("levels"):
            return  # refused already, as no target of classes
        target = Column.from_json(record)
        try:
            check(value, target)
        except ParameterError as error:
            self._refuse(str(error), f"parameters.{error.field}", allowed=list(target.levels[:_SHOWN_NAMES]))

    def _check_together(self, learner: type[Learner], given: Mapping[str, Any]) -> None:
        """The preset's name, and parameters that have no sense beside others."""
        try:
            catalog.make(learner.name, dict(given))
        except ParameterError as error:
            allowed = list(learner.presets) if error.field == PRESET else None
            self._refuse(str(error), f"parameters.{error.field}", allowed=allowed)

    def features(self) -> list[str]:
        request = self._request
        if request.get("features") is not None and request.get("excluded") is not None:
            self._refuse("give either features or excluded, not both", "features")
        reserved = {request.get("target"), request.get("weights")}
        if request.get("features") is not None:
            chosen = self._chosen_features(request["features"], reserved)
        else:
            excluded = [name for name in request.get("excluded") or [] if self._is_column(name, "excluded")]
            chosen = [name for name in self._columns if name not in reserved and name not in excluded]
        if not chosen:
            self._refuse("no column is left to learn from", "features")
        return chosen

    def _chosen_features(self, names: Sequence[str], reserved: set[Any]) -> list[str]:
        for name in names:
            if self._is_column(name, "features") and name in reserved:
                self._refuse(
                    f"the column {quoted(name)} is the target or the weights; it cannot be learned from too",
                    "features",
                    column=name,
                )
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._refuse(f"the column {quoted(name)} is named twice", "features", column=name)
        return list(names)

    def weights(self) -> Any:
        name: Any = self._request.get("weights")
        if name is None or not self._is_column(name, "weights"):
            return name
        if name == self._request.get("target"):
            self._refuse("the weights cannot be the target", "weights", column=name)
        if self._columns[name]["kind"] != Kind.NUMERIC:
            self._refuse(
                f"the weights {quoted(name)} are {self._columns[name]['kind']}; they must be numeric",
                "weights",
                column=name,
            )
        return name

    def seed(self) -> Any:
        seed = self._request.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            allowed = f"a whole number >= 0 and <= {LARGEST_SEED}"
            self._refuse(f"seed must be {allowed}", "seed", allowed=allowed)
        return seed

    def evaluation(self) -> dict[str, Any]:
        given = dict(self._request.get("evaluation") or {})
        method = given.get("method", "k-fold" if self._request.get("kind") == "cross-validate" else "none")
        if method not in METHODS or (method == "none" and self._request.get("kind") == "cross-validate"):
            allowed = [m for m in METHODS if m != "none" or self._request.get("kind") != "cross-validate"]
            self._refuse(f"the method is one of {', '.join(allowed)}", "evaluation.method", allowed=allowed)
        normal = {"method": method, "stratified": given.get("stratified", True)}
        if method == "k-fold":
            normal["folds"] = self._folds(given.get("folds", DEFAULT_FOLDS))
        if method == "hold-out":
            normal["fraction"] = self._fraction(given.get("fraction", DEFAULT_FRACTION))
        return normal

    def _folds(self, folds: Any) -> Any:
        rows = self._usable_rows()
        if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= rows:
            allowed = f"a whole number >= 2 and <= {rows} (the rows that have a target)"
            self._refuse(f"folds must be {allowed}; it is {quoted(folds)}", "evaluation.folds", allowed=allowed)
        return folds

    def _fraction(self, fraction: Any) -> Any:
        if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
            self._refuse("fraction must be > 0 and < 1", "evaluation.fraction", allowed="> 0 and < 1")
        if self._usable_rows() < 2:
            self._refuse("a hold-out needs at least 2 rows that have a target", "evaluation.method")
        return fraction

    def model(self) -> dict[str, Any] | None:
        given = self._request.get("model")
        if self._request.get("kind") == "cross-validate":
            if given is not None:
                self._refuse("a cross-validation makes no model", "model")
            return None
        if given is None:
            return None
        normal: dict[str, Any] = {"name": given.get("name", ""), "aliases": [], "notes": "", "tags": []}
        normal.update({name: value for name, value in given.items() if value is not None})
        self._check_name(registry.check_name, normal["name"], "model.name")
        for alias in normal["aliases"]:
            self._check_name(registry.check_alias, alias, "model.aliases")
        return normal

    def _check_name(self, check: Callable[[str, str], str], name: str, parameter: str) -> None:
        try:
            check(name, parameter)
        except Invalid as error:
            self.faults.extend(error.faults)

    def _is_column(self, name: Any, parameter: str) -> bool:
        if isinstance(name, str) and name in self._columns:
            return True
        excluded = self._dataset.options.get("kinds", {}).get(name) == EXCLUDED
        reason = "is excluded from the dataset" if excluded else "is not in the dataset"
        self._refuse(
            f"the column {quoted(name)} {reason}", parameter, column=name, allowed=list(self._columns)[:_SHOWN_NAMES]
        )
        return False

    def _usable_rows(self) -> int:
        column = self._columns.get(str(self._request.get("target")), {})
        return int(self._dataset.n_rows) - int(column.get("missing") or 0)
