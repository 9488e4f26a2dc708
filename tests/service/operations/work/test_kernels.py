"""Whether parts wait for machine code, do without it, or help to make it; and what tells that it is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from learners import _accel, _turns, catalog
from service.operations.work import kernels
from service.operations.work.part import learners_at_work
from tests.shared import table_path

_ALONE = """
import json, sys
from service.operations import work
found = [work.run_part(arguments, lambda share, message: None) for arguments in json.loads(sys.argv[1])]
print(json.dumps([found, "numba" in sys.modules]))
"""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # a process of its own takes a while to start
@pytest.mark.parametrize("learner", ["decision-tree-classifier", "rule-set-classifier"])
def test_small_parts_do_not_wait_for_the_compiler_and_find_the_same(bench, learner):
    request = bench.request(
        bench.put(table_path("iris.csv")), target="class", learner=learner, evaluation={"method": "k-fold"}
    )
    arguments = [bench.arguments(request, part) for part in ("fit", "fold-1")]
    uncompiled = [one | {"compiled": str(bench.folder / "not-there")} for one in arguments]
    said = subprocess.run(
        [sys.executable, "-c", _ALONE, json.dumps(uncompiled)], capture_output=True, text=True, check=True
    )
    results, loaded = json.loads(said.stdout)
    assert not loaded
    assert results == json.loads(json.dumps([bench.run(request, one["part"]) for one in arguments]))


def test_large_parts_and_networks_compile_from_the_end_until_word_is_there(tmp_path):
    def helps(learners, n_cells, compiled):
        with kernels.kernels(compiled, learners, n_cells):
            return _accel._helps.get(), _accel._plain.get()

    tree, network = "decision-tree-classifier", "neural-network-classifier"
    (tmp_path / tree).touch()
    assert helps([tree], 10**6, str(tmp_path)) == helps([tree], 10, None) == (False, False)
    missing = str(tmp_path / "missing")
    assert helps([tree], 10, missing) == (False, True)
    assert helps([tree], 10**6, missing) == helps([network], 10, str(tmp_path)) == (True, False)
    assert helps([tree, network], 10, str(tmp_path)) == (True, False)


def test_learners_that_parameters_name_are_at_work_too():
    lines, rules = ({"learner": name} for name in ("logistic-classifier", "rule-set-classifier"))
    request = {"learner": "adaboost-classifier", "parameters": {"member": lines}}
    assert learners_at_work(request) == ["adaboost-classifier", "logistic-classifier"]
    grid = {"selection": {"grid": {"members": [2, 3], "member": [None, lines, rules]}}, "parameters": {}}
    assert learners_at_work(request | grid)[1:] == ["logistic-classifier", "rule-set-classifier"]
    assert learners_at_work({"learner": "logistic-classifier", "parameters": {}}) == ["logistic-classifier"]


def test_word_that_another_user_left_stays_as_it_is(tmp_path):
    missing = tmp_path / catalog.LEARNERS[-1].name
    for learner in catalog.LEARNERS[:-1]:
        (tmp_path / learner.name).touch()
        os.utime(tmp_path / learner.name, (0, 0))
    kernels._leave_word(tmp_path)
    assert missing.stat().st_mtime > 0
    assert {path.stat().st_mtime for path in tmp_path.iterdir() if path != missing} == {0}


def test_a_part_that_waits_for_the_compiler_says_so_and_how_far_it_is():
    told = []
    with kernels.telling_of_compiling(lambda share, message: told.append((share, message))) as progress:
        _turns.tell_waiting()
        progress(0.25, "3 nodes")
        _turns.tell_waiting()
    _turns.tell_waiting()
    assert told == [(0.0, kernels.WAITING), (0.25, "3 nodes"), (0.25, kernels.WAITING)]
