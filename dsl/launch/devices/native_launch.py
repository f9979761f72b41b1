"""Launching without Python: `dsl_launch` as machine code that calls the driver's cuLaunchKernelEx, or the emulator.

The first launch of a kernel, one with a cluster or another attribute, one with more shared memory than the kernel was
allowed, and one that the device answers with ELSEWHERE go through Python, which loads, allows and reports; every other
launch is a C call. Launches are written down in a log that Python reads when the host function has returned.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from dsl.interrupts import functions
from dsl.launch import disk_cache
from dsl.lower.host import Native, link, object_code

LOG_LAUNCHES = 64  # then Python empties it
ELSEWHERE = -1  # the answer of a device whose machine code does not make this launch: Python does


class Record(ctypes.Structure):
    """What `core.trace` stores for a launch."""

    _fields_ = [
        ("grid", ctypes.c_int32 * 3),
        ("block", ctypes.c_int32 * 3),
        ("cluster", ctypes.c_int32 * 3),
        ("smem_bytes", ctypes.c_int32),
        ("stream", ctypes.c_uint64),
        ("flags", ctypes.c_int32),
        ("events", ctypes.c_uint64 * 2),  # where the flags have EVENTS
    ]


class Noted(ctypes.Structure):
    """A launch in the log, and how many times it was made in a row."""

    _fields_ = [("record", Record), ("index", ctypes.c_int64), ("times", ctypes.c_int64)]


class Run(ctypes.Structure):
    """One call of a host function, as machine code sees it. Its address is the handle that `dsl_launch` gets.

    The log has `count` entries, which are `launched` launches, the first `ended` of them waited for; `code` is the
    driver's last answer.
    """

    _fields_ = [
        ("python", ctypes.c_void_p),
        ("functions", ctypes.c_void_p),
        ("allowed_smem_bytes", ctypes.c_void_p),
        ("count", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("launched", ctypes.c_int64),
        ("ended", ctypes.c_int64),
        ("log", Noted * LOG_LAUNCHES),
    ]


NOTED_BYTES = ctypes.sizeof(Noted)


def _same_as_last() -> str:
    """Lines that compare a launch (%record, %wide) with the log's entry %last: all but the flags, which are 0."""
    lines = []
    for word in range(Record.flags.offset // 8):
        for source in ("record", "last"):
            lines += [
                f"%{source}.{word}.at = getelementptr i8, ptr %{source}, i64 {8 * word}",
                f"%{source}.{word} = load i64, ptr %{source}.{word}.at, align 4",
            ]
        lines += [
            f"%differ.{word} = xor i64 %record.{word}, %last.{word}",
            f"%differs.{word} = or i64 %differ.{word}, %differs.{word - 1}"
            if word
            else "%differs.0 = or i64 %differ.0, %index.differs",
        ]
    return "\n  ".join(
        [
            f"%last.index.at = getelementptr i8, ptr %last, i64 {Noted.index.offset}",
            "%last.index = load i64, ptr %last.index.at",
            "%index.differs = xor i64 %last.index, %wide",
            *lines,
            f"%again = icmp eq i64 %differs.{Record.flags.offset // 8 - 1}, 0",
        ]
    )


class Table:
    """The driver's handle of each kernel of a module and the shared memory it may have; 0 before its first launch."""

    def __init__(self, kernels: int):
        self.functions, self.allowed_smem_bytes = (ctypes.c_uint64 * kernels)(), (ctypes.c_int32 * kernels)()
        self.program: Any = None  # whose handles they are, which are valid as long as it lives

    def run(self, python: Callable[[int, int, int, int], int]) -> Run:
        """A call that reaches Python by the function `python`; keep it, and the table, as long."""
        return Run(id(python), ctypes.addressof(self.functions), ctypes.addressof(self.allowed_smem_bytes))


# CUlaunchConfig (cuda.h): gridDim, blockDim, sharedMemBytes at 24, hStream at 32, attrs at 40, numAttrs at 48.
_LAUNCH = f"""
declare i32 @launch_kernel(ptr, ptr, ptr, ptr)

define i32 @dsl_launch(ptr %run, i32 %index, ptr %record, ptr %params) {{
  %config = alloca [7 x i64], align 8
  %code.at = getelementptr i8, ptr %run, i64 {Run.code.offset}
  %code = load i32, ptr %code.at
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %bad, label %look
look:
  %functions.at = getelementptr i8, ptr %run, i64 {Run.functions.offset}
  %functions = load ptr, ptr %functions.at
  %function.at = getelementptr ptr, ptr %functions, i32 %index
  %function = load ptr, ptr %function.at
  %new = icmp eq ptr %function, null
  %smem.at = getelementptr i8, ptr %record, i64 {Record.smem_bytes.offset}
  %smem = load i32, ptr %smem.at
  %allowed.all.at = getelementptr i8, ptr %run, i64 {Run.allowed_smem_bytes.offset}
  %allowed.all = load ptr, ptr %allowed.all.at
  %allowed.at = getelementptr i32, ptr %allowed.all, i32 %index
  %allowed = load i32, ptr %allowed.at
  %more = icmp ugt i32 %smem, %allowed
  %x.at = getelementptr i8, ptr %record, i64 {Record.cluster.offset}
  %y.at = getelementptr i8, ptr %x.at, i64 4
  %z.at = getelementptr i8, ptr %x.at, i64 8
  %x = load i32, ptr %x.at
  %y = load i32, ptr %y.at
  %z = load i32, ptr %z.at
  %xy = mul i32 %x, %y
  %blocks = mul i32 %xy, %z
  %clustered = icmp ne i32 %blocks, 1
  %flags.at = getelementptr i8, ptr %record, i64 {Record.flags.offset}
  %flags = load i32, ptr %flags.at
  %flagged = icmp ne i32 %flags, 0
  %cluster = or i1 %clustered, %flagged
  %count.at = getelementptr i8, ptr %run, i64 {Run.count.offset}
  %count = load i32, ptr %count.at
  %full = icmp sge i32 %count, {LOG_LAUNCHES}
  %a = or i1 %new, %more
  %b = or i1 %cluster, %full
  %slow = or i1 %a, %b
  br i1 %slow, label %through, label %native
through:
  %python = load ptr, ptr %run
  %reported = call i32 @emu_call_python(ptr %python, ptr %run, i32 %index, ptr %record, ptr %params)
  ret i32 %reported
native:
  call void @llvm.memcpy.p0.p0.i64(ptr %config, ptr %record, i64 24, i1 false)
  %smem.to = getelementptr i8, ptr %config, i64 24
  %smem.wide = zext i32 %smem to i64
  store i64 %smem.wide, ptr %smem.to
  %stream.at = getelementptr i8, ptr %record, i64 {Record.stream.offset}
  %stream = load i64, ptr %stream.at
  %stream.to = getelementptr i8, ptr %config, i64 32
  store i64 %stream, ptr %stream.to
  %attrs.to = getelementptr i8, ptr %config, i64 40
  store i64 0, ptr %attrs.to
  %count.to = getelementptr i8, ptr %config, i64 48
  store i64 0, ptr %count.to
  %answer = call i32 @launch_kernel(ptr %config, ptr %function, ptr %params, ptr null)
  %elsewhere = icmp eq i32 %answer, {ELSEWHERE}
  br i1 %elsewhere, label %through, label %note
note:
  %log = getelementptr i8, ptr %run, i64 {Run.log.offset}
  %wide = zext i32 %index to i64
  %launched.at = getelementptr i8, ptr %run, i64 {Run.launched.offset}
  %launched = load i64, ptr %launched.at
  %launched.now = add i64 %launched, 1
  store i64 %launched.now, ptr %launched.at
  %none = icmp eq i32 %count, 0
  br i1 %none, label %other, label %look.back
look.back:
  %before = sub i32 %count, 1
  %last = getelementptr [{NOTED_BYTES} x i8], ptr %log, i32 %before
  {_same_as_last()}
  br i1 %again, label %repeat, label %other
repeat:
  %times.at = getelementptr i8, ptr %last, i64 {Noted.times.offset}
  %times = load i64, ptr %times.at
  %times.now = add i64 %times, 1
  store i64 %times.now, ptr %times.at
  br label %said
other:
  %noted = getelementptr [{NOTED_BYTES} x i8], ptr %log, i32 %count
  call void @llvm.memcpy.p0.p0.i64(ptr %noted, ptr %record, i64 {Record.flags.offset + 4}, i1 false)
  %noted.index = getelementptr i8, ptr %noted, i64 {Noted.index.offset}
  store i64 %wide, ptr %noted.index
  %noted.times = getelementptr i8, ptr %noted, i64 {Noted.times.offset}
  store i64 1, ptr %noted.times
  %next = add i32 %count, 1
  store i32 %next, ptr %count.at
  br label %said
said:
  store i32 %answer, ptr %code.at
  %refused = icmp ne i32 %answer, 0
  br i1 %refused, label %bad, label %good
good:
  ret i32 0
bad:
  ret i32 1
}}

declare i32 @emu_call_python(ptr, ptr, i32, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


_DECLARED = "declare i32 @launch_kernel(ptr, ptr, ptr, ptr)"
_BY_HANDLE = """define internal i32 @launch_kernel(ptr %config, ptr %function, ptr %params, ptr %extra) {
  %code = load ptr, ptr %function
  %answer = call i32 %code(ptr %config, ptr %function, ptr %params, ptr %extra)
  ret i32 %answer
}"""


_BY_PYTHON = """
define i32 @dsl_launch(ptr %run, i32 %index, ptr %record, ptr %params) {
  %python = load ptr, ptr %run
  %reported = call i32 @emu_call_python(ptr %python, ptr %run, i32 %index, ptr %record, ptr %params)
  ret i32 %reported
}
declare i32 @emu_call_python(ptr, ptr, i32, ptr, ptr)
"""


@functools.cache
def entry_by_python() -> tuple[int, Native]:
    """`entry` for a device all of whose launches go through Python."""
    return _linked(_BY_PYTHON, functions())


@functools.cache
def entry_by_handle() -> tuple[int, Native]:
    """`entry` for a device whose handles begin with the address of a function that is called as cuLaunchKernelEx."""
    return _linked(_LAUNCH.replace(_DECLARED, _BY_HANDLE), functions())


@functools.cache
def entry(launch_kernel: int) -> tuple[int, Native]:
    """The address of `dsl_launch` for a driver whose cuLaunchKernelEx is at this one, and what keeps it alive."""
    return _linked(_LAUNCH, {"launch_kernel": launch_kernel, **functions()})


def _linked(llvm_ir: str, symbols: dict[str, int]) -> tuple[int, Native]:
    """The text as machine code, which the disk cache keeps: LLVM takes a seventh of a first launch for it."""
    disk = disk_cache.current()
    key = disk_cache.key("launch entry", llvm_ir) if disk is not None else b""
    code = disk.get(key) if disk is not None else None
    if code is None:
        code = object_code(llvm_ir, quickly=True)
        if disk is not None:
            disk.put(key, code)
    machine = link(code, symbols, ("dsl_launch",))
    return machine.addresses["dsl_launch"], machine
