"""The lists of checks, and which of them a learner's capabilities call for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from learners.base import Learner
from learners.checks import (
    contract,
    data,
    explanations,
    intervals,
    metamorphic,
    persistence,
    prediction,
    running,
    weights,
)
from learners.checks.require import MakeLearner

CheckFunction = Callable[[MakeLearner], None]

EVERY: tuple[CheckFunction, ...] = (
    contract.constructor_only_stores,
    contract.description_is_complete,
    contract.parameters_round_trip,
    contract.bad_parameter_is_named_with_its_range,
    contract.fit_returns_self,
    contract.unfitted_refuses,
    contract.same_data_same_model,
    contract.fits_at_once_are_alike,
    contract.refit_forgets,
    contract.inputs_are_unchanged,
    contract.arrays_and_tables_are_one,
    contract.bad_rows_are_refused,
    prediction.one_row_equals_batch,
    prediction.no_rows_give_no_answers,
    prediction.answers_are_finite,
    prediction.columns_are_found_by_name,
    prediction.wrong_columns_are_refused,
    prediction.threads_may_share_a_model,
    data.one_column_is_learned,
    data.constant_columns_are_learned,
    data.hard_numbers_are_learned_or_refused,
    metamorphic.names_do_not_matter,
    metamorphic.constant_column_changes_nothing,
    persistence.loaded_model_is_the_same,
    persistence.state_is_plain_data,
    running.progress_is_reported,
    running.cancelling_stops_the_fit,
    running.compiled_equals_interpreted,
)
CLASSIFIERS: tuple[CheckFunction, ...] = (
    prediction.probabilities_agree_with_predict,
    prediction.labels_come_back_as_given,
    prediction.array_labels_come_back_as_given,
    data.one_class_is_certain,
    data.class_without_rows_keeps_its_column,
    metamorphic.class_order_does_not_matter,
)
REGRESSORS: tuple[CheckFunction, ...] = (data.constant_target_is_answered,)
SUPERVISED: tuple[CheckFunction, ...] = (contract.bad_targets_are_refused, data.one_row_is_learned)
UNSUPERVISED: tuple[CheckFunction, ...] = (contract.target_is_left_aside,)
WITH_MISSING: tuple[CheckFunction, ...] = (data.missing_cells_are_answered,)
WITHOUT_MISSING: tuple[CheckFunction, ...] = (data.missing_cells_are_refused,)
WITH_CATEGORIES: tuple[CheckFunction, ...] = (
    data.unseen_levels_are_answered,
    data.levels_are_found_by_their_text,
    data.strange_levels_are_levels,
)
WITHOUT_CATEGORIES: tuple[CheckFunction, ...] = (data.categories_are_refused,)
WITH_WEIGHTS: tuple[CheckFunction, ...] = (
    weights.weight_one_is_no_weight,
    weights.weight_zero_is_absent,
    weights.weight_two_is_twice,
    weights.bad_weights_are_refused,
)
WITHOUT_WEIGHTS: tuple[CheckFunction, ...] = (weights.weights_are_refused,)
WITH_INTERVALS: tuple[CheckFunction, ...] = (
    intervals.intervals_are_those_of_reasons,
    intervals.intervals_are_the_same_in_any_company,
    intervals.intervals_hold_what_is_answered,
)
WITHOUT_INTERVALS: tuple[CheckFunction, ...] = (intervals.intervals_are_refused,)
WITH_STEPS: tuple[CheckFunction, ...] = (prediction.steps_are_answered_as_beginnings,)
EXPLAINING: tuple[CheckFunction, ...] = (
    explanations.explanation_replays_to_the_answer,
    explanations.explanation_is_json_of_a_declared_kind,
    explanations.reason_is_the_same_in_any_company,
)

#: Reasons by (learner's name, check's name). A check that is listed here must fail: mend, then strike out.
KNOWN_FAILURES: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Check:
    """One promise; called with a function that makes unfitted learners, it raises AssertionError if broken."""

    function: CheckFunction

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, make: MakeLearner) -> None:
        self.function(make)


def checks_for(learner: type[Learner]) -> list[Check]:
    """The checks that the learner's declared capabilities call for."""
    able = learner.capabilities
    functions = [
        *EVERY,
        *(
            SUPERVISED + (CLASSIFIERS if able.task == "classification" else REGRESSORS)
            if able.supervised
            else UNSUPERVISED
        ),
        *(WITH_MISSING if able.missing else WITHOUT_MISSING),
        *(WITH_CATEGORIES if able.categories else WITHOUT_CATEGORIES),
        *(WITH_WEIGHTS if able.weights else WITHOUT_WEIGHTS),
        *(WITH_STEPS if able.steps else ()),
        *(WITH_INTERVALS if able.intervals else WITHOUT_INTERVALS if able.task == "regression" else ()),
        *(EXPLAINING if able.explanations else ()),
        *(() if able.row_order_matters else (metamorphic.row_order_does_not_matter,)),
        *(() if able.draws_columns else (metamorphic.column_order_decides_ties_only,)),
        *(() if able.column_order_matters else (metamorphic.column_order_does_not_matter,)),
        *(() if able.scale_matters else (metamorphic.scale_does_not_matter,)),
    ]
    return [Check(function) for function in functions]
