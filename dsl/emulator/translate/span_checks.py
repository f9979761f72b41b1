"""One check for all accesses of a region that differ by constants alone: for the lowest and the highest thread."""

from __future__ import annotations

from dataclasses import dataclass

from dsl.emulator.ir.affine import Linear
from dsl.emulator.ir.body import kinds_of
from dsl.emulator.ir.builder import Builder

PAGE_BYTES, LINE_BYTES = 4096, 64  # of x86-64


@dataclass(slots=True)
class Span:
    """Accesses that one check covers: the same base and strides, constant offsets from `low` to `high`."""

    form: Linear  # 64 bits
    pointer: str
    site: int
    low: int
    high: int


def span(code, instr, form: Linear, bits: int, space: str, offset: int) -> Span:
    """The span of one access at `form` (of `bits`) plus `offset`."""
    if bits == 32:  # below the end of shared memory nothing wraps
        strides = tuple(s if isinstance(s, int) else code.resize(s, 32, 64, True) for s in form.strides)
        form = Linear(code.resize(form.base, 32, 64), strides)
    start = code.add(code.shared_window(), form.base, "i64") if space == "shared" else form.base
    return Span(form, code.cast("inttoptr", start, "i64", "ptr"), code.site(instr), offset, offset)


def extremes(code, form: Linear) -> tuple[str, str]:
    """The least and the greatest value over the threads, computed without wrapping in 64 bits."""
    low = high = form.base
    for axis, stride in enumerate(form.strides):
        if stride == 0:
            continue
        near, far = (
            "0" if place == "0" else code.mul(place, stride, "i64") for place in (code.first[axis], code.last[axis])
        )
        if not isinstance(stride, int):
            near, far = (code.op(f"call i64 @llvm.{how}.i64(i64 {far}, i64 {near})") for how in ("smin", "smax"))
        elif stride < 0:
            near, far = far, near
        low, high = (end if reach == "0" else code.add(end, reach, "i64") for end, reach in ((low, near), (high, far)))
    return low, high


def check(code, accesses: Span, space: str, size_bytes: int) -> None:
    """Go to the loop without vectors unless all threads' accesses are legal: one subtract, rotate and compare for
    the lowest and for the highest. See machine/bounds.cc."""
    shift = size_bytes.bit_length() - 1
    strides = _strides_fit(code, accesses.form, size_bytes)
    low, high = extremes(code, accesses.form)
    ends = [code.add(low, accesses.low, "i64") if accesses.low else low, code.add(high, accesses.high, "i64")]
    compared = ends[:1] if accesses.form.uniform and accesses.low == accesses.high else ends
    if space == "shared":
        start, limit = "0", code.lshr(code.load("smem_bytes", constant=True), shift, "i64")
    else:
        base = code.cast("inttoptr", code.load("sites", constant=True), "i64", "ptr")
        cells = (code.op(f"getelementptr i64, ptr {base}, i64 {2 * accesses.site + i}") for i in range(2))
        start, limit = (code.get(cell, "i64") for cell in cells)
    number = code.region.number
    code.region.checks = True
    after, miss = code.fresh("in"), code.fresh("miss")
    legal = _all(code, [*(_inside(code, end, start, limit, shift) for end in compared), *strides])
    code.do(f"br i1 {legal}, label %{after}, label %{miss}, !prof !1")
    Builder.start(code, miss)
    if space == "shared":
        code.do(f"br label %alone{number}")
    else:
        arguments = f"i64 {ends[0]}, i64 {ends[1]}, i64 {size_bytes}, i32 {kinds_of(space)}, i32 {accesses.site}"
        fits = _all(code, [code.op(f"call i1 @emu_fits(ptr %ctx, {arguments})"), *strides])
        code.do(f"br i1 {fits}, label %{after}, label %alone{number}")
    Builder.start(code, after)


def fetch_ahead(code, accesses: Span, size_bytes: int) -> None:
    """In a loop: fetch the lines that the threads touch next if the address goes on as far as it has come. The hardware
    follows addresses within a page, but loops that stride over the grid go to another page in each round."""
    if accesses.form.strides != (size_bytes, 0, 0):
        return
    low, high = extremes(code, accesses.form)
    before = code.alloca("i64")
    code.prologue.append(f"  store i64 0, ptr {before}")
    last = code.get(before, "i64")
    code.put(before, low, "i64")
    step, span = code.sub(low, last, "i64"), code.sub(high, low, "i64")
    is_far = code.cmp("ugt", code.add(step, PAGE_BYTES, "i64"), 2 * PAGE_BYTES, "i64")
    wanted = _all(code, [is_far, code.cmp("ne", last, 0, "i64"), code.cmp("ult", span, 2 * PAGE_BYTES, "i64")])
    start, line, after = code.fresh("ahead"), code.fresh("line"), code.fresh("fetched")
    code.do(f"br i1 {wanted}, label %{start}, label %{after}")
    Builder.start(code, start)
    first, end = code.add(low, step, "i64"), code.add(high, step, "i64")
    code.branch(line)
    Builder.start(code, line)
    following = code.fresh("following")
    at = code.op(f"phi i64 [{first}, %{start}], [%{following}, %{line}]")
    code.do(f"call void @llvm.prefetch.p0(ptr {code.cast('inttoptr', at, 'i64', 'ptr')}, i32 0, i32 3, i32 1)")
    code.do(f"%{following} = add i64 {at}, {LINE_BYTES}")
    code.do(f"br i1 {code.cmp('ule', f'%{following}', end, 'i64')}, label %{line}, label %{after}")
    Builder.start(code, after)


def _strides_fit(code, form: Linear, size_bytes: int) -> list[str]:
    """Flags: strides are multiples of the access's size, and too small to wrap."""
    flags = []
    for stride in form.strides:
        if isinstance(stride, int):
            if stride % size_bytes:
                flags.append("false")
            continue
        flags.append(code.cmp("ult", code.add(stride, 1 << 40, "i64"), 1 << 41, "i64"))
        if size_bytes > 1:
            flags.append(code.cmp("eq", code.and_(stride, size_bytes - 1, "i64"), 0, "i64"))
    return flags


def _inside(code, end: str, start: str, limit: str, shift: int) -> str:
    offset = end if start == "0" else code.sub(end, start, "i64")
    if shift:
        offset = code.op(f"call i64 @llvm.fshl.i64(i64 {offset}, i64 {offset}, i64 {64 - shift})")
    return code.cmp("ult", offset, limit, "i64")


def _all(code, flags: list[str]) -> str:
    whole, *rest = flags
    for flag in rest:
        whole = code.and_(whole, flag, "i1")
    return whole
