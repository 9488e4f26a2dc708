"""The only import of numba: one decorator, so that kernels can also be run as plain Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: ``RULEWOOD_INTERPRET=1`` runs every kernel as plain Python: for debugging, and for the test
#: that compiled and interpreted kernels agree.
INTERPRETED = os.environ.get("RULEWOOD_INTERPRET") == "1"


def kernel(function: Kernel) -> Kernel:
    """Compile an arrays-in, arrays-out function; the machine code is cached beside the module.

    ``error_model="numpy"`` keeps a division by zero a value instead of an exception, as numpy does;
    ``nogil`` lets other threads run meanwhile. ``fastmath`` stays off: answers must be the same to
    the bit everywhere.
    """
    if INTERPRETED:
        return function
    compiled: Kernel = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain Python function beneath a kernel."""
    plain: Callable[..., Any] = getattr(function, "py_func", function)
    return plain
