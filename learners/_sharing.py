"""Compiling shared among processes: each kernel by one of them, and from both ends of what calls what.

numba keeps the machine code of outermost kernels in files. Here the code of inner kernels is kept beside
it, so that processes that need the same outermost kernel can each compile some of its inner ones.

This module imports numba; :mod:`learners._accel` imports it when the first kernel is compiled.
"""

from __future__ import annotations

import inspect
import itertools
import secrets
from pathlib import Path
from typing import Any

from numba import boolean, float64, int16, int32, int64
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError
from numba.core.targetconfig import TargetConfig

from learners._lanes_compiled import LANES_TYPE, WHOLES_TYPE
from learners._linking import InnerLibrary
from learners._turns import turn

# numba tells functions of one name apart by a number, which processes that share code must not use twice.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


def _are_equal(flags: Any, others: Any) -> Any:
    """What numba's own comparison answers, which makes two dictionaries each time: a tenth of all compiling."""
    if type(flags) is type(others) and flags._values == others._values:
        return True
    return _compare(flags, others)


_flags: Any = TargetConfig
_compare = _flags.__eq__
_flags.__eq__ = _are_equal
_flags.__hash__ = lambda flags: len(flags.options)  # numba's depends on the options' names alone too


class _InnerResults(CompileResultCacheImpl):
    """Inner kernels in files: their libraries as bitcode, for there is no machine code of them."""

    def reduce(self, cres: Any) -> Any:
        """What is kept of a compiled kernel."""
        described = cres.fndesc
        described.typemap = described.calltypes = None  # as numba does: large, and not needed any more
        name, _, bitcode = cres.library.serialize_using_bitcode()
        environments = tuple(cres._find_referenced_environments())
        return (name, bitcode, described, cres.environment, cres.signature, cres.reload_init, environments)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The compiled kernel again."""
        name, bitcode, described, environment, signature, reload_init, environments = payload
        for initialise in reload_init:
            initialise()
        library = InnerLibrary(target_context.codegen(), name)  # type: ignore[no-untyped-call]
        library.restore(bitcode, reload_init)
        result: Any = CompileResult
        return result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, described, environment),
            fndesc=described,
            type_annotation="",
            signature=signature,
            objectmode=False,
            lifted=(),
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=reload_init,
            referenced_envs=environments,
        )


class _InnerCache(FunctionCache):
    _impl_class = _InnerResults


def share(dispatcher: Any, digest: str, *, is_inner: bool) -> None:
    """Let a kernel be compiled for given types by one process only; others wait for it and load what it made.

    Args:
        dispatcher: numba's object for the kernel.
        digest: of the kernel and all that it calls.
        is_inner: whether only kernels call it.
    """
    if is_inner:
        dispatcher._cache = _InnerCache(dispatcher.py_func)  # type: ignore[no-untyped-call]
    _place_cache(dispatcher, digest)
    folder = Path(dispatcher._cache._cache_file._cache_path)
    compile_now = dispatcher.compile

    def compile_in_turn(signature: Any) -> Any:
        with turn(folder, f"{digest} {signature}"):
            return compile_now(signature)

    dispatcher.compile = compile_in_turn


def _place_cache(dispatcher: Any, digest: str) -> None:
    """Let cached machine code be used only for a kernel with this digest, and wherever that kernel is installed.

    numba looks at the source file of the outermost function alone, and would run old code after a change
    of an inner kernel in another file. In a folder of its own (``NUMBA_CACHE_DIR``) it looks for the code of each
    place of installation apart; ours is found by what it does, so several checkouts or releases can share a folder.
    """
    cache = dispatcher._cache
    folder, name = cache.cache_path, cache._impl.filename_base
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        folder, name = config.CACHE_DIR, f"{dispatcher.py_func.__module__}.{name}-{digest[:16]}"  # type: ignore[attr-defined]
    cache._cache_file = IndexDataCacheFile(folder, name, digest)  # type: ignore[no-untyped-call]


#: Types of annotated parameters, where nothing better is known. A wrong one is compiled for nothing.
_TYPES = {
    "int": int64,
    "int | np.int64": int64,
    "float": float64,
    "bool": boolean,
    "FloatArray": float64[::1],
    "IntArray": int64[::1],
    "Int32Array": int32[::1],
    "BoolArray": boolean[::1],
    "Int16Array": int16[::1],
    "Lanes": LANES_TYPE,
    "Wholes": WHOLES_TYPE,
}


def compile_from_the_end(kernel: Any, arguments: tuple[Any, ...]) -> None:
    """Compile the inner kernels that a kernel will need for these arguments, the last one called first.

    numba itself begins with the first one called. The types of the inner kernels' arguments are guessed by their
    annotations and by the arguments of the same name; what cannot be guessed is left to numba, and nothing is
    done where the kernel itself is compiled already.
    """
    dispatcher = kernel.dispatcher()
    given = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    cache = dispatcher._cache
    if cache._index_key(given, dispatcher.targetctx.codegen()) in cache._cache_file._load_index():
        return
    types = dict(_TYPES)
    for parameter, argument, its_type in zip(_parameters(kernel), arguments, given, strict=True):
        types[parameter.annotation if isinstance(argument, tuple) else str(parameter)] = its_type
    _compile_called(kernel, types, set())


def _compile_called(kernel: Any, types: dict[str, Any], seen: set[Any]) -> None:
    for inner in reversed(kernel.called()):
        if inner in seen:
            continue
        seen.add(inner)
        _compile_called(inner, types, seen)
        guessed = tuple(types.get(str(one), types.get(one.annotation)) for one in _parameters(inner))
        if None not in guessed:
            try:
                inner.dispatcher().compile(guessed)
            except NumbaError:  # it is called with other types
                continue


def _parameters(kernel: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(kernel.py_func).parameters.values())
