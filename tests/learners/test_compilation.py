"""Compiling ahead tries every choice of every learner; that nothing is left is shown in tests/packaging."""

from __future__ import annotations

from learners.compilation import _sample, _variants
from learners.trees import DecisionTreeClassifier


def test_every_choice_flag_and_whole_number_is_tried() -> None:
    parameters = DecisionTreeClassifier.parameters()
    tried = list(_variants(parameters))
    for parameter in parameters:
        values = [params[parameter.name] for params in tried if parameter.name in params]
        if parameter.type == "string":
            assert set(values) == set(parameter.choices)
        elif parameter.type in ("boolean", "integer"):
            assert values


def test_the_sample_has_every_kind_and_missing_values_among_its_cells() -> None:
    table, labels, numbers = _sample()
    assert [column.kind for column in table.columns] == ["numeric", "nominal", "ordinal", "boolean"]
    assert len(DecisionTreeClassifier().fit(table, labels).tree_.leaves()) > 3
    assert len(numbers) == table.n_rows
