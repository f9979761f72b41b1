"""tcgen05: a warp allocates, loads and stores tensor memory; a thread issues products, copies, shifts and commits.
PTX ISA 9.7.16.

The fences and waits do nothing except for the checkers: loads and stores happen at once.
"""

from __future__ import annotations

import functools

from dsl.emulator.check.numbers import access
from dsl.emulator.families.arithmetic.float import minmax_bits
from dsl.emulator.families.cluster import emit as cluster
from dsl.emulator.families.memory.emit import host_address
from dsl.emulator.families.tcgen05.numbers import TensorArea, TensorOp, tcgen05, tensor_access
from dsl.emulator.families.warp import emit as warp
from dsl.emulator.ir import needs
from dsl.emulator.machine import context
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.syntax import Addr, PtxError, Vec

_SHAPES = {
    "32x32b": tensor_access.S_32X32B,
    "16x64b": tensor_access.S_16X64B,
    "16x128b": tensor_access.S_16X128B,
    "16x256b": tensor_access.S_16X256B,
    "16x32bx2": tensor_access.S_16X32BX2,
}
_KINDS = {f"kind::{name.lower()}": getattr(tcgen05, name) for name in (
    "F16", "TF32", "F8F6F4", "I8", "MXF8F6F4", "MXF4", "MXF4NVF4",
)}  # fmt: skip
_COPIES = {
    "128x256b": tcgen05.CP_128X256B,
    "4x256b": tcgen05.CP_4X256B,
    "128x128b": tcgen05.CP_128X128B,
    "warpx2::02_13": tcgen05.CP_64X128B_02_13,
    "warpx2::01_23": tcgen05.CP_64X128B_01_23,
    "warpx4": tcgen05.CP_32X128B,
}
_WIDENS = {"b4x16_p64": tcgen05.FROM_B4, "b6x16_p32": tcgen05.FROM_B6}


# ** what a warp does


def allocate(body, instr):
    """tcgen05.alloc [dst], columns: the address goes to shared memory."""
    target, columns = instr.operands
    area = _meet(body, instr, "alloc", _pair(instr), columns=body.read(columns, 32))
    address = body.get_from(area, TensorArea.address)
    # one lane writes it, as the instruction does
    store, after = body.fresh("store"), body.fresh("stored")
    is_first = body.cmp("eq", body.and_(body.threads["linear"], 31), 0)
    values, checked = dict(body.values), set(body.checked)
    body.do(f"br i1 {is_first}, label %{store}, label %{after}")
    body.start(store, keep=True)
    space = "shared" if "shared::cta" in instr.mods else "generic"
    pointer = host_address(body, instr, target, space, 4)
    body.accessed(instr, pointer, space, 4, access.WRITE)
    body.do(f"store i32 {address}, ptr {pointer}, align 4")
    body.branch(after)
    body.start(after)
    body.values.update(values)
    body.checked = checked


def deallocate(body, instr):
    """tcgen05.dealloc taddr, columns."""
    address, columns = (body.read(each, 32) for each in instr.operands)
    _meet(body, instr, "dealloc", address=address, columns=columns)


def relinquish(body, instr):
    """tcgen05.relinquish_alloc_permit."""
    _meet(body, instr, "relinquish")


def load(body, instr):
    """tcgen05.ld.sync.aligned.shape.num r, [taddr]{, the columns to the second half}."""
    registers, *rest = instr.operands
    for item, word in zip(registers.items, _loaded(body, instr, len(registers.items), *rest), strict=True):
        body.write(item, word, 32)


def load_and_reduce(body, instr):
    """tcgen05.ld.red.sync.aligned.shape.num.min/max r, the least or greatest of them, [taddr]{, ...}."""
    registers, reduced, *rest = instr.operands
    words = _loaded(body, instr, len(registers.items), *rest)
    for item, word in zip([*registers.items, reduced], [*words, _reduction(body, instr, words)], strict=True):
        body.write(item, word, 32)


