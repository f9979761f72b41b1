"""The faults of this family in words: see diagnosis/fault_report.py."""

from __future__ import annotations

from dsl.emulator.machine import context


def _bad_texture(launch, instr):
    return f"{launch.ctx.address:#x} is not a texture or surface object", (
        "give the kernel what cudaCreateTextureObject or cudaCreateSurfaceObject made, and destroy it after the kernel"
    )


def _outside(launch, instr):
    ctx = launch.ctx
    place = ctx.address - (1 << 64) if ctx.address >> 63 else ctx.address
    return f"an access of {ctx.access_bytes} bytes, at byte {place} of a row, is outside of the surface", (
        "keep the coordinates inside, the first in bytes (x * sizeof(T)), or use cudaBoundaryModeZero or "
        "cudaBoundaryModeClamp"
    )


ILLEGAL = {context.BAD_TEXTURE: _bad_texture, context.OUTSIDE_SURFACE: _outside}
