"""Sums of mma and wgmma against what a model that others checked on real chips gives (tensor_core_data.py), bit for bit."""

import re

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.tensor_core.fragments import WGMMA_TYPES
from tests.emulator import exact_products, tensor_core_data as data
from tests.emulator.conftest import Machine
from tests.emulator.families.matrix.test_emit import multiply

KEPT = np.load(data.FILE)


# Changes seldom break only the GPUs of other generations.
MODELS = [pytest.param(model, marks=[] if model == "h100" else [pytest.mark.slow]) for model in data.MODELS]


@pytest.mark.slow
@pytest.mark.parametrize("gpu_model", MODELS)
def test_every_form_gives_the_bits_of_that_gpu(gpu_model):
    rows = [form for form in data.all_forms(gpu_model) if f"{gpu_model} {data.name(form)}" in KEPT]
    assert len(rows) == {"a100": 8, "l40s": 24, "h100": 16, "b200": 20, "rtx5090": 32}[gpu_model]
    for form in rows:
        kept = KEPT[f"{gpu_model} {data.name(form)}"]
        assert kept.size >= 2000
        for seed, expected in enumerate(kept):
            given = data.computed(form, seed, gpu_model)
            assert np.array_equal(given, expected), f"{data.name(form)}, operands {data.KINDS[seed % len(data.KINDS)]}"


def floats(kind: str, shape: tuple[int, int], exponents: np.ndarray, seed: int) -> np.ndarray:
    """The bits of finite floats with these exponents, as near as the type has them; signs and fractions from a seed."""
    fraction, width = exact_products.FRACTION[kind], exact_products.WIDTH[kind]
    most = (1 << (width - 1 - fraction)) - 2
    field = np.clip(exponents + exact_products.bias(kind), 0, most).astype(np.uint64)
    raw = np.random.PCG64([seed, *shape]).random_raw(field.size)
    value = raw >> np.uint64(63) << np.uint64(width - 1) | field << np.uint64(fraction)
    value |= raw & np.uint64((1 << fraction) - 1)
    return value.reshape(shape).astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[width])


def products_near(form: tuple, exponent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bits of A and B whose products have about this exponent, and of C with every exponent that its type has."""
    m, n, k, kind_a, kind_b, kind_c = form
    seed = exponent + 1000
    spread = [np.random.default_rng([seed, i]).integers(-2, 3, size) for i, size in enumerate((m * k, k * n))]
    a = floats(kind_a, (m, k), spread[0] + exponent // 2, seed)
    b = floats(kind_b, (k, n), spread[1] + exponent - exponent // 2, seed + 1)
    bias = exact_products.bias(kind_c)
    every = np.resize(np.roll(np.arange(-bias, bias + 1), 128 * seed), m * n)
    return a, b, floats(kind_c, (m, n), every, seed + 2)


def exponents_of_products(form: tuple) -> range:
    """Of the smallest products to the largest."""
    biases = [exact_products.bias(kind) for kind in form[3:5]]
    return range(2 - sum(biases) - 2 * exact_products.FRACTION[form[3]], sum(biases) + 1)


def assert_every_accumulator_fits(form: tuple, gpu_model: str, exponents: range) -> None:
    """The emulator's bits equal sums of whole numbers (exact_products.py)."""
    machine = Machine(gpu_model)
    infinity = {"f16": 0x7C00, "f32": 0x7F800000}[form[5]]
    for exponent in exponents:
        a, b, c = products_near(form, exponent)
        expected = exact_products.d(form, gpu_model, a, b, c)
        finite = expected & infinity != infinity
        given = data.product(machine, form, a, b, c)
        assert np.array_equal(given[finite], expected[finite]), f"{data.name(form)}, products of 2 ** {exponent}"


def pairs_of_types(shape: int) -> list[tuple]:
    """A form for each pair of types and each result: of wgmma if `shape` is 64, of mma if it is 16."""
    if shape == 64:
        k = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}
        return [(64, 8, k[a], a, b, d) for a, b, d in WGMMA_TYPES if d in ("f16", "f32")]
    return data.forms()


