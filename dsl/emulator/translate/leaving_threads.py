"""Threads that end before others: which are left, and what a kernel made of regions does once some have left."""

from __future__ import annotations

from dsl.emulator.ir.builder import Builder
from dsl.emulator.machine import context, numbers
from dsl.emulator.translate.vector_loop import REDUCTION


def start(code, head: Builder) -> None:
    """All threads are there: %active and %leave, a byte a thread, and the counts along each axis."""
    code.allocas += [f"  %{name} = alloca [{context.MAX_THREADS} x i8], align 64" for name in ("active", "leave")]
    for name, value in (("active", 1), ("leave", 0)):
        head.do(f"call void @llvm.memset.p0.i64(ptr align 64 %{name}, i8 {value}, i64 %wide_threads, i1 false)")
    for axis in "xyz":
        code.allocas.append(f"  %count_{axis} = alloca i64")
        head.put(f"%count_{axis}", f"%wide_{axis}", "i64")


def note(code) -> None:
    """In the loop over threads: write down whether this one leaves."""
    region = code.region
    region.effects = True
    code.threads = region.lane_threads()
    flag = code.cast("zext", code.read(region.leaver.guard, 1), "i1", "i8")
    code.threads = code.block_threads
    cell = code.op(f"getelementptr i8, ptr %leave, i64 %pos{region.number}")
    code.do(f"store i8 {flag}, ptr {cell}")


def part(code) -> None:
    """After the loop: some threads leave. If the rest is not a box of threads, regions run thread by thread."""
    n = code.region.number
    code.out += [
        f"  br label %ask{n}",
        f"ask{n}:",
        f"  br label %look{n}",
        f"look{n}:",
        f"  %at{n} = phi i64 [0, %ask{n}], [%on{n}, %look{n}]",
        f"  %some{n} = phi i8 [0, %ask{n}], [%any{n}, %look{n}]",
        f"  %cell{n} = getelementptr i8, ptr %leave, i64 %at{n}",
        f"  %one{n} = load i8, ptr %cell{n}",
        f"  %any{n} = or i8 %some{n}, %one{n}",
        f"  %on{n} = add nuw nsw i64 %at{n}, 1",
        f"  %further{n} = icmp ult i64 %on{n}, %wide_threads",
        f"  br i1 %further{n}, label %look{n}, label %asked{n}{code.loop_metadata(REDUCTION)}",
    ]
    Builder.start(code, f"asked{n}")
    stay = code.cmp("eq", f"%any{n}", 0, "i8")
    code.do(f"br i1 {stay}, label %stay{n}, label %leave{n}, !prof !1")
    Builder.start(code, f"leave{n}")
    left = code.op("call i32 @emu_leave(ptr %ctx, ptr %active, ptr %leave, ptr %count_x, ptr %count_y, ptr %count_z)")
    cases = f"i32 {numbers.left.NOBODY}, label %stop i32 {numbers.left.RAGGED}, label %ragged{n}"
    code.do(f"switch i32 {left}, label %stay{n} [{cases}]")
    Builder.start(code, f"ragged{n}")
    code.do(f"br i1 {code.get('%degraded', 'i1')}, label %stay{n}, label %degrade{n}")
    Builder.start(code, f"degrade{n}")
    code.single_thread.ragged()
    code.branch(f"stay{n}")
    Builder.start(code, f"stay{n}")
