"""The memory of a multimem address. PTX ISA 8.2.3, 9.7.9.14.

A multicast object has memory on each of its devices. There is one device here, so the sum of all values is the value,
and a store or a reduction goes to one place: families/memory makes these accesses.
"""

from __future__ import annotations


def checked(body, address: str, size_bytes: int, site: int) -> str:
    """A pointer to the memory of a multimem address, after the test that it is one."""
    where = f"i64 {address}, i64 {size_bytes}, i32 {site}, i32 {body.threads['linear']}"
    target = body.op(f"call i64 @emu_multimem(ptr %ctx, {where})")
    body.stop_unless(body.cast("zext", body.cmp("ne", target, 0, "i64"), "i1", "i32"))
    return body.cast("inttoptr", target, "i64", "ptr")
