"""Every number that a learner's schema allows can be learned with, or is refused by name: nothing else comes out."""

import math
import sys

import numpy as np
import pytest

from learners import catalog
from learners.checks import samples
from learners.errors import DataError, ParameterError
from learners.params import LARGEST_COUNT
from learners.table import Series

_REALS = (5e-324, sys.float_info.min, 1e-17, 1e-9, 1 - 2**-53, 1e9, 1e150, sys.float_info.max, 10**300)
_WHOLES = (0, 1, 2**31 - 1, 2**31, 2**53 - 1, 2**63 - 1, 2**63, 10**19, 10**300)
_FACTORS = (0, *_REALS, -1e150, -sys.float_info.max, -(10**300))
_FIRST, _SECOND, _ = samples.LABELS
_OBJECTS = {
    "costs": [{"height": number} for number in _FACTORS],
    "class_weight": [{_FIRST: number} for number in _FACTORS] + [dict.fromkeys(samples.LABELS, f) for f in _FACTORS],
    "column_weights": [{"height": number} for number in _FACTORS],
    "utility": [{_FIRST: {_FIRST: number, _SECOND: -number}} for number in _FACTORS],
}
_OBJECTS["member"] = [  # those of the other task are refused too
    {"learner": learner, "parameters": {parameter: number}}
    for learner, parameter, numbers in (
        ("nearest-neighbors-classifier", "k", _WHOLES),
        ("nearest-neighbors-regressor", "k", _WHOLES),
        ("logistic-classifier", "alpha", _FACTORS),
        ("linear-regressor", "alpha", _FACTORS),
    )
    for number in numbers
]
#: What numbers need beside them for an effect, where no declaration says it.
_BESIDE = {("decision-tree-classifier", "confidence"): {"pruning": "error-based", "subtree_raising": True}} | {
    (learner, parameter): {"degree": None} | few  # there is something to choose, and it is chosen soon
    for learner in ("linear-regressor", "logistic-classifier")
    for parameter, few in (("max_degree", {"folds": 2}), ("folds", {"max_degree": 2}), ("seed", {"max_degree": 2}))
}
_BY_EPOCHS = [
    f"{kind}-network-{task}" for kind in ("neural", "recurrent", "time-delay") for task in ("classifier", "regressor")
]
_BESIDE |= {
    (learner, parameter): {"validation_fraction": 0.3} | few  # there is something to stop by
    for learner in (*_BY_EPOCHS, "autoencoder")
    for parameter, few in (("patience", {"epochs": 300}), ("epochs", {"patience": 5}))
}
_BESIDE |= {
    (f"neural-network-{task}", parameter): {"hidden_units": [2], "epochs": 5, "prune_epochs": 1}  # soon at its end
    for task in ("classifier", "regressor")
    for parameter in ("prune_share", "prune_tolerance")
}
_BESIDE |= {
    (f"cascade-correlation-{task}", "growth_patience"): {"validation_fraction": 0.3}
    for task in ("classifier", "regressor")
}
_BESIDE |= {
    (f"growing-network-{task}", "patience"): {"validation_fraction": 0.3} for task in ("classifier", "regressor")
}

_BESIDE |= {
    (learner, "growth"): {"epochs": 5}  # soon at its end: steps that grow so fast diverge
    for learner in ("neural-network-classifier", "neural-network-regressor", "autoencoder")
}

#: Of images, which are numbers alone: what each needs beside it.
_OF_IMAGES = {"image_width": {"image_shift": 1, "epochs": 3}, "image_shift": {"image_width": 3, "epochs": 3}}

#: Numbers that are amounts of work, and the most that is learned with: above it they are only accepted or refused.
_WORK = {"members": 4, "epochs": 40, "prune_epochs": 5, "max_degree": 4, "n_alphas": 40}


def values_of(parameter):
    if parameter.type == "object":
        return _OBJECTS[parameter.name]
    bounds = [bound for bound in (parameter.minimum, parameter.maximum) if bound is not None]
    near = [math.nextafter(float(bound), side) for bound in bounds for side in (-math.inf, math.inf)]
    if parameter.type == "integer":
        return dict.fromkeys([*bounds, *(bound + step for bound in bounds for step in (-1, 1)), *_WHOLES])
    return dict.fromkeys([*bounds, *near, *_REALS])


def fitted(name, parameters, field, sample):
    """The learner fitted; ``None`` if the field was refused, or means too much work."""
    try:
        made = catalog.make(name, parameters)
        if field in _WORK and parameters[field] > _WORK[field]:
            return None
        return made.fit(sample.table, sample.target)
    except ParameterError as error:
        if error.field is not None and error.field.partition(".")[0] == field:
            return None
        raise


