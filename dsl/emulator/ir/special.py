"""Predefined registers. PTX ISA chapter 10."""

from __future__ import annotations

from dsl.emulator.ir.places import RESERVED, RESERVED_BYTES
from dsl.emulator.ptx.syntax import PtxError

_AXIS = {"x": 0, "y": 1, "z": 2}


def read_special(body, name: str) -> tuple[str, int]:
    """The value (IR text) and width in bits of `name`, such as %tid.x. Raises PtxError for an unknown one."""
    root, _, part = name[1:].partition(".")
    if part in _AXIS and root in _VECTORS:
        return _VECTORS[root](body, _AXIS[part]), 32
    if root in _SCALARS and not part:
        return _SCALARS[root](body)
    raise PtxError(f"the register `{name}` is neither declared nor predefined")


def _ntid(body, axis):
    return body.load("block_dim", str(axis), constant=True)


def _grid(body, axis):
    return body.load("grid", str(axis), constant=True)


def _cluster(body, axis):
    return body.load("cluster", str(axis), constant=True)


def _in_cluster(body, axis):
    return body.op(f"urem i32 {body.threads['block_' + 'xyz'[axis]]}, {_cluster(body, axis)}")


def _rank(body):
    """%cluster_ctarank: the block's place in its cluster, x first."""
    rank = _in_cluster(body, 2)
    for axis in (1, 0):
        rank = body.add(body.mul(rank, _cluster(body, axis)), _in_cluster(body, axis))
    return rank, 32


def _cluster_blocks(body):
    x, y, z = (_cluster(body, axis) for axis in range(3))
    return body.mul(body.mul(x, y), z), 32


_VECTORS = {
    "tid": lambda body, axis: body.threads["xyz"[axis]],
    "ntid": _ntid,
    "ctaid": lambda body, axis: body.threads["block_" + "xyz"[axis]],
    "nctaid": _grid,
    # The blocks of a cluster run as any others do: instructions by which they meet are refused (isa.py).
    "clusterid": lambda body, axis: body.op(f"udiv i32 {body.threads['block_' + 'xyz'[axis]]}, {_cluster(body, axis)}"),
    "nclusterid": lambda body, axis: body.op(f"udiv i32 {_grid(body, axis)}, {_cluster(body, axis)}"),
    "cluster_ctaid": _in_cluster,
    "cluster_nctaid": _cluster,
}


def _lane(body) -> str:
    return body.and_(body.threads["linear"], 31)


def _lanemask(how: str):
    def emit(body):
        lane = _lane(body)
        bit = body.shl(1, lane)
        less = body.sub(bit, 1)
        value = {
            "eq": bit,
            "lt": less,
            "le": body.or_(less, bit),
            "gt": body.not_(body.or_(less, bit)),
            "ge": body.not_(less),
        }[how]
        return value, 32

    return emit


def _clock(body):
    value = body.op("call i64 @llvm.readcyclecounter()")
    return value, 64


def _clock_half(shift: int):
    def emit(body):
        value = body.lshr(_clock(body)[0], shift, "i64")
        return body.cast("trunc", value, "i64", "i32"), 32

    return emit


def _smem_total(body):
    return body.cast("trunc", body.load("smem_bytes", constant=True), "i64", "i32"), 32


def _reserved(offset: int):
    """A place in the system's shared memory."""
    return lambda body: (str(body.places.rows[RESERVED][1] + offset), 32)


def _half_of_workspace(body, shift: int) -> str:
    """The address of what blocks of a cooperative launch meet by, as CUDA's headers read it."""
    return body.op(f"trunc i64 {body.lshr(body.load('grid_workspace', constant=True), shift, 'i64')} to i32")


def _multiprocessors(body):
    return body.load("multiprocessors", constant=True), 32


def _multiprocessor(body):
    """%smid: blocks take one multiprocessor after another, so each has its own where the GPU has as many."""
    block = body.threads["block_z"]
    for axis in (1, 0):
        block = body.add(body.mul(block, _grid(body, axis)), body.threads["block_" + "xyz"[axis]])
    return body.op(f"urem i32 {block}, {_multiprocessors(body)[0]}"), 32


_SCALARS = {
    "laneid": lambda body: (_lane(body), 32),
    "warpid": lambda body: (body.lshr(body.threads["linear"], 5), 32),
    "nwarpid": lambda body: (body.load("warps", constant=True), 32),
    "smid": _multiprocessor,
    "nsmid": _multiprocessors,
    "gridid": lambda body: ("1", 64),
    "is_explicit_cluster": lambda body: (body.op(f"icmp ne i32 {_cluster_blocks(body)[0]}, 1"), 1),
    "cluster_ctarank": _rank,
    "cluster_nctarank": _cluster_blocks,
    "clock": _clock_half(0),
    "clock_lo": _clock_half(0),
    "clock_hi": _clock_half(32),
    "clock64": _clock,
    "globaltimer": _clock,
    "globaltimer_lo": _clock_half(0),
    "globaltimer_hi": _clock_half(32),
    "lanemask_eq": _lanemask("eq"),
    "lanemask_lt": _lanemask("lt"),
    "lanemask_le": _lanemask("le"),
    "lanemask_gt": _lanemask("gt"),
    "lanemask_ge": _lanemask("ge"),
    "dynamic_smem_size": lambda body: (body.load("smem_dynamic", constant=True), 32),
    "total_smem_size": _smem_total,
    "aggr_smem_size": _smem_total,
    **{
        f"reserved_smem_offset_{name}": _reserved(offset)
        for name, offset in {"begin": 0, "end": RESERVED_BYTES, "cap": RESERVED_BYTES, "0": 0, "1": 512}.items()
    },
    "current_graph_exec": lambda body: ("0", 64),
    **{f"envreg{i}": (lambda body: ("0", 32)) for i in range(32)},
    "envreg1": lambda body: (_half_of_workspace(body, 32), 32),
    "envreg2": lambda body: (_half_of_workspace(body, 0), 32),
}
