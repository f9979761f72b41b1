"""tensormap: descriptors that kernels change. PTX ISA 9.7.9.28 (replace), 9.7.13.16 (cp_fenceproxy)."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders
from dsl.emulator.families.memory.addresses import window
from dsl.emulator.families.tensor_map.numbers import map_field, tensor_map
from dsl.emulator.machine import context

FIELDS = {name.lower(): number for name, number in vars(map_field).items() if name.isupper()}
_SHARED = ("shared", "shared::cta")


def replace(body, instr):
    """tensormap.replace.tile.field [map], (dimension,) value."""
    field = next(each for each in FIELDS if each in instr.mods)
    address, *dimensions, new = instr.operands
    body.uses.add("bulk")
    dimension = dimensions[0].value if dimensions else 0
    bits = 64 if "b64" in instr.mods else 32
    value = body.read(new, bits)
    wide = value if bits == 64 else body.cast("zext", value, "i32", "i64")
    where = f"i32 {FIELDS[field]}, i32 {dimension}, i64 {wide}, i32 {body.site(instr)}"
    place = _place(body, instr, address)
    linear = body.threads["linear"]
    if not any(m in _SHARED for m in instr.mods):
        tell(body, instr, context.ORDER_MAP_CHANGED, place)
    body.stop_unless(body.op(f"call i32 @emu_map_replace(ptr %ctx, i64 {place}, {where}, i32 {linear})"))


def copy(body, instr):
    """tensormap.cp_fenceproxy [global], [shared], 128: the map is copied and the copy released."""
    body.uses.add("bulk")
    target, source, _ = instr.operands
    pointers = []
    for place in (body.address(target), _shared(body, body.address(source))):
        where = f"i32 {body.site(instr)}, i32 {body.threads['linear']}"
        ok = body.op(f"call i1 @emu_range(ptr %ctx, i64 {place}, i64 {tensor_map.BYTES}, i64 128, i32 31, {where})")
        body.stop_unless(body.cast("zext", ok, "i1", "i32"))
        pointers.append(body.cast("inttoptr", place, "i64", "ptr"))
    tell(body, instr, context.ORDER_MAP_CHANGED, body.address(target))
    body.do(
        f"call void @llvm.memmove.p0.p0.i64(ptr {pointers[0]}, ptr {pointers[1]}, i64 {tensor_map.BYTES}, i1 false)"
    )


def _place(body, instr, address) -> str:
    """The host address of a map in the instruction's space."""
    place = body.address(address)
    return _shared(body, place) if any(m in _SHARED for m in instr.mods) else place


def _shared(body, offset: str) -> str:
    return body.add(window(body, "shared"), offset, "i64")


def tell(body, instr, what: int, address: str) -> None:
    """Tell checkers that `instr` changes, fences or uses (context.ORDER_MAP_...) the tensor map at an i64 address."""
    if body.order_kinds & orders.BULK:
        where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {address}"
        body.stop_unless(body.op(f"call i32 @emu_map_asked(ptr %ctx, {where}, i32 {what})"))
