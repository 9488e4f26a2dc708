"""Checks of saving and loading: the same model to the bit, without a copy and without code."""

from __future__ import annotations

from learners.base import Classifier
from learners.checks import samples
from learners.checks.require import MakeLearner, answers, require, require_json, require_same
from learners.persist import dump, load


def loaded_model_is_the_same(make: MakeLearner) -> None:
    """Answers, explanations, parameters, columns, classes and bytes."""
    sample = samples.mixed(type(make()).capabilities)
    model = make().fit(sample.table, sample.target)
    data = dump(model.get_state())
    copy = type(model).from_state(load(data))
    require(copy.is_fitted, "a loaded model counts as unfitted")
    require_same(answers(copy, sample.table), answers(model, sample.table), "answers of the loaded model")
    require_same(copy.predict(sample.table), model.predict(sample.table), "predictions of the loaded model")
    require(copy.get_params() == model.get_params(), "the loaded model has other parameters")
    require(copy.columns_ == model.columns_, "the loaded model has other columns")
    require(copy.n_features_in_ == model.n_features_in_, "the loaded model has another number of columns")
    require(copy.explain(sample.table) == model.explain(sample.table), "the loaded model explains otherwise")
    require(dump(copy.get_state()) == data, "the loaded model is saved as other bytes")
    if isinstance(model, Classifier) and isinstance(copy, Classifier):
        require(copy.classes_.tolist() == model.classes_.tolist(), "the loaded model has other classes")
        require(copy.target_ == model.target_, "the loaded model has another target")


def state_is_plain_data(make: MakeLearner) -> None:
    """A header of JSON that names the learner, arrays without objects; a second learner may share them."""
    sample = samples.mixed(type(make()).capabilities)
    state = make().fit(sample.table, sample.target).get_state()
    require_json(state.header, "the header")
    require(state.header.get("learner") == type(make()).name, "header['learner'] is not the learner's name")
    for name, array in state.arrays.items():
        require(array.dtype.kind in "fiub", f"array {name} is of type {array.dtype}")
    shared = load(dump(state))
    first, second = type(make()).from_state(shared), type(make()).from_state(shared)
    require_same(answers(first, sample.table), answers(second, sample.table), "two models of one state")
    require(not any(array.flags.writeable for array in shared.arrays.values()), "loaded arrays can be written to")
