"""Forms of wmma: a warp loads its matrices, multiplies, and stores D. PTX ISA 9.7.14.4.

Only memory shows what they do, because the ISA leaves open which lane has which element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dsl.emulator.families.wmma.tiles import Product, fragment
from dsl.emulator.tensor_core.fragments import BITS
from dsl.forms.form import Form
from dsl.forms.kinds.tensor_core import PROBES, elements
from dsl.forms.kinds.warp import LANES

_WIDE = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
_LAYOUTS = [*itertools.product(("row", "col"), repeat=2)]


def form(shape: tuple[int, int, int], kind: str, d: str, c: str, layouts=("row", "col"), ending="", start="") -> Form:
    """One form as a kernel of PROBES warps, with matrices of one kind of operands each."""
    m, n, k = shape
    size, product = f"m{m}n{n}k{k}", Product(shape, kind)
    types = f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}"
    name = f"wmma.mma{start}.sync.aligned.{'.'.join(layouts)}.{size}.{types}{ending}"
    matrices = {"a": (kind, m * k, layouts[0]), "b": (kind, k * n, layouts[1]), "c": (c, m * n, "row")}
    arrays = [_packed(elements(each, count, seed), each) for seed, (each, count, _) in enumerate(matrices.values())]
    text, lists = [], {}
    for (matrix, (each, _, layout)), array, parameter in zip(matrices.items(), arrays, ("a0", "a1", "a2")):
        lists[matrix] = _list(matrix, len(fragment(product, matrix, each).places))
        text += [_address(parameter, array.itemsize)]
        text += [f"wmma.load.{matrix}.sync.aligned.{layout}.{size}.global.{each} {lists[matrix]}, [%base];"]
    lists["d"] = _list("d", len(fragment(product, "c", d).places))
    result = f"V{m * n * BITS[d] // 8 // LANES}"
    text += [f"{name} {', '.join(lists[each] for each in 'dabc')};", _address("d0", int(result[1:]))]
    text += [f"wmma.store.d.sync.aligned.row.{size}.global.{d} [%base], {lists['d']};"]
    words = "b64" if kind == "f64" else "b32"
    declarations = " ".join(f".reg .{words} %m{each}<8>;" for each in "abcd")
    is_float = kind not in ("s8", "u8", "s4", "u4", "b1", "f64")
    return Form(
        name, "\n".join(text), tuple(arrays), (result,), threads=32, by_model=is_float, declarations=declarations
    )


def _list(matrix: str, count: int) -> str:
    return "{" + ", ".join(f"%m{matrix}{i}" for i in range(count)) + "}"


def _address(parameter: str, size: int) -> str:
    """Text that puts the address of the matrix of a warp, which has `size` bytes a lane, into %base."""
    return (
        f"ld.param.u64 %base, [p_{parameter}];\nand.b32 %t, %i, -32;\nmul.wide.u32 %off, %t, {size};\n"
        "add.u64 %base, %base, %off;"
    )


def _packed(values: np.ndarray, kind: str) -> np.ndarray:
    """Elements of PROBES matrices as they are in memory, in 32 equal parts each."""
    bits = BITS[kind]
    if bits < 8:
        places = np.arange(8 // bits, dtype=np.uint64) * np.uint64(bits)
        values = (values.reshape(-1, 8 // bits) << places).sum(1)
    data = values.astype(f"u{max(bits, 8) // 8}").tobytes()
    return np.frombuffer(data, f"V{len(data) // (PROBES * LANES)}")


def forms() -> Iterator[Form]:
    for shape in _WIDE:
        for d, c in itertools.product(("f16", "f32"), repeat=2):
            yield from (form(shape, "f16", d, c, layouts) for layouts in _LAYOUTS)
        yield from (form(shape, "bf16", "f32", "f32", layouts) for layouts in _LAYOUTS)
        for kind, layouts, ending in itertools.product(("s8", "u8"), _LAYOUTS, ("", ".satfinite")):
            yield form(shape, kind, "s32", "s32", layouts, ending)
    for layouts in _LAYOUTS:
        yield form((16, 16, 8), "tf32", "f32", "f32", layouts)
        yield form((8, 8, 4), "f64", "f64", "f64", layouts)
    for kind, ending in itertools.product(("s4", "u4"), ("", ".satfinite")):
        yield form((8, 8, 32), kind, "s32", "s32", ending=ending)
    for operation in ("xor", "and"):
        yield form((8, 8, 128), "b1", "s32", "s32", start=f".{operation}.popc")
