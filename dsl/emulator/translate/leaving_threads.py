"""Threads that end before others, or wait at the end of a scope: which are left, and what a kernel made of regions does
once some have left."""

from __future__ import annotations

from dsl.emulator.ir.affine import Linear
from dsl.emulator.ir.builder import Builder
from dsl.emulator.machine import context, numbers
from dsl.emulator.ptx.syntax import Not
from dsl.emulator.translate import span_checks
from dsl.emulator.translate.comparison import Comparison
from dsl.emulator.translate.region import LANE
from dsl.emulator.translate.scopes import Scope
from dsl.emulator.translate.vector_loop import REDUCTION, loop

BOX = [f"%{which}_{axis}" for which in ("first", "end") for axis in "xyz"]
_FLIPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def start(code, head: Builder) -> None:
    """All threads are there: %active and %leave, a byte a thread; and %box, the first coordinates of those that are
    left, then the ends. A thread is there that is in the box, and whose byte in %active is 1."""
    code.allocas += [f"  %{name} = alloca [{context.MAX_THREADS} x i8], align 64" for name in ("active", "leave")]
    for name, value in (("active", 1), ("leave", 0)):
        head.do(f"call void @llvm.memset.p0.i64(ptr align 64 %{name}, i8 {value}, i64 %wide_threads, i1 false)")
    code.allocas.append("  %box = alloca [6 x i64]")
    for place, (name, value) in enumerate(zip(BOX, ("0", "0", "0", "%wide_x", "%wide_y", "%wide_z"))):
        head.do(f"{name} = getelementptr i64, ptr %box, i64 {place}")
        head.put(name, value, "i64")
    for branch in sorted(code.plan.parted):
        code.allocas.append(f"  %before{branch} = alloca [{context.MAX_THREADS} x i8], align 64")
        code.allocas.append(f"  %before_box{branch} = alloca [6 x i64]")
        code.allocas += [f"  %{name}{branch} = alloca i1" for name in ("waits", "before_degraded")]
        head.put(f"%waits{branch}", "false", "i1")


def leaves(code) -> str:
    """Whether the thread leaves by the branch or exit at the end of the region, as i8."""
    region = code.region
    flag = code.read(region.leaver.guard, 1)
    if _stays_if_taken(region):
        flag = code.xor(flag, "true", "i1")
    return code.cast("zext", flag, "i1", "i8")


def note(code) -> None:
    """In the loop over threads: write down whether this one leaves."""
    region = code.region
    region.effects = True
    code.threads = region.lane_threads()
    flag = leaves(code)
    code.threads = code.block_threads
    cell = code.op(f"getelementptr i8, ptr %leave, i64 %pos{region.number}")
    code.do(f"store i8 {flag}, ptr {cell}")


def note_all(code, comparison: Comparison) -> None:
    """After the loop over threads: write down in a second loop who leaves by a comparison of linear values."""
    n, body = f"{code.region.number}.leave", []
    if isinstance(code.region.leaver.guard, Not) != _stays_if_taken(code.region):
        comparison = comparison.negated()
    if (axis := _axis(comparison)) is not None:
        _cut(code, comparison, *axis)
    else:
        _ask_ends(code, comparison)
    with code.into(body, LANE):
        place = [f"%l{axis}{n}" for axis in "xyz"]
        if comparison.bits != 64:
            place = [code.op(f"trunc i64 {each} to i{comparison.bits}") for each in place]
        a, b = (code.at(form, place, comparison.bits) for form in (comparison.a, comparison.b))
        flag = code.cmp(comparison.name, a, b, f"i{comparison.bits}")
        cell = code.op(f"getelementptr i8, ptr %leave, i64 %pos{n}")
        code.do(f"store i8 {code.cast('zext', flag, 'i1', 'i8')}, ptr {cell}")
    code.out += loop(n, code.first, ends(code), body, code.loop_metadata)
    Builder.start(code, f"after{n}")


def ends(code) -> list[str]:
    """The ends, by axis, of the coordinates of the threads that are left."""
    return [code.add(last, 1, "i64") for last in code.last]


def _ask_ends(code, comparison: Comparison) -> None:
    """Go to %stay if no thread leaves, as the least and the greatest values show."""
    order = comparison.negated()
    if comparison.bits != 32 or order.order == "eq":
        return
    (a, b), even = _sides(code, order)
    (a_low, a_high), (b_low, b_high) = (span_checks.extremes(code, side) for side in (a, b))
    if order.order == "ne":
        whole = code.or_(code.cmp("slt", a_high, b_low, "i64"), code.cmp("sgt", a_low, b_high, "i64"), "i1")
    else:
        ends_of = (a_high, b_low) if order.order in ("lt", "le") else (a_low, b_high)
        whole = code.cmp("s" + order.order, *ends_of, "i64")
    n = code.region.number
    code.do(f"br i1 {code.and_(whole, even, 'i1')}, label %stay{n}, label %differ{n}")
    Builder.start(code, f"differ{n}")


