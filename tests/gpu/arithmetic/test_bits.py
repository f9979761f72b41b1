"""Bit and integer instructions of cute.arch against Python's integers."""

import numpy as np
import pytest

from dsl.cutlass import Boolean, Constexpr, Int32, Int64, cute
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.runtime import from_dlpack

LANES = 32


pytestmark = pytest.mark.usefixtures("emulator")


@cute.kernel
def kernel(function: Constexpr, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    lane = cute.arch.lane_idx()
    out[lane] = Int64(function(a[lane], b[lane]))


@cute.jit
def host(function: Constexpr, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    kernel(function, a, b, out).launch(grid=1, block=LANES)


def operands(dtype) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of every size and sign, with the ends of the range."""
    info, rng = np.iinfo(dtype), np.random.default_rng(11)
    sizes = rng.integers(0, 64, (2, LANES)).astype(np.uint64)
    raw = rng.integers(0, 2**63, (2, LANES), dtype=np.uint64) * 2 + 1 >> sizes
    a, b = raw.astype(dtype)
    a[:4], b[:4] = [0, info.max, info.min, 1], [info.max, info.max, info.min, info.min]
    return a, b


def check(function, expected, dtype, wraps=np.int64):
    """`expected` is a function of two Python integers; its results wrap to `wraps` and are then widened."""
    a, b = operands(dtype)
    out = np.zeros(LANES, np.int64)
    host(function, *map(from_dlpack, (a, b, out)))
    mask = (1 << 8 * np.dtype(wraps).itemsize) - 1
    wanted = [expected(x, y) & mask for x, y in zip(a.tolist(), b.tolist())]
    unsigned = np.array(wanted, np.uint64).astype(f"u{np.dtype(wraps).itemsize}").view(wraps)
    assert out.tolist() == unsigned.astype(np.int64).tolist()


TYPES = [np.int32, np.uint32, np.int64, np.uint64]


def bits(dtype) -> int:
    return 8 * np.dtype(dtype).itemsize


def unsigned(value: int, dtype) -> int:
    return value & ((1 << bits(dtype)) - 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_counting_and_reversing(dtype):
    width = bits(dtype)
    check(lambda a, b: arch.popc(a), lambda a, b: unsigned(a, dtype).bit_count(), dtype)
    check(lambda a, b: arch.clz(a), lambda a, b: width - unsigned(a, dtype).bit_length(), dtype)
    check(lambda a, b: arch.brev(a), lambda a, b: int(f"{unsigned(a, dtype):0{width}b}"[::-1], 2), dtype, dtype)
    check(lambda a, b: Int32(arch.bfind(a)), lambda a, b: (a if a >= 0 else ~a).bit_length() - 1, dtype, np.int32)


@pytest.mark.parametrize("dtype", TYPES)
def test_bit_fields(dtype):
    def extracted(a, _):
        field = unsigned(a, dtype) >> 3 & 31
        return field - 32 if np.dtype(dtype).kind == "i" and field & 16 else field

    check(lambda a, b: arch.bfe(a, 3, 5), extracted, dtype, dtype)
    check(lambda a, b: arch.bfi(a, b, 3, 5), lambda a, b: unsigned(b, dtype) & ~(31 << 3) | (a & 31) << 3, dtype, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype):
    check(lambda a, b: arch.mul_hi(a, b), lambda a, b: a * b >> bits(dtype), dtype, dtype)
    if bits(dtype) == 32:
        wide = np.int64 if dtype is np.int32 else np.uint64
        check(lambda a, b: arch.mul_wide(a, b), lambda a, b: a * b, dtype, wide)

        def low24(a):
            field = a & 0xFFFFFF
            return field - (1 << 24) if dtype is np.int32 and field >> 23 else field

        check(lambda a, b: arch.mul24(a, b), lambda a, b: low24(a) * low24(b), dtype, dtype)
        check(lambda a, b: arch.mul24(a, b, hi=True), lambda a, b: low24(a) * low24(b) >> 16, dtype, dtype)
        check(lambda a, b: arch.mad24(a, b, a), lambda a, b: low24(a) * low24(b) + a, dtype, dtype)


def test_saturation():
    low, high = -(2**31), 2**31 - 1
    check(lambda a, b: arch.add_sat_int(a, b), lambda a, b: min(max(a + b, low), high), np.int32, np.int32)
    check(lambda a, b: arch.sub_sat_int(a, b), lambda a, b: min(max(a - b, low), high), np.int32, np.int32)


def test_logic_and_permutation():
    check(lambda a, b: arch.lop3(a, b, a, 0x96), lambda a, b: a ^ b ^ a, np.int32, np.int32)
    check(lambda a, b: arch.lop3(a, b, ~a, 0xE8), lambda a, b: a & b | a & ~a | b & ~a, np.int32, np.int32)
    check(lambda a, b: arch.prmt(a, b, 0x5410), lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16, np.int32, np.int32)
    check(lambda a, b: arch.log2_of_pow2_int(Int32(4096)), lambda a, b: 12, np.int32)


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("l", lambda pair, n: pair << n % 32 >> 32),
        ("r", lambda pair, n: pair >> n % 32),
        ("clamp_left", lambda pair, n: pair << min(n, 32) >> 32),
        ("clamp_right", lambda pair, n: pair >> min(n, 32)),
    ],
)
@pytest.mark.parametrize("shift", [0, 7, 32, 39])
def test_funnel_shift(kind, expected, shift):
    check(lambda a, b: arch.shf(a, b, shift, kind), lambda a, b: expected(b << 32 | a, shift), np.uint32, np.uint32)


@pytest.mark.parametrize(
    "kind, combined",
    [
        ("add", sum),
        ("max", max),
        ("min", min),
        ("xor", np.bitwise_xor.reduce),
        ("and", np.bitwise_and.reduce),
        ("or", np.bitwise_or.reduce),
    ],
)
def test_redux(kind, combined):
    wanted = int(combined(operands(np.int32)[0].tolist()))
    check(lambda a, b: arch.warp_redux_sync(a, kind), lambda a, b: wanted, np.int32, np.int32)


def test_match_and_vote():
    a = operands(np.int32)[0].tolist()
    same = {x: sum(1 << lane for lane, y in enumerate(a) if x == y) for x in a}
    check(lambda x, _: arch.match_sync(-1, x), lambda x, _: same[x], np.int32)
    check(lambda x, _: arch.match_sync(-1, x, "all"), lambda x, _: 0, np.int32)
    positive = sum(1 << lane for lane, x in enumerate(a) if x > 0)
    check(lambda x, _: arch.vote_sync_op(x > 0, "ballot"), lambda x, _: positive, np.int32, np.int32)
    check(lambda x, _: Int32(Boolean(arch.vote_sync_op(x > 0, "any"))), lambda x, _: 1, np.int32)


def test_lane_masks():
    out = {}
    for name in ("eq", "lt", "le", "gt", "ge"):
        out[name] = np.zeros(LANES, np.int64)
        a = np.zeros(LANES, np.int32)
        read = getattr(arch, f"lanemask_{name}")
        host(lambda x, _: read(), *map(from_dlpack, (a, a, out[name])))
    assert out["eq"].tolist() == [1 << lane for lane in range(LANES)]
    assert out["lt"].tolist() == [(1 << lane) - 1 for lane in range(LANES)]
    assert (out["le"] - out["lt"] == out["eq"]).all() and (out["gt"] + out["le"] == 2**32 - 1).all()
    assert (out["ge"] - out["gt"] == out["eq"]).all()


def test_a_wrong_type_is_refused():
    from dsl.core.errors import DSLUserCodeError

    a = np.zeros(LANES, np.int16)
    with pytest.raises(DSLUserCodeError, match="clz takes Int32, Uint32, Int64, Uint64, got Int16"):
        host(lambda x, _: arch.clz(x), *map(from_dlpack, (a, a, np.zeros(LANES, np.int64))))
