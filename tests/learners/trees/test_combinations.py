"""Options of trees and rule sets two by two: each pair works from fit to file, or is refused and both are named."""

from itertools import combinations

import numpy as np
import pytest

from learners.checks import samples
from learners.errors import ParameterError
from learners.persist import dump, load
from learners.rules import RuleSetClassifier
from learners.rules.access import rules_of
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree.estimator import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor

LEARNERS = (DecisionTreeClassifier, DecisionTreeRegressor, ModelTreeRegressor, RuleSetClassifier)
#: Other values than the default of parameters that are numbers or objects.
VALUES = {
    "max_depth": [3],
    "max_leaves": [6],
    "min_leaf": [3],
    "min_split": [8],
    "min_gain": [0.01],
    "threads": [2],
    "alpha": [0.02],
    "alpha_folds": [3],
    "validation_fraction": [0.4],
    "seed": [5],
    "confidence": [0.1],
    "significance": [0.2],
    "m": [5.0],
    "bins": [4],
    "max_terms": [3],
    "oblique_l2": [0.1],
    "costs": [{"height": 4.0}],
    "cost_exponent": [0.5],
    "min_deviation": [0.3],
    "pruning_multiplier": [1.0],
    "smoothing": [0.0],
    "theory_weight": [0.1],
    "redundancy": [2.0],
    "max_rules": [2],
    "stop_significance": [0.2],
    "class_weight": [{"low": 3.0}],
    "utility": [{"low": {"middle": -4.0, "high": -1.0}, "middle": {"low": -2.0}, "high": {"low": -3.0, "middle": 1.0}}],
}


def options(learner):
    """Every other value of every parameter, with what the parameter itself needs beside it."""
    for parameter in learner.parameters():
        values = VALUES.get(parameter.name)
        if values is None:
            values = [True, False] if parameter.type == "boolean" else list(parameter.choices)
            assert values, f"{parameter.name} needs values here"
        for value in values:
            if value != parameter.default:
                yield parameter.name, value


def pairs(learner):
    yield from combinations(options(learner), 2)


def needed(learner, names):
    """What the named parameters are only for, without contradicting one another where they need not."""
    found = {}
    for parameter in learner.parameters():
        if parameter.name in names:
            found |= {name: values[0] for name, values in parameter.only_with if name not in names}
    return found


def works(learner, params, sample):
    model = learner(**params).fit(sample.table, sample.target)
    answers = model.predict(sample.table)
    check_rules(model, sample.table, answers)
    assert len(model.explain(sample.table.take(np.arange(3)))) == 3
    data = dump(model.get_state())
    copy = learner.from_state(load(data))
    np.testing.assert_array_equal(copy.predict(sample.table), answers)
    assert copy.get_params() == model.get_params()
    assert dump(copy.get_state()) == data


def check_rules(model, table, answers):
    """The rules say what the model answers."""
    said = rules_of(model).predict(table)
    if answers.dtype.kind == "f":
        np.testing.assert_allclose(said, answers, rtol=1e-9, atol=1e-9)
    else:
        assert said.tolist() == answers.tolist()


def completed(learner, chosen):
    """Options with what they need beside them."""
    return needed(learner, set(chosen)) | chosen


def refusal_of(learner, params):
    """The refusal of parameters that make no sense together, or ``None``."""
    try:
        learner.from_params(params).check_together()
    except ParameterError as error:
        return error
    return None


def settings_with(learner, pairs_to_try):
    """Settings of many options each, in which each of the pairs is found together."""
    left = {repr(sorted(pair.items())): pair for pair in pairs_to_try}
    while left:
        chosen = dict(next(iter(left.values())))
        for pair in left.values():
            if all(chosen.get(name, value) == value for name, value in pair.items()):
                more = chosen | pair
                if refusal_of(learner, completed(learner, more)) is None:
                    chosen = more
        params = completed(learner, chosen)
        for key, pair in list(left.items()):
            if all(params.get(name) == value for name, value in pair.items()):
                del left[key]
        yield params


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
def test_every_pair_works_or_is_refused_by_name(learner):
    sample = samples.mixed(learner.capabilities, rows=40)
    declared = {parameter.name: parameter for parameter in learner.parameters()}
    allowed, n_refused = [], 0
    for (one, value), (other, another) in pairs(learner):
        if one == other:
            continue
        params = completed(learner, {one: value, other: another})
        refusal = refusal_of(learner, params)
        if refusal is None:
            allowed.append({one: value, other: another})
            continue
        n_refused += 1
        rivals = dict(declared[refusal.field].only_with)
        named = [name for name in rivals if name in str(refusal)]
        assert refusal.field in params, (params, str(refusal))
        assert f"parameter {refusal.field} = " in str(refusal)
        assert any(params.get(name, declared[name].default) not in rivals[name] for name in named), str(refusal)
    assert len(allowed) > 100
    assert n_refused < len(allowed)
    for params in settings_with(learner, allowed):
        works(learner, params, sample)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
def test_each_option_alone_is_refused_unless_what_it_is_for_is_there(learner):
    sample = samples.mixed(learner.capabilities, rows=40)
    declared = {parameter.name: parameter for parameter in learner.parameters()}
    defaults = learner().get_params()
    for name, value in options(learner):
        fits = all(defaults[other] in values for other, values in declared[name].only_with)
        model = learner(**{name: value})
        if fits:
            model.fit(sample.table, sample.target)
            continue
        with pytest.raises(ParameterError, match=f"parameter {name} = .* has no effect with ") as caught:
            model.fit(sample.table, sample.target)
        assert caught.value.field == name
        assert not model.is_fitted


@pytest.mark.parametrize("pruning", ["error-based", "chi-square", "minimum-length", "collapse"])
def test_prunings_by_classes_are_refused_for_numbers(pruning):
    with pytest.raises(ParameterError, match="parameter pruning must be one of none, reduced-error, cost-complexity"):
        DecisionTreeRegressor(pruning=pruning).fit([[0.0], [1.0]], [0.0, 1.0])


def test_utilities_and_estimates_are_no_parameters_of_a_learner_of_numbers():
    for name in ("utility", "leaf_estimate", "m", "class_weight"):
        with pytest.raises(ParameterError, match=f"no parameter '{name}'"):
            DecisionTreeRegressor.from_params({name: None})
