"""The loops of lanes.py: over the threads of a region for vectors, and one by one where that is not possible."""

from __future__ import annotations

from dsl.emulator import context, native
from dsl.emulator.builder import Builder
from dsl.emulator.ptx.syntax import Reg
from dsl.emulator.runtime.thread_exit import NOBODY, RAGGED
from dsl.emulator.translate import single_thread
from dsl.emulator.translate.affine import FLAT

_METADATA = """
!0 = !{}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
!8 = distinct !{}
!9 = !{!"llvm.loop.parallel_accesses", !8}
!10 = !{!"llvm.loop.interleave.count", i32 1}
!11 = !{!"llvm.loop.unroll.disable"}
!12 = !{!"llvm.loop.vectorize.enable", i1 false}
"""
_VECTORS = "!9, !10, !11"


def extents(lanes) -> None:
    """The last coordinates of the threads that are left, for a region's head."""
    for axis, name in enumerate("xyz"):
        count = lanes.get(f"%count_{name}", "i64") if lanes.plan.leaves else f"%wide_{name}"
        lanes.last[axis] = lanes.sub(count, 1, "i64")


def lane_threads(number: int) -> dict[str, str]:
    """What the predefined registers of a thread are in the loop of region `number`."""
    rows = {axis: f"%t{axis}{number}" for axis in "xyz"} | {"linear": f"%tl{number}"}
    return rows | {f"block_{axis}": f"%block_{axis}" for axis in "xyz"}


# ** a region


def finish(lanes, position: int, last) -> None:
    """Put the code of a region after what is finished."""
    plan, number = lanes.plan, lanes.number
    live_out = plan.live[position]
    outs = [(name, bits) for name, bits in plan.names(live_out) if name in lanes.touched]
    with lanes.into(lanes.lane, "lane"):
        for name, bits in outs:
            if plan.classes[name] is None:
                lanes.effects = True
                lanes.array_put(name, bits, f"%pos{number}", lanes.read_reg(Reg(name, bits)))
        if lanes.leaver is not None:
            lanes.effects = True
            lanes.threads = lane_threads(number)
            flag = lanes.cast("zext", lanes.read(lanes.leaver.guard, 1), "i1", "i8")
            lanes.threads = lanes.block_threads
            cell = lanes.op(f"getelementptr i8, ptr %leave, i64 %pos{number}")
            lanes.do(f"store i8 {flag}, ptr {cell}")
    bails = bool(lanes.bails or lanes.spans or lanes.conditions)
    moves = lanes.effects or any(plan.classes[name] != FLAT for name, _ in outs)
    slow = bails or (plan.degrades and moves)
    with lanes.into(lanes.head, "head"):
        if lanes.conditions:
            flag = lanes.conditions[0]
            for each in lanes.conditions[1:]:
                flag = lanes.and_(flag, each, "i1")
            lanes.do(f"br i1 {flag}, label %even{number}, label %wrap{number}, !prof !1")
            Builder.start(lanes, f"even{number}")
        for (space, size_bytes, *_), span in lanes.spans.items():
            lanes.check(span, space, size_bytes)
        for name, _ in outs:
            if plan.classes[name] is not None:
                lanes.keep(name, lanes.forms[name])
        if lanes.flag is not None:
            lanes.put("%branch", lanes.flag, "i1")
    with lanes.into(lanes.out, "head"):
        if lanes.conditions:
            lanes.put("%wrapped", "false", "i1")
        if slow and plan.degrades:
            degraded = lanes.get("%degraded", "i1")
            lanes.do(f"br i1 {degraded}, label %alone{number}, label %head{number}, !prof !2")
            Builder.start(lanes, f"head{number}")
        lanes.out += lanes.head
        if lanes.effects:
            _vectors(lanes)
        if slow:
            lanes.branch(f"end{number}")
            if lanes.conditions:
                Builder.start(lanes, f"wrap{number}")
                lanes.put("%wrapped", "true", "i1")
                lanes.branch(f"alone{number}")
            Builder.start(lanes, f"alone{number}")
            single_thread.region(lanes, outs, last)
            lanes.branch(f"end{number}")
            Builder.start(lanes, f"end{number}")


