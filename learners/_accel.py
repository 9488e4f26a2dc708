"""The only way to numba: one decorator, so that kernels can also be run as plain Python.

numba is imported when a kernel first runs, not when its module is imported: a process that only
answers prediction requests never needs it, starts sooner and stays some 60 MB smaller.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper
from inspect import unwrap
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: ``RULEWOOD_INTERPRET=1`` runs every kernel as plain Python: for debugging, and for the test
#: that compiled and interpreted kernels agree.
INTERPRETED = os.environ.get("RULEWOOD_INTERPRET") == "1"

_lock = threading.RLock()
_plain: ContextVar[bool] = ContextVar("plain", default=False)
_helps: ContextVar[bool] = ContextVar("helps", default=False)


def kernel(function: Kernel) -> Kernel:
    """Compile an arrays-in, arrays-out function on its first call; the machine code is cached beside the module.

    ``error_model="numpy"`` keeps a division by zero a value instead of an exception, as numpy does;
    ``nogil`` lets other threads run meanwhile. ``fastmath`` stays off: answers must be the same to
    the bit everywhere.
    """
    if INTERPRETED:
        return function
    return cast("Kernel", _Deferred(cast("FunctionType", function)))


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a function that only other kernels call: once, as part of these (see :mod:`learners._linking`).

    It cannot be called from Python; test the plain function, :func:`interpreted`.
    """
    if INTERPRETED:
        return function
    return cast("Kernel", _Deferred(cast("FunctionType", function), is_inner=True))


def lean_kernel(function: Kernel) -> Kernel:
    """Compile a function that only reads and writes the arrays it is given, and makes none.

    Without reference counts, whose atomic instructions would cost as much as the work itself where
    many small arrays are passed about. Making an array in it is refused when it is compiled.
    """
    if INTERPRETED:
        return function
    return cast("Kernel", _Deferred(cast("FunctionType", function), is_lean=True))


def lean_inner_kernel(function: Kernel) -> Kernel:
    """Both at once: called by kernels only, and makes no array."""
    if INTERPRETED:
        return function
    return cast("Kernel", _Deferred(cast("FunctionType", function), is_inner=True, is_lean=True))


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain function beneath a kernel, as it is written: not the copy that numba has, see :func:`resolved`."""
    plain: Callable[..., Any] = unwrap(getattr(function, "py_func", function))
    return plain


def runs_compiled(function: Callable[..., Any]) -> bool:
    """Whether a call of a kernel now runs machine code, compiled first if need be.

    Where it does not, work on many rows is better done by operations on whole arrays.
    """
    if isinstance(function, _Deferred):
        return function.is_compiled or not _plain.get()
    return hasattr(function, "py_func")  # numba's own object, which takes a kernel's place in its module


def is_loaded(function: Callable[..., Any]) -> bool:
    """Whether a kernel has run in this process already, so that its machine code need not be loaded."""
    return bool(getattr(getattr(function, "_compiled", function), "signatures", ()))


def has_compiler() -> bool:
    """Whether numba is in the process already, so that a kernel need not import it."""
    return "numba" in sys.modules


@contextmanager
def uncompiled() -> Iterator[None]:
    """Run kernels as plain Python meanwhile, unless they are compiled already: for a handful of rows.

    Their answers are the same to the bit, and numba need not be imported for them.
    """
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


@contextmanager
def helping() -> Iterator[None]:
    """Compile from the other end than a process beside does: the inner kernel called last comes first.

    Where the two meet, each loads what the other compiled.
    """
    token = _helps.set(True)
    try:
        yield
    finally:
        _helps.reset(token)


class _Deferred:
    """Stands for a kernel until it is called; ``py_func`` is the function as written."""

    def __init__(self, function: FunctionType, *, is_inner: bool = False, is_lean: bool = False) -> None:
        self.py_func = function
        self._is_inner = is_inner
        self._is_lean = is_lean
        self._compiled: Callable[..., Any] | None = None
        update_wrapper(self, function)

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def __call__(self, *arguments: Any) -> Any:
        if self._is_inner:
            if _plain.get():
                return self.py_func(*arguments)
            raise TypeError(f"{self.py_func.__name__} is called by kernels only")
        compiled = self._compiled
        if compiled is None:
            if _plain.get():
                return self.py_func(*arguments)
            compiled = self.dispatcher()
            if _helps.get():
                from learners._sharing import compile_from_the_end

                compile_from_the_end(self, arguments)
        return compiled(*arguments)

    def called(self) -> list[_Deferred]:
        """The inner kernels that this one names, in the order of its code."""
        names = self.py_func.__globals__
        named = (names.get(name) for name in self.py_func.__code__.co_names)
        return [one for one in named if isinstance(one, _Deferred) and one is not self]

    def dispatcher(self) -> Callable[..., Any]:
        """numba's object for this kernel, made once, after those of the kernels that it calls."""
        with _lock:
            if self._compiled is None:
                import numba

                function = resolved(self.py_func)
                from learners._linking import InnerCompiler, OuterCompiler
                from learners._sharing import share

                options: dict[str, Any] = {"no_cfunc_wrapper": True, "pipeline_class": OuterCompiler, "cache": True}
                if self._is_inner:
                    options |= {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}
                if self._is_lean:
                    options["_nrt"] = False
                self._compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
                share(self._compiled, digest_of(self.py_func), is_inner=self._is_inner)
                function.__globals__[function.__name__] = self._compiled  # for one that calls itself
                if not self._is_inner and self.py_func.__globals__.get(self.py_func.__name__) is self:
                    self.py_func.__globals__[self.py_func.__name__] = self._compiled
            return self._compiled


@cache
def digest_of(function: FunctionType) -> str:
    """A hash of the code and the constants of a kernel and of all that it calls."""
    found = hashlib.sha256(repr(_content(function.__code__)).encode())
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        called = getattr(named, "py_func", None)
        if called is not None and called.__code__ is not function.__code__:
            found.update(digest_of(called).encode())
        elif isinstance(named, int | float | str | tuple):
            found.update(repr(named).encode())
        elif getattr(named, "__module__", None) == "learners._lanes":
            found.update(_instructions())
    return found.hexdigest()


@cache
def _instructions() -> bytes:
    """What decides on the code of the operations that numba is taught."""
    return Path(__file__).with_name("_lanes_compiled.py").read_bytes()


def _content(code: CodeType) -> tuple[Any, ...]:
    """What code does, wherever it stands: instructions, names and constants, those of functions inside it too."""
    constants = tuple(
        _content(one) if isinstance(one, CodeType) else sorted(map(repr, one)) if isinstance(one, frozenset) else one
        for one in code.co_consts
    )
    return (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)


def resolved(function: FunctionType) -> FunctionType:
    """The function with numba's objects in place of the deferred kernels that it names: numba knows only its own.

    A copy with names of its own: the function as written, run as plain Python, must never meet an inner
    kernel's machine code, which has no entry from Python.
    """

    def resolve(named: Any) -> Any:
        return named.dispatcher() if isinstance(named, _Deferred) and named.py_func is not function else named

    names = dict(function.__globals__)
    names |= {name: resolve(names[name]) for name in function.__code__.co_names if name in names}
    cells = tuple(CellType(resolve(cell.cell_contents)) for cell in function.__closure__ or ())
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells or None)
    return cast("FunctionType", update_wrapper(copy, function))
