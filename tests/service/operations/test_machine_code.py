"""Serving processes take up machine code that is there, once a model gains by it; they never make any."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from learners.catalog import dump_model
from learners.compilation import NATIVE
from learners.decimal_rows import decimal_rows
from learners.neighbors import NearestNeighborsClassifier
from learners.neighbors.search.one import nearest_one
from learners.table import Column, Kind, Series, Table
from service.formats.csv_numbers import read_csv_numbers
from service.operations import machine_code
from service.operations.machine_code import MachineCode
from service.operations.served import ServedModel
from tests.service.operations.serving_models import mixed_classifier, serve

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def neighbours() -> ServedModel:
    generator = np.random.default_rng(0)
    rows = generator.random((1_500, 3))
    codes = (rows.sum(axis=1) > 1.5).astype(float)
    target = Series(Column("y", Kind.NOMINAL, ("low", "high")), codes)
    return serve(NearestNeighborsClassifier().fit(Table.from_array(rows, ["a", "b", "c"]), target))


@pytest.fixture
def unloaded(native_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where word of machine code is looked for, in a process that has none so far."""
    for one in NATIVE:
        monkeypatch.setattr(one, "loaded", None)
        monkeypatch.setattr(one, "is_wanted", False)
    monkeypatch.setattr(machine_code, "marks", lambda: tmp_path)
    return tmp_path


def hand_over(native_folder: Path, folder: Path) -> None:
    for one in NATIVE:
        (folder / one.file).write_bytes((native_folder / one.file).read_bytes())


def test_it_is_taken_up_when_it_is_there(native_folder: Path, unloaded: Path, neighbours: ServedModel) -> None:
    models = [mixed_classifier()]
    code = MachineCode(lambda: models)
    hand_over(native_folder, unloaded)
    code.look()
    assert nearest_one.loaded is None, "no model gains by it"
    (unloaded / nearest_one.file).unlink()
    models.append(neighbours)
    code.look()
    assert nearest_one.loaded is None, "none is there yet"
    assert neighbours.gains_by_machine_code
    hand_over(native_folder, unloaded)
    code.look()
    assert nearest_one.loaded is not None
    assert not neighbours.gains_by_machine_code


def test_long_bodies_of_csv_take_it_up_too(native_folder: Path, unloaded: Path) -> None:
    hand_over(native_folder, unloaded)
    code = MachineCode(list)
    code.look()
    assert decimal_rows.loaded is None
    assert read_csv_numbers(b"a,b\n1,2\n", 4, 2) is not None
    code.look()
    assert decimal_rows.loaded is None, "short ones do without"
    body = b"a,b\n" + b"1.25,-2\n" * 20_000
    before = read_csv_numbers(body, 4, 2)
    code.look()
    assert decimal_rows.loaded is not None
    after = read_csv_numbers(body, 4, 2)
    assert before is not None
    assert after is not None
    assert after.cells.tobytes() == before.cells.tobytes()


def test_what_is_damaged_is_told_once_and_answers_go_on(
    unloaded: Path, neighbours: ServedModel, caplog: pytest.LogCaptureFixture
) -> None:
    for one in NATIVE:
        (unloaded / one.file).write_bytes(b"nothing")
    code = MachineCode(lambda: [neighbours])
    with caplog.at_level(logging.WARNING, logger="rulewood"):
        code.look()
        code.look()
    (told,) = [record.getMessage() for record in caplog.records]
    assert "damaged" in told
    assert neighbours.answer_plain([[0.1, 0.2, 0.3]], explain=False) == neighbours.answers(np.array([[0.1, 0.2, 0.3]]))


def test_without_a_folder_there_is_none(
    native_folder: Path, monkeypatch: pytest.MonkeyPatch, neighbours: ServedModel
) -> None:
    monkeypatch.setattr(machine_code, "marks", lambda: None)
    MachineCode(lambda: [neighbours]).look()
    assert neighbours.gains_by_machine_code


SERVE = """
import sys
from pathlib import Path
import numpy as np
from learners.catalog import load_model
from learners.persist import load_file
from service.operations.machine_code import MachineCode
from service.operations.served import Identity, ServedModel
model = ServedModel(load_model(load_file(Path(sys.argv[1]))), Identity("w", "m", 1, "classification"))
print("llvmlite" in sys.modules)
MachineCode(lambda: [model]).look()
row = [0.1, 0.2, 0.3]
print(model.answer_plain([row], explain=False) == model.answers(np.array([row])))
print(model.gains_by_machine_code, "llvmlite" in sys.modules, "numba" in sys.modules)
"""


@pytest.mark.usefixtures("native_folder")
def test_a_process_that_takes_it_up_has_no_numba(neighbours: ServedModel, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(dump_model(neighbours.learner))
    done = subprocess.run([sys.executable, "-c", SERVE, tmp_path / "model"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False", "True", "False True False"]
