"""yyjson, a parser of JSON in C, asked through its own interface rather than through Python's.

The wheel ``yyjson`` holds the whole library, whose functions are called here by ctypes: the interpreter's lock is free
while it reads, and its values, 16 bytes each, are looked at where they lie, so that no object is made of any. Both are
as its documentation says: https://ibireme.github.io/yyjson/doc/doxygen/html/md_doc__data_structure.html
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from learners.types import IntArray
from service.formats.halves import beside

Text: TypeAlias = bytes | bytearray
#: Kinds of values: the low bits of a tag. Above :data:`SIZE_SHIFT` stands a text's length or how many members follow.
NULL, TEXT, LIST, OBJECT = 2, 5, 6, 7
#: The same of numbers: whole, below zero, any other. Whole numbers beyond 64 bits are of the last kind.
UNSIGNED, SIGNED, REAL = 4, 4 | 1 << 3, 4 | 2 << 3
KIND, SIZE_SHIFT = 7, 8
#: Zeros after a text that may be written over.
PADDING = bytes(4)
#: The option to write over the text, rather than to copy it first.
_IN_PLACE = 1
#: The beginning of a text's tag whose characters stand in the text as they are.
PLAIN_TEXT = TEXT | 1 << 3
#: A text of all kinds of values and what becomes of it, by which a library that lays them out otherwise is told.
_PROBE = b'{"a":[1,-2,2.5,null,"b"]}'
_PROBED = [
    (1 << SIZE_SHIFT | OBJECT, 0),
    (1 << SIZE_SHIFT | PLAIN_TEXT, 0),
    (5 << SIZE_SHIFT | LIST, 0),
    (UNSIGNED, 1),
    (SIGNED, -2),
    (REAL, struct.unpack("<q", struct.pack("<d", 2.5))[0]),
    (NULL, 0),
    (1 << SIZE_SHIFT | PLAIN_TEXT, 0),
]
#: ``PyBUF_READ``.
_READ_ONLY = 0x100


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("malloc", "realloc", "free", "context")]


class _Document(ctypes.Structure):
    _fields_ = [
        ("root", ctypes.c_void_p),
        ("allocator", _Allocator),
        ("n_read", ctypes.c_size_t),
        ("n_values", ctypes.c_size_t),
        ("texts", ctypes.c_void_p),
    ]


_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)


@contextmanager
def parsed(*makers: Callable[[], Text]) -> Iterator[list[IntArray] | None]:
    """The values of one JSON text or two, in the order in which they begin in it; a key comes before its value.

    Args:
        makers: of the texts, in UTF-8. A ``bytearray`` ends with :data:`PADDING` and is written over. Of two texts the
            first is read by another thread, if that is free, while the second is made and read.

    Returns:
        For each text int64 of shape (n, 2), to be looked at within the block only: each value's tag, and a number's 64
        bits, signed, unsigned or of a double, or a text's address. None where a text is no JSON, or the library cannot
        be called.
    """
    read = _library()
    texts: list[Text] = []  # kept, for values point into them
    documents: list[Any] = []
    try:
        if read is not None:
            _read_all(read, makers, texts, documents)
        is_json = bool(documents) and all(documents)
        yield [_values(one.contents) for one in documents] if is_json else None
    finally:
        for one in filter(None, documents):
            _free(one.contents)


def _read_all(read: Any, makers: Sequence[Callable[[], Text]], texts: list[Text], documents: list[Any]) -> None:
    *before, last = makers
    elsewhere = []
    for make in before:
        texts.append(make())
        elsewhere.append(beside(partial(_read, read, texts[-1])))
    texts.append(last())
    here = _read(read, texts[-1])
    documents += [document() for document in elsewhere]
    documents.append(here)


def text_of(value: IntArray) -> bytes:
    """A text, from its tag and address."""
    return ctypes.string_at(int(value[1]), int(value[0]) >> SIZE_SHIFT)


def _read(read: Any, text: Text) -> Any:
    if isinstance(text, bytes):
        return read(text, len(text), 0, None, None)
    address = np.frombuffer(text, dtype=np.uint8).ctypes.data
    return read(address, len(text) - len(PADDING), _IN_PLACE, None, None)


def _values(document: _Document) -> IntArray:
    memory = _view(document.root, document.n_values * 16, _READ_ONLY)
    return np.frombuffer(memory, dtype=np.int64).reshape(-1, 2)


def _free(document: _Document) -> None:
    """What the library's header does in place, since it offers no function for it."""
    allocator = document.allocator
    free = _FREE(allocator.free)
    if document.texts:
        free(allocator.context, document.texts)
    free(allocator.context, ctypes.addressof(document))


@cache
def _library() -> Any:
    """The function that reads; None where the wheel does not offer it, or means something else by it."""
    import cyyjson  # type: ignore[import-not-found]  # it tells no types

    try:
        read = ctypes.CDLL(cyyjson.__file__).yyjson_read_opts
    except (OSError, AttributeError):
        return None
    read.restype = ctypes.POINTER(_Document)
    read.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]
    return read if _means_the_same(read) else None


def _means_the_same(read: Any) -> bool:
    """Whether the library lays values out as it is told here."""
    document = _read(read, _PROBE)
    if not document or document.contents.n_values != len(_PROBED):
        return False
    values = _values(document.contents)
    found = [(tag, number if tag & KIND == UNSIGNED & KIND else 0) for tag, number in values.tolist()]
    is_same = found == _PROBED and text_of(values[-1]) == b"b"
    _free(document.contents)
    return is_same
