"""tensormap.replace: one field of a tensor map changed by a kernel. PTX ISA 9.7.9.28, tensormap.replace.

Types of elements have numbers of their own here: those of cuTensorMapEncodeTiled, but f32.ftz, f64 and bf16 come in
that order. A rank is one less, as in the map; strides are bytes.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.runtime import tensor_map
from dsl.emulator.runtime.tensor_map import ALIGNMENT_BYTES, BYTES

FIELDS = ("global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride", "elemtype",
          "interleave_layout", "swizzle_mode", "fill_mode")  # fmt: skip
OF_DIMENSION = ("box_dim", "global_dim", "global_stride", "element_stride")
# elemtype: the type's number in a map.
_TYPES = [tensor_map.TYPES[each][0] for each in (0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12)]
_TF32_FROM = 11
SIGNATURES = {"emu_map_replace": "i32 (ptr, i64, i32, i32, i64, i32, i32)"}


def functions() -> list[str]:
    """The IR text."""
    return [_replace()]


def _replace() -> str:
    """Set a field of the map at %map (a host address); 0 after a fault."""
    f = Builder()
    arguments = f"i64 %map, i64 {BYTES}, i64 {ALIGNMENT_BYTES}, i32 {context.GENERIC}, i32 %site, i32 %tid"
    there = f.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
    f.return_if(f.xor(there, "true", "i1"), "i32 0")
    _tile(f)
    for number, field in enumerate(FIELDS):
        with f.if_(f.cmp("eq", "%field", number)):
            _set(f, field)
            f.do("ret i32 1")
            f.start(f.fresh("dead"))
    f.do("ret i32 1")
    return f.function(
        "define i32 @emu_map_replace(ptr %ctx, i64 %map, i32 %field, i32 %dimension, i64 %value, i32 %site, i32 %tid)"
    )


def _tile(f: Builder) -> None:
    """128 zeros become a map of tiles with their first field: kernels begin with them (Triton's, of every release)."""
    place = _place(f, tensor_map.FLAGS_AT)
    flags = f.op(f"load i32, ptr {place}, align 1")
    is_new = f.cmp("eq", f.and_(flags, 0xF), 0)
    tiled = f.or_(flags, tensor_map.TILED | tensor_map.ALWAYS)
    f.do(f"store i32 {f.select(is_new, tiled, flags)}, ptr {place}, align 1")


def _set(f: Builder, field: str) -> None:
    dimension = f.cast("zext", "%dimension", "i32", "i64")
    less = f.sub("%value", 1, "i64")
    if field == "global_address":
        _store(f, "0", "%value", "i64")
    elif field == "box_dim":
        _store(f, f.add(tensor_map.BOX_AT, dimension, "i64"), less, "i8")
    elif field == "global_dim":
        _store(f, f.add(tensor_map.EXTENTS_AT, f.shl(dimension, 2, "i64"), "i64"), less, "i32")
    elif field == "global_stride":  # of dimension 1 where %dimension is 0
        _store(f, f.add(tensor_map.STRIDES_AT, f.shl(dimension, 2, "i64"), "i64"), f.lshr("%value", 4, "i64"), "i32")
        _bits(f, tensor_map.OWN_AT, f.shl(dimension, 2, "i64"), 4, f.lshr("%value", 36, "i64"))
    elif field == "element_stride":
        _bits(f, tensor_map.STEPS_AT, f.mul(dimension, 3, "i64"), 3, less)
    elif field == "elemtype":
        table = sum(code << 4 * number for number, code in enumerate(_TYPES))
        code = f.lshr(str(table), f.shl("%value", 2, "i64"), "i64")
        _bits(f, tensor_map.FLAGS_AT, "7", 4, code)
        tf32 = f.cmp("uge", "%value", _TF32_FROM, "i64")
        _bits(f, tensor_map.FLAGS_AT, "16", 1, f.cast("zext", tf32, "i1", "i64"))
    else:
        at, shift, bits = {
            "rank": (tensor_map.FLAGS_AT, "4", 3),
            "interleave_layout": (tensor_map.OWN_AT, str(tensor_map.INTERLEAVE_SHIFT), 2),
            "swizzle_mode": (tensor_map.FLAGS_AT, "13", 3),
            "fill_mode": (tensor_map.OWN_AT, str(tensor_map.FILL_SHIFT), 1),
        }[field]
        _bits(f, at, shift, bits, "%value")


def _place(f: Builder, at: str | int) -> str:
    return f.cast("inttoptr", f.add("%map", at, "i64"), "i64", "ptr")


def _store(f: Builder, at: str | int, value: str, kind: str) -> None:
    value = value if kind == "i64" else f.cast("trunc", value, "i64", kind)
    f.do(f"store {kind} {value}, ptr {_place(f, at)}, align 1")


def _bits(f: Builder, at: int, shift: str, bits: int, value: str) -> None:
    """Replace `bits` bits of the 32-bit word at a byte."""
    place, mask = _place(f, at), f.shl((1 << bits) - 1, shift, "i64")
    old = f.cast("zext", f.op(f"load i32, ptr {place}, align 1"), "i32", "i64")
    kept = f.and_(old, f.xor(mask, -1, "i64"), "i64")
    new = f.or_(kept, f.and_(f.shl(value, shift, "i64"), mask, "i64"), "i64")
    f.do(f"store i32 {f.cast('trunc', new, 'i64', 'i32')}, ptr {place}, align 1")
