"""cuTensorMapEncode* of the real cuda.bindings: each rule of the documentation, by its code and its reason."""

import pytest

TILED = """
good(d.cuInit(0)); good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
a = good(d.cuMemAlloc(1 << 16))
T, I, S = d.CUtensorMapDataType, d.CUtensorMapInterleave, d.CUtensorMapSwizzle
L, F = d.CUtensorMapL2promotion, d.CUtensorMapFloatOOBfill

def encode(dtype="FLOAT16", rank=2, address=int(a), extents=(64, 32), strides=(128,), box=(32, 8), steps=(1, 1),
           interleave="NONE", swizzle="NONE", fill="NONE"):
    return d.cuTensorMapEncodeTiled(
        getattr(T, "CU_TENSOR_MAP_DATA_TYPE_" + dtype), rank, address, [d.cuuint64_t(e) for e in extents],
        [d.cuuint64_t(s) for s in strides], [d.cuuint32_t(b) for b in box], [d.cuuint32_t(s) for s in steps],
        getattr(I, "CU_TENSOR_MAP_INTERLEAVE_" + interleave), getattr(S, "CU_TENSOR_MAP_SWIZZLE_" + swizzle),
        L.CU_TENSOR_MAP_L2_PROMOTION_NONE, getattr(F, "CU_TENSOR_MAP_FLOAT_OOB_FILL_" + fill))
"""
WRONG = [
    ("address=int(a) + 8", "its address must be a multiple of 16 bytes"),
    ("extents=(64, 0)", "extent 1 must be 1 to 2**32, got 0"),
    ("extents=(64, 2**32 + 1)", "extent 1 must be 1 to 2**32, got 4294967297"),
    ("strides=(120,)", "the stride of dimension 1 is 120 bytes; it has to be a multiple of 16 below 2**40"),
    ("strides=(2**40,)", "it has to be a multiple of 16 below 2**40"),
    ("box=(32, 257)", "extent 1 of the box must be 1 to 256, got 257"),
    ("box=(32, 0)", "extent 1 of the box must be 1 to 256, got 0"),
    ("steps=(1, 9)", "element stride 1 must be 1 to 8, got 9"),
    ("box=(12, 8)", "a row of the box has 24 bytes; it has to be a multiple of 16"),
    ("swizzle='32B'", "a row of the box has 64 bytes, but a swizzle of 32 bytes takes at most 32"),
    ("swizzle='128B_ATOM_32B'", "a swizzle of mode 4 needs compute capability 10.0; this device has 9.0"),
    ("dtype='16U4_ALIGN8B'", "a tensor map of data type 13 needs compute capability 10.0; this device has 9.0"),
    ("dtype='INT32', fill='NAN_REQUEST_ZERO_FMA'", "only elements of a floating-point type are filled with NaN"),
    ("interleave='16B'", "an interleaved tensor has 3 to 5 dimensions, got 2"),
    ("rank=0", "has 1 to 5 dimensions, got 0"),
]


def test_tensor_maps_of_every_rank_type_and_swizzle(program):
    assert program(TILED + """
made = set()
for rank in range(1, 6):
    for dtype in ("UINT8", "UINT16", "INT32", "UINT64", "FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "TFLOAT32"):
        for swizzle in ("NONE", "32B", "64B", "128B"):
            map = good(encode(dtype, rank, extents=(64,) * rank, strides=(512,) * (rank - 1), box=(4 if "64" in dtype else 8
                       if "32" in dtype else 16,) + (2,) * (rank - 1), steps=(1,) * rank, swizzle=swizzle))
            made.add(tuple(int(each) for each in map.opaque))
print(len(made))
""") == f"{5 * 9 * 4 - 0}\n"  # fmt: skip


@pytest.mark.parametrize("arguments, why", WRONG, ids=[why[:40] for _, why in WRONG])
def test_arguments_that_the_driver_refuses(program, arguments, why):
    text = program(TILED + f"print(code(encode({arguments})))\n")
    assert text.startswith("INVALID_VALUE\n") and why in text


def test_a_maps_address_is_replaced(program):
    assert program(TILED + """
map = good(encode())
good(d.cuTensorMapReplaceAddress(map, int(a) + 256))
print(int(map.opaque[0]) - int(a), code(d.cuTensorMapReplaceAddress(map, int(a) + 8)))
""") == "256 INVALID_VALUE\n"  # fmt: skip


IM2COL = """
def pixels(lower=(-1, -1), upper=(-1, -1), channels=8, count=16, rank=4):
    return d.cuTensorMapEncodeIm2col(
        T.CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, int(a), [d.cuuint64_t(e) for e in (8, 6, 5, 2)],
        [d.cuuint64_t(s) for s in (16, 96, 480)], lower, upper, channels, count,
        [d.cuuint32_t(1)] * 4, I.CU_TENSOR_MAP_INTERLEAVE_NONE, S.CU_TENSOR_MAP_SWIZZLE_NONE,
        L.CU_TENSOR_MAP_L2_PROMOTION_NONE, F.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
"""


def test_im2col_maps(program):
    text = program(
        TILED
        + IM2COL
        + "print(int(good(pixels()).opaque[0]) == int(a), code(pixels(count=1025)), code(pixels(lower=(-129, 0))))\n"
    )
    assert text.startswith("True INVALID_VALUE INVALID_VALUE\n")
    assert "pixels of a column must be 1 to 1024, got 1025" in text
    assert "the lower corner of the box must be -128 to 127, got -129" in text


WIDE = """
def wide(lower=-1, upper=-1, count=16, mode="W", swizzle="64B"):
    return d.cuTensorMapEncodeIm2colWide(
        T.CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, int(a), [d.cuuint64_t(e) for e in (8, 6, 5, 2)],
        [d.cuuint64_t(s) for s in (16, 96, 480)], lower, upper, 8, count, [d.cuuint32_t(1)] * 4,
        I.CU_TENSOR_MAP_INTERLEAVE_NONE, getattr(d.CUtensorMapIm2ColWideMode, "CU_TENSOR_MAP_IM2COL_WIDE_MODE_" + mode),
        getattr(S, "CU_TENSOR_MAP_SWIZZLE_" + swizzle), L.CU_TENSOR_MAP_L2_PROMOTION_NONE,
        F.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
"""


def test_wide_im2col_maps(program):
    text = program(
        TILED
        + WIDE
        + "from dsl.emulator.families.tensor_map.tensor_map import Wide, decode\n"
        + "for made in (good(wide()), good(wide(mode='W128', count=0, lower=-300))):\n"
        + "    found = decode(b''.join(int(each).to_bytes(8, 'little') for each in made.opaque))\n"
        + "    print(type(found).__name__, found.address == int(a), found.lower, found.upper, found.pixels, found.mode)\n"
        + "print(code(wide(count=1025)), code(wide(swizzle='NONE')))\n",
        gpu_model="b200",
    )
    assert text.startswith("Wide True -1 -1 16 0\nWide True -300 -1 128 1\nINVALID_VALUE INVALID_VALUE\n"), text
    assert "a wide im2col map has a swizzle of mode 2, 3 or 4, got 0" in text
    assert "a wide im2col map needs compute capability 10.0" in program(TILED + WIDE + "print(code(wide()))\n")
