"""The operations of :mod:`learners._lanes` as instructions: what numba makes of them in a kernel.

This module imports numba; :mod:`learners._accel` imports it when the first kernel is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from learners import _lanes
from learners._lanes import BIAS, BYTES, EXPONENT, LANES, ROOT_HALF, WHOLES

_DOUBLE, _LONG, _PLACE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR, _BITS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_LONG, LANES)
_HALF, _BYTE = ir.VectorType(_DOUBLE, LANES // 2), ir.IntType(8)
_WORD, _SIXTEEN = ir.IntType(16), ir.VectorType(_PLACE, WHOLES)
_PAIRS, _WIDE_PAIRS = ir.VectorType(_WORD, 2 * WHOLES), ir.VectorType(_PLACE, 2 * WHOLES)
#: Bytes: of a load or store anywhere in an array of doubles.
_ALIGNMENT = 8

_Build = Callable[..., Any]


class LanesType(types.Type):
    """Eight doubles."""

    def __init__(self) -> None:
        super().__init__(name="lanes")


class WholesType(types.Type):
    """Sixteen int32."""

    def __init__(self) -> None:
        super().__init__(name="wholes")


#: Of all annotated with ``Lanes``, and with ``Wholes``.
LANES_TYPE, WHOLES_TYPE = LanesType(), WholesType()
_EIGHT, _ONE, _PLACES = LANES_TYPE, types.float64, types.intp
_ARRAY, _BYTES = types.Array(types.float64, 1, "C"), types.Array(types.uint8, 1, "C")
_WORDS = types.Array(types.int16, 1, "C")
_MIXED = [kinds for kinds in product((_EIGHT, _ONE), repeat=2) if _EIGHT in kinds]


@register_model(LanesType)
class _LanesModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


@register_model(WholesType)
class _WholesModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _SIXTEEN)  # type: ignore[no-untyped-call]


def _operation(function: Callable[..., Any], result: Any, cases: list[tuple[Any, ...]]) -> Callable[[_Build], _Build]:
    """What a function of these types of arguments results in, and, decorated, what is made of it.

    The decorated one gets numba's context, LLVM's builder and the values, numbers spread where eight may stand.
    """

    def made(build: _Build) -> _Build:
        def lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return build(context, builder, *values)

        for case in cases:
            lower_builtin(function, *case)(lowered)  # type: ignore[no-untyped-call]
        template = type(
            f"{function.__name__} of lanes",
            (ConcreteTemplate,),
            {"key": function, "cases": [signature(result, *case) for case in cases]},  # type: ignore[no-untyped-call]
        )
        infer_global(function)(template)  # type: ignore[no-untyped-call]
        return build

    return made


def _spread(builder: Any, value: Any) -> Any:
    if value.type == _VECTOR:
        return value
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, _PLACE(0))
    return _chosen(builder, first, first, [0] * LANES)


def _chosen(builder: Any, first: Any, second: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_PLACE, LANES), places))


def _pointer(context: Any, builder: Any, values: Any, at: Any, array: Any = _ARRAY, held: Any = _VECTOR) -> Any:
    data = context.make_array(array)(context, builder, values).data
    return builder.bitcast(builder.gep(data, [at]), held.as_pointer())


@_operation(_lanes.load, _EIGHT, [(_ARRAY, _PLACES)])
def _load(context: Any, builder: Any, values: Any, at: Any) -> Any:
    return builder.load(_pointer(context, builder, values, at), align=_ALIGNMENT)


@_operation(_lanes.store, types.none, [(_ARRAY, _PLACES, _EIGHT)])
def _store(context: Any, builder: Any, values: Any, at: Any, lanes: Any) -> Any:
    builder.store(lanes, _pointer(context, builder, values, at), align=_ALIGNMENT)
    return context.get_dummy_value()


def _prefetch(array: Any) -> _Build:
    def build(context: Any, builder: Any, values: Any, at: Any) -> Any:
        pointer = _pointer(context, builder, values, at, array, ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _PLACE, _PLACE, _PLACE])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [pointer, _PLACE(0), _PLACE(3), _PLACE(1)])  # data to be read, into all caches
        return context.get_dummy_value()

    return build


_operation(_lanes.prefetch, types.none, [(_ARRAY, _PLACES)])(_prefetch(_ARRAY))
_operation(_lanes.prefetch_bytes, types.none, [(_BYTES, _PLACES)])(_prefetch(_BYTES))


@_operation(_lanes.word, types.uint64, [(_BYTES, _PLACES)])
def _word(context: Any, builder: Any, text: Any, at: Any) -> Any:
    return builder.load(_pointer(context, builder, text, at, _BYTES, _LONG), align=1)


@_operation(_lanes.places_of, types.uint64, [(_BYTES, _PLACES, _PLACES, _PLACES)])
def _places_of(context: Any, builder: Any, text: Any, at: Any, first: Any, second: Any) -> Any:
    held = ir.VectorType(_BYTE, BYTES)
    block = builder.load(_pointer(context, builder, text, at, _BYTES, held), align=1)
    same = [builder.icmp_unsigned("==", block, _bytes(builder, letter, held)) for letter in (first, second)]
    return builder.bitcast(builder.or_(*same), ir.IntType(BYTES))


def _bytes(builder: Any, letter: Any, held: Any) -> Any:
    first = builder.insert_element(ir.Constant(held, ir.Undefined), builder.trunc(letter, _BYTE), _PLACE(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_PLACE, BYTES), [0] * BYTES))


@_operation(_lanes.lowest_bit, _PLACES, [(types.uint64,)])
def _lowest_bit(_context: Any, builder: Any, bits: Any) -> Any:
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


@_operation(_lanes.spread, _EIGHT, [(_ONE,)])
def _spread_one(_context: Any, builder: Any, value: Any) -> Any:
    return _spread(builder, value)


@_operation(_lanes.lane, _ONE, [(_EIGHT, _PLACES)])
def _lane(_context: Any, builder: Any, lanes: Any, place: Any) -> Any:
    return builder.extract_element(lanes, place)


@_operation(_lanes.fused, _EIGHT, [kinds for kinds in product((_EIGHT, _ONE), repeat=3) if _EIGHT in kinds])
def _fused(_context: Any, builder: Any, first: Any, second: Any, added: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")  # type: ignore[no-untyped-call]
    return builder.call(function, [_spread(builder, value) for value in (first, second, added)])


def _where(comparison: str) -> _Build:
    def build(_context: Any, builder: Any, *values: Any) -> Any:
        first, second, lanes, others = (_spread(builder, value) for value in values)
        return builder.select(builder.fcmp_ordered(comparison, first, second), lanes, others)

    return build


_CHOICES = [kinds for kinds in product((_EIGHT, _ONE), repeat=4) if _EIGHT in kinds]
_operation(_lanes.where_less, _EIGHT, _CHOICES)(_where("<"))
_operation(_lanes.where_same, _EIGHT, _CHOICES)(_where("=="))


@_operation(_lanes.places_up_to, _PLACES, [(_EIGHT, _ONE)])
def _places_up_to(_context: Any, builder: Any, lanes: Any, limit: Any) -> Any:
    found = builder.fcmp_ordered("<=", lanes, _spread(builder, limit))
    return builder.zext(builder.bitcast(found, ir.IntType(LANES)), _LONG)


@_operation(_lanes.first_of, _PLACES, [(_PLACES,)])
def _first_of(_context: Any, builder: Any, places: Any) -> Any:
    return builder.cttz(places, ir.Constant(ir.IntType(1), 1))


@_operation(_lanes.power, _EIGHT, [(_EIGHT,)])
def _power(_context: Any, builder: Any, shifted: Any) -> Any:
    bits = builder.add(builder.bitcast(shifted, _BITS), _whole(BIAS))
    return builder.bitcast(builder.shl(bits, _whole(EXPONENT)), _VECTOR)


@_operation(_lanes.exponent, _EIGHT, [(_EIGHT,)])
def _exponent(_context: Any, builder: Any, lanes: Any) -> Any:
    bits = builder.sub(builder.bitcast(lanes, _BITS), _whole(ROOT_HALF))
    return builder.sitofp(builder.ashr(bits, _whole(EXPONENT)), _VECTOR)


def _whole(value: int) -> Any:
    return ir.Constant(_BITS, [value] * LANES)


def _add_half(places: list[int]) -> _Build:
    def build(context: Any, builder: Any, values: Any, at: Any, lanes: Any) -> Any:
        pointer = builder.bitcast(_pointer(context, builder, values, at), _HALF.as_pointer())
        half = builder.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(_PLACE, len(places)), places))
        builder.store(builder.fadd(builder.load(pointer, align=_ALIGNMENT), half), pointer, align=_ALIGNMENT)
        return context.get_dummy_value()

    return build


_operation(_lanes.add_lower, types.none, [(_ARRAY, _PLACES, _EIGHT)])(_add_half([0, 1, 2, 3]))
_operation(_lanes.add_upper, types.none, [(_ARRAY, _PLACES, _EIGHT)])(_add_half([4, 5, 6, 7]))


@_operation(_lanes.totals, _EIGHT, [(_EIGHT,) * LANES])
def _totals(_context: Any, builder: Any, *lanes: Any) -> Any:
    """Two by two: each pair's sums come to lie beside each other."""

    def merged(first: Any, second: Any, lefts: list[int]) -> Any:
        left = _chosen(builder, first, second, lefts)
        right = _chosen(builder, first, second, [place + len(step) for place in lefts])
        return builder.fadd(left, right)

    step = [0]
    twos = [merged(lanes[k], lanes[k + 1], [0, 8, 2, 10, 4, 12, 6, 14]) for k in range(0, LANES, 2)]
    step = [0, 1]
    fours = [merged(twos[k], twos[k + 1], [0, 1, 8, 9, 4, 5, 12, 13]) for k in (0, 2)]
    step = [0, 1, 2, 3]
    return merged(fours[0], fours[1], [0, 1, 2, 3, 8, 9, 10, 11])


