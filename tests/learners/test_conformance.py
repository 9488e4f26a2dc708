"""Every learner of the catalogue passes every check that its capabilities call for."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from functools import partial
from typing import Any

import numpy as np
import pytest

from learners import checks
from learners.base import Learner
from learners.catalog import LEARNERS, get
from learners.checks import KNOWN_FAILURES, Check, checks_for, running, suite
from learners.neighbors import NearestNeighborsRegressor
from tests.learners.examples import Majority, Mean, Narrow

CASES = [(learner, check) for learner in LEARNERS for check in checks_for(learner)]
#: Whatever is neither a tool of the checks nor their list holds checks.
MODULES = [
    importlib.import_module(f"learners.checks.{found.name}")
    for found in pkgutil.iter_modules(checks.__path__)
    if found.name not in ("require", "samples", "suite")
]


@pytest.mark.parametrize(("learner", "check"), CASES, ids=[f"{one.name}-{check.name}" for one, check in CASES])
def test_learner_keeps_its_promise(learner: type[Learner], check: Check) -> None:
    reason = KNOWN_FAILURES.get((learner.name, check.name))
    if reason is None:
        check(partial(learner.from_params, _briefly(learner, check)))
    else:
        with pytest.raises(AssertionError):
            check(partial(learner.from_params, _briefly(learner, check)))


def _briefly(learner: type[Learner], check: Check) -> dict[str, Any]:
    """A few members of an ensemble keep the same promises, and a network in its first epochs, by all rows at once."""
    names = {parameter.name for parameter in learner.parameters()}
    if "epochs" in names:
        return {"epochs": 4 if _is_interpreted(check) else 15} | ({"batch": None} if "batch" in names else {})
    few = {"members": 4, "max_hidden": 2, "output_epochs": 15, "candidate_epochs": 15}
    return {name: few[name] for name in names & set(few)}


def _is_interpreted(check: Check) -> bool:
    """Whether kernels run as plain Python too, where an epoch takes a hundred times as long and shows as much."""
    return check.function is running.compiled_equals_interpreted


#: Other settings that lead through other code: C4.5 as published, and best-first growth.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "c4.5": (
        "decision-tree-classifier",
        {
            "criterion": "gain-ratio",
            "nominal": "multiway",
            "min_leaf": 2,
            "threshold": "data",
            "threshold_penalty": True,
            "threshold_minimum": "c4.5",
            "pruning": "error-based",
            "subtree_raising": True,
        },
    ),
    "cost-complexity": (
        "decision-tree-classifier",
        {"criterion": "entropy", "nominal": "one-vs-rest", "pruning": "cost-complexity", "alpha": 0.01, "threads": 3},
    ),
    "all-rules": (
        "rule-set-classifier",
        {"subset": "all", "postpruning": "none", "nominal": "subset", "criterion": "entropy", "max_rules": 12},
    ),
    "chi-square": (
        "decision-tree-classifier",
        {"criterion": "entropy", "nominal": "multiway", "pruning": "chi-square", "significance": 0.2},
    ),
    "mdl": ("decision-tree-classifier", {"pruning": "minimum-length", "nominal": "one-vs-rest"}),
    "model-tree-subset": (
        "model-tree-regressor",
        {"nominal": "subset", "criterion": "variance", "pruning": "none", "smoothing": 0, "max_leaves": 7},
    ),
    "formulas": ("decision-tree-classifier", {"formula_tests": "m-of-n", "max_terms": 2, "max_depth": 2}),
    "sums": ("decision-tree-regressor", {"oblique_tests": True, "interval_tests": True, "max_depth": 2}),
    "all-neighbours": (
        "nearest-neighbors-classifier",
        {"voters": "all", "kernel": "gaussian", "metric": "manhattan", "missing": "left-out"},
    ),
    "chosen-k": (
        "nearest-neighbors-regressor",
        {"k": 9, "choose_k": "leave-one-out", "kernel": "inverse", "answer": "median", "metric": "chebyshev"},
    ),
    "alike-in-one-column": ("nearest-neighbors-classifier", {"k": 3, "metric": "minimum", "kernel": "inverse"}),
    "told-columns": (
        "nearest-neighbors-classifier",
        {"weighting": "information-gain", "reduction": "edited", "scaling": "standard", "search": "kd-tree"},
    ),
    "tried-columns": (
        "nearest-neighbors-classifier",
        {"k": 3, "weighting": "cross-validation", "reduction": "condensed", "kernel": "inverse-square"},
    ),
    "given-columns": (
        "nearest-neighbors-regressor",
        {
            "weighting": "given",
            "column_weights": {},
            "metric": "minkowski",
            "kernel": "shifted-inverse-square",
            "missing": "left-out",
        },
    ),
    "hashed": ("nearest-neighbors-regressor", {"search": "hashing", "k": 2}),
    "lines-by-all": (
        "local-linear-regressor",
        {"voters": "all", "kernel": "gaussian", "missing": "left-out", "ridge": 0.1},
    ),
    "lines-chosen": (
        "local-linear-regressor",
        {"k": 12, "choose_k": "leave-one-out", "weighting": "information-gain", "kernel": "inverse"},
    ),
    "ridge-cubic": ("linear-regressor", {"penalty": "ridge", "alpha": 0.01, "degree": 3, "missing_indicators": False}),
    "lasso": ("linear-regressor", {"penalty": "lasso", "alpha": 0.2}),
    "net-of-a-path": (
        "linear-regressor",
        {"penalty": "elastic-net", "l1_ratio": 0.4, "alpha": None, "n_alphas": 4, "folds": 3},
    ),
    "degree-left-out": (
        "linear-regressor",
        {
            "penalty": "ridge",
            "degree": None,
            "max_degree": 2,
            "n_alphas": 4,
            "alpha": None,
            "validation": "leave-one-out",
            "selection": "one-standard-error",
        },
    ),
    "softmax-without-penalty": ("logistic-classifier", {"penalty": "none"}),
    "logistic-net": ("logistic-classifier", {"penalty": "elastic-net", "l1_ratio": 0.5, "alpha": 0.02, "degree": 2}),
    "logistic-lasso": ("logistic-classifier", {"penalty": "lasso", "alpha": 0.03}),
    "rectified-network": (
        "neural-network-classifier",
        {
            "hidden_units": [3, 2],
            "activation": "relu",
            "loss": "squared",
            "optimizer": "rprop",
            "epochs": 8,
            "scaling": "range",
            "pruning": "optimal-brain-damage",
            "prune_share": 0.8,
            "prune_epochs": 2,
            "prune_tolerance": 10,
        },
    ),
    "cascade-siblings": (
        "cascade-correlation-classifier",
        {
            "loss": "cross-entropy",
            "placement": "both",
            "activation": "mixed",
            "candidates": 6,
            "max_hidden": 2,
            "output_epochs": 5,
            "candidate_epochs": 5,
        },
    ),
    "meiosis-network": (
        "growing-network-classifier",
        {"growth": "meiosis", "epochs": 60, "divide_every": 5, "spread_rate": 2.0},
    ),
    "meiosis-network-of-numbers": (
        "growing-network-regressor",
        {"growth": "meiosis", "epochs": 60, "divide_every": 5, "margin": None},
    ),
    "boosted-m1": ("adaboost-classifier", {"members": 4, "algorithm": "m1", "max_depth": 3, "criterion": "gini"}),
    "bagged-parts": (
        "bagging-classifier",
        {"members": 4, "sample_fraction": 0.6, "out_of_bag": False, "max_depth": 4, "seed": 3},
    ),
    "forest-of-one-column": (
        "random-forest-classifier",
        {"members": 4, "columns_a_node": 1, "importance": "permutation", "threads": 2},
    ),
    "forest-of-numbers": (
        "random-forest-regressor",
        {"members": 4, "columns_a_node": 3, "sample_fraction": 0.5, "min_leaf": 2},
    ),
    "boosted-logistic": (
        "adaboost-classifier",
        {"members": 3, "member": {"learner": "logistic-classifier", "parameters": {"penalty": "none"}}},
    ),
    "boosted-rules": ("adaboost-classifier", {"members": 3, "member": {"learner": "rule-set-classifier"}}),
    "boosted-neighbours": (
        "adaboost-classifier",
        {
            "members": 3,
            "member": {"learner": "nearest-neighbors-classifier", "parameters": {"k": 7, "kernel": "inverse"}},
        },
    ),
    "boosted-networks": (
        "adaboost-classifier",
        {
            "members": 2,
            "member": {
                "learner": "neural-network-classifier",
                "parameters": {"epochs": 5, "batch": None, "hidden_units": [4]},
            },
        },
    ),
    "boosted-trees-of-sums": (
        "adaboost-classifier",
        {
            "members": 3,
            "member": {"learner": "decision-tree-classifier", "parameters": {"oblique_tests": True, "max_depth": 2}},
        },
    ),
    "bagged-rules": ("bagging-classifier", {"members": 3, "member": {"learner": "rule-set-classifier"}}),
    "bagged-model-trees": (
        "bagging-regressor",
        {"members": 3, "importance": "permutation", "member": {"learner": "model-tree-regressor"}},
    ),
    "bagged-lines": ("bagging-regressor", {"members": 3, "member": {"learner": "linear-regressor"}}),
    "best-first": ("decision-tree-regressor", {"max_leaves": 8, "nominal": "one-vs-rest", "min_leaf": 3}),
}


#: Promises of an ensemble that its members do not make, and why; each must fail.
UNPROMISED: dict[tuple[str, str], str] = {
    ("boosted-rules", "weight_two_is_twice"): "where trees stop and rules are pruned a row counts as one at least",
    ("net-of-a-path", "weight_two_is_twice"): "a row that is there twice lies in two folds, one of weight 2 in one",
    ("boosted-networks", "row_order_does_not_matter"): "networks do not promise it",
    ("boosted-networks", "column_order_decides_ties_only"): "first weights are drawn by the columns' places",
    ("bagged-lines", "scale_does_not_matter"): "linear models promise it but for the last bits",
    ("bagged-model-trees", "scale_does_not_matter"): "linear models promise it but for the last bits",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_settings_keep_the_promises_too(variant: str) -> None:
    name, parameters = VARIANTS[variant]
    for check in checks_for(get(name)):
        if _is_interpreted(check) and "divide_every" in parameters:
            parameters = parameters | {"epochs": 20}  # some of its units are divided by then
        if (variant, check.name) in UNPROMISED:
            with pytest.raises(AssertionError):
                check(partial(get(name).from_params, parameters))
        else:
            check(partial(get(name).from_params, parameters))


@pytest.mark.parametrize("learner", [Majority, Mean, Narrow])
def test_the_smallest_learners_pass(learner: type[Learner]) -> None:
    for check in checks_for(learner):
        check(learner)


def test_known_failures_name_learners_and_checks_that_there_are() -> None:
    cases = {(learner.name, check.name) for learner, check in CASES}
    assert set(KNOWN_FAILURES) <= cases
    assert all(KNOWN_FAILURES.values())


def test_every_check_is_listed() -> None:
    written = {
        function
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    able = Majority.capabilities
    listed: set[Any] = set()
    for task in ("classification", "regression"):
        for switch in (True, False):
            switches = dict.fromkeys(("missing", "categories", "weights", "supervised", "steps", "intervals"), switch)
            capabilities = dataclasses.replace(able, task=task, **switches)
            chosen = checks_for(type("Some", (Majority,), {"capabilities": capabilities}))
            listed |= {check.function for check in chosen}
    assert listed == written
    assert all(function.__doc__ for function in written)


def test_the_suite_needs_nothing_but_numpy() -> None:
    for module in (*MODULES, suite, checks):
        source = inspect.getsource(module)
        assert "sklearn" not in source
        assert "pytest" not in source


class Forgetful(Majority):
    """Breaks one promise: its answers depend on how many rows are asked at once."""

    def predict_proba(self, X: Any) -> Any:
        shares = super().predict_proba(X)
        return shares if len(shares) > 1 else np.roll(shares, 1, axis=1)


class Writer(Majority):
    """Breaks one promise: it writes into its table."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        made = super().fit(X, y, sample_weight, **options)
        X.values.flags.writeable = True
        X.values[0, 0] += 1
        return made