def _loaded(body, instr, count: int, address, half=None) -> list[str]:
    """The words that a lane loads."""
    columns = "0" if half is None else body.read(half, 32)
    area = _meet(body, instr, "ld", _form(instr, count), _address(body, address), columns)
    return [body.get_from(area, TensorArea.words, i) for i in range(count)]


def _reduction(body, instr, words: list[str]) -> str:
    """The least or greatest of some words."""
    operation = "min" if "min" in instr.mods else "max"
    if "f32" in instr.mods:
        return functools.reduce(lambda a, b: minmax_bits(body, instr, operation, "f32", a, b), words)
    name = f"llvm.{'s' if 's32' in instr.mods else 'u'}{operation}.i32"
    return functools.reduce(lambda a, b: body.op(f"call i32 @{name}(i32 {a}, i32 {b})"), words)


def store(body, instr):
    """tcgen05.st.sync.aligned.shape.num [taddr]{, the columns to the second half}, r."""
    address, *half, registers = instr.operands
    form, columns = _form(instr, len(registers.items)), body.read(half[0], 32) if half else "0"
    words = [body.read(item, 32) for item in registers.items]
    _meet(body, instr, "st", form, _address(body, address), columns, words)


def wait(body, instr):
    """tcgen05.wait::ld, .wait::st."""
    body.uses.add("tensor memory")
    waited(body, stores="wait::st" in instr.mods)


def waited(body, stores: bool, line: int = 0) -> None:
    """The loads or stores of this thread are complete, all, or the ones of one line of the PTX. For checkers."""
    if body.order_kinds:
        which = f"i32 {body.threads['linear']}, i32 {int(stores)}, i32 {line}"
        body.do(f"call void @emu_tensor_waited(ptr %ctx, {which})")


def fence(body, instr):
    """tcgen05.fence::after_thread_sync."""
    body.ordered(context.ORDER_TENSOR_FENCE)


def _form(instr, count: int) -> int:
    shape = next(_SHAPES[each] for each in instr.mods if each in _SHAPES)
    packs = tensor_access.PACKS * ("pack::16b" in instr.mods or "unpack::16b" in instr.mods)
    return shape | packs | count << tensor_access.COUNT_SHIFT


def _meet(body, instr, what: str, form: int = 0, address: str = "0", columns: str = "0", words=()) -> str:
    """Wait for the whole warp, and let one lane do it for all; afterwards the area has the results."""
    _same_group(body, instr)
    body.uses.add("tensor memory")
    area = body.exchange_area(TensorArea)
    body.put_in(area, TensorArea.function, f"@emu_tensor_{what}", "ptr")
    body.put_in(area, TensorArea.form, str(form))
    body.put_in(area, TensorArea.address, address)
    body.put_in(area, TensorArea.columns, columns)
    body.put_in(area, TensorArea.line, str(instr.line))
    for i, word in enumerate(words):
        body.put_in(area, TensorArea.words, word, index=i)
    key = meeting.COLLECTIVE | body.site(instr) << 8
    warp.meet(body, instr, key, "-1", body.cast("ptrtoint", area, "ptr", "i64"))
    return area


# ** what a thread issues


