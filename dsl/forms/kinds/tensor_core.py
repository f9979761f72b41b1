"""Probes of tensor cores: mma.sync and mma.sp.sync of every shape and type. PTX ISA 9.7.14.5.14, 9.7.14.6.3.

A warp is one probe. The operands of a warp are of one of KINDS, and some probes have few elements that are not zero,
so that a disagreement has a small input.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from dsl.emulator.tensor_core import fragments
from dsl.emulator.tensor_core.fragments import BITS, Mma, a_element, b_element, c_element
from dsl.forms.form import Form
from dsl.forms.kinds.warp import LANES, warp_form

KINDS = ("one product", "two products", "near one", "wide", "cancelling", "ties", "subnormal", "special values")
PROBES = 64  # warps a form
_FLOATS = {
    "f16": (16, 10),
    "bf16": (16, 7),
    "tf32": (32, 23),
    "f32": (32, 23),
    "f64": (64, 52),
    "e4m3": (8, 3),
    "e5m2": (8, 2),
}


def elements(kind: str, count: int, seed: int) -> np.ndarray:
    """(PROBES, count) bit patterns of a type, as uint64."""
    stream = np.random.PCG64([seed, count, sum(kind.encode())])
    raw = stream.random_raw(PROBES * count).reshape(PROBES, count)
    if kind not in _FLOATS:
        return _integers(kind, raw)
    bits, fraction = _FLOATS[kind]
    ones = (1 << bits - 1 - fraction) - 1
    choice = stream.random_raw(PROBES * count).reshape(PROBES, count)
    mantissa = raw & np.uint64((1 << fraction) - 1)
    spreads = [{"wide": ones - 1, "cancelling": 1, "special values": 6, "subnormal": 6}.get(each, 4) for each in KINDS]
    spread = np.array([spreads[probe % len(KINDS)] for probe in range(PROBES)], np.uint64)[:, None]
    exponent = choice % spread + np.maximum(np.int64(ones >> 1) - (spread // 2).astype(np.int64), 0).astype(np.uint64)
    pick = (choice >> np.uint64(40)) & np.uint64(7)
    value = np.zeros((PROBES, count), np.uint64)
    for probe in range(PROBES):
        how = KINDS[probe % len(KINDS)]
        e, f, p = exponent[probe].copy(), mantissa[probe].copy(), pick[probe]
        if how == "ties":
            f = np.where(p < 5, f & np.uint64(1), f)
        elif how == "cancelling":
            f &= np.uint64(~3 & (1 << fraction) - 1)
        elif how == "subnormal":
            e = np.where(p < 5, np.uint64(0), e)
        elif how == "special values" and bits > 8:
            special = choice[probe] % np.uint64(29) == 0
            e, f = np.where(special, np.uint64(ones), e), np.where(special & (p < 4), np.uint64(0), f)
        value[probe] = (raw[probe] >> np.uint64(63)) << np.uint64(bits - 1) | e << np.uint64(fraction) | f
        if how == "special values" and bits == 8:
            value[probe] = raw[probe] & np.uint64(255)
    return value & np.uint64(0xFFFFE000) if kind == "tf32" else value


def _integers(kind: str, raw: np.ndarray) -> np.ndarray:
    bits = int(kind[1:])
    value = raw & np.uint64((1 << bits) - 1)
    edge = (raw >> np.uint64(50)) % np.uint64(5) == 0
    return np.where(edge, np.uint64(1 << bits - 1) - ((raw >> np.uint64(40)) & np.uint64(1)), value)


def keep(columns: np.ndarray) -> None:
    """Make all but one or two of the columns (PROBES, rows, K) zero in the probes that ask for few products."""
    k = columns.shape[2]
    for number in range(PROBES):
        kind = KINDS[number % len(KINDS)]
        if kind not in ("one product", "two products"):
            continue
        chosen = {(number * 5 + each * 3) % k for each in range(1 + (kind == "two products"))}
        columns[number][:, [column for column in range(k) if column not in chosen]] = 0


def probe(form: Mma, variant: str = "") -> Form:
    """The form of mma as a kernel of PROBES warps; `variant`: of mma.sp."""
    m, n, k = form.m, form.n, form.k
    a = elements(form.a, m * form.terms, 1).reshape(PROBES, m, form.terms)
    b = elements(form.b, n * k, 2).reshape(PROBES, n, k)
    c = elements(form.c, m * n, 3).reshape(PROBES, m, n)
    keep(a)
    keep(b)
    c[::3] = 0
    counts = form.registers
    operands, lists = _fragments(form, a, b, c)
    if form.is_sparse:
        operands.append(metadata(form.a))
        lists += [f"%a{sum(counts)}", "0"]
    types = (
        f"{form.c}.{form.a}.{form.b}.{form.c}" + form.operation.replace("bits_", ".") + ".popc" * bool(form.operation)
    )
    name = f"mma{variant}.sync.aligned.m{m}n{n}k{k}.row.col{'.satfinite' * form.saturates}.{types}"
    text = f"{name} {{{', '.join(f'%d{index}' for index in range(counts[2]))}}}, {', '.join(lists)};"
    results = ("u8" if form.c == "f64" else "u4",) * counts[2]
    return warp_form(name, text, operands, results, by_model=form.c in ("f16", "f32"), least="80")


def _fragments(form: Mma, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[list[np.ndarray], list[str]]:
    """The registers of A (PROBES, m, k), B (PROBES, n, k) and C (PROBES, m, n), and their names in braces."""
    counts = form.registers
    halves = 2 if form.c == "f16" else 1
    operands = [_register(a, form.a, form.pack, partial(a_element, form, register=each)) for each in range(counts[0])]
    turned = b.transpose(0, 2, 1)
    operands += [
        _register(turned, form.b, form.pack, partial(b_element, form, register=each), (1, 0))
        for each in range(counts[1])
    ]
    operands += [_register(c, form.c, halves, partial(c_element, index=halves * each)) for each in range(counts[2])]
    names = iter(f"%a{index}" for index in range(sum(counts)))
    return operands, ["{" + ", ".join(next(names) for _ in range(count)) + "}" for count in counts]


SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_PACKED = (("mxf4.block_scale", "ue8m0"), ("mxf4nvf4.block_scale.scale_vec::2X", "ue8m0"),
           ("mxf4nvf4.block_scale.scale_vec::4X", "ue4m3"))  # fmt: skip


def kinds() -> Iterator[Form]:
    """mma with a kind, of whole bytes and of two elements in a byte, dense and sparse."""
    for is_sparse in (False, True):
        for pair in itertools.product(SMALL, SMALL):
            for c in ("f32", "f16"):
                yield _of_kind("f8f6f4", pair, c, is_sparse)
            yield _of_kind("mxf8f6f4.block_scale", pair, "f32", is_sparse, "ue8m0")
        for kind, scale in _PACKED:
            yield _of_kind(kind, ("e2m1", "e2m1"), "f32", is_sparse, scale)


def _of_kind(kind: str, pair: tuple[str, str], c: str, is_sparse: bool, scale: str = "") -> Form:
    """A register of A or B has four bytes, whatever is in them."""
    is_packed = kind.startswith("mxf4")
    k = 32 << is_sparse
    form = Mma(16, 8, k, "u8", "u8", c, is_sparse=is_sparse)
    a, b = _bytes(pair[0], 16 * 32, 1, is_packed), _bytes(pair[1], 8 * k, 2, is_packed)
    added = elements(c, 16 * 8, 3).reshape(PROBES, 16, 8)
    added[::3] = 0
    operands, lists = _fragments(form, a.reshape(PROBES, 16, 32), b.reshape(PROBES, 8, k), added)
    name = f"mma{'.sp::ordered_metadata' * is_sparse}.sync.aligned.m16n8k{k << is_packed}.row.col.kind::{kind}"
    name += f".{c}.{pair[0]}.{pair[1]}.{c}" + f".{scale}" * bool(scale)
    if is_sparse:
        lists += [f"%a{len(operands)}", "0"]
        operands.append(metadata("u8"))
    for selector in ("{0, 1}", "{0, 2}") if scale else ():
        lists += [f"%a{len(operands)}", selector]
        operands.append(_scales(scale, len(operands)))
    count = form.registers[2]
    text = f"{name} {{{', '.join(f'%d{index}' for index in range(count))}}}, {', '.join(lists)};"
    return warp_form(name, text, operands, ("u4",) * count, by_model=True)


def _bytes(kind: str, count: int, seed: int, is_packed: bool) -> np.ndarray:
    """(PROBES, count) bytes of elements; e2m1 is two in a byte, or in its middle."""
    if kind in _FLOATS:
        return elements(kind, count, seed)
    raw = np.random.PCG64([seed, count, sum(kind.encode())]).random_raw(PROBES * count).reshape(PROBES, count)
    mask = 0xFF if is_packed else 0x3C if kind == "e2m1" else 0x3F
    return raw & np.uint64(mask)


def _scales(kind: str, seed: int) -> np.ndarray:
    """A word of scales a lane: near one, or of a third of the probes any."""
    raw = np.random.PCG64([seed, sum(kind.encode())]).random_raw(PROBES * LANES * 4).astype(np.uint8)
    near = (120 if kind == "ue8m0" else 44) + raw % 16
    wide = np.repeat(np.arange(PROBES) % 3 == 2, LANES * 4)
    return np.where(wide, raw, near).astype(np.uint8).view("u4")


def metadata(kind: str) -> np.ndarray:
    """The places of the elements of a sparse A, eight chunks a word: all in order, as the ISA wants them."""
    raw = np.random.PCG64([9, sum(kind.encode())]).random_raw(PROBES * LANES)
    chunks = np.array([4, 14] if kind == "tf32" else [4, 8, 9, 12, 13, 14], np.uint64)
    words = np.zeros(PROBES * LANES, np.uint64)
    for each in range(8):
        words |= chunks[(raw >> np.uint64(8 * each) & np.uint64(255)) % np.uint64(len(chunks))] << np.uint64(4 * each)
    return words.astype("u4")


def _register(matrix: np.ndarray, kind: str, pack: int, first, step: tuple[int, int] = (0, 1)) -> np.ndarray:
    """One register of each lane of each probe; `first` gives the place of its lowest element, `step` the way on."""
    bits = np.uint64(BITS[kind])
    rows, columns = np.array([first(lane=lane) for lane in range(LANES)]).T
    joined = np.zeros((PROBES, LANES), np.uint64)
    for each in range(pack):
        joined |= matrix[:, rows + step[0] * each, columns + step[1] * each] << (np.uint64(each) * bits)
    return np.ascontiguousarray(joined.reshape(-1).astype("u8" if kind == "f64" else "u4"))


def forms() -> Iterator[Form]:
    for form in fragments.forms():
        for variant in (".sp", ".sp::ordered_metadata") if form.is_sparse else ("",):
            yield probe(form, variant)
    yield from kinds()
