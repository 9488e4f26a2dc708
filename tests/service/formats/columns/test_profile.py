"""Profiles against numpy, scikit-learn, scipy and hand-made numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score

from learners.checks.require import require_json
from learners.errors import SchemaError
from learners.table import Column, Kind, Table
from service.formats.columns.profile import profile, profile_column
from tests.service.formats.reading_files import read
from tests.shared import table_path


def numeric(values):
    return profile_column(Column("x"), np.array(values, dtype=float))


def test_numeric_facts_are_those_of_numpy():
    values = np.random.default_rng(3).normal(5, 2, 1001)
    facts = numeric([*values, math.nan, math.nan])
    assert (facts["rows"], facts["missing"], facts["distinct"]) == (1003, 2, 1001)
    assert facts["min"] == values.min()
    assert facts["max"] == values.max()
    assert facts["mean"] == pytest.approx(values.mean(), rel=1e-12)
    assert facts["sd"] == pytest.approx(values.std(ddof=1), rel=1e-12)
    for quantile in facts["quantiles"]:
        assert quantile["value"] == pytest.approx(np.quantile(values, quantile["share"]), rel=1e-12)
    counts, edges = np.histogram(values, bins=20)
    assert facts["histogram"]["counts"] == counts.tolist()
    assert facts["histogram"]["edges"] == pytest.approx(edges.tolist())


def test_rows_of_extremes_gaps_and_signs_are_told():
    facts = numeric([math.nan, 3, 0, -2, 7, -2, -0.0, 7])
    assert (facts["first_missing"], facts["min_row"], facts["max_row"]) == (0, 3, 4)
    assert (facts["zeros"], facts["negatives"]) == (2, 2)
    nothing = numeric([math.nan, math.nan])
    assert (nothing["first_missing"], nothing["min_row"], nothing["max_row"], nothing["zeros"]) == (0, None, None, 0)
    assert numeric([1.0])["first_missing"] is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.just(math.nan), max_size=30))
def test_any_doubles_give_strict_json_within_their_range(values):
    facts = numeric(values)
    require_json(facts, "the profile")
    known = [value for value in values if not math.isnan(value)]
    assert facts["distinct"] == len(set(known))
    assert facts["is_empty"] == (not known)
    assert facts["is_constant"] == (len(set(known)) == 1)
    if known:
        assert sum(facts["histogram"]["counts"]) == len(known)
        assert facts["min"] <= facts["mean"] <= facts["max"]
        assert all(facts["min"] <= one["value"] <= facts["max"] for one in facts["quantiles"])
        edges = facts["histogram"]["edges"]
        assert edges[0] == facts["min"]
        assert edges[-1] == facts["max"]


def test_levels():
    column = Column("c", Kind.NOMINAL, ("a", "b", "z"), "text")
    facts = profile_column(column, np.array([1, 1, 0, math.nan]))
    assert facts["levels"] == [{"level": "b", "count": 2}, {"level": "a", "count": 1}, {"level": "z", "count": 0}]
    assert (facts["distinct"], facts["n_levels"], facts["missing"]) == (2, 3, 1)


def entropy(shares):
    return -sum(share * math.log2(share) for share in shares if share)


def test_the_information_gains_of_play_tennis():
    """Quinlan (1986): outlook 0.246 bits, humidity 0.151, wind 0.048, temperature 0.029."""
    table = read(table_path("weather-nominal.csv"), target="play")
    gains = {one["name"]: one["relation"]["value"] for one in table.ingested.profile if one["relation"]}
    assert gains == pytest.approx(
        {"outlook": 0.2467, "humidity": 0.1518, "windy": 0.0481, "temperature": 0.0292}, abs=5e-5
    )


def test_the_best_threshold_of_iris():
    """Petal length splits off setosa: the gain is the entropy of 1 against 2 of three, at 2.45."""
    table = read(table_path("iris.csv"), target="class")
    relation = {one["name"]: one["relation"] for one in table.ingested.profile}["petallength"]
    assert relation["value"] == pytest.approx(entropy([1 / 3, 2 / 3]))
    assert relation["threshold"] == pytest.approx(2.45)


def test_relations_against_peers():
    rng = np.random.default_rng(0)
    n = 120
    codes, classes = rng.integers(0, 4, n), rng.integers(0, 3, n)
    x = classes + rng.normal(size=n)
    z = 3 * x + rng.normal(size=n)
    table = Table(
        (
            Column("c", Kind.NOMINAL, tuple("abcd"), "text"),
            Column("y", Kind.NOMINAL, tuple("pqr"), "text"),
            Column("x"),
            Column("z"),
        ),
        np.column_stack([codes, classes, x, z]).astype(float),
    )
    to_class = {one["name"]: one["relation"] for one in profile(table, "y")}
    assert to_class["c"]["value"] == pytest.approx(mutual_info_score(codes, classes) / math.log(2))
    best = max(mutual_info_score(x <= cut, classes) for cut in np.sort(x)[:-1]) / math.log(2)
    assert to_class["x"]["value"] == pytest.approx(best)
    to_number = {one["name"]: one["relation"] for one in profile(table, "z")}
    assert to_number["x"]["value"] == pytest.approx(stats.pearsonr(x, z).statistic ** 2)
    groups = [z[classes == code] for code in range(3)]
    f = stats.f_oneway(*groups).statistic
    assert to_number["y"]["value"] == pytest.approx(f * 2 / (f * 2 + n - 3))


def test_relations_without_any_spread():
    table = Table((Column("x"), Column("z")), np.array([[1.0, 2], [1, 3], [math.nan, 4]]))
    assert profile(table, "z")[0]["relation"] == {"rows": 2, "value": None, "measure": "squared correlation"}
    huge = Table((Column("x"), Column("z")), np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [0, 0]]))
    assert profile(huge, "z")[0]["relation"]["value"] == pytest.approx(1.0)


def test_an_unknown_target():
    with pytest.raises(SchemaError):
        profile(Table((Column("x"),), np.zeros((2, 1))), "nope")


def test_repeated_and_constant_columns_are_told():
    table = read("a,b,c,d\n1,1,p,5\n2,2,q,5\n2,2,q,5\n")
    assert [one["duplicate_of"] for one in table.ingested.profile] == [None, "a", None, None]
    assert table.ingested.warnings == [
        "columns with one value only: d",
        "columns that repeat another: b = a",
        "1 row repeats an earlier row",
    ]
