"""Kernels for processes without numba: functions of addresses, compiled once into object files.

numba compiles them where all kernels are compiled ahead (:mod:`learners.compilation`). A process that only answers
prediction requests loads such a file with llvmlite alone, in a tenth of the time and of the memory that numba takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import CFUNCTYPE, PYFUNCTYPE, c_int64, c_void_p
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from learners._accel import INTERPRETED, digest_of, resolved
from learners._turns import turn
from learners.types import Array

#: Of the digest with which a file begins.
_DIGEST_BYTES = 32


def array_at(address: Any, shape: Any, dtype: Any = None) -> Array:
    """The array at an address, in native functions; numba's ``carray`` takes its place there."""
    raise TypeError("only machine code reads addresses")


class NativeFunction:
    """A function of addresses that answers with a whole number.

    Args:
        function: calls kernels and :func:`array_at`, makes no array, and raises nothing.
        arguments: a letter for each argument: ``p`` an array of addresses, ``i`` of int64, ``f`` of float64.
        keeps_lock: whether the interpreter's lock is kept meanwhile, as is best for microseconds.
    """

    def __init__(self, function: Callable[..., int], arguments: str, *, keeps_lock: bool = True) -> None:
        self.function = cast("FunctionType", function)
        self.name = function.__name__
        self._arguments = arguments
        self._keeps_lock = keeps_lock
        #: The machine code, once it is loaded. It is given addresses or bytes.
        self.loaded: Callable[..., int] | None = None
        #: Whether this process has met work for it.
        self.is_wanted = False

    @property
    def file(self) -> str:
        """The name of its file: of what it does, so that no process calls what another version has compiled."""
        return f"{self.name}-{digest_of(self.function)[:16]}.o"

    def is_in(self, folder: Path) -> bool:
        """Whether its file is in a folder, or none is needed, as kernels run as plain Python."""
        return INTERPRETED or (folder / self.file).exists()

    def write(self, folder: Path) -> None:
        """Compile it into a file, unless that is there. Of several processes one does so, and the others wait."""
        if self.is_in(folder):
            return
        with turn(folder, self.file):
            if not self.is_in(folder):
                unfinished = folder / f"{self.file}.{os.getpid()}"
                code = self._compiled()
                unfinished.write_bytes(sha256(code).digest() + code)
                unfinished.replace(folder / self.file)

    def load(self, folder: Path) -> None:
        """Load its file, which must be there; nothing where kernels run as plain Python.

        Raises:
            OSError: it is not, or the system allows no machine code to be made.
            RuntimeError: the file is damaged.
        """
        if self.loaded is None and not INTERPRETED:
            content = (folder / self.file).read_bytes()
            digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if sha256(code).digest() != digest:  # the linker may end the process at a damaged file
                raise RuntimeError(f"{folder / self.file} is damaged; it can be deleted")
            address, kept = _linked(self.name, code)
            kind: Any = PYFUNCTYPE if self._keeps_lock else CFUNCTYPE
            loaded = kind(c_int64, *[c_void_p] * len(self._arguments))(address)
            loaded.kept = kept  # so whoever can call it has what it needs
            self.loaded = loaded

    def _compiled(self) -> bytes:
        """An object file with this function alone."""
        import numba
        from llvmlite import binding

        from learners._linking import OuterCompiler

        types, make = numba.types, cast("Any", numba.cfunc)
        function = resolved(self.function)
        function.__globals__[array_at.__name__] = cast("Any", numba).carray
        pointer: Any = types.CPointer
        pointed = {"p": types.voidptr, "i": types.int64, "f": types.float64}
        signature = types.int64(*(pointer(pointed[letter]) for letter in self._arguments))
        made = make(signature, error_model="numpy", pipeline_class=OuterCompiler)(function)
        machine = _narrow_machine(made._library.codegen)
        module = binding.parse_bitcode(made._library._final_module.as_bitcode())
        module.get_function(made._wrapper_name).name = self.name
        for one in (*module.functions, *module.global_variables):
            if one.name != self.name and not one.is_declaration:
                one.linkage = "internal"
        passes = binding.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))
        return bytes(machine.emit_object(module))


def _narrow_machine(codegen: Any) -> Any:
    """The processor for which numba compiles, without its registers of 512 bits.

    Multiplications in these lower the clock of some processors by a twelfth, for as long as some come now and then: a
    request would take so much longer all around them.
    """
    from llvmlite import binding

    options: dict[str, Any] = {"opt": 3}
    codegen._customize_tm_options(options)
    given = options["features"].split(",")
    if "+avx512f" in given:
        kept = [feature for feature in given if not feature[1:].startswith(("avx512", "avx10", "amx-avx512"))]
        options["features"] = ",".join([*kept, "-avx512f"])
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(**options)


def native(arguments: str, *, keeps_lock: bool = True) -> Callable[[Callable[..., int]], NativeFunction]:
    """Make a :class:`NativeFunction` of a function."""
    return lambda function: NativeFunction(function, arguments, keeps_lock=keeps_lock)


def _linked(name: str, code: bytes) -> tuple[int, Any]:
    """The address of a function in machine code, and what must be kept as long as it is called."""
    from llvmlite import binding

    binding.check_jit_execution()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    linker = binding.create_lljit_compiler()
    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(name)
    library = builder.link(linker, name)
    return library[name], (linker, library)
