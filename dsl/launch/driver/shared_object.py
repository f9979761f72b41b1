"""A shared library without a linker: each exported function jumps through a table. Python fills an entry at the first
call of its function, as a dynamic linker binds lazily. At exit machine code replaces the entries: destructors of other
libraries still call functions after the end of Python.

ELF-64 for x86-64. System V ABI, chapters 3 (calling sequence), 4 (object files) and 5 (dynamic linking).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dsl.interrupts import called_by_machine_code

TABLE = "function_table"  # the symbol of the table: the binder, then the functions in the order of their names
_PAGE = 0x1000
_HEADER_BYTES, _SEGMENT_BYTES, _SYMBOL_BYTES, _JUMP_BYTES, _FIRST_CALL_BYTES = 64, 56, 24, 8, 16
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # p_type
_HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME = 4, 5, 6, 10, 11, 14  # d_tag
_X86_64, _SHARED = 62, 3
_FUNCTION, _OBJECT = 0x12, 0x11  # global; st_info
_TEXT, _DATA = 1, 2  # any section numbers: a loaded library has no section headers
# The code of a function until it is bound: with its index on the stack, ask the binder (entry 0 of the table) for its
# address, and go on there with every register that may hold an argument as it was.
_INTEGER_REGISTERS = (b"\x57", b"\x56", b"\x52", b"\x51", b"\x41\x50", b"\x41\x51")  # push rdi rsi rdx rcx r8 r9
_POPS = (b"\x41\x59", b"\x41\x58", b"\x59", b"\x5a", b"\x5e", b"\x5f")
_VECTOR_REGISTERS = 8  # xmm0 to xmm7
# The code of functions after the end of Python. A function that gives something back succeeds. Others fail, because the
# driver has ended (CUDA_ERROR_DEINITIALIZED, cudaErrorCudartUnloading); outside the main thread they do not return,
# because Python stops its daemon threads. A function that returns text returns this one.
_SUCCEEDS = b"\x31\xc0\xc3"  # xor eax, eax; ret
_FAILS = (
    b"\xb8\x27\0\0\0\x0f\x05\x89\xc7\xb8\xba\0\0\0\x0f\x05\x39\xf8\x74\x09"  # getpid; gettid; je over the loop
    b"\xb8\x22\0\0\0\x0f\x05\xeb\xf7\xb8\x04\0\0\0\xc3"  # pause; jmp to it; mov eax, 4; ret
)
_TELLS = b"\x48\x8d\x05\x01\0\0\0\xc3driver ended\0"  # lea rax, the text; ret
_AFTER_END = _SUCCEEDS + _FAILS + _TELLS
_GIVES_BACK = (
    "Destroy", "Free", "Unload", "Release", "Reset", "Unregister", "Synchronize", "Query", "PushCurrent", "PopCurrent",
    "SetCurrent", "ProfilerStop", "unload",
)  # fmt: skip
_TEXTS = ("get_error_", "RT_GetError")
_files: list[int] = []  # the libraries stay open: dlopen knows them by /proc/self/fd/N
_binders: list[Any] = []  # and C keeps pointers to these
_loaded: list[Loaded] = []


class NoSharedObject(OSError):
    """This machine cannot have the library; the text gives the reason."""


class Loaded(NamedTuple):
    """A library in this process, where each of its functions is, its table, and the code of functions that ended."""

    library: ctypes.CDLL
    addresses: dict[str, int]
    table: Any
    ended: int


class _Layout(NamedTuple):
    """Offsets in a library of `count` functions: jumps, what first calls do, the binding, what functions do after the
    end, the table and its section."""

    code: int
    first_calls: int
    binding: int
    ended: int
    code_end: int
    data: int
    table: int
    end: int


def _layout(code_at: int, count: int, dynamic_bytes: int) -> _Layout:
    first_calls = code_at + count * _JUMP_BYTES
    first_calls += -first_calls % 16
    binding = first_calls + count * _FIRST_CALL_BYTES
    ended = -(-(binding + len(_binding(0))) // 16) * 16
    code_end = ended + len(_AFTER_END)
    data = -(-code_end // _PAGE) * _PAGE
    table = data + dynamic_bytes
    return _Layout(code_at, first_calls, binding, ended, code_end, data, table, table + 8 * (count + 1))


def _binding(to_binder: int) -> bytes:
    """The code all first calls share; the binder's address lies `to_binder` bytes after its start."""
    code = b"".join(_INTEGER_REGISTERS) + b"\x48\x81\xec" + struct.pack("<i", 16 * _VECTOR_REGISTERS)  # sub rsp
    code += b"".join(_movups(0x11, index) for index in range(_VECTOR_REGISTERS))
    code += b"\x48\x8b\xbc\x24" + struct.pack("<i", 16 * _VECTOR_REGISTERS + 8 * len(_POPS))  # mov rdi, the index
    code += b"\xff\x15" + struct.pack("<i", to_binder - len(code) - 6) + b"\x49\x89\xc3"  # call; mov r11, rax
    code += b"".join(_movups(0x10, index) for index in range(_VECTOR_REGISTERS))
    code += b"\x48\x81\xc4" + struct.pack("<i", 16 * _VECTOR_REGISTERS) + b"".join(_POPS)
    return code + b"\x48\x83\xc4\x08\x41\xff\xe3"  # drop the index; jmp *r11


