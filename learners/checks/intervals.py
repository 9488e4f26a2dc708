"""Checks of ``predict_intervals``: the intervals of reasons, alone and among others; refused where there are none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np

from learners.base import Regressor
from learners.checks import samples
from learners.checks.require import MakeLearner, refusal, require, require_json
from learners.errors import ParameterError
from learners.explanation import Bounds
from learners.persist import dump, load
from learners.table import Table


def intervals_are_those_of_reasons(make: MakeLearner) -> None:
    """One record, to the bit; of a model that was saved and loaded, too."""
    model, table = _fitted(make)
    wanted = [one.to_json()["interval"] for one in model.explain(table)]
    require(_told(model.predict_intervals(table)) == _written(wanted), "the reasons tell other intervals")
    require(any(one is not None for one in wanted), "no row has an interval")
    require_json(wanted, "an interval")
    again = type(model).from_state(load(dump(model.get_state())))
    require(_told(again.predict_intervals(table)) == _written(wanted), "a loaded model tells other intervals")


def intervals_are_the_same_in_any_company(make: MakeLearner) -> None:
    """To the bit, alone and among others in any order; of no rows there are none."""
    model, table = _fitted(make)
    rows = np.arange(table.n_rows)
    wanted = _told(model.predict_intervals(table))
    require(model.predict_intervals(table.take(rows[:0])) == [], "no rows have intervals")
    alone = [_told(model.predict_intervals(table.take(rows[row : row + 1])))[0] for row in rows]
    require(alone == wanted, "a row alone has another interval")
    turned = np.random.default_rng(0).permutation(rows)
    found = _told(model.predict_intervals(table.take(turned)))
    require(found == [wanted[row] for row in turned], "a row in another order has another interval")


def intervals_hold_what_is_answered(make: MakeLearner) -> None:
    """The answer lies in its interval, and intervals of a higher level hold those of a lower one."""
    model, table = _fitted(make)
    answers = model.predict(table).tolist()
    narrow, own, wide = (model.predict_intervals(table, level) for level in (0.2, None, 0.9999))
    for answer, low, middle, high in zip(answers, narrow, own, wide, strict=True):
        require((low is None) == (middle is None) == (high is None), "the level decides whether there is an interval")
        if low is not None and middle is not None and high is not None:
            require((low.level, high.level) == (0.2, 0.9999), "an interval does not tell its level")
            ends = [high.low, middle.low, low.low, answer, low.high, middle.high, high.high]
            require(ends == sorted(ends), f"intervals of rising levels are not nested: {ends}")
    for level in (0, 1, -0.5, float("nan")):
        refusal(ParameterError, partial(model.predict_intervals, table, level), f"the level {level}")


def intervals_are_refused(make: MakeLearner) -> None:
    """A learner that declares none tells none, in its reasons neither."""
    model, table = _fitted(make)
    refusal(TypeError, lambda: model.predict_intervals(table), "a learner without intervals")
    told = any("interval" in one.to_json() for one in model.explain(table))
    require(not told, "reasons tell intervals that capabilities do not declare")


def _fitted(make: MakeLearner) -> tuple[Regressor, Table]:
    sample = samples.mixed(type(make()).capabilities)
    return cast("Regressor", make().fit(sample.table, sample.target)), sample.table


def _told(intervals: list[Bounds | None]) -> list[str]:
    return _written([None if one is None else one.to_json() for one in intervals])


def _written(records: Sequence[object]) -> list[str]:
    """By all digits."""
    return [json.dumps(one) for one in records]
