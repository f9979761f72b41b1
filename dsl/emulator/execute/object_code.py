"""A compiled program as bytes, so that another process need neither parse nor compile it.

The bytes hold the PTX, the machine code of its entries, and what launches and reports read. They run on the machine
type, LLVM and emulator that made them: `host_key` names these; `key` names the bytes of a program in a cache. Layout:
MAGIC, SHA-256 of what follows, length of a JSON header (u32), header, code.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from pathlib import Path

from dsl import native_library, source_stamp
from dsl.emulator.ir.places import Places
from dsl.emulator.machine import native
from dsl.emulator.ptx.syntax import Imm, Instr, Sym, Variable
from dsl.emulator.tensor_core.tensor_core import DEFAULT_GPU_MODEL

MAGIC = b"PTXCODE1"
_HEAD = struct.Struct("<8s32sI")


class BadObject(ValueError):
    """Bytes that are not a program: torn, altered, or made by another emulator, LLVM or type of machine."""


@functools.cache
def host_key() -> str:
    """A digest of what machine code depends on besides the PTX: the CPU, LLVM, and this package's sources."""
    library = native_library.here().name  # which has a digest of its sources
    sources = source_stamp.stamp(Path(__file__).parents[1])
    return hashlib.sha256(repr((native.host(), library, sources)).encode()).hexdigest()


def key(ptx: str, gpu_model: str = DEFAULT_GPU_MODEL) -> str:
    """The name of a program's bytes in a cache."""
    return hashlib.sha256(f"{host_key()}\0{gpu_model}\0{ptx}".encode()).hexdigest()


def pack(header: dict, blobs: dict[str, bytes]) -> bytes:
    """One bytes object of a JSON-able header and named blobs."""
    rows = {name: len(blob) for name, blob in blobs.items()}
    text = json.dumps(header | {"host": host_key(), "blobs": rows}, separators=(",", ":")).encode()
    rest = text + b"".join(blobs.values())
    return _HEAD.pack(MAGIC, _digest(len(text), rest), len(text)) + rest


def _digest(length: int, rest: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<I", length) + rest).digest()


def unpack(data: bytes) -> tuple[dict, dict[str, bytes]]:
    """What `pack` was given. Raises BadObject."""
    if len(data) < _HEAD.size:
        raise BadObject("it is too short")
    magic, digest, length = _HEAD.unpack_from(data)
    rest = data[_HEAD.size :]
    if magic != MAGIC or _digest(length, rest) != digest:
        raise BadObject("it is torn or altered")
    header = json.loads(rest[:length])
    if header.pop("host") != host_key():
        raise BadObject("another emulator, LLVM or type of machine made it")
    blobs, at = {}, length
    for name, size in header["blobs"].items():
        blobs[name] = rest[at : at + size]
        at += size
    return header, blobs


# ** rows of JSON


def variable_row(variable: Variable) -> list:
    init = [
        [offset, size, [value.name, value.offset] if isinstance(value, Sym) else value.value, shift]
        for offset, size, value, shift in variable.init
    ]
    return [variable.name, variable.space, variable.align, variable.size, variable.type, init, variable.extern]


def variable_of(row: list) -> Variable:
    name, space, align, size, type_, init, extern = row
    rows = [
        (offset, size, Sym(*value) if isinstance(value, list) else Imm(value), shift)
        for offset, size, value, shift in init
    ]
    return Variable(name, space, align, size, type_, rows, extern)


def site_row(site: Instr) -> list:
    return [site.opcode, site.mods, site.line, site.loc, site.text, site.callers, site.traits]


def site_of(row: list) -> Instr:
    """Enough of the instruction for a report: it has no operands."""
    opcode, mods, line, loc, text, callers, traits = row
    loc, callers = tuple(loc) if loc else None, tuple(map(tuple, callers))
    return Instr(opcode, tuple(mods), [], None, line, loc, text, callers, traits)


PLACES = ("smem_static", "local_bytes", "param_offsets", "param_bytes")


def places_row(places: Places) -> list:
    return [getattr(places, name) for name in PLACES]


def places_of(row: list) -> Places:
    return Places(**dict(zip(PLACES, row)))
