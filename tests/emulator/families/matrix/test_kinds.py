"""mma with a kind: against a model that others checked on a real chip, and whole numbers. PTX ISA 9.7.14.5.14.

Modules tested here: dsl/emulator/families/matrix/kinds.cc, dsl/emulator/families/matrix/words.py.
"""

from __future__ import annotations

import itertools
import subprocess

import numpy as np
import pytest

from dsl import emulator
from tests.emulator import exact_products, tensor_core_data as data
from tests.emulator.conftest import Machine, use
from tests.emulator.families.matrix.test_small_and_sparse import chosen_places, metadata_of
from tests.emulator.tensor_core.test_planes import codes, in_containers

HEADER = ".version 8.8\n.target sm_120a\n.address_size 64\n"
SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
PAIRS = list(itertools.product(SMALL, SMALL))
KINDS = {  # (A, B, scale, elements of a block) -> the modifiers
    ("e2m1", "e2m1", "ue8m0", 32): "kind::mxf4nvf4.block_scale.scale_vec::2X",
    ("e2m1", "e2m1", "ue4m3", 16): "kind::mxf4nvf4.block_scale.scale_vec::4X",
}
KEPT = np.load(data.FILE)


@pytest.fixture(scope="module")
def geforce() -> Machine:
    return Machine("rtx5090", HEADER)


def row_of(lane: int, register: int) -> tuple[int, int]:
    """(row, first byte) of a register of A. PTX ISA, figures of m16n8k32 of 8 bits and m16n8k64 of 4."""
    return lane // 4 + (8 if register in (1, 3) else 0), 4 * (lane % 4) + (16 if register >= 2 else 0)


def registers_of_a(a: np.ndarray) -> np.ndarray:
    places = [[row_of(lane, r) for r in range(4)] for lane in range(32)]
    return np.array([[a[row, at : at + 4].copy().view(np.uint32)[0] for row, at in each] for each in places], np.uint32)


