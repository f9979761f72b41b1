"""Native code that makes a launch again, with other parameters, without Python.

A Repeat is what it needs to know: the shape, what the kernel may touch, the slot and what is put into it. Everything
else goes the way of every launch: another shape, memory that was registered since, a slot that is in use, checks,
seeds, and now and then a launch in which Python looks how long the kernel has run.
"""

from __future__ import annotations

import ctypes

from dsl.emulator import context

READY, BUSY, CLOSED = range(3)  # `state`: for whoever takes it, somebody's, without a slot
EVERY = 256  # launches, of which Python sees one
ELSEWHERE = -1  # the answer where the launch is not made here; 0: it was made; else the number of one that ended badly

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class Repeat(ctypes.Structure):
    """A launch that is ready to be made again. Its address is the handle by which it is called."""

    _fields_ = [
        ("call", _u64),  # emu_relaunch
        ("state", _u32),
        ("left", _u32),  # launches until Python looks again
        ("times", _u64),  # launches made here since Python looked
        ("number", _u32),
        ("shape", _u32 * 7),  # grid, block, dynamic shared memory in bytes: as a launch's configuration begins
        ("signature_at", _u64),  # of the memory now, and as it was when the slot was prepared
        ("signature", ctypes.c_int64),
        ("watched_at", _u64),  # whether launches are checked or have a seed
        ("slot", _u64),
        ("slot_head", _u64),  # what the slot begins with, and the launch's Grid
        ("grid", _u64),
        ("grid_head", _u64),
        ("code", _u64),
        ("params", _u64),
        ("rows", _u64),  # of the parameters: offset, bytes (u32 each)
        ("row_count", _u64),
    ]


SIGNATURES = {"emu_relaunch": "i32 (ptr, ptr, ptr, ptr)", "emu_take": "i32 (ptr)"}


def functions() -> list[str]:
    """The IR text."""
    return ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", _take(), _relaunch()]


def _field(name: str, kind: str) -> str:
    """Lines that load a field of %repeat."""
    at = f"%{name}.at = getelementptr i8, ptr %repeat, i64 {getattr(Repeat, name).offset}"
    return f"{at}\n  %{name} = load {kind}, ptr %{name}.at"


def _take() -> str:
    """1 where it was READY, and is the caller's now."""
    return f"""define i32 @emu_take(ptr %repeat) {{
  %state.at = getelementptr i8, ptr %repeat, i64 {Repeat.state.offset}
  %pair = cmpxchg ptr %state.at, i32 {READY}, i32 {BUSY} acquire monotonic
  %taken = extractvalue {{ i32, i1 }} %pair, 1
  %answer = zext i1 %taken to i32
  ret i32 %answer
}}"""


def _differs() -> str:
    """Lines for %differs: whether the configuration's shape, 7 numbers, is another one."""
    lines = []
    for i in range(7):
        lines += [
            f"%given{i}.at = getelementptr i8, ptr %config, i64 {4 * i}",
            f"%given{i} = load i32, ptr %given{i}.at",
            f"%mine{i}.at = getelementptr i8, ptr %repeat, i64 {Repeat.shape.offset + 4 * i}",
            f"%mine{i} = load i32, ptr %mine{i}.at",
            f"%xor{i} = xor i32 %given{i}, %mine{i}",
            f"%or{i} = or i32 %xor{i}, {f'%or{i - 1}' if i else '0'}",
        ]
    return "\n  ".join([*lines, "%differs = icmp ne i32 %or6, 0"])


def _relaunch() -> str:
    """Make the launch, if it is one of this shape and nothing has changed."""
    return f"""define i32 @emu_relaunch(ptr %config, ptr %repeat, ptr %params, ptr %extra) {{
  %taken = call i32 @emu_take(ptr %repeat)
  %mine = icmp ne i32 %taken, 0
  br i1 %mine, label %look, label %away
away:
  ret i32 {ELSEWHERE}
look:
  {_differs()}
  {_field("signature_at", "ptr")}
  {_field("signature", "i64")}
  %now = load i64, ptr %signature_at
  %moved = icmp ne i64 %now, %signature
  {_field("watched_at", "ptr")}
  %watched = load i32, ptr %watched_at
  %seen = icmp ne i32 %watched, 0
  {_field("left", "i32")}
  %due = icmp eq i32 %left, 0
  %a = or i1 %differs, %moved
  %b = or i1 %seen, %due
  %no = or i1 %a, %b
  %state.at = getelementptr i8, ptr %repeat, i64 {Repeat.state.offset}
  br i1 %no, label %back, label %copy
back:
  store atomic i32 {READY}, ptr %state.at release, align 4
  ret i32 {ELSEWHERE}
copy:
  %left.now = sub i32 %left, 1
  store i32 %left.now, ptr %left.at
  {_field("times", "i64")}
  %times.now = add i64 %times, 1
  store i64 %times.now, ptr %times.at
  {_field("slot", "ptr")}
  {_field("slot_head", "ptr")}
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %slot_head, i64 {context.offset("live")}, i1 false)
  {_field("grid", "ptr")}
  {_field("grid_head", "ptr")}
  call void @llvm.memcpy.p0.p0.i64(ptr %grid, ptr %grid_head, i64 {ctypes.sizeof(context.Grid)}, i1 false)
  {_field("params", "ptr").replace("%params", "%cells")}
  {_field("rows", "ptr")}
  {_field("row_count", "i64")}
  br label %next
next:
  %i = phi i64 [0, %copy], [%more, %one]
  %over = icmp eq i64 %i, %row_count
  br i1 %over, label %go, label %one
one:
  %row = getelementptr i64, ptr %rows, i64 %i
  %offset = load i32, ptr %row
  %bytes.at = getelementptr i8, ptr %row, i64 4
  %bytes = load i32, ptr %bytes.at
  %wide = zext i32 %bytes to i64
  %value.at = getelementptr ptr, ptr %params, i64 %i
  %value = load ptr, ptr %value.at
  %cell = getelementptr i8, ptr %cells, i32 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %cell, ptr %value, i64 %wide, i1 false)
  %more = add i64 %i, 1
  br label %next
go:
  {_field("code", "ptr")}
  call void @emu_run_grid(ptr %slot, ptr %code)
  %status.at = getelementptr i8, ptr %slot, i64 {context.offset("status")}
  %status = load i32, ptr %status.at
  %well = icmp eq i32 %status, 0
  br i1 %well, label %done, label %bad
done:
  store atomic i32 {READY}, ptr %state.at release, align 4
  ret i32 0
bad:
  {_field("number", "i32")}
  ret i32 %number
}}"""
