"""Compiling ahead: tiny fits that call every kernel once, so that no later fit waits for the compiler."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from learners.base import Learner
from learners.catalog import LEARNERS, get
from learners.decimal_rows import decimal_rows
from learners.errors import LearnerError
from learners.neighbors.search.one import nearest_one
from learners.params import Parameter
from learners.parts import parted
from learners.table import MISSING, Column, Kind, Series, Table

#: What processes without numba can load.
NATIVE = (nearest_one, decimal_rows)
_ROWS = 24
_SOURCES = Path(__file__).parent
_PROCESSORS = Path("/proc/cpuinfo")


def marks() -> Path | None:
    """A folder for word of what is compiled, that lasts as long as the machine code does.

    It lies in the folder of all machine code and is another one after any change of the library, of Python or
    numba, and on another processor. In it, a file with a learner's name tells that its default kernels are compiled.

    Returns:
        ``None`` where no folder of machine code is named (``NUMBA_CACHE_DIR``), or word is missing that cannot be
        written there.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if not named:
        return None
    folder = Path(named) / f"compiled-{_fingerprint()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_complete(folder) or os.access(folder, os.W_OK) else None


def is_complete(folder: Path) -> bool:
    """Whether word of every learner's kernels is in a folder, and the functions that processes without numba load."""
    return all((folder / learner.name).exists() for learner in LEARNERS) and all(one.is_in(folder) for one in NATIVE)


def compile_native(folder: Path) -> None:
    """Put the functions that processes without numba load into a folder."""
    for one in NATIVE:
        one.write(folder)


def load_native(folder: Path) -> bool:
    """Load these functions; whether all are there and are loaded now.

    Raises:
        OSError, RuntimeError: see :meth:`learners._native.NativeFunction.load`.
    """
    if not all(one.is_in(folder) for one in NATIVE):
        return False
    for one in NATIVE:
        one.load(folder)
    return all(one.loaded is not None for one in NATIVE)


def _fingerprint() -> str:
    """Of all that decides which machine code there is."""
    found = hashlib.sha256(f"{sys.version} {version('numba')} {platform.machine()}".encode())
    if _PROCESSORS.exists():
        first = _PROCESSORS.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        told = ("model name", "flags", "Features", "CPU part")
        lines = [line for line in first.splitlines() if line.startswith(told)]
        found.update("\n".join(lines).encode())
    for path in sorted(_SOURCES.rglob("*.py")):
        found.update(path.relative_to(_SOURCES).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def compile_default(learner: type[Learner]) -> None:
    """Fit, predict and explain with a learner as it is by default."""
    _exercise(learner, {})


def compile_choice(learner: str, params: dict[str, Any]) -> None:
    """The same with some parameters."""
    _exercise(get(learner), params)


def choices() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each learner's name with each choice, flag and optional whole number in turn; the defaults of all first."""
    everything = [[(learner.name, params) for params in _variants(learner.parameters())] for learner in LEARNERS]
    for round_ in zip_longest(*everything):
        yield from (one for one in round_ if one is not None)


def _variants(parameters: tuple[Parameter, ...]) -> Iterator[dict[str, Any]]:
    """Each parameter's other values; flags beside each value of the choices, since they refine these.

    A parameter that is only for certain values of others has these beside it.
    """
    yield {}
    flags = [parameter for parameter in parameters if parameter.type == "boolean"]
    for parameter in parameters:
        needed = {name: values[0] for name, values in parameter.only_with}
        if parameter.type == "string":
            for choice in parameter.choices:
                chosen = needed | {parameter.name: choice}
                yield chosen
                yield chosen | {flag.name: not flag.default for flag in flags if _goes_with(flag, chosen)}
        elif parameter.type == "integer":
            yield needed | {parameter.name: int(max(2, parameter.minimum or 0))}


def _goes_with(parameter: Parameter, chosen: dict[str, Any]) -> bool:
    return all(chosen.get(name) in values for name, values in parameter.only_with)


def _exercise(learner: type[Learner], params: dict[str, Any]) -> None:
    table, labels, numbers = _sample()
    target = labels if learner.capabilities.task == "classification" else numbers
    # Rows of a stored data set are read-only; complete tables take ways of their own, and so do those learned from in
    # parts.
    table.values.flags.writeable = False
    for rows in (table, parted(Table(table.columns, np.asfortranarray(np.nan_to_num(table.values))))):
        try:
            fitted = learner.from_params(_briefly(learner) | params).fit(rows, target)
        except LearnerError:
            return  # a combination that the learner refuses
        fitted.predict(table)
        fitted.explain(table.take(np.arange(2)))


def _briefly(learner: type[Learner]) -> dict[str, Any]:
    """Two members of an ensemble call every kernel that a hundred call, and two epochs those of two hundred."""
    names = {parameter.name for parameter in learner.parameters()}
    return {name: 2 for name in ("members", "epochs") if name in names}


def _sample() -> tuple[Table, Series, Series]:
    """Rows with a column of every kind and missing values, a class target and a numeric one."""
    row = np.arange(_ROWS)
    columns = (
        Column("numeric"),
        Column("nominal", Kind.NOMINAL, ("a", "b", "c")),
        Column("ordinal", Kind.ORDINAL, ("low", "middle", "high")),
        Column("boolean", Kind.BOOLEAN, ("false", "true")),
    )
    values = np.asfortranarray(np.column_stack([row * 7 % _ROWS, row % 3, row // 5 % 3, row % 2]), dtype=np.float64)
    values[row % 11 == 3, row[row % 11 == 3] % 4] = MISSING
    classes = Series(Column("class", Kind.NOMINAL, ("x", "y", "z")), (row * 5 % 7 % 3).astype(np.float64))
    return Table(columns, values), classes, Series(Column("number"), np.sqrt(row.astype(np.float64)))