class Silent(Majority):
    """Breaks two promises: it reports nothing, so it cannot be cancelled."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = None) -> Any:
        return super().fit(X, y, sample_weight)


class Liar(Majority):
    """Breaks one promise: it gives a reason that leads to another answer."""

    def explain(self, X: Any) -> Any:
        return [
            dataclasses.replace(
                one,
                branches=tuple(
                    dataclasses.replace(branch, distribution=tuple((label, 1 / 3) for label, _ in branch.distribution))
                    for branch in one.branches
                ),
            )
            for one in super().explain(X)
        ]


class Gossip(Majority):
    """Breaks one promise: its reasons depend on who is asked beside a row."""

    def explain(self, X: Any) -> Any:
        explained = super().explain(X)
        share = 1 / len(explained) if explained else 1.0
        first = dataclasses.replace(explained[0].branches[0], weight=share) if explained else None
        return [dataclasses.replace(one, branches=(first, *one.branches[1:])) for one in explained]


class Unweighted(Majority):
    """Breaks one promise: it takes weights and leaves them aside."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        super().fit(X, y, sample_weight, **options)
        return super().fit(X, y, None, **options)


class Confident(NearestNeighborsRegressor):
    """Breaks two promises: its answers' intervals are by another level than those of its reasons, and not nested."""

    def predict_intervals(self, X: Any, level: Any = None) -> Any:
        return super().predict_intervals(X, 0.5 if level is None else level**-2 / 10_000)


