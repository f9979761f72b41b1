"""Prints size, alignment and measured field offsets of 150 random structs and unions: the same under any compiler.

tests/tile/memory/upstream_structs.txt is what nvidia-cutlass-dsl 4.8.1 prints.
"""

import random

import cutlass
import cutlass.cute as cute

SCALARS = [
    cutlass.Boolean,
    cutlass.Int8,
    cutlass.Uint8,
    cutlass.Int16,
    cutlass.Uint16,
    cutlass.Int32,
    cutlass.Uint32,
    cutlass.Int64,
    cutlass.Uint64,
    cutlass.Float16,
    cutlass.BFloat16,
    cutlass.Float32,
    cutlass.Float64,
]


def random_kind(rng, made):
    choice = rng.random()
    if choice < 0.4:
        return rng.choice(SCALARS)
    if choice < 0.65:
        return cute.struct.MemRange[rng.choice(SCALARS), rng.choice([1, 2, 3, 5, 16, 33])]
    if choice < 0.8 and made:
        return rng.choice(made)
    many = cute.struct.MemRange[rng.choice(SCALARS), rng.choice([1, 3, 8])]
    inner = rng.choice([rng.choice(SCALARS), many, *made[-2:]])
    return cute.struct.Align[inner, 1 << rng.randrange(9)]


def random_structs(count):
    rng, made, unions = random.Random(4), [], []
    for index in range(count):
        fields = {f"f{i}": random_kind(rng, made[-6:]) for i in range(rng.randrange(1, 6))}
        decorator = cute.union if index % 5 == 4 else cute.struct
        whole = decorator(type(f"S{index}", (), {"__annotations__": fields}))
        (unions if index % 5 == 4 else made).append(whole)
        yield whole, fields


@cute.jit
def host(address: cutlass.Int64):
    base = cute.make_ptr(cutlass.Int8, address, cute.AddressSpace.gmem, assumed_align=1024)
    for index, (whole, fields) in enumerate(random_structs(150)):
        at = whole(base)
        offsets = []
        for name in fields:
            field = getattr(at, name)
            pointer = (
                field.data_ptr()
                if hasattr(field, "get_tensor")
                else field.base
                if hasattr(field, "base")
                else field.ptr
            )
            offsets.append(pointer.toint() - address)
        sizes = f"{index} {whole.__sizeof__()} {whole.size_in_bytes()} {whole.__alignof__()}"
        cute.printf(sizes + " %d" * len(offsets), *offsets)


host(1 << 20)