def _sides(code, order: Comparison) -> tuple[list[Linear], str]:
    """Both sides of a comparison of 32 bits in 64 bits, and a flag: no thread's value wraps around."""
    sides, even = [], "true"
    least, most = (-1 << 31, (1 << 31) - 1) if order.compares_signed else (0, (1 << 32) - 1)
    for form in (order.a, order.b):
        sides.append(_widened(code, form, order.compares_signed))
        if not form.uniform:
            low, high = span_checks.extremes(code, sides[-1])
            for flag in (code.cmp("sge", low, least, "i64"), code.cmp("sle", high, most, "i64")):
                even = code.and_(even, flag, "i1")
    return sides, even


def _axis(comparison: Comparison) -> tuple[int, int] | None:
    """The only axis along which the difference of both sides varies, by 1 or -1 a thread, and that step."""
    pairs = list(zip(comparison.a.strides, comparison.b.strides))
    if comparison.bits != 32 or not all(isinstance(each, int) for pair in pairs for each in pair):
        return None
    steps = [(axis, a - b) for axis, (a, b) in enumerate(pairs) if a != b]
    return steps[0] if len(steps) == 1 and steps[0][1] in (1, -1) else None


def _cut(code, comparison: Comparison, axis: int, step: int) -> None:
    """Make the box smaller: go to %stay with the threads that stay, to %gone if there are none, and on if they do not
    form a box, or if a value wraps around."""
    n, order = code.region.number, comparison.negated()
    (a, b), even = _sides(code, order)
    whole = code.fresh("whole")
    code.do(f"br i1 {even}, label %{whole}, label %differ{n}")
    Builder.start(code, whole)
    # Thread t of the axis stays if t `how` bound.
    bound = code.sub(b.base, a.base, "i64") if step == 1 else code.sub(a.base, b.base, "i64")
    how = order.ordinary if step == 1 else _FLIPPED[order.ordinary]
    first, last = code.first[axis], code.last[axis]
    low, high = first, code.add(last, 1, "i64")  # of those that stay
    if how == "ne":
        leaves = [code.cmp("eq", bound, each, "i64") for each in (first, last)]
        inside = code.and_(code.cmp("sgt", bound, first, "i64"), code.cmp("slt", bound, last, "i64"), "i1")
        edge = code.fresh("edge")
        code.do(f"br i1 {inside}, label %differ{n}, label %{edge}")
        Builder.start(code, edge)
        low = code.select(leaves[0], code.add(first, 1, "i64"), low, "i64")
        high = code.select(leaves[1], last, high, "i64")
    after = code.add(bound, 1, "i64")
    if how in ("gt", "ge", "eq"):
        low = code.op(f"call i64 @llvm.smax.i64(i64 {low}, i64 {after if how == 'gt' else bound})")
    if how in ("lt", "le", "eq"):
        high = code.op(f"call i64 @llvm.smin.i64(i64 {high}, i64 {bound if how == 'lt' else after})")
    some, cut = code.fresh("some"), code.fresh("cut")
    code.do(f"br i1 {code.cmp('slt', low, high, 'i64')}, label %{some}, label %gone{n}")
    Builder.start(code, some)
    same = code.and_(code.cmp("eq", low, first, "i64"), code.cmp("sgt", high, last, "i64"), "i1")
    code.do(f"br i1 {same}, label %stay{n}, label %{cut}")
    Builder.start(code, cut)
    if code.region.scope is not None:
        _remember(code, code.region.scope)
    for place, value in ((axis, low), (3 + axis, high)):
        code.put(BOX[place], value, "i64")
    code.branch(f"stay{n}")
    Builder.start(code, f"differ{n}")


def _widened(code, form: Linear, is_signed: bool) -> Linear:
    """The form in 64 bits; strides are signed."""
    base = code.resize(form.base, 32, 64, is_signed)
    return Linear(base, tuple(s if isinstance(s, int) else code.resize(s, 32, 64, True) for s in form.strides))


def _stays_if_taken(region) -> bool:
    return region.scope is not None and region.scope.is_loop


