"""Faults of tensor maps and copies of boxes, in words."""

from __future__ import annotations

import ctypes

from dsl.emulator.machine import context


def _bad_map(launch, instr):
    dimensions = launch.ctx.address
    if dimensions:
        return f"the tensor map is of {dimensions} dimensions", "give as many coordinates as the tensor has dimensions"
    return (
        "there is no tensor map at this address, or the map of a tensor whose address or strides are not multiples of "
        "16 bytes",
        "pass what the host made of the tensor, as a kernel parameter; pad its rows to a multiple of 16 bytes",
    )


def _map_misaligned(launch, instr):
    return (
        f"the address of the tensor map must be a multiple of 64, got 0x{launch.ctx.address:x}",
        "pass the map as a kernel parameter (`const __grid_constant__ CUtensorMap`), or align its memory to 64 bytes",
    )


def _map_place(launch, instr):
    where = "shared memory" if launch.ctx.address else "the thread's local memory"
    copied = (
        "copy it to global memory (tensormap.cp_fenceproxy) first"
        if launch.ctx.address
        else ("pass the map as `const __grid_constant__ CUtensorMap`: without __grid_constant__ the compiler copies it")
    )
    return f"the tensor map is in {where}; it must be in global, constant or parameter memory", copied


def _bad_start(launch, instr):
    start, unit = ctypes.c_int64(launch.ctx.address).value, launch.ctx.access_bytes
    return (
        f"the box begins {start} bytes into a row of the tensor; it must begin at a multiple of {unit}",
        "keep the first coordinate at such a multiple, and mask what is too much",
    )


def _bad_interleave(launch, instr):
    return (
        "a copy by an interleaved map of im2col, or with a step of channels, is not emulated",
        "make the map with cuTensorMapEncodeTiled, of 3 to 5 dimensions, and 1 as its first element stride",
    )


def _bad_rows(launch, instr):
    return f"`{instr.name}` copies rows, but the box of the tensor map has {launch.ctx.address} of them", (
        "make the map with a box of one row: boxDim[1] = 1"
    )


def _bad_halo(launch, instr):
    return _not_below(launch, instr, "wHalo")


def _bad_offset(launch, instr):
    return _not_below(launch, instr, "wOffset")


def _not_below(launch, instr, name: str):
    value, most = launch.ctx.address, launch.ctx.access_bytes
    return f"{name} of `{instr.name}` must be 0 to {most - 1}, got {value}", "give it in this range"


def _halo_ends(launch, instr):
    return (
        "the halo goes past the last pixel of a row of the box; no document gives its pixels",
        "let the box end later (a greater upper corner), or the column end before the row does",
    )


def _past_row(launch, instr):
    first = ctypes.c_int64(launch.ctx.address).value
    return f"the first pixel, {first} along W, is past the last one of the box of the tensor map", (
        "begin inside the box, or before it"
    )


VERBS = {"tensormap": lambda instr: "changes"}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.BAD_MAP: _bad_map,
    context.MAP_MISALIGNED: _map_misaligned,
    context.MAP_PLACE: _map_place,
    context.BAD_START: _bad_start,
    context.BAD_INTERLEAVE: _bad_interleave,
    context.BAD_ROWS: _bad_rows,
    context.BAD_HALO: _bad_halo,
    context.BAD_OFFSET: _bad_offset,
    context.HALO_ENDS: _halo_ends,
    context.PAST_ROW: _past_row,
}
