"""multimem.ld_reduce, .st and .red of a multicast object of one device, against numpy by element; their grammar against
ptxas. PTX ISA 8.2.3, 9.7.9.14.

Modules tested here: dsl/emulator/families/multimem/leeway.py, dsl/emulator/families/multimem/words.py.
"""

from __future__ import annotations

import itertools
import re
import subprocess

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.dependence.sources import ORDER_OF_SUMS
from dsl.emulator.families import table as isa
from dsl.emulator.families.multimem.leeway import LEEWAY
from dsl.emulator.ir import operand_grammar
from dsl.emulator.ptx.syntax import Instr
from tests.emulator.conftest import HEADER_100, use
from tests.emulator.families.memory.test_atomics import floats

AT = 0x7000_0000_0000  # where the multicast object is mapped; nothing else is there
BYTES = 64
INTEGERS = {"u32": np.uint32, "s32": np.int32, "b32": np.uint32, "u64": np.uint64, "s64": np.int64, "b64": np.uint64}
FUNCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
# Elements of vectors, and their types; 1: no vector.
VECTORS = {
    "f16x2": (1, 2, 4), "bf16x2": (1, 2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f32": (1, 2, 4), "f64": (1,),
    "e5m2x4": (1, 2, 4), "e4m3x4": (1, 2, 4), "e5m2x2": (2, 4, 8), "e4m3x2": (2, 4, 8), "e5m2": (4, 8), "e4m3": (4, 8),
}  # fmt: skip
BITS = {each: 8 * np.dtype(kind).itemsize for each, kind in INTEGERS.items()}
BITS |= {"b16": 16, "b128": 128, "f16x2": 32, "bf16x2": 32, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
BITS |= {f"{each}{count}": 8 * bytes_ for each in ("e5m2", "e4m3") for count, bytes_ in (("", 1), ("x2", 2), ("x4", 4))}
ELEMENTS = [*((kind, 1) for kind in INTEGERS), *((kind, count) for kind, counts in VECTORS.items() for count in counts)]


def values(kind: str, count: int) -> str:
    names = [f"%b{BITS[kind]}_{i}" for i in range(count)]
    return names[0] if count == 1 else f"{{{', '.join(names)}}}"


def kernel(body: str, reads: str = "src") -> str:
    """One thread; %m is the multimem address."""
    registers = " ".join(f".reg .b{bits} %b{bits}_<8>;" for bits in (8, 16, 32, 64))
    return f""".visible .entry k(.param .u64 at, .param .u64 {reads})
{{
  {registers} .reg .b64 %m, %g; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p;
  ld.param.u64 %m, [at]; ld.param.u64 %g, [{reads}];
{body}
  ret;
}}
"""


def moves(opcode: str, kind: str, count: int) -> str:
    """Load the registers from [%g], or store them there."""
    bits = BITS[kind]
    rows = ((f"%b{bits}_{i}", f"[%g+{i * bits // 8}]") for i in range(count))
    pairs = (pair if opcode == "ld" else pair[::-1] for pair in rows)
    return "\n".join(f"  {opcode}.global.b{bits} {a}, {b};" for a, b in pairs)


def aligned(values: np.ndarray) -> np.ndarray:
    raw = np.zeros(values.nbytes + 64, np.uint8)
    space = raw[-raw.ctypes.data % 64 :][: values.nbytes]
    space[:] = values.view(np.uint8)
    return space


def some_bytes(seed: int) -> np.ndarray:
    return aligned(np.random.default_rng(seed).integers(0, 256, BYTES, dtype=np.uint8))


def vector(count: int) -> str:
    return "" if count == 1 else f".v{count}"


def run(machine, body: str, memory: np.ndarray, src: np.ndarray, **more) -> None:
    """The kernel's multimem addresses begin one alignment before the memory."""
    at = np.uint64(AT + 64)
    machine.run(kernel(body), multimem=[(AT + 64, memory.ctypes.data, memory.nbytes)], at=at, src=src, **more)


@pytest.mark.parametrize("order", ["", ".weak.global", ".acquire.sys", ".relaxed.cta.global"])
@pytest.mark.parametrize("kind, count", ELEMENTS)
def test_a_sum_over_one_device_is_what_is_there(machine_100, kind, count, order):
    operation = "or" if kind in ("b32", "b64") else "max" if kind == "s64" else "add"
    text = f"  multimem.ld_reduce{order}.{operation}{vector(count)}.{kind} {values(kind, count)}, [%m+16];\n"
    memory, out = some_bytes(1), aligned(np.zeros(BYTES, np.uint8))
    run(machine_100, text + moves("st", kind, count), memory, out)
    size = count * BITS[kind] // 8
    np.testing.assert_array_equal(out[:size], memory[16 : 16 + size])
    assert not out[size:].any()


@pytest.mark.parametrize("order", ["", ".weak", ".release.gpu.global", ".relaxed.cluster"])
@pytest.mark.parametrize("kind, count", ELEMENTS)
def test_a_store_is_of_the_one_memory(machine_100, kind, count, order):
    memory, src = some_bytes(2), some_bytes(3)
    expected, size = memory.copy(), count * BITS[kind] // 8
    expected[32 : 32 + size] = src[:size]
    text = f"  multimem.st{order}{vector(count)}.{kind} [%m+32], {values(kind, count)};"
    run(machine_100, f"{moves('ld', kind, count)}\n{text}", memory, src)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("order", ["", ".release.sys", ".relaxed.gpu.global"])
@pytest.mark.parametrize(
    "operation, kind",
    [("add", each) for each in ("u32", "s32", "u64")]
    + [(each, kind) for each in ("min", "max") for kind in ("u32", "s32", "u64", "s64")]
    + [(each, kind) for each in ("and", "or", "xor") for kind in ("b32", "b64")],
)
def test_a_reduction_of_integers(machine, operation, kind, order):
    memory, src = some_bytes(4), some_bytes(5)
    expected = memory.copy()
    cell = expected[8 : 8 + BITS[kind] // 8].view(INTEGERS[kind])
    cell[:] = FUNCTIONS[operation](cell, src[: cell.nbytes].view(INTEGERS[kind]))
    text = f"  multimem.red{order}.{operation}.{kind} [%m+8], {values(kind, 1)};"
    run(machine, f"{moves('ld', kind, 1)}\n{text}", memory, src)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize(
    "kind, count", [row for row in ELEMENTS if row[0] in VECTORS and not row[0].startswith(("e5", "e4"))]
)
def test_a_sum_of_floats_goes_to_each_element(machine, kind, count):
    random = np.random.default_rng(count)
    number = BYTES * 8 // (16 if "16" in kind else BITS[kind])
    a, b = (random.integers(-60, 60, number).astype(np.float64) for _ in range(2))
    memory, src = (aligned(_stored(each, kind)) for each in (a, b))
    touched = count * BITS[kind] * number // (8 * BYTES)
    text = f"  multimem.red.release.gpu.global.add{vector(count)}.{kind} [%m], {values(kind, count)};"
    run(machine, f"{moves('ld', kind, count)}\n{text}", memory, src)
    np.testing.assert_array_equal(_floats(memory, kind)[:touched], a[:touched] + b[:touched])
    np.testing.assert_array_equal(_floats(memory, kind)[touched:], a[touched:])


def _stored(values: np.ndarray, kind: str) -> np.ndarray:
    if kind.startswith("bf16"):
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f64": np.float64, "f32": np.float32}.get(kind, np.float16))


def _floats(memory: np.ndarray, kind: str) -> np.ndarray:
    return memory.view(np.float64) if kind == "f64" else floats(memory, kind).astype(np.float64)


def test_all_threads_add_to_one_place(machine):
    """By ordinary and by multimem addresses."""
    memory = aligned(np.zeros(BYTES, np.uint8))
    body = "  multimem.red.add.u32 [%m], 1; red.global.add.u32 [%g], 1; multimem.red.add.f32 [%m+8], 0f3F000000;"
    run(machine, body, memory, memory, grid=3, block=96)
    assert memory[:4].view(np.uint32)[0] == 2 * 3 * 96 and memory[8:12].view(np.float32)[0] == 144.0


@pytest.mark.parametrize("text, is_open", [("red.add.f32", True), ("red.add.u32", False), ("ld_reduce.add.f32", False)])
def test_sums_of_floats_depend_on_the_order_of_threads(text, is_open):
    instr = Instr("multimem", tuple(text.split(".")), [], None, 1, None, text)
    found = LEEWAY["multimem"](instr, None, True)
    assert found is (ORDER_OF_SUMS if is_open else None)


HAND_OVER = """
  mov.u32 %r0, %ctaid.x; setp.ne.u32 %p, %r0, 0; @%p bra WAIT;
  st.global.u32 [%g+16], 77; multimem.red{release}.add.u32 [%m], 1; ret;
WAIT: ld{acquire}.global.u32 %r1, [%g]; setp.eq.u32 %p, %r1, 0; @%p bra WAIT;
  multimem.ld_reduce.weak.add.u32 %r2, [%m+16]; st.global.u32 [%g+32], %r2;
"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_right", [True, False])
def test_a_release_orders_accesses_by_both_addresses(machine, is_right, seed):
    memory = aligned(np.zeros(BYTES, np.uint8))
    release, acquire = (".release.gpu", ".acquire.gpu") if is_right else ("", ".relaxed.gpu")
    body = HAND_OVER.format(release=release, acquire=acquire)
    if is_right:
        run(machine, body, memory, memory, grid=2, checks=("race", "undefined"), seed=seed)
        assert memory.view(np.uint32)[8] == 77
        return
    with pytest.raises(emulator.Fault) as caught:
        run(machine, body, memory, memory, grid=2, checks=("race", "undefined"), seed=seed)
    assert "RACE" in str(caught.value) and "multimem.ld_reduce" in str(caught.value)


def test_a_multimem_instruction_wants_a_multimem_address(machine):
    memory = aligned(np.zeros(BYTES, np.uint8))
    with pytest.raises(emulator.Fault) as caught:
        run(machine, "  multimem.st.global.u32 [%g+8], 1;", memory, memory)
    text = str(caught.value)
    assert "`multimem.st.global.u32` writes `src[2]`, which is not a multimem address" in text
    assert (
        "fix: use `st` for this memory, or give the address at which a multicast object is mapped (cuMulticastCreate, "
        "cuMulticastBindMem, cuMemMap)" in text
    )


def test_no_other_instruction_takes_a_multimem_address(machine):
    memory = aligned(np.zeros(BYTES, np.uint8))
    with pytest.raises(emulator.Fault) as caught:
        run(machine, "  ld.global.u32 %r1, [%m+8];", memory, memory)
    text = str(caught.value)
    assert "is a multimem address, which only multimem instructions take" in text
    assert "fix: use the address at which the memory itself is, or `multimem.ld_reduce`, `.st` or `.red`" in text


@pytest.mark.parametrize("offset, kind", [(BYTES, "OUT_OF_BOUNDS"), (BYTES - 4, "MISALIGNED"), (-8, "ILLEGAL")])
def test_bounds_and_alignment(machine, offset, kind):
    memory = aligned(np.zeros(BYTES, np.uint8))
    body = f"  multimem.ld_reduce.add.u64 %b64_0, [%m+{offset}];"
    with pytest.raises(emulator.Fault, match="ILLEGAL" if offset == BYTES else kind):
        run(machine, body, memory, memory)


# ** grammar, against ptxas

TYPES = [*INTEGERS, *VECTORS, "b16", "b128"]
CONSTANT = re.compile(r"line (\d+); error")


def every_form() -> list[str]:
    """Each operation with each type, vector and precision, once; and each operation with each order."""
    found = []
    for name, operations in (("ld_reduce", [*FUNCTIONS, "inc"]), ("st", [""]), ("red", [*FUNCTIONS, "exch"])):
        precisions = ["", "acc::f32", "acc::f16"] if name == "ld_reduce" else [""]
        for rest in itertools.product(operations, precisions, ["", "v2", "v4", "v8"], TYPES):
            found.append(".".join(filter(None, ("multimem", name, *rest))))
        last = "u32" if name == "st" else "add.u32"
        scopes, spaces = ("", "cta", "cluster", "gpu", "sys"), ("", "global", "shared")
        orders = ("", "weak", "relaxed", "acquire", "release", "acq_rel")
        for rest in itertools.product(orders, scopes, spaces):
            found.append(".".join(filter(None, ("multimem", name, *rest, last))))
    return found


def _instruction(name: str) -> str:
    _, first, *modifiers = name.split(".")
    count = next((int(each[1]) for each in modifiers if each in ("v2", "v4", "v8")), 1)
    names = [f"%b{BITS[modifiers[-1]]}_{i}" for i in range(count)]
    given = names[0] if count == 1 else f"{{{', '.join(names)}}}"
    return f"{name} {given}, [%m];" if first == "ld_reduce" else f"{name} [%m], {given};"


def _refused(ptxas_path: str, lines: list[str]) -> set[int]:
    registers = " ".join(f".reg .b{bits} %b{bits}_<8>;" for bits in (8, 16, 32, 64, 128))
    head, text = f"{HEADER_100}.visible .entry k() {{ {registers} .reg .b64 %m;\n", "\n".join(lines)
    argv = [ptxas_path, "-arch=sm_100a", "-o", "/dev/null", "-"]
    done = subprocess.run(argv, input=f"{head}{text}\nret; }}\n", text=True, capture_output=True)
    first = head.count("\n") + 1
    return {int(each[1]) - first for each in CONSTANT.finditer(done.stderr)}


def test_ptxas_has_the_same_forms(ptxas_path):
    names = every_form()
    refused = _refused(ptxas_path, [_instruction(each) for each in names])
    assert 100 < len(names) - len(refused) < len(names)
    ours = {at for at, each in enumerate(names) if isa.row_of("multimem", tuple(each.split(".")[1:])) is None}
    # The ISA has sums alone of floats for multimem.red; ptxas takes vectors of halves for min and max too.
    beyond = re.compile(r"multimem\.red\.(min|max)\.v\d\.b?f16(x2)?")
    assert [names[at] for at in refused - ours] == []
    assert [names[at] for at in ours - refused if not beyond.fullmatch(names[at])] == []


OPERANDS = """
multimem.ld_reduce.add.u32 %b64_0, [%m];
multimem.ld_reduce.add.u32 _, [%m];
multimem.ld_reduce.add.v2.f32 {_, %b32_1}, [%m];
multimem.ld_reduce.add.v2.f32 %b32_1, [%m];
multimem.ld_reduce.add.v2.f32 {%b32_0, %b32_1, %b32_2}, [%m];
multimem.ld_reduce.add.v8.f16 {%b16_0, %b16_1, %b16_2, %b16_3, %b16_4, %b16_5, %b16_6, %b16_7}, [%m];
multimem.ld_reduce.add.v4.e5m2 {%b16_0, %b16_1, %b16_2, %b16_3}, [%m];
multimem.ld_reduce.add.u32 %b32_0, %b32_1, [%m];
multimem.st.u32 [%m], %b64_0;
multimem.st.u32 [%m], 5;
multimem.st.u32 [%m];
multimem.red.add.u64 [%m], %b64_0, %b64_1;
""".strip().splitlines()


def test_ptxas_takes_the_same_operands(ptxas_path):
    refused = {at for at, text in enumerate(OPERANDS) if _refused(ptxas_path, [text])}
    ours = set()
    for at, text in enumerate(OPERANDS):
        try:
            use(HEADER_100 + kernel(text))
        except (emulator.PtxError, emulator.Unsupported):
            ours.add(at)
    assert ours == refused and len(refused) == 8


def test_a_vector_may_have_eight_values():
    wide = operand_grammar.read("{v}1")[0][0]
    assert wide.number("f16", ("v8", "f16")) == 8


@pytest.mark.parametrize(
    "target, version, text, why",
    [
        ("sm_80", "8.1", "multimem.st.u32 [%m], %b32_0;", "sm_90"),
        ("sm_90", "8.0", "multimem.st.u32 [%m], %b32_0;", "8.1"),
        ("sm_90", "8.1", "multimem.ld_reduce.add.acc::f32.f16x2 %b32_0, [%m];", "8.2"),
        ("sm_90a", "8.6", "multimem.ld_reduce.add.e5m2x4 %b32_0, [%m];", "sm_100a"),
        ("sm_120", "9.0", "multimem.st.e4m3x4 [%m], %b32_0;", "sm_100a"),
        ("sm_90", "8.1", "multimem.st.u32 [%m], %b32_0;", ""),
        ("sm_120a", "8.7", "multimem.ld_reduce.add.acc::f16.e5m2x4 %b32_0, [%m];", ""),
        ("sm_110f", "9.0", "multimem.st.e4m3x4 [%m], %b32_0;", ""),
    ],
)
def test_ptxas_has_the_same_needs(ptxas_path, target, version, text, why):
    module = f".version {version}\n.target {target}\n.address_size 64\n{kernel(text)}"
    argv = [ptxas_path, f"-arch={target}", "-o", "/dev/null", "-"]
    done = subprocess.run(argv, input=module, text=True, capture_output=True)
    assert (done.returncode == 0) is (not why), done.stderr
    if not why:
        return use(module)
    with pytest.raises(emulator.Unsupported) as caught:
        use(module)
    assert why in str(caught.value)