def _movups(operation: int, register: int) -> bytes:
    """Store (0x11) or load (0x10) xmm of this number at 16 times the number above the stack pointer."""
    return bytes([0x0F, operation, 0x44 | register << 3, 0x24, 16 * register])


def image(soname: str, names: Sequence[str]) -> bytes:
    """The bytes of a library that exports `names`, and their table as `function_table`."""
    strings = bytearray(b"\0")
    offsets = []
    for text in (soname, *names, TABLE):
        offsets.append(len(strings))
        strings += text.encode() + b"\0"
    symbols_at = _HEADER_BYTES + 4 * _SEGMENT_BYTES
    count = len(names) + 2  # and the null symbol, the table
    strings_at = symbols_at + count * _SYMBOL_BYTES
    hash_at = -(-(strings_at + len(strings)) // 8) * 8
    hash_table = _hash_table(len(names) + 1)
    code_at = -(-(hash_at + len(hash_table)) // 16) * 16
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in ((_SONAME, offsets[0]), (_HASH, hash_at), (_STRTAB, strings_at), (_SYMTAB, symbols_at),
                           (_STRSZ, len(strings)), (_SYMENT, _SYMBOL_BYTES), (0, 0))
    )  # fmt: skip
    at = _layout(code_at, len(names), len(dynamic))
    symbols = bytes(_SYMBOL_BYTES) + b"".join(
        struct.pack("<IBBHQQ", offset, _FUNCTION, 0, _TEXT, code_at + i * _JUMP_BYTES, _JUMP_BYTES)
        for i, offset in enumerate(offsets[1:-1])
    )
    symbols += struct.pack("<IBBHQQ", offsets[-1], _OBJECT, 0, _DATA, at.table, at.end - at.table)
    segments = _segment(_LOAD, 5, 0, at.code_end) + _segment(_LOAD, 6, at.data, at.end - at.data)
    segments += _segment(_DYNAMIC, 6, at.data, len(dynamic)) + _segment(_STACK, 6, 0, 0)
    parts = ((0, _header() + segments), (symbols_at, symbols), (strings_at, strings), (hash_at, hash_table),
             (code_at, _jumps(at, len(names))), (at.first_calls, _first_calls(at, len(names))),
             (at.binding, _binding(at.table - at.binding)), (at.ended, _AFTER_END),
             (at.data, dynamic))  # fmt: skip
    form = bytearray(at.end)
    for start, part in parts:
        form[start : start + len(part)] = part
    return bytes(form)


def _jumps(at: _Layout, count: int) -> bytes:
    """jmp *entry(%rip) for each function: the offset counts from the end of its six bytes."""
    return b"".join(
        b"\xff\x25" + struct.pack("<i", at.table + 8 * (i + 1) - (at.code + i * _JUMP_BYTES + 6)) + b"\xcc\xcc"
        for i in range(count)
    )


def _first_calls(at: _Layout, count: int) -> bytes:
    """push its index; jmp to the binding, for each function."""
    return b"".join(
        b"\x68" + struct.pack("<i", i)
        + b"\xe9" + struct.pack("<i", at.binding - (at.first_calls + i * _FIRST_CALL_BYTES + 10)) + b"\xcc" * 6
        for i in range(count)
    )  # fmt: skip


def _header() -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    return ident + struct.pack(
        "<HHIQQQIHHHHHH", _SHARED, _X86_64, 1, 0, _HEADER_BYTES, 0, 0, _HEADER_BYTES, _SEGMENT_BYTES, 4, 64, 0, 0
    )


def _segment(kind: int, flags: int, at: int, nbytes: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, nbytes, nbytes, _PAGE if kind == _LOAD else 8)


def _hash_table(names: int) -> bytes:
    """The table of System V with one bucket, which needs no hash: a chain of all symbols; symbol 0 ends it."""
    chain = [0, *range(2, names + 1), 0]
    return struct.pack(f"<{3 + len(chain)}I", 1, len(chain), 1, *chain)


def path_of(soname: str, names: Sequence[str]) -> str:
    """A path to load the library by, in memory; dlopen(soname) finds it once it is loaded. Raises NoSharedObject."""
    if platform.machine() != "x86_64":
        raise NoSharedObject(f"{soname} of the emulator must run on x86_64, got {os.uname()[4]}")
    file = os.memfd_create(soname, os.MFD_CLOEXEC)
    _files.append(file)
    os.write(file, image(soname, names))
    return f"/proc/self/fd/{file}"


def load(path: str, names: Sequence[str], function_of: Callable[[str], Any]) -> Loaded:
    """Load the library at `path`, which exports `names`; at the first call of one, `function_of(name)` (of ctypes) is
    bound to it for good."""
    library = ctypes.CDLL(path)
    table = (ctypes.c_void_p * (len(names) + 1)).in_dll(library, TABLE)
    first = ctypes.cast(library[names[0]], ctypes.c_void_p).value or 0
    at = _layout(0, len(names), 0)

    @called_by_machine_code
    def bind(index: int) -> int:
        try:
            address = ctypes.cast(function_of(names[index]), ctypes.c_void_p).value
        except BaseException as error:  # C is not told; who called gets an error
            sys.excepthook(type(error), error, error.__traceback__)
            return ctypes.cast(_broken, ctypes.c_void_p).value or 0
        table[index + 1] = address
        return address or 0

    binder = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)(bind)
    _binders.append(binder)
    first_calls = first + (at.first_calls - at.code)
    table[0] = ctypes.cast(binder, ctypes.c_void_p).value
    table[1:] = [first_calls + index * _FIRST_CALL_BYTES for index in range(len(names))]
    addresses = {name: first + index * _JUMP_BYTES for index, name in enumerate(names)}
    _loaded.append(Loaded(library, addresses, table, first + (at.ended - at.code)))
    return _loaded[-1]


def end() -> None:
    """Replace all functions by machine code, because Python ends."""
    for loaded in _loaded:
        loaded.table[1:] = [loaded.ended + _after_end(name) for name in loaded.addresses]


def _after_end(name: str) -> int:
    """The offset in _AFTER_END of the code of a function."""
    if any(part in name for part in _TEXTS):
        return len(_SUCCEEDS) + len(_FAILS)
    return 0 if any(part in name for part in _GIVES_BACK) else len(_SUCCEEDS)


@ctypes.CFUNCTYPE(ctypes.c_int)
def _broken() -> int:
    return 999  # CUDA_ERROR_UNKNOWN