class Wary(NearestNeighborsRegressor):
    """Breaks one promise: it declares no intervals, but tells them."""

    capabilities = dataclasses.replace(NearestNeighborsRegressor.capabilities, intervals=False)


class Fickle(NearestNeighborsRegressor):
    """Breaks one promise: a row's interval depends on how many are asked beside it."""

    def predict_intervals(self, X: Any, level: Any = None) -> Any:
        found = super().predict_intervals(X, level)
        return found if len(found) > 1 else [None for _ in found]


@pytest.mark.parametrize(
    ("learner", "broken"),
    [
        (Forgetful, "one_row_equals_batch"),
        (Writer, "inputs_are_unchanged"),
        (Silent, "cancelling_stops_the_fit"),
        (Silent, "progress_is_reported"),
        (Liar, "explanation_replays_to_the_answer"),
        (Gossip, "reason_is_the_same_in_any_company"),
        (Unweighted, "weight_two_is_twice"),
        (Unweighted, "weight_zero_is_absent"),
        (Confident, "intervals_are_those_of_reasons"),
        (Confident, "intervals_hold_what_is_answered"),
        (Fickle, "intervals_are_the_same_in_any_company"),
        (Wary, "intervals_are_refused"),
    ],
)
def test_a_broken_promise_is_found(learner: type[Learner], broken: str) -> None:
    check = next(check for check in checks_for(learner) if check.name == broken)
    with pytest.raises(AssertionError):
        check(learner)
