"""A shared library without a linker: each exported function jumps through a table that Python fills.

ELF-64 for x86-64. System V ABI, chapters 4 (object files) and 5 (dynamic linking); the table starts as zeros.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Mapping, Sequence

TABLE = "function_table"  # the symbol of the table, in the order of the names
_PAGE = 0x1000
_HEADER_BYTES, _SEGMENT_BYTES, _SYMBOL_BYTES, _JUMP_BYTES = 64, 56, 24, 8
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # p_type
_HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME = 4, 5, 6, 10, 11, 14  # d_tag
_X86_64, _SHARED = 62, 3
_FUNCTION, _OBJECT = 0x12, 0x11  # global; st_info
_TEXT, _DATA = 1, 2  # any section numbers: a loaded library has no section headers
_files: list[int] = []  # the libraries stay open: dlopen knows them by /proc/self/fd/N


class NoSharedObject(OSError):
    """This machine cannot have the library; the text says why."""


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
    hash_table = _hash_table([*names, TABLE])
    code_at = -(-(hash_at + len(hash_table)) // 16) * 16
    code_end = code_at + len(names) * _JUMP_BYTES
    data_at = -(-code_end // _PAGE) * _PAGE
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in ((_SONAME, offsets[0]), (_HASH, hash_at), (_STRTAB, strings_at), (_SYMTAB, symbols_at),
                           (_STRSZ, len(strings)), (_SYMENT, _SYMBOL_BYTES), (0, 0))
    )  # fmt: skip
    table_at = data_at + len(dynamic)
    end = table_at + 8 * len(names)
    symbols = bytes(_SYMBOL_BYTES) + b"".join(
        struct.pack("<IBBHQQ", offset, _FUNCTION, 0, _TEXT, code_at + i * _JUMP_BYTES, _JUMP_BYTES)
        for i, offset in enumerate(offsets[1:-1])
    )
    symbols += struct.pack("<IBBHQQ", offsets[-1], _OBJECT, 0, _DATA, table_at, 8 * len(names))
    # jmp *offset(%rip): the offset counts from the end of its six bytes
    code = b"".join(
        b"\xff\x25" + struct.pack("<i", table_at + 8 * i - (code_at + i * _JUMP_BYTES + 6)) + b"\xcc\xcc"
        for i in range(len(names))
    )
    segments = _segment(_LOAD, 5, 0, code_end) + _segment(_LOAD, 6, data_at, end - data_at)
    segments += _segment(_DYNAMIC, 6, data_at, len(dynamic)) + _segment(_STACK, 6, 0, 0)
    parts = ((0, _header() + segments), (symbols_at, symbols), (strings_at, strings), (hash_at, hash_table),
             (code_at, code), (data_at, dynamic))  # fmt: skip
    form = bytearray(end)
    for at, part in parts:
        form[at : at + len(part)] = part
    return bytes(form)


def _header() -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    return ident + struct.pack(
        "<HHIQQQIHHHHHH", _SHARED, _X86_64, 1, 0, _HEADER_BYTES, 0, 0, _HEADER_BYTES, _SEGMENT_BYTES, 4, 64, 0, 0
    )


def _segment(kind: int, flags: int, at: int, nbytes: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, nbytes, nbytes, _PAGE if kind == _LOAD else 8)


def _hash_table(names: Sequence[str]) -> bytes:
    """The table of System V: each bucket begins a chain of symbols; symbol 0 is none."""
    buckets, chains = [0] * (len(names) | 1), [0] * (len(names) + 1)
    for index, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<{2 + len(buckets) + len(chains)}I", len(buckets), len(chains), *buckets, *chains)


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


def path_of(soname: str, names: Sequence[str]) -> str:
    """A path to load the library by, in memory; dlopen(soname) finds it once it is loaded. Raises NoSharedObject."""
    if platform.machine() != "x86_64":
        raise NoSharedObject(f"{soname} of the embedded device must run on x86_64, got {os.uname()[4]}")
    file = os.memfd_create(soname, os.MFD_CLOEXEC)
    _files.append(file)
    os.write(file, image(soname, names))
    return f"/proc/self/fd/{file}"


def load(path: str, functions: Mapping[str, object]) -> ctypes.CDLL:
    """Load the library at `path` and point each name at its function (of ctypes), in the order of the names."""
    library = ctypes.CDLL(path)
    table = (ctypes.c_void_p * len(functions)).in_dll(library, TABLE)
    table[:] = [ctypes.cast(each, ctypes.c_void_p).value for each in functions.values()]  # type: ignore[arg-type]
    return library
