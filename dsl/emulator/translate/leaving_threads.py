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

_COUNTS = [(f"%count_{axis}", axis) for axis in "xyz"]


def start(code, head: Builder) -> None:
    """All threads are there: %active and %leave, a byte a thread, and the counts along each axis."""
    code.allocas += [f"  %{name} = alloca [{context.MAX_THREADS} x i8], align 64" for name in ("active", "leave")]
    for name, value in (("active", 1), ("leave", 0)):
        head.do(f"call void @llvm.memset.p0.i64(ptr align 64 %{name}, i8 {value}, i64 %wide_threads, i1 false)")
    for count, axis in _COUNTS:
        code.allocas.append(f"  {count} = alloca i64")
        head.put(count, f"%wide_{axis}", "i64")
    for branch in sorted(code.plan.parted):
        code.allocas.append(f"  %before{branch} = alloca [{context.MAX_THREADS} x i8], align 64")
        code.allocas += [f"  %before_{axis}{branch} = alloca i64" for axis in "xyz"]
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
    _ask_ends(code, comparison)
    with code.into(body, LANE):
        place = [f"%l{axis}{n}" for axis in "xyz"]
        if comparison.bits != 64:
            place = [code.op(f"trunc i64 {each} to i{comparison.bits}") for each in place]
        a, b = (code.at(form, place, comparison.bits) for form in (comparison.a, comparison.b))
        flag = code.cmp(comparison.name, a, b, f"i{comparison.bits}")
        cell = code.op(f"getelementptr i8, ptr %leave, i64 %pos{n}")
        code.do(f"store i8 {code.cast('zext', flag, 'i1', 'i8')}, ptr {cell}")
    counts = [code.add(last, 1, "i64") for last in code.last]
    code.out += loop(n, counts, body, code.loop_metadata)
    Builder.start(code, f"after{n}")


def _ask_ends(code, comparison: Comparison) -> None:
    """Go to %stay if no thread leaves, as the least and the greatest values show."""
    order = comparison.negated()
    if comparison.bits != 32 or order.order in ("eq", "ne"):
        return
    sides, flags = [], []
    for form in (order.a, order.b):
        wide = _widened(code, form, order.compares_signed)
        sides.append(span_checks.extremes(code, wide))
        if not form.uniform:  # no thread's value wraps around
            low, high = (-1 << 31, (1 << 31) - 1) if order.compares_signed else (0, (1 << 32) - 1)
            flags += [code.cmp("sge", sides[-1][0], low, "i64"), code.cmp("sle", sides[-1][1], high, "i64")]
    (a_low, a_high), (b_low, b_high) = sides
    a, b = (a_high, b_low) if order.order in ("lt", "le") else (a_low, b_high)
    whole = code.cmp("s" + order.order, a, b, "i64")
    for flag in flags:
        whole = code.and_(whole, flag, "i1")
    n = code.region.number
    code.do(f"br i1 {whole}, label %stay{n}, label %differ{n}")
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
    left = code.op("call i32 @emu_leave(ptr %ctx, ptr %active, ptr %leave, ptr %count_x, ptr %count_y, ptr %count_z)")
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
    for count, axis in _COUNTS:
        code.put(f"%before_{axis}{k}", code.get(count, "i64"), "i64")
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
    for count, axis in _COUNTS:
        code.put(count, code.get(f"%before_{axis}{k}", "i64"), "i64")
    code.put("%degraded", code.get(f"%before_degraded{k}", "i1"), "i1")
    code.put(f"%waits{k}", "false", "i1")
    code.branch(after)
    Builder.start(code, after)


def _copy(code, to: str, source: str) -> None:
    places = f"ptr align 64 {to}, ptr align 64 {source}"
    code.do(f"call void @llvm.memcpy.p0.p0.i64({places}, i64 %wide_threads, i1 false)")