@pytest.mark.parametrize("form", pairs_of_types(64), ids=data.name)
def test_every_exponent_of_c_with_small_products(form):
    """Products of about the least exponent of C's type, in which the exponent of a subnormal C counts."""
    least = 1 - exact_products.bias(form[5])
    assert_every_accumulator_fits(form, "h100", range(least - 12, least + 6, 5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "form, gpu_model",
    [(form, gpu_model) for gpu_model in data.MODELS for form in pairs_of_types(64) + pairs_of_types(16)
     if gpu_model == "h100" or (form[0] != 64 and f"{gpu_model} {data.name(form)}" in KEPT)],
    ids=lambda value: value if isinstance(value, str) else data.name(value),
)  # fmt: skip
def test_every_exponent_of_c_with_all_products(form, gpu_model):
    every = exponents_of_products(form)
    assert_every_accumulator_fits(form, gpu_model, every[:: max(len(every) // 64, 1)])


def test_the_gpus_differ():
    form = (16, 8, 16, "f16", "f16", "f32")
    a100, h100 = (data.computed(form, 0, gpu_model) for gpu_model in ("a100", "h100"))
    assert not np.array_equal(a100, h100)


SASS = """.version 8.8
.target {target}
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %p;
ld.param.u64 %p, [p];
ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%p];
ld.global.v2.u32 {%r5,%r6}, [%p+16];
ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%p+32];
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f5,%f6,%f7,%f8}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
st.global.v4.f32 [%p+64], {%f5,%f6,%f7,%f8};
ret;
}
"""


def sass_of_8_bit_floats(target: str) -> str:
    from dsl.lower import sass

    return sass.disassemble(sass.assemble(SASS.replace("{target}", target), target))


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_103a"])
def test_code_of_ptxas_for_8_bit_floats_on_hopper_and_blackwell(ptxas_path, target):
    """The reading that tensor_core.py uses: two HMMA of f16, the first from zero, then the accumulator is added."""
    text = sass_of_8_bit_floats(target)
    made = re.findall(r"(?:HMMA|QMMA|FADD)\.?[\w.]*(?= )", text)
    assert made == ["HMMA.16816.F32"] * 2 + ["FADD"] * 4
    first = re.search(r"HMMA\.16816\.F32 (R\d+), R\d+, R\d+, RZ", text)
    assert first and re.search(rf"HMMA\.16816\.F32 R\d+, R\d+, R\d+, {first[1]} ", text)
    assert len(re.findall(r"F2FP\.F16\.E4M3\.UNPACK_B R\d+, R\d+\.H1", text)) == 6


def test_geforce_blackwell_has_an_instruction_for_8_bit_floats(ptxas_path):
    assert len(re.findall(r"QMMA\.16832\.F32\.E4M3\.E4M3 R", sass_of_8_bit_floats("sm_120a"))) == 1


@pytest.mark.parametrize("a, b", [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e5m2", "e5m2")])
def test_8_bit_floats_on_hopper_are_two_sums_of_f16(machine, a, b):
    """Made here of the emulator's own mma of f16, and numpy's addition."""
    halves = {
        "e4m3": lambda x: np.where(
            x & 0x7F == 0x7F, np.float16("nan"), ((x & 0x7F).astype(np.uint16) << 7 | (x & 0x80).astype(np.uint16) << 8).view(np.float16) * np.float16(256)
        ).astype(np.float16),
        "e5m2": lambda x: (x.astype(np.uint16) << 8).view(np.float16),
    }  # fmt: skip
    form, wide = (16, 8, 32, a, b, "f32"), (16, 8, 16, "f16", "f16", "f32")
    for seed in range(8):
        of_a, of_b, of_c = data.bits(form, seed)
        accumulator = of_c.view(np.float32)
        total = np.zeros((16, 8), np.float32)
        for half in range(2):
            ks = [k for k in range(32) if k % 4 // 2 == half]
            left, right = (np.ascontiguousarray(x) for x in (halves[a](of_a[:, ks]), halves[b](of_b[ks])))
            total = multiply(machine, wide, left, right, total)
        with np.errstate(all="ignore"):
            expected = accumulator + total
        given = data.computed(form, seed, "h100").view(np.float32)
        same = (given.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(given) & np.isnan(expected))
        assert same.all()


def test_an_unknown_gpu_model_is_refused():
    with pytest.raises(ValueError, match=r"unknown GPU model p100: the emulator has a100, .*h100"):
        emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n", gpu_model="p100")
