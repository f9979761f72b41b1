"""T.cuda's functions on packed numbers: two floats as a uint64, two bfloat16 as a uint32, the first in the low bits."""

from __future__ import annotations

from dsl.core.number.dtypes import Float16, Float32, Numeric, Uint16, Uint32, Uint64, numeric
from dsl.core.number.pointer import Pointer
from dsl.gpu.inline import ptx
from dsl.tirx.functions.cuda_operands import number_of, pointer_of
from dsl.tirx.values.effects import noted


def _bits(name: str, value: object, dtype: type[Numeric]) -> Numeric:
    return dtype(numeric(number_of(name, value)))


def _floats(name: str, packed: object) -> tuple[Float32, Float32]:
    word = _bits(name, packed, Uint64)
    return Uint32(word).bitcast(Float32), Uint32(word >> 32).bitcast(Float32)


def make_float2(x: object, y: object) -> Uint64:
    """Two floats as one number of 64 bits."""
    low, high = (_bits("make_float2", each, Float32).bitcast(Uint32) for each in (x, y))
    return Uint64(low) | (Uint64(high) << 32)


def float2_x(packed: object) -> Float32:
    """The first of two floats."""
    return _floats("float2_x", packed)[0]


def float2_y(packed: object) -> Float32:
    """The second of two floats."""
    return _floats("float2_y", packed)[1]


def float22bfloat162_rn(v0: object, v1: object) -> Uint32:
    """Two floats, rounded to bfloat16.  PTX ISA: cvt.rn.bf16x2.f32."""
    low, high = (_bits("float22bfloat162_rn", each, Float32) for each in (v0, v1))
    return ptx("cvt.rn.bf16x2.f32 $0, $1, $2;", Uint32, "=r,f,f", high, low)


def float22bfloat162_rn_from_float2(packed: object) -> Uint32:
    """A pair of floats, rounded to bfloat16."""
    return float22bfloat162_rn(*_floats("float22bfloat162_rn_from_float2", packed))


def bfloat1622float2(packed: object) -> Uint64:
    """Two bfloat16 as a pair of floats."""
    word = _bits("bfloat1622float2", packed, Uint32)
    return make_float2(Uint32(word << 16).bitcast(Float32), Uint32(word & 0xFFFF0000).bitcast(Float32))


def hmax2(a: object, b: object) -> Uint32:
    """The larger of two bfloat16, twice.  PTX ISA: max.bf16x2."""
    return ptx("max.bf16x2 $0, $1, $2;", Uint32, "=r,r,r", _bits("hmax2", a, Uint32), _bits("hmax2", b, Uint32))


def hmin2(a: object, b: object) -> Uint32:
    """The smaller of two bfloat16, twice.  PTX ISA: min.bf16x2."""
    return ptx("min.bf16x2 $0, $1, $2;", Uint32, "=r,r,r", _bits("hmin2", a, Uint32), _bits("hmin2", b, Uint32))


def fp8x4_e4m3_from_float4(x: object, y: object, z: object, w: object) -> Uint32:
    """Four floats as float8_e4m3fn.  PTX ISA: cvt.rn.satfinite.e4m3x2.f32."""
    numbers = [_bits("fp8x4_e4m3_from_float4", each, Float32) for each in (x, y, z, w)]
    low, high = (
        ptx("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", Uint16, "=h,f,f", second, first)
        for first, second in (numbers[:2], numbers[2:])
    )
    return Uint32(low) | (Uint32(high) << 16)


def _converted(source: Pointer, target: Pointer, count: int) -> None:
    numbers = [(source + place).load() for place in range(count)]
    for place, number in enumerate(numbers):
        (target + place).store(target.dtype(number))


@noted
def float22half2(dst: object, src: object) -> None:
    """Two floats at `src` become two float16 at `dst`."""
    source, target = pointer_of("float22half2", src), pointer_of("float22half2", dst)
    _converted(source.recast(Float32), target.recast(Float16), 2)


@noted
def half8tofloat8(src_addr: object, dst_addr: object) -> None:
    """Eight float16 become eight floats."""
    source, target = pointer_of("half8tofloat8", src_addr), pointer_of("half8tofloat8", dst_addr)
    _converted(source.recast(Float16), target.recast(Float32), 8)


@noted
def float8tohalf8(src_addr: object, dst_addr: object) -> None:
    """Eight floats become eight float16."""
    source, target = pointer_of("float8tohalf8", src_addr), pointer_of("float8tohalf8", dst_addr)
    _converted(source.recast(Float32), target.recast(Float16), 8)
