"""Which Arrow types hold cells, and how those without a type of their own here are spelled.

Uploads and prediction rows ask here, so that a value is the same cell in both. pyarrow is loaded with the first
question: it takes more memory than all else of a serving process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.errors import Fault, Invalid
from service.formats.faults import cut, shown

if TYPE_CHECKING:
    import pyarrow as pa

#: What a message says is read.
READABLE = "numbers, booleans, texts, dates and times, lists of numbers"


def is_readable(kind: pa.DataType) -> bool:
    """Whether cells of a type are read."""
    from pyarrow import types

    if is_number_list(kind):
        return True
    kind = value_type(kind)
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_null,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
    )
    return any(test(kind) for test in tests) or is_spelled(kind)


def is_spelled(kind: pa.DataType) -> bool:
    """Whether cells of a type are read by their texts alone (:func:`spelled`): decimal numbers, dates and times."""
    from pyarrow import types

    tests = (types.is_decimal, types.is_date, types.is_time, types.is_timestamp)
    return any(test(kind) for test in tests)


def is_number_list(kind: pa.DataType) -> bool:
    """Whether a type is lists of numbers, or of such lists: what a sequence comes as.

    Fixed lists of no items are none: as many of them as a caller likes take no bytes.
    """
    from pyarrow import types

    depth = 0
    while types.is_list(kind) or types.is_large_list(kind) or (types.is_fixed_size_list(kind) and kind.list_size > 0):
        kind, depth = kind.value_type, depth + 1
    return depth > 0 and bool(types.is_integer(kind) or types.is_floating(kind))


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the cells, whether or not they are told by codes."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def decoded(array: pa.Array) -> pa.Array:
    """The cells themselves where codes tell them."""
    from pyarrow import types

    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def spelled(name: str, array: pa.Array) -> pa.StringArray:
    """Cells as texts: a decimal number with all its digits, ``2024-01-31``, ``08:30:00``, ``2024-01-31 08:30:00``.

    Seconds have as many decimals as the type's unit.

    Args:
        name: of their column.
        array: the cells.

    Raises:
        Invalid: of times, the zone is not known; names the column.
    """
    import pyarrow as pa

    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid as error:
        message = f"column {shown(name)} cannot be read: {cut(str(error).splitlines()[0])}"
        raise Invalid(message, [Fault(message, column=cut(name))]) from None
