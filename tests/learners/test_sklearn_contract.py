"""scikit-learn's own checks of an estimator, each expected failure with its reason."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from learners.ensembles import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from learners.ensembles.parameters import TreeMembers
from learners.linear import LinearRegressor, LogisticClassifier
from learners.neighbors import LocalLinearRegressor, NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neural import (
    Autoencoder,
    CascadeCorrelationClassifier,
    CascadeCorrelationRegressor,
    GrowingNetworkClassifier,
    GrowingNetworkRegressor,
    NeuralNetworkClassifier,
    NeuralNetworkRegressor,
    RecurrentNetworkClassifier,
    RecurrentNetworkRegressor,
    TimeDelayNetworkClassifier,
    TimeDelayNetworkRegressor,
)
from learners.rules.classifier import RuleSetClassifier
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor

COMMON = {
    "check_estimators_unfitted": "wants scikit-learn's own NotFittedError; ours derives from ValueError and "
    "AttributeError as that one does, but scikit-learn is no dependency of the library",
    "check_supervised_y_2d": "wants scikit-learn's own DataConversionWarning; ours is a UserWarning of the same text",
}
NOISE = {
    "check_class_weight_classifiers": "trains on pure noise and wants the heavy class to win on other rows, which a "
    "tree grown to the end cannot promise, nor a stump that finds a few rows of the light class alone; "
    "scikit-learn's passes because the check sets its min_weight_fraction_leaf",
}
DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "puts the weighted rows and the repeated ones in different "
    "orders, and rows are drawn by their places; in one order they are drawn alike, see test_forest.py",
}
ORDERED = {
    "check_sample_weight_equivalence_on_dense_data": "puts the weighted rows and the repeated ones in different "
    "orders, by which a network's units are ordered and its batches made; in one order and one batch they teach the "
    "same, see learners/checks/weights.py",
}
EXPECTED = {
    DecisionTreeClassifier: {**COMMON, **NOISE},
    DecisionTreeRegressor: {
        **COMMON,
        "check_regressors_train": "sets alpha = 0.01 of whatever has an alpha; beside pruning = 'none' it has no "
        "effect, and such a parameter is refused by name",
    },
    LinearRegressor: {
        **COMMON,
        "check_regressors_train": "sets alpha = 0.01 of whatever has an alpha; without penalty it has no effect, and "
        "such a parameter is refused by name",
    },
    LogisticClassifier: COMMON,
    RuleSetClassifier: COMMON,
    NearestNeighborsClassifier: COMMON,
    NearestNeighborsRegressor: COMMON,
    LocalLinearRegressor: COMMON,
    NeuralNetworkClassifier: {**COMMON, **ORDERED},
    NeuralNetworkRegressor: COMMON,
    CascadeCorrelationClassifier: {**COMMON, **ORDERED},
    CascadeCorrelationRegressor: COMMON,
    Autoencoder: {name: COMMON[name] for name in ("check_estimators_unfitted",)},
    GrowingNetworkClassifier: {**COMMON, **ORDERED},
    GrowingNetworkRegressor: COMMON,
    RecurrentNetworkClassifier: {**COMMON, **ORDERED},
    RecurrentNetworkRegressor: COMMON,
    TimeDelayNetworkClassifier: {**COMMON, **ORDERED},
    TimeDelayNetworkRegressor: COMMON,
    AdaBoostClassifier: {**COMMON, **NOISE},
    BaggingClassifier: {**COMMON, **DRAWN},
    BaggingRegressor: COMMON,
    RandomForestClassifier: {**COMMON, **DRAWN},
    RandomForestRegressor: {**COMMON, **DRAWN},
}
#: A few members of an ensemble keep the same contract, and a network after a quarter of its epochs.
FEWER = {name: {"members": 5} for name in EXPECTED if issubclass(name, TreeMembers)}
FEWER |= {
    name: {parameter.name: parameter.default // 4}
    for name in EXPECTED
    for parameter in name.parameters()
    if parameter.name == "epochs"
}
FEWER |= {
    name: {"output_epochs": 25, "candidate_epochs": 50, "max_hidden": 2}
    for name in (CascadeCorrelationClassifier, CascadeCorrelationRegressor)
}


@pytest.mark.parametrize("estimator", EXPECTED)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not an heir of BaseEstimator; checks that need pandas are skipped
        results = check_estimator(estimator(**FEWER.get(estimator, {})), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set(EXPECTED[estimator])
    assert sum(result["status"] == "passed" for result in results) >= 50