def part(code, last) -> None:
    """After the loop: some threads leave. If the rest is not a box of threads, regions run thread by thread."""
    n, scope = code.region.number, code.region.scope
    _ask(code, n)
    if scope is not None:
        _remember(code, scope)
    left = code.op("call i32 @emu_leave(ptr %ctx, ptr %active, ptr %leave, ptr %box)")
    cases = f"i32 {numbers.left.NOBODY}, label %gone{n} i32 {numbers.left.RAGGED}, label %ragged{n}"
    code.do(f"switch i32 {left}, label %stay{n} [{cases}]")
    Builder.start(code, f"ragged{n}")
    code.do(f"br i1 {code.get('%degraded', 'i1')}, label %stay{n}, label %degrade{n}")
    Builder.start(code, f"degrade{n}")
    code.single_thread.ragged()
    code.branch(f"stay{n}")
    if scope is not None and scope.is_loop:
        Builder.start(code, f"stay{n}")
        code.branch(code.target(last, last.operands[0].name))
        code.emit_polls()
        Builder.start(code, f"gone{n}")
        rejoin(code, scope)
        return
    Builder.start(code, f"gone{n}")
    code.branch("stop" if scope is None else code.label(last.operands[0].name))
    Builder.start(code, f"stay{n}")


def _ask(code, n: int) -> None:
    """Go to %stay where no thread leaves, to %gone where all do; else on."""
    code.out += [
        f"  br label %ask{n}",
        f"ask{n}:",
        f"  br label %look{n}",
        f"look{n}:",
        f"  %at{n} = phi i64 [0, %ask{n}], [%on{n}, %look{n}]",
        f"  %some{n} = phi i8 [0, %ask{n}], [%any{n}, %look{n}]",
        f"  %every{n} = phi i8 [1, %ask{n}], [%all{n}, %look{n}]",
        f"  %cell{n} = getelementptr i8, ptr %leave, i64 %at{n}",
        f"  %one{n} = load i8, ptr %cell{n}",
        f"  %any{n} = or i8 %some{n}, %one{n}",
        f"  %all{n} = and i8 %every{n}, %one{n}",
        f"  %on{n} = add nuw nsw i64 %at{n}, 1",
        f"  %further{n} = icmp ult i64 %on{n}, %wide_threads",
        f"  br i1 %further{n}, label %look{n}, label %asked{n}{code.loop_metadata(REDUCTION)}",
    ]
    Builder.start(code, f"asked{n}")
    code.do(f"br i1 {code.cmp('eq', f'%any{n}', 0, 'i8')}, label %stay{n}, label %go{n}, !prof !1")
    Builder.start(code, f"go{n}")
    code.do(f"br i1 {code.cmp('ne', f'%all{n}', 0, 'i8')}, label %gone{n}, label %leave{n}")
    Builder.start(code, f"leave{n}")


# ** scopes, whose threads are back at their end


def _remember(code, scope: Scope) -> None:
    """The first threads leave a scope: keep which there were."""
    k = scope.branch
    after, first = code.fresh("kept"), code.fresh("first")
    code.do(f"br i1 {code.get(f'%waits{k}', 'i1')}, label %{after}, label %{first}")
    Builder.start(code, first)
    _copy(code, f"%before{k}", "%active")
    _copy_box(code, f"%before_box{k}", "%box")
    code.put(f"%before_degraded{k}", code.get("%degraded", "i1"), "i1")
    code.put(f"%waits{k}", "true", "i1")
    code.branch(after)
    Builder.start(code, after)


def rejoin(code, scope: Scope) -> None:
    """The end of a scope: all threads are back that were there before some left it."""
    k = scope.branch
    back, after = code.fresh("back"), code.fresh("whole")
    code.do(f"br i1 {code.get(f'%waits{k}', 'i1')}, label %{back}, label %{after}")
    Builder.start(code, back)
    _copy(code, "%active", f"%before{k}")
    code.do("call void @llvm.memset.p0.i64(ptr align 64 %leave, i8 0, i64 %wide_threads, i1 false)")
    _copy_box(code, "%box", f"%before_box{k}")
    code.put("%degraded", code.get(f"%before_degraded{k}", "i1"), "i1")
    code.put(f"%waits{k}", "false", "i1")
    code.branch(after)
    Builder.start(code, after)


def _copy(code, to: str, source: str) -> None:
    places = f"ptr align 64 {to}, ptr align 64 {source}"
    code.do(f"call void @llvm.memcpy.p0.p0.i64({places}, i64 %wide_threads, i1 false)")


def _copy_box(code, to: str, source: str) -> None:
    code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 48, i1 false)")
