"""Compiling ahead tries every choice of every learner; that nothing is left is shown in tests/packaging."""

from __future__ import annotations

from pathlib import Path

import pytest

from learners import compilation
from learners.catalog import LEARNERS
from learners.compilation import _sample, _variants, choices, marks
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


def test_the_defaults_of_all_come_before_any_choice() -> None:
    everything = list(choices())
    first = everything[: len(LEARNERS)]
    assert first == [(learner.name, {}) for learner in LEARNERS]
    assert all(params for _, params in everything[len(LEARNERS) :])
    assert len({name for name, _ in everything}) == len(LEARNERS)


def test_the_sample_has_every_kind_and_missing_values_among_its_cells() -> None:
    table, labels, numbers = _sample()
    assert [column.kind for column in table.columns] == ["numeric", "nominal", "ordinal", "boolean"]
    assert len(DecisionTreeClassifier().fit(table, labels).tree_.leaves()) > 3
    assert len(numbers) == table.n_rows


def test_word_of_machine_code_lies_beside_it_and_is_void_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    first = marks()
    assert first is not None
    assert first.parent == tmp_path / "kernels"
    assert marks() == first
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "kernel.py").write_text("changed")
    monkeypatch.setattr(compilation, "_SOURCES", sources)
    assert marks() not in (first, None)
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert marks() is None
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert marks() is None
