"""Native code for threads that leave a block of regions (translate/leaving_threads.py) before the others do."""

from __future__ import annotations

from dsl.emulator.builder import Builder

_KEPT = "ptr captures(none)"
SIGNATURES = {"emu_leave": f"i32 (ptr, {_KEPT}, {_KEPT}, {_KEPT}, {_KEPT}, {_KEPT})"}
NOBODY, BOX, RAGGED = range(3)


def functions() -> list[str]:
    """The IR text of what runs when some thread leaves."""
    return [_leave()]


def _leave() -> str:
    """Take the threads marked in `leave` out of `active` (a byte a thread). NOBODY is left; or a BOX of coordinates
    below `x`, `y`, `z`, which are set; or, RAGGED, others."""
    f = Builder()
    slots = [f.alloca("i32", 4) for _ in range(4)]
    for slot in slots:
        f.put(slot, 0)
    nx, ny = (f.load("block_dim", str(i)) for i in range(2))
    with f.for_range(f.load("threads")) as tid:
        cells = [f.op(f"getelementptr i8, ptr %{name}, i32 {tid}") for name in ("active", "leave")]
        here, leaves = (f.get(cell, "i8") for cell in cells)
        stays = f.and_(here, f.xor(leaves, 1, "i8"), "i8")
        f.put(cells[0], stays, "i8")
        with f.if_(f.cmp("ne", stays, 0, "i8")):
            row = f.op(f"udiv i32 {tid}, {nx}")
            place = f.op(f"urem i32 {tid}, {nx}"), f.op(f"urem i32 {row}, {ny}"), f.op(f"udiv i32 {row}, {ny}")
            for slot, coordinate in zip(slots, place):
                f.put(slot, f.op(f"call i32 @llvm.umax.i32(i32 {f.get(slot)}, i32 {f.add(coordinate, 1)})"))
            f.put(slots[3], f.add(f.get(slots[3]), 1))
    count = f.get(slots[3])
    f.return_if(f.cmp("eq", count, 0), f"i32 {NOBODY}")
    sizes = [f.get(slot) for slot in slots[:3]]
    f.return_if(f.cmp("ne", f.mul(f.mul(*sizes[:2]), sizes[2]), count), f"i32 {RAGGED}")
    for name, size in zip("xyz", sizes):
        f.put(f"%{name}", f.cast("zext", size, "i32", "i64"), "i64")
    f.do(f"ret i32 {BOX}")
    return f.function("define i32 @emu_leave(ptr %ctx, ptr %active, ptr %leave, ptr %x, ptr %y, ptr %z)")
