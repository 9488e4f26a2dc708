"""How kernels that call kernels are compiled: the inner ones to code that is only linked into the outer ones.

numba optimises every function's library with all that it calls linked in, and makes machine code of
it. A kernel built of functions that call functions would so be compiled once for each level of nesting.
The libraries of inner kernels are left as they are; the outermost kernel optimises all of it once, and
as nothing else calls its copies, functions with one call are inlined and unused arguments dropped.

This module imports numba; :mod:`learners._accel` imports it when the first kernel is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from learners._turns import tell_waiting


class _NoEnvironment:
    """In place of the code generator that an inner library has no use for: no global holds its environment."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing; only entries from Python read an environment."""


class InnerLibrary(JITCodeLibrary):
    """A library that is neither optimised nor turned into machine code."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment()

    def finalize(self) -> None:
        """Link in what the functions call."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: there is no entry."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def restore(self, bitcode: bytes, reload_init: set[Any]) -> None:
        """Become the library that was once finalized and kept as bitcode."""
        self._final_module = binding.parse_bitcode(bitcode)
        self._reload_init.update(reload_init)
        self._finalized = True


class _OuterLibrary(JITCodeLibrary):
    """A library that keeps what is linked into it to itself."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


class InnerCompiler(Compiler):
    """numba's compiler, for inner kernels."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        tell_waiting()
        library = InnerLibrary(target_context.codegen(), "inner kernel")  # type: ignore[no-untyped-call]
        super().__init__(typing_context, target_context, library, *rest)  # type: ignore[no-untyped-call]


class OuterCompiler(Compiler):
    """numba's compiler, for kernels that are called from Python."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        tell_waiting()
        library = _OuterLibrary(target_context.codegen(), "kernel")  # type: ignore[no-untyped-call]
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)  # type: ignore[no-untyped-call]
