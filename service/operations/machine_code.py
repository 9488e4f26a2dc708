"""Machine code in serving processes: loaded once a model, or long bodies of CSV, have use for it, never made there.

It is loaded with a small part of what numba is made of (:mod:`learners._native`), from where workers and
``rulewood compile`` put it. Requests are answered without it until then, the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from learners.compilation import load_native, marks
from learners.decimal_rows import decimal_rows
from service.logs import logger
from service.operations.served import ServedModel


class MachineCode:
    """Gives models the machine code that they have use for.

    Args:
        models: those in memory.
    """

    def __init__(self, models: Callable[[], Iterable[ServedModel]]) -> None:
        self._models = models
        self._is_given_up = False

    def look(self) -> None:
        """Let models use it as soon as it is there; to be called now and then, not on the event loop."""
        models = [model for model in self._models() if model.gains_by_machine_code]
        is_wanted = decimal_rows.is_wanted and decimal_rows.loaded is None
        if (models or is_wanted) and self._load():
            for model in models:
                model.take_up_machine_code()

    def _load(self) -> bool:
        """Whether it is loaded."""
        if self._is_given_up or self._folder is None:
            return False
        try:
            return load_native(self._folder)
        except (OSError, RuntimeError, ImportError) as error:
            logger.warning(
                "machine code cannot be loaded, so rows by neighbours and bodies of CSV take longer: %s", error
            )
            self._is_given_up = True
            return False

    @cached_property
    def _folder(self) -> Path | None:
        return marks()