def multiply(body, instr):
    """tcgen05.mma [d], a or [a], b, [metadata of .sp], idesc, {lanes that stay}, or [scales of a], [scales of b];
    enable-input-d, and the power of two that divides D; of .ws the mask of columns."""
    d, a, b, *rest = instr.operands
    metadata = rest.pop(0) if "sp" in instr.mods else None
    idesc = rest.pop(0)
    form = tcgen05.MMA | next(_KINDS[each] for each in instr.mods if each in _KINDS) << tcgen05.KIND_SHIFT
    form |= tcgen05.A_IN_TENSOR_MEMORY * isinstance(a, Addr)
    form |= tcgen05.STATIONARY * ("ws" in instr.mods) | tcgen05.SPARSE * (metadata is not None)
    form |= tcgen05.TAKES_96 * (not needs.read("103a").refusal(body.module.target, body.module.version)[0])
    form |= tcgen05.BLOCK_16 * (not {"block16", "scale_vec::4X"}.isdisjoint(instr.mods))
    form |= tcgen05.SHIFTS_A * ("ashift" in instr.mods)
    op = _op(body, instr, form)
    body.put_in(op, TensorOp.d, _address(body, d))
    body.put_in(op, TensorOp.a, body.address(a) if isinstance(a, Addr) else body.read(a, 64), "i64")
    body.put_in(op, TensorOp.b, body.read(b, 64), "i64")
    body.put_in(op, TensorOp.idesc, body.read(idesc, 32))
    body.put_in(op, TensorOp.metadata, _address(body, metadata) if metadata else "0")
    if "block_scale" in instr.mods:
        body.put_in(op, TensorOp.scale_a, _address(body, rest.pop(0)))
        body.put_in(op, TensorOp.scale_b, _address(body, rest.pop(0)))
    lanes = rest.pop(0).items if isinstance(rest[0], Vec) else ()
    for i in range(8):
        body.put_in(op, TensorOp.kept_lanes, body.read(lanes[i], 32) if i < len(lanes) else "0", index=i)
    accumulates, *last = rest
    mask, scale = (last, []) if "ws" in instr.mods else ([], last)
    body.put_in(op, TensorOp.accumulates, body.cast("zext", body.read(accumulates, 1), "i1", "i32"))
    body.put_in(op, TensorOp.scale_d, str(scale[0].value) if scale else "0")
    body.put_in(op, TensorOp.zero_columns, body.read(mask[0], 64) if mask else "0", "i64")
    _issue(body, instr, op)


def copy(body, instr):
    """tcgen05.cp [taddr], the descriptor of a matrix in shared memory."""
    target, source = instr.operands
    form = tcgen05.CP | next(_COPIES[each] for each in instr.mods if each in _COPIES) << tcgen05.SHAPE_SHIFT
    op = _op(body, instr, form | sum(_WIDENS.get(each, 0) for each in instr.mods))
    body.put_in(op, TensorOp.d, _address(body, target))
    body.put_in(op, TensorOp.a, body.read(source, 64), "i64")
    _issue(body, instr, op)


def shift(body, instr):
    """tcgen05.shift.down [taddr]."""
    op = _op(body, instr, tcgen05.SHIFT)
    body.put_in(op, TensorOp.d, _address(body, instr.operands[0]))
    _issue(body, instr, op)


def commit(body, instr):
    """tcgen05.commit [mbarrier]{, the mask of the blocks in which it is signalled}."""
    target, *mask = instr.operands
    body.uses.add("mbarrier")
    op = _op(body, instr, tcgen05.COMMIT)
    address = body.address(target)
    if "shared::cluster" not in instr.mods:
        address = cluster.of_generic(body, address)
    body.put_in(op, TensorOp.barrier, address, "i64")
    blocks = body.or_(body.resize(body.read(mask[0], 16), 16, 32), context.MULTICAST) if mask else "0"
    body.put_in(op, TensorOp.mask, blocks)
    _issue(body, instr, op)


def _op(body, instr, form: int) -> str:
    _same_group(body, instr)
    body.uses.add("tensor memory")
    op = body.exchange_area(TensorOp)
    body.put_in(op, TensorOp.form, str(form | _pair(instr)))
    body.put_in(op, TensorOp.accumulates, "0")
    return op


def _pair(instr) -> int:
    return tcgen05.PAIR * ("cta_group::2" in instr.mods)


def _issue(body, instr, op: str) -> None:
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}"
    body.stop_unless(body.op(f"call i32 @emu_tensor_issue(ptr %ctx, {where}, ptr {op})"))


def _same_group(body, instr) -> None:
    """Refuse a kernel with both cta_groups. PTX ISA 9.7.16.5"""
    mine = next((each for each in instr.mods if each.startswith("cta_group")), "")
    if not mine:
        return
    if not hasattr(body, "tensor_group"):
        body.tensor_group = mine, instr.line
    first, line = body.tensor_group
    if first != mine:
        raise PtxError(f"tcgen05 instructions of a kernel must have the same .cta_group, and line {line} has .{first}")


def _address(body, operand) -> str:
    """An address in tensor memory, as i32."""
    return body.resize(body.address(operand), 64, 32)