@_operation(_lanes.store_rounded, types.none, [(_WORDS, _PLACES, _EIGHT)])
def _store_rounded(context: Any, builder: Any, values: Any, at: Any, lanes: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{LANES}f64")  # type: ignore[no-untyped-call]
    rounded = builder.fptosi(builder.call(function, [lanes]), ir.VectorType(_PLACE, LANES))
    held = ir.VectorType(_WORD, LANES)
    builder.store(builder.trunc(rounded, held), _pointer(context, builder, values, at, _WORDS, held), align=2)
    return context.get_dummy_value()


@_operation(_lanes.no_wholes, WHOLES_TYPE, [()])
def _no_wholes(_context: Any, _builder: Any) -> Any:
    return ir.Constant(_SIXTEEN, [0] * WHOLES)


def _codes_at(context: Any, builder: Any, codes: Any, at: Any) -> Any:
    """Sixteen pairs of bytes, as words."""
    held = ir.VectorType(ir.IntType(8), 2 * WHOLES)
    return builder.zext(builder.load(_pointer(context, builder, codes, at, _BYTES, held), align=1), _PAIRS)


def _pair_at(context: Any, builder: Any, pairs: Any, place: Any) -> Any:
    """One pair of words, sixteen times."""
    held = ir.VectorType(_WORD, 2)
    pair = builder.load(_pointer(context, builder, pairs, place, _WORDS, held), align=2)
    return builder.shuffle_vector(pair, pair, ir.Constant(_WIDE_PAIRS, [0, 1] * WHOLES))


def _with_squares(builder: Any, total: Any, words: Any) -> Any:
    """The squares of sixteen pairs of words added, which processors have an instruction for."""
    wide = builder.sext(words, _WIDE_PAIRS)
    squares = builder.mul(wide, wide)
    first, second = (
        builder.shuffle_vector(squares, squares, ir.Constant(_SIXTEEN, list(range(begin, 2 * WHOLES, 2))))
        for begin in (0, 1)
    )
    return builder.add(total, builder.add(first, second))


_OF_PAIRS = [(WHOLES_TYPE, _BYTES, _PLACES, _WORDS, _PLACES)]


@_operation(_lanes.add_apart, WHOLES_TYPE, _OF_PAIRS)
def _add_apart(context: Any, builder: Any, total: Any, codes: Any, at: Any, pairs: Any, place: Any) -> Any:
    off = builder.sub(_codes_at(context, builder, codes, at), _pair_at(context, builder, pairs, place))
    return _with_squares(builder, total, off)


@_operation(_lanes.add_beyond, WHOLES_TYPE, _OF_PAIRS)
def _add_beyond(context: Any, builder: Any, total: Any, codes: Any, at: Any, pairs: Any, place: Any) -> Any:
    asked = _pair_at(context, builder, pairs, place)
    turned = builder.xor(asked, ir.Constant(_PAIRS, [-1] * WHOLES + [0] * WHOLES))  # -1 - x, then x
    moved = builder.add(turned, ir.Constant(_PAIRS, [1] * WHOLES + [-256] * WHOLES))
    off, none = builder.add(_codes_at(context, builder, codes, at), moved), ir.Constant(_PAIRS, [0] * 2 * WHOLES)
    return _with_squares(builder, total, builder.select(builder.icmp_signed(">", off, none), off, none))


@_operation(_lanes.halves, _EIGHT, [(WHOLES_TYPE,)])
def _halves(_context: Any, builder: Any, wholes: Any) -> Any:
    kind = ir.VectorType(_PLACE, LANES)
    first, second = (
        builder.shuffle_vector(wholes, wholes, ir.Constant(kind, list(range(begin, begin + LANES))))
        for begin in (0, LANES)
    )
    return builder.sitofp(builder.add(first, second), _VECTOR)


@_operation(_lanes.wholes_up_to, _PLACES, [(WHOLES_TYPE, _ONE)])
def _wholes_up_to(_context: Any, builder: Any, wholes: Any, limit: Any) -> Any:
    first = builder.insert_element(ir.Constant(_SIXTEEN, ir.Undefined), builder.fptosi(limit, _PLACE), _PLACE(0))
    limits = builder.shuffle_vector(first, first, ir.Constant(_SIXTEEN, [0] * WHOLES))
    return builder.zext(builder.bitcast(builder.icmp_signed("<=", wholes, limits), _WORD), _LONG)


def _arithmetic(name: str) -> _Build:
    def build(_context: Any, builder: Any, left: Any, right: Any) -> Any:
        return getattr(builder, name)(_spread(builder, left), _spread(builder, right))

    return build


for _function, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operation(_function, _EIGHT, _MIXED)(_arithmetic(_name))
