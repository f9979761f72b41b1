"""Results of tensor cores for operands of every kind, by a model that others checked on real chips.

    python tests/emulator/tensor_core_data.py MMA-SIM                   write tensor_core.npz again
    python tests/emulator/tensor_core_data.py MMA-SIM --compare 100000  compare this many elements of each form

MMA-SIM is a checkout of github.com/microsoft/MMA-Sim (arXiv 2511.10909). Operands are made from a seed here and in the
test; the file holds what came out.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
FILE = Path(__file__).with_name("tensor_core.npz")
MODELS = {"a100": "Ampere", "l40s": "Ada Lovelace", "h100": "Hopper", "b200": "Blackwell", "rtx5090": "RTX Blackwell"}
KINDS = ("near one", "any exponent", "cancelling", "special values", "many zeros", "subnormal", "ties", "wide")
SEEDS = 2 * len(KINDS)  # 128 elements each
_FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "tf32": (32, 23), "e4m3": (8, 3), "e5m2": (8, 2)}
_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32}


def forms() -> list[tuple]:
    """(m, n, k, A, B, D) of every form of floats that are not doubles."""
    from dsl.emulator.tensor_core.fragments import SHAPES

    return [(*shape, *types) for shape, rows in SHAPES.items() for types in rows if types[2] in ("f16", "f32")]


def wgmma_forms() -> list[tuple]:
    """(64, 8, k, A, B, D) of each kind of sum that wgmma has, on Hopper alone: N changes no sum."""
    return [(64, 8, 16, "f16", "f16", "f32"), (64, 8, 16, "f16", "f16", "f16"), (64, 8, 16, "bf16", "bf16", "f32"),
            (64, 8, 8, "tf32", "tf32", "f32"), (64, 8, 32, "e4m3", "e4m3", "f32"), (64, 8, 32, "e5m2", "e4m3", "f16"),
            (64, 8, 32, "e5m2", "e5m2", "f32"), (64, 8, 32, "e4m3", "e5m2", "f16")]  # fmt: skip


def tcgen05_forms() -> list[tuple]:
    """The same of tcgen05.mma, on Blackwell alone."""
    fp8 = [(64, 8, 32, a, b, d) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f32", "f16")]
    return [(64, 8, 16, "f16", "f16", "f32"), (64, 8, 16, "f16", "f16", "f16"), (64, 8, 16, "bf16", "bf16", "f32"),
            (64, 8, 8, "tf32", "tf32", "f32"), *fp8]  # fmt: skip


def scaled_forms() -> list[tuple]:
    """(m, n, k, A, B, scale, block) of each kind of sum with scales of blocks."""
    fp8 = [(16, 8, 32, a, b, "ue8m0", 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    return [*fp8, *((16, 8, 64, "e2m1", "e2m1", scale, block) for scale in ("ue8m0", "ue4m3") for block in (32, 16))]


def scaled_bits(form: tuple, seed: int) -> list[np.ndarray]:
    """Bytes of A (m, 32), of B (n, 32), the bits of C (m, n), the scales of A (m, k / block) and of B (n, k / block)."""
    m, n, k, a, b, scale, block = form
    how = KINDS[seed % len(KINDS)]
    stream = np.random.PCG64([seed, k, a == "e4m3", b == "e4m3", scale == "ue4m3", block])
    rows = [_elements(stream, (extent, 32), kind, how) for extent, kind in ((m, a), (n, b))]
    c = _matrix(stream, (m, n), "f32", how)
    if a == "e2m1":  # that model has no infinite C here
        c = np.where(c & np.uint32(0x7FFFFFFF) == 0x7F800000, np.uint32(0x42280000), c)
    return [*rows, c, *(_scales(stream, (extent, k // block), scale, how) for extent in (m, n))]


def _elements(stream: np.random.PCG64, shape: tuple[int, int], kind: str, how: str) -> np.ndarray:
    if kind != "e2m1":
        return _matrix(stream, shape, kind, how)
    raw, choice = (stream.random_raw(shape[0] * shape[1]) for _ in range(2))
    keep = {"subnormal": 0x99, "many zeros": np.where(choice & np.uint64(7) < 5, 0, 0xFF), "cancelling": 0xAA}
    return (raw & np.asarray(keep.get(how, 0xFF), np.uint64)).astype(np.uint8).reshape(shape)


def _scales(stream: np.random.PCG64, shape: tuple[int, int], kind: str, how: str) -> np.ndarray:
    raw, choice = (stream.random_raw(shape[0] * shape[1]).astype(np.int64) & 0xFF for _ in range(2))
    one, most = {"ue8m0": (127, 254), "ue4m3": (56, 126)}[kind]
    codes = {
        "near one": one + raw % 9 - 4,
        "cancelling": np.full(raw.shape, one),
        "any exponent": raw % (most + 1),
        "special values": np.where(choice % 11 == 0, most + 1, one + raw % 20 - 10),
        "many zeros": np.where(choice < 128, 0, raw % (most + 1)),
        "subnormal": raw % 8,
        "ties": one + raw % 3 - 1,
        "wide": np.where(choice < 128, raw % 4, most - raw % 4),
    }[how]
    if kind == "ue4m3":
        codes |= choice & 0x80  # the sign is ignored
    return codes.astype(np.uint8).reshape(shape)


def seeds(form: tuple) -> int:
    """How many sets of operands the file has of a form."""
    return SEEDS if form[0] != 64 else len(KINDS)


def bits(form: tuple, seed: int) -> list[np.ndarray]:
    """The bits of A (m, k), B (k, n) and C (m, n)."""
    m, n, k, a, b, c = form
    stream = np.random.PCG64([seed, m, n, k, *(list(_FORMATS).index(kind) for kind in (a, b, c))])
    return [
        _matrix(stream, shape, kind, KINDS[seed % len(KINDS)])
        for shape, kind in (((m, k), a), ((k, n), b), ((m, n), c))
    ]


def _matrix(stream: np.random.PCG64, shape: tuple[int, int], kind: str, how: str) -> np.ndarray:
    width, fraction = _FORMATS[kind]
    size, ones = shape[0] * shape[1], (1 << (width - 1 - fraction)) - 1
    bias = ones >> 1
    raw, choice = (stream.random_raw(size) for _ in range(2))
    sign, mantissa = raw >> np.uint64(63), raw & np.uint64((1 << fraction) - 1)
    spread = {"near one": 4, "cancelling": 1, "wide": ones - 1, "any exponent": ones, "ties": 3}.get(how, 6)
    exponent = (choice >> np.uint64(8)) % np.uint64(max(spread, 1)) + np.uint64(max(bias - spread // 2, 0))
    exponent = np.minimum(exponent, np.uint64(ones - 1))
    pick = choice & np.uint64(7)
    if how == "cancelling":
        mantissa = mantissa & np.uint64(~3 & (1 << fraction) - 1)
    elif how == "ties":
        mantissa = np.where(pick < 4, mantissa & np.uint64(1), mantissa)
    elif how == "subnormal":
        exponent = np.where(pick < 5, np.uint64(0), exponent)
    elif how == "many zeros":
        zero = pick < 5
        exponent, mantissa = np.where(zero, np.uint64(0), exponent), np.where(zero, np.uint64(0), mantissa)
    elif how == "special values" and width > 8:
        special = choice % np.uint64(29) == 0
        exponent = np.where(special, np.uint64(ones), exponent)
        mantissa = np.where(special & (pick < 4), np.uint64(0), mantissa)
    value = sign << np.uint64(width - 1) | exponent << np.uint64(fraction) | mantissa
    if width == 8 and how == "special values":
        value = raw & np.uint64(255)
    if kind == "tf32":
        value &= np.uint64(0xFFFFE000)
    return value.astype(_TYPES[width]).reshape(shape)


def name(form: tuple) -> str:
    m, n, k, a, b, c, *block = form
    if block:
        return f"m{m}n{n}k{k}.block{block[0]}.f32.{a}.{b}.f32.{c}"
    return f"m{m}n{n}k{k}.{c}.{a}.{b}.{c}"


def _model(checkout: str, architecture: str, form: tuple):
    sys.path.insert(0, checkout)
    from mmasim.simulator import nv_ptx

    try:
        if len(form) == 7:
            return nv_ptx.mma_block_scale(architecture, name(form))
        if form[0] == 64:
            of_64 = nv_ptx.wgmma if architecture == "Hopper" else nv_ptx.tcgen05mma
            return of_64(architecture, name(form).rpartition(".")[0])
        return nv_ptx.mma(architecture, name(form))
    except Exception:  # a form that this architecture has not, in that model's words
        return None


def _expected(model, form: tuple, seed: int) -> np.ndarray:
    import torch

    types = {
        "f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "f32": torch.float32,
        "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
    }  # fmt: skip
    types |= {"ue8m0": torch.float8_e8m0fnu, "ue4m3": torch.float8_e4m3fn, "e2m1": torch.uint8}
    arrays, kinds = (bits(form, seed), form[3:]) if len(form) == 6 else _scaled_operands(form, seed)
    signed = {1: np.int8, 2: np.int16, 4: np.int32}
    tensors = [
        torch.from_numpy(array.view(signed[array.itemsize]).copy()).view(types[kind])
        for array, kind in zip(arrays, kinds, strict=True)
    ]
    result = model(*tensors)
    return (
        result.view({2: torch.int16, 4: torch.int32}[result.element_size()])
        .numpy()
        .view(_TYPES[8 * result.element_size()])
    )


def _scaled_operands(form: tuple, seed: int) -> tuple[list[np.ndarray], list[str]]:
    """The arrays that MMA-SIM takes, with their types: B and its scales are (K, N)."""
    a, b, c, scales_a, scales_b = scaled_bits(form, seed)
    return [a, b.T, c, scales_a, scales_b.T], [form[3], form[4], "f32", form[5], form[5]]


def computed(form: tuple, seed: int, gpu_model: str) -> np.ndarray:
    """The bits of D on the emulator; of tcgen05.mma and scaled forms by the functions that compute them."""
    from tests.emulator.conftest import Machine
    from tests.emulator.tensor_core import test_planes

    if len(form) == 7:
        return test_planes.scaled(form, *scaled_bits(form, seed))
    if form[0] == 64 and gpu_model == "b200":
        return test_planes.plain(form, *bits(form, seed))
    return product(Machine(gpu_model), form, *bits(form, seed))


def product(machine, form: tuple, *operands: np.ndarray) -> np.ndarray:
    """The bits of D on a machine, from the bits of A, B and C."""
    from tests.emulator.families.matrix import test_emit as test_matrix
    from tests.emulator.families.warpgroup import test_emit as test_warpgroup

    arrays = [
        array.view({"f16": np.float16, "tf32": np.float32, "f32": np.float32}.get(kind, array.dtype))
        for array, kind in zip(operands, form[3:], strict=True)
    ]
    multiply = test_warpgroup.product if form[0] == 64 else test_matrix.multiply
    result = multiply(machine, form, *arrays)
    return result.view(_TYPES[8 * result.itemsize])


def all_forms(gpu_model: str) -> list[tuple]:
    more = {"h100": wgmma_forms, "b200": tcgen05_forms, "rtx5090": scaled_forms}.get(gpu_model, list)
    return forms() + more()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", metavar="MMA-SIM")
    parser.add_argument("--compare", type=int, metavar="ELEMENTS", help="elements of each form")
    options = parser.parse_args()
    kept, wrong = {}, 0
    for gpu_model, architecture in MODELS.items():
        for form in all_forms(gpu_model):
            model = _model(options.checkout, architecture, form)
            if model is None:
                continue
            if options.compare is None:
                kept[f"{gpu_model} {name(form)}"] = np.stack(
                    [_expected(model, form, seed) for seed in range(seeds(form))]
                )
                continue
            equal = total = 0
            while total < options.compare:
                seed = total // (form[0] * form[1])
                same = computed(form, seed, gpu_model) == _expected(model, form, seed)
                equal, total = equal + int(same.sum()), total + same.size
            print(f"{gpu_model:5} {name(form):28} {equal} of {total} elements have equal bits", flush=True)
            wrong += total - equal
    if options.compare is None:
        np.savez_compressed(FILE, **kept)
        print(f"{len(kept)} forms, {FILE.stat().st_size} bytes")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
