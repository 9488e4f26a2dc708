"""What learners take in: tables, arrays and data frames; targets of one type; weights that are finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.base import as_table, as_target, check_training, check_weights
from learners.errors import DataError, NotFittedError, SchemaError
from learners.matching import conform
from learners.table import MISSING, UNSEEN, Column, Kind, Series, Table
from learners.validation import check_codes, labels_of
from tests.learners.examples import Majority, Mean


class Cells(list[Any]):
    """One column of a data frame."""

    def to_list(self) -> list[Any]:
        return list(self)


class Frame:
    """As much of a data frame as pandas, polars and others have in common."""

    def __init__(self, data: dict[str, list[Any]]) -> None:
        self.data = data
        self.columns = list(data)

    def __getitem__(self, name: str) -> Cells:
        return Cells(self.data[name])


def test_arrays_and_lists_become_numeric_columns() -> None:
    for X in ([[1, 2], [3, None]], np.array([[1.0, 2.0], [3.0, np.nan]])):
        table = as_table(X)
        assert table.names == ["x0", "x1"]
        assert np.array_equal(table.values, [[1, 2], [3, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[1, 2], [3]], "rectangle of numbers"),
        ([["a"]], r"could not convert string to float: .*'a'"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "dates"),
        ([1, 2], "Expected 2D array"),
        (3, "Expected 2D array"),
        ([[1, float("inf")]], "column 'x1' is infinite in row 0"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_table(X)


def test_sparse_matrices_are_refused_by_type() -> None:
    import scipy.sparse

    with pytest.raises(TypeError, match=r"toarray\(\)"):
        as_table(scipy.sparse.eye_array(2))


def test_a_data_frame_keeps_its_names_and_types() -> None:
    frame = Frame({"h": [1.5, None], "c": ["red", None], "b": [True, False]})
    table = as_table(frame)
    assert [column.kind for column in table.columns] == [Kind.NUMERIC, Kind.NOMINAL, Kind.BOOLEAN]
    assert np.array_equal(table.values, [[1.5, 0, 1], [np.nan, np.nan, 0]], equal_nan=True)


def test_a_data_frame_is_matched_by_name_and_level_not_by_place_and_code() -> None:
    frame = Frame({"h": [1.0, 2.0], "c": ["green", "red"]})
    model = Majority().fit(frame, ["a", "b"])
    asked = Frame({"c": ["red", "blue", None], "h": [3.0, 4.0, None]})
    table = model.check_table(asked)
    assert np.array_equal(table.values, [[3, 1], [4, UNSEEN], [np.nan, np.nan]], equal_nan=True)
    with pytest.raises(SchemaError, match="'h' is absent"):
        model.check_table(Frame({"c": ["red"]}))


def test_an_array_is_refused_where_columns_have_levels() -> None:
    model = Majority().fit(Table.from_columns({"c": ["red", "green"]}), ["a", "b"])
    with pytest.raises(SchemaError, match="'c' is nominal, so its values cannot be given as an array"):
        model.predict([[0.0]])


def test_tables_are_recoded_by_the_texts_of_their_levels() -> None:
    wanted = Column("c", Kind.NOMINAL, ("a", "b"))
    given = Table((Column("c", Kind.NOMINAL, ("z", "b", "a")),), np.array([[0, 1, 2, np.nan, UNSEEN]]).T)
    found = conform(given, [wanted])
    assert np.array_equal(found.values[:, 0], [UNSEEN, 1, 0, MISSING, UNSEEN], equal_nan=True)


def test_a_column_of_which_nothing_is_known_fits_any_kind() -> None:
    wanted = Column("c", Kind.NOMINAL, ("a",))
    nothing = Table.from_columns({"c": [None, None]})
    assert np.isnan(conform(nothing, [wanted]).values).all()
    with pytest.raises(SchemaError, match="'c' is nominal, not numeric"):
        conform(Table.from_columns({"c": [1, None]}), [wanted])


def test_a_text_in_a_column_of_numbers_is_shown_with_its_row() -> None:
    asked = Table.from_columns({"c": ["1", "2", "many"]})
    with pytest.raises(SchemaError, match="'c' is numeric, not nominal as in these rows: row 2 holds 'many'"):
        conform(asked, [Column("c")])


def test_many_absent_columns_are_counted() -> None:
    with pytest.raises(SchemaError, match=r"column 'a' is absent \(and 2 more\)"):
        conform(Table.from_columns({"d": [1]}), [Column(name) for name in "abcd"])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([3, 1, 3], [1, 3]),
        ([2.0, 1.0, 2.0], [1, 2]),
        ([True, False, True], [False, True]),
        ([True, True, True], [False, True]),
        (np.array(["x", "y", "x"], dtype=object), ["x", "y"]),
        (np.array([1, 0, 1], dtype=np.uint8), [0, 1]),
        (["nan", "None", ""], ["", "None", "nan"]),
        ([1, 2.0, 1], [1, 2]),
    ],
)
def test_class_targets_keep_the_type_of_their_labels(labels: Any, classes: list[Any]) -> None:
    target = as_target(labels, classification=True)
    assert list(target.column.labels) == classes
    assert [target.column.decode(cell) for cell in target.cells] == list(labels)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([1, "1"], "mixes"),
        ([True, 1], "mixes"),
        ([True, "true"], "mixes"),
        (["a", None], "NaN"),
        ([1.0, float("nan")], "NaN"),
        (np.array(["a", np.nan], dtype=object), "NaN"),
        ([0.5, 1.0], "continuous"),
        ([b"a", b"b"], "Unknown label type"),
        ([1j, 2j], "Complex"),
        ([[1, 2], [3, 4]], "1d array"),
        (None, "requires y"),
    ],
)
def test_class_targets_that_are_none_are_refused(labels: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_target(labels, classification=True)


@pytest.mark.parametrize("values", [["a", "b"], [1, None], [float("inf"), 1], [1j, 2], [[1, 2], [3, 4]], None])
def test_numeric_targets_that_are_none_are_refused(values: Any) -> None:
    with pytest.raises(DataError):
        as_target(values, classification=False)


def test_a_column_vector_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column-vector"):
        assert as_target([[1.0], [2.0]], classification=False).cells.tolist() == [1, 2]


def test_a_target_of_the_wrong_kind_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="target 'y' is numeric; it must be nominal") as caught:
        as_target(Series(Column("y"), np.zeros(2)), classification=True)
    assert caught.value.field == "y"
    with pytest.raises(DataError, match="target 'y' is nominal; it must be numeric"):
        as_target(Series(Column("y", Kind.NOMINAL, ("a",)), np.zeros(2)), classification=False)


@pytest.mark.parametrize(
    ("cells", "said"),
    [([0, MISSING], "missing .* row 1"), ([0, UNSEEN], "row 1 is none of"), ([2, 0], "row 0"), ([0, 0.5], "row 1")],
)
def test_a_target_with_a_cell_that_is_no_class_is_refused(cells: list[float], said: str) -> None:
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array(cells))
    with pytest.raises(DataError, match=said):
        check_training(np.zeros((2, 1)), target, classification=True)


def test_a_numeric_series_with_an_infinite_cell_is_refused() -> None:
    with pytest.raises(DataError, match=r"infinite \(inf\) in row 1"):
        check_training(np.zeros((2, 1)), Series(Column("y"), np.array([0, np.inf])), classification=False)


def test_cells_that_are_no_codes_are_refused_by_column_and_row() -> None:
    column = Column("c", Kind.NOMINAL, ("a", "b"))
    check_codes(column, np.array([0, 1, UNSEEN, MISSING]))
    for bad in (2.0, 0.5, -2.0, np.inf):
        with pytest.raises(DataError, match=r"column 'c' holds .* in row 1"):
            check_codes(column, np.array([0, bad]))


@pytest.mark.parametrize("weights", [[1, "a"], [1], [[1, 1]], [1, -1], [1, np.nan], [np.inf, 1], [0, 0], object()])
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(DataError) as caught:
        check_weights(weights, 2)
    assert caught.value.field == "sample_weight"


def test_weights_are_doubles_one_a_row() -> None:
    assert check_weights(None, 2).tolist() == [1, 1]
    assert check_weights(3, 2).tolist() == [3, 3]
    assert check_weights([0, 2], 2).tolist() == [0, 2]


def test_scores_take_targets_in_either_form() -> None:
    X = np.zeros((4, 1))
    labels = ["a", "a", "a", "b"]
    series = Series.from_values("y", labels, Column("y", Kind.NOMINAL, ("a", "b", "c")))
    model = Majority().fit(X, series)
    assert model.score(X, labels) == model.score(X, series) == 0.75
    assert model.score(X, series, [0, 0, 0, 1]) == 0
    numbers = np.array([1.0, 2.0, 3.0, 6.0])
    mean = Mean().fit(X, numbers)
    assert mean.score(X, numbers) == mean.score(X, Series(Column("y"), numbers)) == 0
    assert mean.score(X, np.full(4, 3.0)) == 1


def test_labels_of_a_series_are_its_values() -> None:
    series = Series(Column("y", Kind.NOMINAL, ("1", "2"), "number"), np.array([1, 0, MISSING]))
    assert labels_of(series).tolist() == [2, 1, None]


def test_what_is_not_fitted_says_so_under_both_names() -> None:
    with pytest.raises(NotFittedError, match="Majority instance is not fitted yet"):
        Majority().predict([[1.0]])
    assert issubclass(NotFittedError, AttributeError)
    assert issubclass(NotFittedError, ValueError)


def test_names_are_kept_only_where_there_are_any() -> None:
    model = Majority().fit(np.zeros((2, 2)), ["a", "b"])
    assert not hasattr(model, "feature_names_in_")
    model.fit(Table.from_columns({"p": [1, 2]}), ["a", "b"])
    assert model.feature_names_in_.tolist() == ["p"]
    model.fit(np.zeros((2, 2)), ["a", "b"])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_a_learner_prints_the_parameters_that_were_changed() -> None:
    assert repr(Majority(smoothing=2.0)) == "Majority(smoothing=2.0)"
    assert repr(Mean()) == "Mean()"


@pytest.mark.parametrize("weights", [[1e308, 1e308], [1e300, 1], [2.0**53, 2], [1e-320, 1]])
def test_weights_whose_sums_or_quotients_would_not_be_finite_are_refused(weights: Any) -> None:
    with pytest.raises(DataError, match=r"sum is at most 2\^53|0 or at least 1e-100"):
        check_weights(weights, 2)
