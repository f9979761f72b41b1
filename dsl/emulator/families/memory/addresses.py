"""cvta, isspacep: addresses of one state space as addresses of another. PTX ISA 9.7.9.17, 9.7.9.18."""

from __future__ import annotations

from dsl.emulator.families.cluster import emit as cluster

PARAM_SPACE_BYTES = 1 << 16  # no host address is below it; kernels have at most 32764 bytes of parameters


def of_param(body, address: str) -> str:
    """A .param address as a host address. Taken in 32 bits, as Triton does, it is an offset among the parameters."""
    is_offset = body.cmp("ult", address, PARAM_SPACE_BYTES, "i64")
    return body.add(address, body.select(is_offset, body.load("params", constant=True), "0", "i64"), "i64")


def address_space(body, instr):
    """cvta: shared and local addresses are offsets, generic ones host addresses; .param may be either.

    An address that was converted to shared or from it already stays as it is: the machine code takes the lower 32
    bits of an address of either kind, and sets the upper ones.
    """
    source = body.read(instr.operands[1], 64)
    space = next((m.split("::")[0] for m in instr.mods if m.split("::")[0] in ("shared", "local")), None)
    is_param = any(m.startswith("param") for m in instr.mods) and "to" not in instr.mods
    value = of_param(body, source) if is_param else source
    if space == "shared" and body.clustered:
        value = (cluster.of_generic if "to" in instr.mods else cluster.generic)(body, source)
    elif space:
        base = window(body, space)
        value = body.op(f"{'sub' if 'to' in instr.mods else 'add'} i64 {source}, {base}")
    if space == "shared":
        is_offset = body.cmp("ult", source, 1 << 32, "i64")
        value = body.select(is_offset, *((source, value) if "to" in instr.mods else (value, source)), "i64")
    body.write(instr.operands[0], value, 64)


def window(body, space: str) -> str:
    """The host address of the block's shared memory or the thread's local memory."""
    if space == "shared":
        return body.load("smem", constant=True)
    linear = body.resize(body.threads["linear"], 32, 64)
    offset = body.mul(linear, body.load("local_bytes", constant=True), "i64")
    return body.add(body.load("local", constant=True), offset, "i64")


def is_space(body, instr):
    """isspacep: whether a generic address is in a window."""
    address = body.read_address(instr.operands[1])
    space = next(m.split("::")[0] for m in instr.mods)
    if "shared::cluster" in instr.mods:
        return body.write(instr.operands[0], cluster.in_cluster(body, address), 1)
    flags = {}
    for name, base, size in _windows(body):
        offset = body.sub(address, base, "i64")
        flags[name] = body.cmp("ult", offset, size, "i64")
    if space in flags:
        return body.write(instr.operands[0], flags[space], 1)
    shared = cluster.in_cluster(body, address) if body.clustered else flags["shared"]
    value = body.or_(shared, flags["local"], "i1")
    for name in ("const", "param"):
        value = body.or_(value, flags[name], "i1")
    return body.write(instr.operands[0], body.xor(value, "true", "i1"), 1)  # global


def _windows(body):
    """(space, its first host address, its bytes): the other addresses are of global memory."""
    for space, size in (("shared", "smem_bytes"), ("local", "local_bytes")):
        yield space, window(body, space), body.load(size, constant=True)
    yield "param", body.load("params", constant=True), str(body.places.param_bytes)
    yield "const", body.load("variables", constant=True), str(body.places.const_bytes)
