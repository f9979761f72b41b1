"""cp.reduce.async.bulk: what lands is combined with what is there, element by element.
PTX ISA 9.7.9.25.5.3 (bytes), 9.7.9.27.1.3 (boxes of tensors).

A reduction's code is one number: the operation, from 1, in bits 4 and up, the type of its elements below. Types are
those of a tensor map's flags.
"""

from __future__ import annotations

from dsl.emulator.builder import Builder

OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
U32, S32, U64, S64, F16, F32, F32_FTZ, F64, BF16 = range(2, 11)
TYPES = {"u32": U32, "b32": U32, "s32": S32, "u64": U64, "b64": U64, "s64": S64, "f16": F16, "f32": F32, "f64": F64,
         "bf16": BF16}  # fmt: skip
_INTEGERS = {U32: 32, S32: 32, U64: 64, S64: 64}
_WORDS = (U32, S32, U64, S64)
ALLOWED = {
    "add": (U32, S32, U64, S64, F16, F32, F32_FTZ, F64, BF16),
    "min": (*_WORDS, F16, BF16),
    "max": (*_WORDS, F16, BF16),
    "inc": (U32,),
    "dec": (U32,),
    "and": _WORDS,
    "or": _WORDS,
    "xor": _WORDS,
}
SIGNATURES: dict[str, str] = {}


def code(operation: str, kind: int = 0) -> int:
    """The number of a reduction; without a type, for a box, the map says which."""
    return OPERATIONS.index(operation) + 1 << 4 | kind


def functions() -> list[str]:
    """The IR text; it belongs to the module of bulk_copies.py."""
    return [_narrow(), _reduce(), _is_allowed()]


def _narrow() -> str:
    """A float as bf16, rounded to nearest even; a NaN is the canonical one."""
    f = Builder()
    bits = f.cast("bitcast", "%value", "float", "i32")
    nan = f.op("fcmp uno float %value, %value")
    odd = f.and_(f.lshr(bits, 16), 1)
    rounded = f.lshr(f.add(f.add(bits, 0x7FFF), odd), 16)
    f.do(f"ret i16 {f.cast('trunc', f.select(nan, 0x7FFF, rounded), 'i32', 'i16')}")
    return f.function("define internal i16 @bf16_of(float %value)")


def _reduce() -> str:
    """Combine %size bytes at %source into those at %target."""
    f = Builder()
    for operation, kinds in ALLOWED.items():
        for kind in kinds:
            with f.if_(f.cmp("eq", "%code", code(operation, kind))):
                size = {F16: 2, BF16: 2, F32: 4, F32_FTZ: 4, F64: 8}.get(kind) or _INTEGERS[kind] // 8
                with f.for_range(f.op(f"udiv i32 %size, {size}")) as index:
                    _element(f, operation, kind, index)
                f.do("ret void")
                f.start(f.fresh("dead"))
    f.do("ret void")
    return f.function("define internal void @bulk_reduce(ptr %target, ptr %source, i32 %size, i32 %code)")


def _element(f: Builder, operation: str, kind: int, index: str) -> None:
    bits = {F16: "i16", BF16: "i16", F32: "float", F32_FTZ: "float", F64: "double"}.get(kind) or f"i{_INTEGERS[kind]}"
    target, source = (f.op(f"getelementptr {bits}, ptr {each}, i32 {index}") for each in ("%target", "%source"))
    old, new = (f.op(f"load {bits}, ptr {each}, align 1") for each in (target, source))
    if kind in _INTEGERS:
        value = _integer(f, operation, bits, kind in (S32, S64), old, new)
    elif kind in (F16, BF16):
        value = _of_float(f, kind, _float(f, operation, "float", *(_as_float(f, kind, each) for each in (old, new))))
    else:
        value = _float(f, operation, bits, old, new)
    f.do(f"store {bits} {value}, ptr {target}, align 1")


def _integer(f: Builder, operation: str, bits: str, is_signed: bool, old: str, new: str) -> str:
    if operation in ("min", "max"):
        how = ("sgt" if is_signed else "ugt") if operation == "max" else ("slt" if is_signed else "ult")
        return f.select(f.cmp(how, old, new, bits), old, new, bits)
    if operation == "inc":
        return f.select(f.cmp("uge", old, new, bits), 0, f.add(old, 1, bits), bits)
    if operation == "dec":
        wraps = f.or_(f.cmp("eq", old, 0, bits), f.cmp("ugt", old, new, bits), "i1")
        return f.select(wraps, new, f.sub(old, 1, bits), bits)
    return f.op(f"{operation} {bits} {old}, {new}")


def _float(f: Builder, operation: str, kind: str, old: str, new: str) -> str:
    """A sum; or the least or greatest, of which a NaN is none where the other is a number."""
    if operation == "add":
        return f.op(f"fadd {kind} {old}, {new}")
    nan = f.op(f"fcmp uno {kind} {old}, {old}")
    better = f.op(f"fcmp {'ogt' if operation == 'max' else 'olt'} {kind} {new}, {old}")
    return f.select(f.or_(nan, better, "i1"), new, old, kind)


def _as_float(f: Builder, kind: int, bits: str) -> str:
    if kind == F16:
        return f.cast("fpext", f.cast("bitcast", bits, "i16", "half"), "half", "float")
    return f.cast("bitcast", f.shl(f.cast("zext", bits, "i16", "i32"), 16), "i32", "float")


def _of_float(f: Builder, kind: int, value: str) -> str:
    if kind == F16:
        return f.cast("bitcast", f.cast("fptrunc", value, "float", "half"), "half", "i16")
    return f.op(f"call i16 @bf16_of(float {value})")


def _is_allowed() -> str:
    """Whether there is such a reduction."""
    f = Builder()
    known = "false"
    for operation, kinds in ALLOWED.items():
        for kind in kinds:
            known = f.or_(known, f.cmp("eq", "%code", code(operation, kind)), "i1")
    f.do(f"ret i1 {known}")
    return f.function("define internal i1 @is_reduction(i32 %code)")
