"""Matrix products of a warpgroup: 128 threads, operands in shared memory.  PTX ISA: Asynchronous Warpgroup Level Matrix
Multiply-Accumulate Instructions (wgmma; sm_90a).

A product goes on after the instruction: `fence` before the first one orders it after this warpgroup's writes of its
registers, `commit_group` closes a group of them, `wait_group` waits until at most some of the latest are on their way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32
from dsl.gpu.inline import ptx, raw_ptx
from dsl.gpu.memory.copy import static_count

_CONSTRAINTS = {mlir.f32: "f", mlir.i32: "r"}


def _need() -> None:
    trace.kernel().need("sm_90a", "multiplies matrices of a warpgroup")


def fence() -> None:
    """Order later products after accesses of the registers they use.  PTX ISA: wgmma.fence."""
    _need()
    ptx("wgmma.fence.sync.aligned;", None, "")


def commit_group() -> None:
    """Close a group of the products so far.  PTX ISA: wgmma.commit_group."""
    _need()
    ptx("wgmma.commit_group.sync.aligned;", None, "")


def wait_group(group: int) -> None:
    """Wait until at most `group` of the latest groups are on their way; it is static.  PTX ISA: wgmma.wait_group."""
    _need()
    ptx(f"wgmma.wait_group.sync.aligned {static_count(group).value};", None, "")


def wgmma(
    name: str,
    a: mlir.Value | Sequence[mlir.Value],
    b: mlir.Value,
    c: Sequence[mlir.Value],
    accumulate: Any,
    immediates: Sequence[int],
) -> list[mlir.Value]:
    """D = A * B + C, or A * B where `accumulate` is false; registers of D take the place of the registers of C.

    `name`: shape and types, `m64n64k16.f32.f16.f16`. A is a descriptor (i64) or four registers (i32), B a descriptor.
    `immediates`: what follows the predicate. Every thread of the warpgroup must execute it.  PTX ISA: wgmma.mma_async.
    """
    _need()
    type_, count = c[0].type, len(c)
    letter = _CONSTRAINTS[type_]
    inputs: list[mlir.Value] = [a] if isinstance(a, mlir.Value) else list(a)
    sums = ", ".join(f"${i}" for i in range(count))
    first = 2 * count
    operands = [f"${first + i}" for i in range(len(inputs))]
    shown = operands[0] if inputs[0].type == mlir.i64 else f"{{{', '.join(operands)}}}"
    after = first + len(inputs)
    tail = "".join(f", {each}" for each in immediates)
    text = (
        f"{{ .reg .pred %dsl_p; setp.ne.b32 %dsl_p, ${after + 1}, 0; "
        f"wgmma.mma_async.sync.aligned.{name} {{{sums}}}, {shown}, ${after}, %dsl_p{tail}; }}"
    )
    constraints = [f"={letter}"] * count + [str(i) for i in range(count)]
    constraints += ["l" if each.type == mlir.i64 else "r" for each in inputs] + ["l", "r"]
    whole = raw_ptx(
        text, mlir.struct(*[type_] * count), ",".join(constraints), *c, *inputs, b, Int32(Boolean(accumulate))
    )
    return [mlir.field(whole, i, type_) for i in range(count)]
