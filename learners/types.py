"""Names for the array shapes and scalars that the whole library speaks."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Int32Array: TypeAlias = NDArray[np.int32]
Int16Array: TypeAlias = NDArray[np.int16]
Int8Array: TypeAlias = NDArray[np.int8]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]

#: A label or level as the person who uploaded it wrote it; survives JSON unchanged.
Scalar: TypeAlias = str | int | float | bool
#: A value of a table: a label, a number, or a sequence as JSON has it.
Value: TypeAlias = Scalar | list[Any] | tuple[Any, ...]
Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
