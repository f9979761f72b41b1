"""mma with a kind: floats of 8, 6 and 4 bits, and scales of blocks. PTX ISA 9.7.14.5.14, 9.7.14.3."""

from __future__ import annotations

from dsl.emulator.families.matrix import functions
from dsl.emulator.families.matrix.numbers import KindArea, Selector, mma_kind
from dsl.emulator.families.warp import emit as warp
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.syntax import Imm, Vec
from dsl.emulator.tensor_core.numbers import operand_kind

THREADS = {"A": 2, "B": 4}  # of four, of which a selector names one
ELEMENTS = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def multiply(body, instr):
    """mma{.sp::ordered_metadata}.sync.aligned.shape.row.col.kind{.block_scale.scale_vec}.dtype.atype.btype.ctype{.stype}
    d, a, b, c{, metadata, 0}{, scales of A, {byte, thread}, scales of B, {byte, thread}}."""
    if body.places.tensor_core.name != "blackwell_geforce":
        raise body.refuse(
            instr,
            f"mma with a kind needs GeForce Blackwell: this GPU model is of {body.places.tensor_core.name}",
            "choose `--gpu-model rtx5090`",
        )
    d, a, b, c, *rest = instr.operands
    sparse, scales = (rest[:2], rest[2:]) if is_sparse(instr) else ([], rest)
    count = scales_of(instr)
    for matrix, operand in zip("AB", scales[1::2]):
        _check_selector(body, instr, operand.items, count, matrix)
    area = body.exchange_area(KindArea)
    body.put_in(area, KindArea.function, f"@{functions.MMA_KIND}", "ptr")
    body.put_in(area, KindArea.form, str(_form_word(instr, count)))
    for operand, field in ((a, KindArea.a), (b, KindArea.b), (c, KindArea.d)):
        for i, item in enumerate(operand.items):
            body.put_in(area, field, body.read(item, 32), index=i)
    if sparse:
        body.put_in(area, KindArea.metadata, body.read(sparse[0], 32))
    for field, word, selector in zip((KindArea.scale_a, KindArea.scale_b), scales[::2], scales[1::2]):
        _put_scale(body, body.place_in(area, field), word, selector.items)
    key = meeting.COLLECTIVE | body.site(instr) << 8
    warp.meet(body, instr, key, "-1", body.cast("ptrtoint", area, "ptr", "i64"))
    for i, item in enumerate(d.items):
        body.write(item, body.get_from(area, KindArea.d, i), 32)


def is_sparse(instr) -> bool:
    return "sp::ordered_metadata" in instr.mods


def scales_of(instr) -> int:
    """How many scales a row of A has; 0 without .block_scale."""
    if "block_scale" not in instr.mods:
        return 0
    sizes = [int(each[-2]) for each in instr.mods if each.startswith("scale_vec::")]
    return sizes[0] if sizes else 1 if "kind::mxf8f6f4" in instr.mods else 2


def _check_selector(body, instr, ids: tuple, count: int, matrix: str) -> None:
    """Refuse constants that name no byte of a word or no thread of a group."""
    byte, thread = (each.value if type(each) is Imm else 0 for each in ids)
    bytes_, threads = range(0, 4, count), range(THREADS[matrix])
    for name, value, allowed in (("byte", byte, bytes_), ("thread", thread, threads)):
        if value not in allowed:
            numbers = " or ".join(map(str, allowed))
            raise body.refuse(instr, f"the {name} id of the scales of {matrix} must be {numbers}, got {value}")


def _form_word(instr, count: int) -> int:
    a, b = (each for each in instr.mods if each in ELEMENTS)
    packed = "kind::mxf8f6f4" not in instr.mods and count
    kind_a, kind_b = (getattr(operand_kind, "E2M1X2" if packed else each.upper()) for each in (a, b))
    flags = mma_kind.SPARSE if is_sparse(instr) else 0
    flags |= (mma_kind.HALF if "f16" in instr.mods else 0) | (mma_kind.UE4M3 if "ue4m3" in instr.mods else 0)
    return kind_a | kind_b << mma_kind.B_SHIFT | count << mma_kind.SCALES_SHIFT | flags


def _put_scale(body, selector: str, word, ids: tuple) -> None:
    register = word.items[0] if type(word) is Vec else word
    body.put_in(selector, Selector.scales, body.read(register, 32))
    for field, each in zip((Selector.byte, Selector.thread), ids):
        body.put_in(selector, field, body.cast("zext", body.read(each, 16), "i16", "i32"))
