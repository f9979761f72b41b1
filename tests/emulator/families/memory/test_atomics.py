"""atom and red of vectors of floats, against numpy by element. PTX ISA 9.7.13.5, 9.7.13.6: .vec_16_bit, .vec_32_bit."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.memory.test_emit import one_thread

# Elements of a vector, and its types; bf16 is the upper half of an f32 here.
SHAPES = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)}
FORMS = [(kind, count, operation) for kind, counts in SHAPES.items() for count in counts
         for operation in (("add",) if kind == "f32" else ("add", "min", "max"))]  # fmt: skip


def floats(bits: np.ndarray, kind: str) -> np.ndarray:
    """The f32 of each element."""
    if kind == "f32":
        return bits.view(np.float32)
    if kind.startswith("bf16"):
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


def stored(values: np.ndarray, kind: str) -> np.ndarray:
    """The bytes of f32 values that are exact in `kind`."""
    if kind == "f32":
        return values.astype(np.float32).view(np.uint8)
    if kind.startswith("bf16"):
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    return values.astype(np.float16).view(np.uint8)


def kernel(kind: str, count: int, operation: str, opcode: str, hint: str = "") -> str:
    """The vector at [out+64] meets the one at [src]; what atom returns goes to [out]."""
    bits = 16 if kind in ("f16", "bf16") else 32
    old, new = (", ".join(f"%{name}{i}" for i in range(count)) for name in "xy")
    noftz = "" if kind == "f32" else ".noftz"
    name = f"{opcode}.relaxed.gpu.global.{operation}{noftz}{hint}.v{count}.{kind}"
    policy = ", %rd1" if hint else ""
    lines = [f"ld.global.b{bits} %y{i}, [%g+{i * bits // 8}];" for i in range(count)]
    lines.append("createpolicy.fractional.L2::evict_first.b64 %rd1, 0.5;")
    target = f"{{{old}}}, " if opcode == "atom" else ""
    lines.append(f"{name} {target}[%o+64], {{{new}}}{policy};")
    if opcode == "atom":
        lines += [f"st.global.b{bits} [%o+{i * bits // 8}], %x{i};" for i in range(count)]
    return one_thread("\n".join(lines), registers=f".reg .b{bits} %x<8>, %y<8>;")


def aligned(values: np.ndarray) -> np.ndarray:
    raw = np.zeros(values.nbytes + 64, np.uint8)
    space = raw[-raw.ctypes.data % 64 :][: values.nbytes]
    space[:] = values.view(np.uint8)
    return space


@pytest.mark.parametrize("opcode, hint", [("atom", ""), ("red", ""), ("atom", ".L2::cache_hint")])
@pytest.mark.parametrize("kind, count, operation", FORMS, ids=[".".join(map(str, form)) for form in FORMS])
def test_each_element(machine, kind, count, operation, opcode, hint):
    elements = count * (2 if kind.endswith("x2") else 1)
    random = np.random.default_rng(count)
    a, b = (random.integers(-60, 60, elements).astype(np.float32) for _ in range(2))
    if operation != "add":
        a[0], b[-1] = np.nan, np.nan
    size = elements * (4 if kind == "f32" else 2)
    out = aligned(np.zeros(128, np.uint8))
    out[64 : 64 + size] = stored(a, kind)
    machine.run(kernel(kind, count, operation, opcode, hint), out=out, src=aligned(stored(b, kind)))
    function = {"add": np.add, "min": np.fmin, "max": np.fmax}[operation]
    np.testing.assert_array_equal(floats(out[64 : 64 + size], kind), function(a, b))
    assert not out[64 + size :].any()
    if opcode == "atom":
        np.testing.assert_array_equal(floats(out[:size], kind), a)


def test_sums_of_all_threads(machine):
    """Each of 96 threads of 3 blocks adds a vector to one place."""
    ptx = """
.visible .entry k(.param .u64 out)
{
  .reg .b64 %o; .reg .f32 %f<4>; .reg .b32 %t;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f3F800000; neg.f32 %f2, %f0;
  mov.f32 %f3, 0f40000000;
  red.global.add.v4.f32 [%o], {%f0, %f1, %f2, %f3};
  ret;
}
"""
    out = aligned(np.zeros(16, np.uint8))
    machine.run(ptx, grid=3, block=96, out=out, checks=("race",))
    total = 3 * 96 * 95 / 2
    assert out.view(np.float32).tolist() == [total, 288, -total, 576]


def test_a_vector_is_aligned_to_its_size(machine):
    text = "mov.b32 %r1, 0; red.global.add.v2.f32 [%g+4], {%f1, %f2};"
    with pytest.raises(emulator.Fault) as caught:
        machine.run(one_thread(text), out=aligned(np.zeros(16, np.uint8)), src=aligned(np.zeros(16, np.uint8)))
    assert caught.value.kind == "misaligned" and "is not aligned to 8 bytes (it is 4 past)" in str(caught.value)


def test_ptxas_accepts_them_all(ptxas):
    texts = [kernel(*form, "atom") for form in FORMS] + [kernel("f32", 4, "add", "red", ".L2::cache_hint")]
    whole = "".join(text.replace(".entry k(", f".entry k{i}(") for i, text in enumerate(texts))
    ptxas(".version 8.1\n.target sm_90a\n.address_size 64\n" + whole)


@pytest.mark.parametrize("text", ["atom.global.add.v2.u32 {%r1, %r2}, [%g], {%r3, %r4};",
                                  "red.shared.add.v2.f32 [%r1], {%f1, %f2};"])  # fmt: skip
def test_no_others_exist(machine, text):
    out = np.zeros(4, np.uint32)
    with pytest.raises(emulator.Unsupported, match=r"the emulator has no such form, `\.(v2|shared)` does not go with"):
        machine.run(one_thread(text), out=out, src=out)