def _vectors(lanes) -> None:
    """The loop over the threads that are left: z, y, and x for vectors."""
    n = lanes.number
    counts = [lanes.add(lanes.last[axis], 1, "i64") for axis in range(3)]
    lanes.out += [
        f"  br label %pre{n}",
        f"pre{n}:",
        f"  br label %z{n}",
        f"z{n}:",
        f"  %lz{n} = phi i64 [0, %pre{n}], [%mz{n}, %az{n}]",
        f"  %pz{n} = mul nuw nsw i64 %lz{n}, %wide_y",
        f"  br label %y{n}",
        f"y{n}:",
        f"  %ly{n} = phi i64 [0, %z{n}], [%my{n}, %ay{n}]",
        f"  %py{n} = add nuw nsw i64 %pz{n}, %ly{n}",
        f"  %row{n} = mul nuw nsw i64 %py{n}, %wide_x",
        f"  br label %x{n}",
        f"x{n}:",
        f"  %lx{n} = phi i64 [0, %y{n}], [%mx{n}, %ax{n}]",
        f"  %pos{n} = add nuw nsw i64 %row{n}, %lx{n}",
        *(f"  %t{axis}{n} = trunc i64 %l{axis}{n} to i32" for axis in "xyz"),
        f"  %tl{n} = trunc i64 %pos{n} to i32",
        *lanes.top,
        *lanes.lane,
    ]
    for axis, around in zip((0, 1, 2), ("y", "z", "")):
        name = "xyz"[axis]
        tail = lanes.loop_metadata(single_thread.SLOW_LOOP if axis else _VECTORS)
        after = f"a{around}{n}" if around else f"after{n}"
        lanes.out += [f"  br label %a{name}{n}"] if axis == 0 else []
        lanes.out += [
            f"a{name}{n}:",
            f"  %m{name}{n} = add nuw nsw i64 %l{name}{n}, 1",
            f"  %more_{name}{n} = icmp ult i64 %m{name}{n}, {counts[axis]}",
            f"  br i1 %more_{name}{n}, label %{name}{n}, label %{after}{tail}",
        ]
    Builder.start(lanes, f"after{n}")


# ** threads that leave


def part(lanes) -> None:
    """After a region at whose end some threads may leave."""
    n = lanes.number
    lanes.out += [
        f"  br label %ask{n}",
        f"ask{n}:",
        "  br label %look" + str(n),
        f"look{n}:",
        f"  %at{n} = phi i64 [0, %ask{n}], [%on{n}, %look{n}]",
        f"  %some{n} = phi i8 [0, %ask{n}], [%any{n}, %look{n}]",
        f"  %cell{n} = getelementptr i8, ptr %leave, i64 %at{n}",
        f"  %one{n} = load i8, ptr %cell{n}",
        f"  %any{n} = or i8 %some{n}, %one{n}",
        f"  %on{n} = add nuw nsw i64 %at{n}, 1",
        f"  %further{n} = icmp ult i64 %on{n}, %wide_threads",
        f"  br i1 %further{n}, label %look{n}, label %asked{n}{lanes.loop_metadata('!10, !11')}",
    ]
    Builder.start(lanes, f"asked{n}")
    stay = lanes.cmp("eq", f"%any{n}", 0, "i8")
    lanes.do(f"br i1 {stay}, label %stay{n}, label %leave{n}, !prof !1")
    Builder.start(lanes, f"leave{n}")
    left = lanes.op("call i32 @emu_leave(ptr %ctx, ptr %active, ptr %leave, ptr %count_x, ptr %count_y, ptr %count_z)")
    lanes.do(f"switch i32 {left}, label %stay{n} [i32 {NOBODY}, label %stop i32 {RAGGED}, label %ragged{n}]")
    Builder.start(lanes, f"ragged{n}")
    lanes.do(f"br i1 {lanes.get('%degraded', 'i1')}, label %stay{n}, label %degrade{n}")
    Builder.start(lanes, f"degrade{n}")
    single_thread.ragged(lanes)
    lanes.branch(f"stay{n}")
    Builder.start(lanes, f"stay{n}")


# ** the whole


def start(lanes, head: Builder) -> None:
    """What every region needs, before the first."""
    for axis in "xyz":
        head.do(f"%wide_{axis} = zext i32 %n{axis} to i64")
    head.do(f"%threads = load i32, ptr {head.field('threads')}, !invariant.load !0")
    head.do("%wide_threads = zext i32 %threads to i64")
    lanes.common = list(head.lines)
    lanes.allocas += [f"  %{name} = alloca i1" for name in ("branch", "degraded", "wrapped")]
    head.put("%degraded", "false", "i1")
    if lanes.plan.leaves:
        lanes.uses.add("emu_leave")
        lanes.allocas += [f"  %{name} = alloca [{context.MAX_THREADS} x i8], align 64" for name in ("active", "leave")]
        for name, value in (("active", 1), ("leave", 0)):
            head.do(f"call void @llvm.memset.p0.i64(ptr align 64 %{name}, i8 {value}, i64 %wide_threads, i1 false)")
        for axis in "xyz":
            lanes.allocas.append(f"  %count_{axis} = alloca i64")
            head.put(f"%count_{axis}", f"%wide_{axis}", "i64")


def text(lanes, head: Builder) -> tuple[str, str]:
    """The finished module, and that of the functions it seldom calls."""
    tail = f"!3 = !{{i64 {max(lanes.places.param_bytes, 1)}}}\n" + "\n".join(lanes.metadata) + "\n"
    tail = native.declarations() + _METADATA + tail
    out = f"  %out = alloca [{max(lanes.most_out, 1)} x i64]"
    lines = ["define void @block(ptr %ctx) {", "entry:", out, *lanes.allocas, *lanes.prologue, *head.lines]
    lines += [*lanes.out, "stop:", "  ret void", "}"]
    lines += [f"declare i1 @{name}(ptr, ptr captures(none){kinds}) cold" for name, kinds in lanes.cold_names]
    return "\n".join(lines) + "\n" + tail, "\n".join(lanes.cold) + "\n" + tail if lanes.cold else ""
