"""A hint to the processor: bring an element of an array into its cache, to be used a little later."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1


@intrinsic
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Fetch `array[index]`; changes no value, and an index outside the array does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        elements = context.make_array(kind)(context, builder, arguments[0])
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = builder.bitcast(builder.gep(elements.data, [place]), cgutils.voidptr_t)
        number = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], shape)
        builder.call(hint, [address, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), generate