def registers_of_b(b: np.ndarray) -> np.ndarray:
    starts = [[4 * (lane % 4) + 16 * r for r in range(b.shape[1] // 16)] for lane in range(32)]
    words = [[b[lane // 4, at : at + 4].copy().view(np.uint32)[0] for at in each] for lane, each in enumerate(starts)]
    return np.array(words, np.uint32)


def d_places() -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the four elements of each lane."""
    lane, i = np.arange(32)[:, None], np.arange(4)[None]
    return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2


def words_of_scales(scales: np.ndarray, matrix: str, byte: int, thread: int, noise: int) -> np.ndarray:
    """A word a lane: the scales where the selector looks for them, noise elsewhere."""
    words = np.random.default_rng(noise).integers(0, 256, (32, 4)).astype(np.uint8)
    for row, values in enumerate(scales):
        lane = 4 * (row % 8) + (2 * thread + row // 8 if matrix == "A" else thread)
        words[lane, byte : byte + len(values)] = values
    return words.view(np.uint32)


def ptx(name: str, half: bool, ids: tuple[str, str] | None) -> str:
    count, of_b = 2 if half else 4, 4 if name.startswith("sp") else 2
    prefix, metadata = ("", "") if of_b == 2 else (".sp::ordered_metadata", ", %meta, 0")
    name = name.removeprefix("sp.")
    c, d = ("{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}" for letter in "cd")
    scales = f", {{%sa}}, {ids[0]}, %sb, {ids[1]}" if ids else ""  # a word may be in braces
    loads = [
        f"ld.param.u64 %p, [{each}]; mul.wide.u32 %o, %lane, {4 * words}; add.s64 %p, %p, %o;\n"
        + " ".join(f"ld.global.b32 %{register}{i if words > 1 else ''}, [%p+{4 * i}];" for i in range(words))
        for each, register, words in (
            ("a", "a", 4),
            ("b", "b", of_b),
            ("sa", "sa", 1),
            ("sb", "sb", 1),
            ("meta", "meta", 1),
            ("c", "c", count),
        )
    ]
    stores = " ".join(f"st.global.b32 [%p+{4 * i}], %d{i};" for i in range(count))
    return (
        HEADER + ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 sa, .param .u64 sb, "
        ".param .u64 meta) {\n"
        ".reg .b32 %lane, %a<4>, %b<4>, %c<4>, %d<4>, %sa, %sb, %meta; .reg .b16 %h<9>; .reg .b64 %p, %o;\n"
        "mov.u32 %lane, %tid.x; " + " ".join(f"mov.b16 %h{i}, {i};" for i in range(9)) + "\n" + "\n".join(loads)
        + f"\nmma{prefix}.sync.aligned.{name} {d}, {{%a0, %a1, %a2, %a3}}, {{{', '.join(f'%b{i}' for i in range(of_b))}}}, "
        f"{c}{metadata}{scales};\n{stores} ret; }}\n"
    )  # fmt: skip


def multiply(
    machine: Machine, name: str, a, b, c: np.ndarray, scales=None, ids=(0, 0, 0, 0), form="{}", metadata=None
) -> np.ndarray:
    """The bits of D from rows of bytes of A and B, the bits of C, and scales; `ids`: byte and thread, of A and B."""
    rows, columns = d_places()
    half = c.itemsize == 2
    of_c = np.ascontiguousarray(c[rows, columns]).view(np.uint32)
    empty = np.zeros(32, np.uint32)
    of_a, of_b = empty, empty
    if scales:
        of_a, of_b = (words_of_scales(each, *where, noise=sum(ids)) for each, where in
                      zip(scales, (("A", *ids[:2]), ("B", *ids[2:]))))  # fmt: skip
    shown = [form.format(each) for each in ids]
    selectors = ("{" + ", ".join(shown[:2]) + "}", "{" + ", ".join(shown[2:]) + "}") if scales else None
    words = empty if metadata is None else metadata
    name = name if metadata is None else f"sp.{name}"
    machine.run(ptx(name, half, selectors), block=32, a=registers_of_a(a), b=registers_of_b(b), c=of_c, sa=of_a,
                sb=of_b, meta=words)  # fmt: skip
    d = np.zeros_like(c)
    d[rows, columns] = of_c.view(c.dtype).reshape(32, 4)
    return d


def modifiers(form: tuple) -> str:
    kind = KINDS.get(form[3:], "kind::mxf8f6f4.block_scale")
    return f"m16n8k{form[2]}.row.col.{kind}.f32.{form[3]}.{form[4]}.f32.{form[5]}"


@pytest.mark.parametrize(
    "form", [form for form in data.scaled_forms() if form[2] == 32 or form[3:] in KINDS], ids=data.name
)
def test_scales_of_blocks_give_the_bits_of_that_gpu(geforce, form):
    """Scales in each byte and each thread that a selector can name."""
    count = form[2] // form[6]
    ids = list(itertools.product(range(0, 4, count), range(2), range(0, 4, count), range(4)))
    kept = KEPT[f"rtx5090 {data.name(form)}"]
    assert kept.size >= 2000
    for seed, expected in enumerate(kept):
        a, b, c, *scales = data.scaled_bits(form, seed)
        of_registers = ("{}", "%h{}")[seed % 2]
        given = multiply(geforce, modifiers(form), a, b, c, scales, ids[7 * seed % len(ids)], of_registers)
        assert np.array_equal(given, expected), data.KINDS[seed % len(data.KINDS)]


def test_mxf4_is_mxf4nvf4_with_scales_of_32_elements(geforce):
    form = (16, 8, 64, "e2m1", "e2m1", "ue8m0", 32)
    for seed, expected in enumerate(KEPT[f"rtx5090 {data.name(form)}"]):
        a, b, c, *scales = data.scaled_bits(form, seed)
        name = modifiers(form).replace("mxf4nvf4", "mxf4")
        assert np.array_equal(multiply(geforce, name, a, b, c, scales), expected)
        assert np.array_equal(multiply(geforce, name.replace(".scale_vec::2X", ""), a, b, c, scales), expected)


@pytest.mark.parametrize("result", ["f32", "f16"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_pair_of_types(geforce, pair, result):
    stream = np.random.default_rng(PAIRS.index(pair))
    for wide in (False, True):
        a, b, c = (codes(kind, shape, stream, wide) for kind, shape in
                   ((pair[0], (16, 32)), (pair[1], (8, 32)), (result, (16, 8))))  # fmt: skip
        rows = in_containers(a, pair[0]), in_containers(b, pair[1])
        given = multiply(geforce, f"m16n8k32.row.col.kind::f8f6f4.{result}.{pair[0]}.{pair[1]}.{result}", *rows, c)
        kept = exact_products.FRACTION[result]
        expected = exact_products.one_sum(a, b.T, c, (*pair, result), 25, kept)
        infinity = {"f16": 0x7C00, "f32": 0x7F800000}[result]
        finite = expected & infinity != infinity
        assert finite.mean() > 0.9 and np.array_equal(given[finite], expected[finite])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_pair_of_types_with_scales(geforce, pair):
    stream = np.random.default_rng(PAIRS.index(pair))
    for low, high in ((120, 135), (0, 20), (200, 230)):
        a, b = (codes(kind, shape, stream, True) for kind, shape in ((pair[0], (16, 32)), (pair[1], (8, 32))))
        c = codes("f32", (16, 8), stream, low < 200)
        scales = [stream.integers(low, high, (rows, 1)).astype(np.uint8) for rows in (16, 8)]
        rows = in_containers(a, pair[0]), in_containers(b, pair[1])
        name = f"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{pair[0]}.{pair[1]}.f32.ue8m0"
        given = multiply(geforce, name, *rows, c, scales)
        powers = [scales[0].astype(np.int64) - 127, scales[1].T.astype(np.int64) - 127]
        expected = exact_products.one_sum(a, b.T, c, (*pair, "f32"), 25, 23, scales=powers)
        finite = expected & 0x7F800000 != 0x7F800000
        assert (finite.any() or low == 200) and np.array_equal(given[finite], expected[finite])
        assert np.array_equal(given[~finite], expected[~finite])  # infinities: no operand is one, or a NaN


def columns_of(places: np.ndarray, run: int) -> np.ndarray:
    """The columns of the elements that are left of each row; `run`: neighbours with one place."""
    chunks = np.arange(places.shape[1])[None, :, None, None] * 4 * run
    return (chunks + places[..., None] * run + np.arange(run)).reshape(places.shape[0], -1)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("pair", PAIRS[::3], ids="-".join)
def test_sparse_sums_of_bytes(geforce, pair, scaled):
    """As the dense sum of the elements that there are."""
    stream = np.random.default_rng(PAIRS.index(pair))
    places = chosen_places("u8", 16, 64, stream)
    a, b, c = (codes(kind, shape, stream, True) for kind, shape in
               ((pair[0], (16, 32)), (pair[1], (8, 64)), ("f32", (16, 8))))  # fmt: skip
    scales = [stream.integers(120, 135, (rows, 1)).astype(np.uint8) for rows in (16, 8)] if scaled else None
    kind = "kind::mxf8f6f4.block_scale" if scaled else "kind::f8f6f4"
    name = f"m16n8k64.row.col.{kind}.f32.{pair[0]}.{pair[1]}.f32" + ".ue8m0" * scaled
    metadata = metadata_of(places, "u8", 0, stream)
    rows = in_containers(a, pair[0]), in_containers(b, pair[1])
    given = multiply(geforce, name, *rows, c, scales, metadata=metadata)
    for row, columns in enumerate(columns_of(places, 1)):
        powers = (
            [scales[0][row : row + 1].astype(np.int64) - 127, scales[1].T.astype(np.int64) - 127] if scaled else (0, 0)
        )
        one = slice(row, row + 1)
        expected = exact_products.one_sum(a[one], b.T[columns], c[one], (*pair, "f32"), 25, 23, scales=powers)
        assert np.array_equal(given[one], expected)


@pytest.mark.parametrize("name, scale, block", [
    ("kind::mxf4.block_scale", "ue8m0", 64), ("kind::mxf4nvf4.block_scale.scale_vec::2X", "ue8m0", 64),
    ("kind::mxf4nvf4.block_scale.scale_vec::4X", "ue4m3", 32),
])  # fmt: skip
def test_sparse_sums_of_four_bits(geforce, name, scale, block):
    """Sums that f32 holds exactly: elements are kept in pairs of neighbours, a scale is of `block` columns."""
    stream = np.random.default_rng(block)
    places = chosen_places("s4", 16, 128, stream)
    a, b = stream.integers(0, 256, (16, 32)).astype(np.uint8), stream.integers(0, 256, (8, 64)).astype(np.uint8)
    near_one = (126, 129) if scale == "ue8m0" else (48, 72)
    scales = [stream.integers(*near_one, (rows, 128 // block)).astype(np.uint8) for rows in (16, 8)]
    left, right = (numbers_of(each) for each in (a, b))
    of_a, of_b = (np.repeat(scale_values(each, scale), block, axis=1) for each in scales)
    dense = np.zeros((16, 128))
    np.put_along_axis(dense, columns_of(places, 2), left, axis=1)
    expected = ((dense * of_a) @ (right * of_b).T).astype(np.float32)
    given = multiply(
        geforce, f"m16n8k128.row.col.{name}.f32.e2m1.e2m1.f32.{scale}", a, b, np.zeros((16, 8), np.uint32), scales,
        metadata=metadata_of(places, "s4", 0, stream),
    )  # fmt: skip
    assert np.array_equal(given.view(np.float32), expected)


def numbers_of(packed: np.ndarray) -> np.ndarray:
    """The values of e2m1, the first in the low bits of a byte."""
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
    return np.where(nibbles & 8, -1, 1) * sizes[nibbles & 7]


def scale_values(bytes_: np.ndarray, kind: str) -> np.ndarray:
    if kind == "ue8m0":
        return 2.0 ** (bytes_.astype(int) - 127)
    return (1 + bytes_ % 8 / 8) * 2.0 ** (bytes_ // 8 - 7.0)


TYPES = "f32.e4m3.e2m1.f32"
LEGAL = {  # what follows mma.sync.aligned. -> the selectors of A and B, and whether ptxas takes it
    f"m16n8k32.row.col.kind::f8f6f4.{TYPES}": ("", True),
    f"kind::f8f6f4.m16n8k32.row.col.{TYPES}": ("", True),
    f"m16n8k32.row.col.{TYPES}": ("", False),
    f"kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.{TYPES}.ue8m0": ("3 1 3 3", True),
    f"kind::mxf8f6f4.block_scale.m16n8k32.row.col.{TYPES}.ue8m0 ": ("4 0 0 0", False),
    f"kind::mxf8f6f4.block_scale.m16n8k32.row.col.{TYPES}.ue8m0  ": ("0 2 0 0", False),
    f"kind::mxf8f6f4.block_scale.m16n8k32.row.col.{TYPES}.ue8m0   ": ("0 0 0 4", False),
    f"kind::mxf8f6f4.block_scale.scale_vec::2X.m16n8k32.row.col.{TYPES}.ue8m0": ("0 0 0 0", False),
    "kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0": ("2 1 2 3", True),
    "kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 ": ("1 0 0 0", False),
    "kind::mxf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0": ("0 0 0 0", False),
    "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3": ("0 1 0 3", True),
    "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 ": ("2 0 0 0", False),
    "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0": ("0 0 0 0", False),
    "kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3": ("0 0 0 0", False),
    "kind::mxf4nvf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3": ("0 0 0 0", False),
    f"sp.m16n8k64.row.col.kind::f8f6f4.{TYPES}": ("", True),
    f"sp.kind::mxf8f6f4.block_scale.m16n8k64.row.col.{TYPES}.ue8m0": ("1 0 3 0", True),
    f"sp.kind::mxf8f6f4.block_scale.scale_vec::2X.m16n8k64.row.col.{TYPES}.ue8m0": ("0 0 0 0", False),
    "sp.kind::mxf4.block_scale.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue8m0": ("2 0 0 0", True),
    "sp.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue4m3": ("0 1 0 2", True),
}


@pytest.mark.parametrize("name", LEGAL)
def test_ptxas_agrees_what_is_legal(ptxas_path, name):
    selectors, is_legal = LEGAL[name]
    ids = selectors.split()
    text = ptx(name.strip(), False, ("{%s, %s}" % tuple(ids[:2]), "{%s, %s}" % tuple(ids[2:])) if ids else None)
    command = [ptxas_path, "-arch=sm_120a", "-o", "/dev/null", "-"]
    assert (subprocess.run(command, input=text, text=True, capture_output=True).returncode == 0) == is_legal
    assert runs(text) == is_legal


def runs(text: str) -> bool:
    try:
        use(text, "rtx5090")
    except emulator.Unsupported:
        return False
    return True


ONE = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"


def test_a_selector_in_a_register_is_checked_when_it_runs(geforce):
    zeros = {each: np.zeros(128, np.uint32) for each in ("a", "b", "c", "sa", "sb", "meta")}
    with pytest.raises(emulator.Fault) as raised:
        geforce.run(ptx(ONE, False, ("{%h0, %h0}", "{%h3, %h5}")), block=32, **zeros)
    assert (
        "operand 8 of `mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0` selects "
        "scales of B by 5: the byte id must be 0 or 1 or 2 or 3, the thread id less than 4"
    ) in str(raised.value)


def test_a_wider_product_of_the_same_kernel_has_its_own_area(geforce):
    """An f64 product takes more registers than one with a kind: no lane writes past the end of its area."""
    ones = ", ".join(["%one"] * 8)
    text = HEADER + (
        ".visible .entry k(.param .u64 out) {\n"
        ".reg .b32 %z, %lane, %e<4>; .reg .f64 %one, %zero, %d<4>; .reg .b64 %p, %o;\n"
        "mov.b32 %z, 0; mov.f64 %one, 0d3FF0000000000000; mov.f64 %zero, 0d0000000000000000;\n"
        "mov.u32 %lane, %tid.x; mul.wide.u32 %o, %lane, 32; ld.param.u64 %p, [out]; add.s64 %p, %p, %o;\n"
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%e0, %e1, %e2, %e3}, {%z, %z, %z, %z}, "
        "{%z, %z}, {%z, %z, %z, %z};\n"
        f"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{%d0, %d1, %d2, %d3}}, {{{ones}}}, "
        "{%one, %one, %one, %one}, {%zero, %zero, %zero, %zero};\n"
        + " ".join(f"st.global.f64 [%p+{8 * i}], %d{i};" for i in range(4)) + " ret; }"
    )  # fmt: skip
    out = np.zeros((32, 4))
    geforce.run(text, block=32, out=out)
    assert (out == 16).all()


@pytest.mark.parametrize("gpu_model", ["h100", "b200"])
def test_another_gpu_model_has_no_kinds(gpu_model):
    with pytest.raises(emulator.Unsupported, match="mma with a kind needs GeForce Blackwell"):
        use(ptx(ONE, False, ("{0, 0}", "{0, 0}")), gpu_model)