TREES = {parameter.name for parameter in catalog.get("decision-tree-classifier").parameters()}


def own_parameters(learner):
    """Those that an ensemble hands on to its trees are the trees' own, and held there."""
    names = {parameter.name for parameter in learner.parameters()}
    return [one for one in learner.parameters() if "members" not in names or one.name not in TREES]


NUMBERS = [
    (learner, parameter)
    for learner in catalog.LEARNERS
    for parameter in own_parameters(learner)
    if parameter.type in ("integer", "number", "object")
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("learner", "parameter"), NUMBERS, ids=lambda one: one.name)
def test_extreme_numbers_are_learned_with_or_refused_by_name(learner, parameter):
    sample = samples.mixed(learner.capabilities, 30)
    if parameter.name in _OF_IMAGES:
        sample = samples.numeric(learner.capabilities.task, 30)
    beside = {name: choices[0] for name, choices in parameter.only_with} | _OF_IMAGES.get(parameter.name, {})
    beside |= _BESIDE.get((learner.name, parameter.name), {})
    if parameter.name != "members" and any(one.name == "members" for one in learner.parameters()):
        beside["members"] = 4
    if parameter.name != "epochs" and learner.name.startswith("growing-network"):
        beside["epochs"] = 60
    learned = 0
    for value in values_of(parameter):
        model = fitted(learner.name, beside | {parameter.name: value}, parameter.name, sample)
        if model is None:
            continue
        learned += 1
        if learner.capabilities.task == "classification":
            np.testing.assert_allclose(model.predict_proba(sample.table).sum(axis=1), 1, atol=1e-9)
        else:
            assert np.isfinite(model.predict(sample.table)).all(), value
    few = parameter.name in _WORK or parameter.name in _OF_IMAGES  # 3 columns have few widths
    assert learned > (0 if few else 1)


@pytest.mark.parametrize("learner", catalog.LEARNERS, ids=lambda one: one.name)
def test_every_whole_number_has_a_largest_that_the_kernels_hold(learner):
    for parameter in learner.parameters():
        if parameter.type == "integer":
            assert parameter.maximum is not None
            assert parameter.maximum <= (2**53 - 1 if parameter.name == "seed" else LARGEST_COUNT)


@pytest.mark.parametrize(
    ("name", "parameters", "field", "words"),
    [
        ("decision-tree-classifier", {"max_depth": 10**19}, "max_depth", "<= 2147483647"),
        ("model-tree-regressor", {"max_depth": 10**30}, "max_depth", "<= 2147483647"),
        ("rule-set-classifier", {"seed": 2**53}, "seed", "<= 9007199254740991"),
        ("rule-set-classifier", {"redundancy": 1e-10}, "redundancy", ">= 1e-09"),
        ("rule-set-classifier", {"theory_weight": 1e10}, "theory_weight", "<= 1e+09"),
    ],
)
def test_the_refusal_tells_the_range_with_every_digit(name, parameters, field, words):
    with pytest.raises(ParameterError, match=f"parameter {field} must be .*{words.replace('+', '[+]')}") as caught:
        catalog.make(name, parameters)
    assert caught.value.field == field


def test_a_confidence_too_small_to_be_told_from_none_still_prunes():
    """1 - 1e-17 is 1 as a double, of which there is no quantile; the quantile of 1e-17 itself is -8.49."""
    sample = samples.mixed(catalog.get("decision-tree-classifier").capabilities)
    leaves = [
        catalog.make("decision-tree-classifier", {"pruning": "error-based", "confidence": confidence})
        .fit(sample.table, sample.target)
        .n_leaves_
        for confidence in (0.25, 1e-15, 1e-17, 5e-324)
    ]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] < leaves[0]


#: Learners of numbers that are given.
_REGRESSORS = [one for one in catalog.LEARNERS if one.capabilities.task == "regression" and one.name != "autoencoder"]


@pytest.mark.parametrize("learner", _REGRESSORS, ids=lambda one: one.name)
def test_targets_are_learned_in_any_unit_or_refused_by_row(learner):
    sample = samples.mixed(learner.capabilities, 30)
    few = {"members": 4} if any(one.name == "members" for one in learner.parameters()) else {}
    unit = 2.0**460 / np.abs(sample.target.cells).max()
    plain = learner(**few).fit(sample.table, Series(sample.target.column, sample.target.cells)).predict(sample.table)
    huge = Series(sample.target.column, sample.target.cells * unit)
    found = learner(**few).fit(sample.table, huge).predict(sample.table) / unit
    np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-6)
    huge.cells[7] = 1.5e140
    with pytest.raises(DataError, match=r"1\.5e\+140 in row 7; .* at most 1e\+140") as caught:
        learner(**few).fit(sample.table, huge)
    assert caught.value.field == sample.target.column.name
