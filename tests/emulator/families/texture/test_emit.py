"""Textures and surfaces against the formulas of the CUDA C++ Programming Guide ("Texture Fetching"), in numpy."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from dsl.emulator.families.texture.numbers import Texture, texture

WRAP, CLAMP, MIRROR, BORDER = range(4)  # CUaddress_mode
FORMATS = {np.uint8: 1, np.uint16: 2, np.uint32: 3, np.int8: 8, np.int16: 9, np.int32: 10, np.float16: 16, np.float32: 32}  # fmt: skip
GEOMETRY = {1: "1d", 2: "2d", 3: "3d"}


def made(data: np.ndarray, modes=(CLAMP,) * 3, linear=False, normalized=False, integers=True, border=(0,) * 4):
    """The object of an array with axes (depth, height, width, channels)."""
    depth, height, width, channels = data.shape
    one = Texture(
        magic=texture.MAGIC, data=data.ctypes.data, row_bytes=data.strides[1], plane_bytes=data.strides[0],
        width=width, height=height, depth=depth, format=FORMATS[data.dtype.type], channels=channels,
        address_modes=(ctypes.c_uint32 * 3)(*modes), filters_linearly=linear, is_normalized=normalized,
        reads_integers=integers, border=(ctypes.c_uint32 * 4)(*np.array(border, np.float32).view(np.uint32).tolist()),
    )  # fmt: skip
    return np.frombuffer(bytes(one), np.uint8).copy()


def fetched(machine, handle, data, name: str, points, dtype=np.float32, checks=()) -> np.ndarray:
    """The results of an instruction at each point: (points, 4)."""
    points = np.ascontiguousarray(points)
    count, given = points.shape
    kind = "f32" if points.dtype == np.float32 else "s32"
    registers = [f"%c{i}" for i in range(given)]
    loads = "".join(f"ld.global.b32 %c{i}, [%p+{4 * i}];" for i in range(given))
    coordinates = ", ".join((registers + registers[-1:] * 3)[: {1: 1, 2: 2}.get(given, 4)])
    out_kind = {np.float32: "f32", np.int32: "s32", np.uint32: "u32"}[dtype]
    text = f"""
    .visible .entry k(.param .u64 out, .param .u64 at, .param .u64 handle, .param .u64 data) {{
      .reg .b32 %t, %c<4>, %v<4>; .reg .b64 %o, %p, %h, %x; mov.u32 %t, %tid.x; mul.wide.u32 %x, %t, 16;
      ld.param.u64 %o, [out]; add.u64 %o, %o, %x; mul.wide.u32 %x, %t, {4 * given}; ld.param.u64 %p, [at];
      add.u64 %p, %p, %x; ld.param.u64 %h, [handle]; {loads}
      {name}.v4.{out_kind}.{kind} {{%v0, %v1, %v2, %v3}}, [%h, {{{coordinates}}}];
      st.global.v4.b32 [%o], {{%v0, %v1, %v2, %v3}}; ret; }}"""
    out = np.zeros((count, 4), dtype)
    machine.run(text, block=count, entry="k", out=out, at=points, handle=handle, data=data, checks=checks)
    return out


def index(i: int, n: int, mode: int) -> int | None:
    if 0 <= i < n:
        return i
    if mode == BORDER:
        return None
    if mode == WRAP:
        return i % n
    if mode == MIRROR:
        return i % (2 * n) if i % (2 * n) < n else 2 * n - 1 - i % (2 * n)
    return min(max(i, 0), n - 1)


def texel(data, at, modes, border=0.0):
    """at, modes: x first."""
    found = [index(i, n, mode) for i, n, mode in zip(at, data.shape[2::-1], modes)]
    return np.float32(border) if None in found else data[tuple((found + [0, 0])[2::-1])].astype(np.float32)


def expected(data, point, modes, linear, normalized):
    sizes = data.shape[2::-1]
    at = []
    for x, n, mode in zip(point, sizes, modes):
        x = np.float32(x)
        if normalized:
            below = math.floor(x)
            x = x - np.float32(below) if mode in (WRAP, MIRROR) else x
            x = np.float32(1) - x if mode == MIRROR and below % 2 else x
            x = np.float32(x * np.float32(n))
        at.append(float(x))
    if not linear:
        return texel(data, [math.floor(x) for x in at], modes)
    total = 0
    for corner in np.ndindex(*(2,) * len(at)):
        low = [math.floor(np.float32(x - 0.5)) for x in at]
        weights = [round((np.float32(x - 0.5) - i) * 256) / 256 for x, i in zip(at, low)]
        share = math.prod(w if c else 1 - w for c, w in zip(corner, weights))
        total = total + share * texel(data, [i + c for i, c in zip(low, corner)], modes).astype(np.float64)
    return total


def points_of(dimensions: int, seed: int, scale: float, count: int = 200) -> np.ndarray:
    points = np.random.default_rng(seed).uniform(-1.6, 2.6, (count, dimensions)) * scale
    points[: count // 4] = np.round(points[: count // 4] * 2) / 2  # borders between texels
    return points.astype(np.float32)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("mode, normalized", [
    (CLAMP, False), (BORDER, False), (WRAP, True), (CLAMP, True), (MIRROR, True), (BORDER, True),
])  # fmt: skip
def test_which_texels_a_point_selects(machine, dimensions, mode, normalized, linear):
    shape = (*(1,) * (3 - dimensions), *(4, 6, 8)[3 - dimensions :], 2)
    data = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) % 61
    points = points_of(dimensions, dimensions, 1.0 if normalized else 6.0)
    handle = made(data, (mode,) * 3, linear, normalized)
    got = fetched(machine, handle, data, f"tex.{GEOMETRY[dimensions]}", points)
    wanted = [expected(data, point, (mode,) * 3, linear, normalized) for point in points]
    wanted = np.array([np.broadcast_to(one, 2) for one in wanted])
    if linear:
        np.testing.assert_allclose(got[:, :2], wanted, rtol=0, atol=1e-4)
    else:
        np.testing.assert_array_equal(got[:, :2], wanted)
    is_inside = np.array(
        [None not in [index(math.floor(x), n, mode) for x, n in zip(p, data.shape[2::-1])] for p in points]
    )
    if not normalized and not linear:
        np.testing.assert_array_equal(got[:, 2:], np.where(is_inside[:, None], [[0, 1]], 0))


@pytest.mark.parametrize("dtype", FORMATS)
def test_types_of_texels(machine, dtype):
    """As numbers, and normalised: an unsigned byte 255 is 1, a signed byte -128 and -127 are -1."""
    data = np.array([0, 1, 2, 100, 127], np.int64).astype(dtype)
    if np.dtype(dtype).kind == "i":
        data[-2:] = [np.iinfo(dtype).min, -1]
    data = data.reshape(1, 1, 5, 1)
    at = np.arange(5, dtype=np.int32)[:, None]
    as_number = np.float32 if np.dtype(dtype).kind == "f" else np.dtype(f"{np.dtype(dtype).kind}4").type
    got = fetched(machine, made(data), data, "tex.1d", at, as_number)
    np.testing.assert_array_equal(got[:, 0], data.ravel().astype(as_number))
    if np.dtype(dtype).kind != "f" and np.dtype(dtype).itemsize < 4:
        got = fetched(machine, made(data, integers=False), data, "tex.1d", at)
        most = np.float32(np.iinfo(dtype).max)
        np.testing.assert_array_equal(got[:, 0], np.maximum(data.ravel().astype(np.float32) / most, -1))


def test_layers_and_levels(machine):
    data = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5, 1)
    layers, points = [0, 2, 1, 7, -1], [[1.5, 2.5], [0, 0], [4.9, 3.9], [2, 1], [3, 3]]
    at = np.array(points, np.float32)
    mixed = np.concatenate([np.array(layers, np.int32).view(np.float32)[:, None], at], 1)
    got = fetched(machine, made(data), data, "tex.a2d", mixed)[:, 0]
    assert got.tolist() == [data[min(max(z, 0), 2), int(y), int(x), 0] for z, (x, y) in zip(layers, points)]


def test_a_gather_begins_at_the_lower_left(machine):
    data = np.arange(4 * 5 * 2, dtype=np.float32).reshape(1, 4, 5, 2)
    got = fetched(machine, made(data), data, "tld4.g.2d", np.array([[2.0, 2.0], [0.2, 3.9]], np.float32))
    plane = data[0, :, :, 1]
    assert got.tolist() == [
        [plane[2, 1], plane[2, 2], plane[1, 2], plane[1, 1]], [plane[3, 0], plane[3, 0], plane[3, 0], plane[3, 0]]
    ]  # fmt: skip


def test_faces_of_a_cube(machine):
    data = np.arange(6 * 2 * 2, dtype=np.float32).reshape(6, 2, 2, 1)
    directions = np.array([
        [1, -0.5, -0.5], [-1, -0.5, -0.5], [0.5, 1, -0.5], [0.5, -1, 0.5], [-0.5, 0.5, 1], [0.5, -0.5, -1],
    ], np.float32)  # fmt: skip
    s_t = [(0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, -0.5), (-0.5, -0.5), (-0.5, 0.5)]
    got = fetched(machine, made(data, normalized=True), data, "tex.cube", directions)[:, 0]
    assert got.tolist() == [data[face, int(t > 0), int(s > 0), 0] for face, (s, t) in enumerate(s_t)]


SURFACE = """
.visible .entry k(.param .u64 handle, .param .u64 data, .param .u64 out) {{
  .reg .b32 %t, %x, %y, %v; .reg .b64 %h, %o; .reg .b16 %s<4>; mov.u32 %t, %tid.x;
  ld.param.u64 %h, [handle]; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; sub.s32 %x, %t, 2; shl.b32 %x, %x, 2;
  mov.u32 %y, 1;
  suld.b.2d.b32.{mode} %v, [%h, {{%x, %y}}]; st.global.b32 [%o], %v;
  add.s32 %v, %t, 100; mov.u32 %y, 2;
  sust.b.2d.b32.{mode} [%h, {{%x, %y}}], %v;
  ret; }}
"""


@pytest.mark.parametrize("mode", ["zero", "clamp"])
def test_a_surface_outside_of_itself(machine, mode, ptxas):
    data = np.arange(3 * 4, dtype=np.int32).reshape(1, 3, 4, 1)
    before, out = data.copy(), np.zeros(8, np.int32)
    machine.run(SURFACE.format(mode=mode), block=8, handle=made(data), data=data, out=out)
    row = before[0, 1, :, 0].tolist()
    if mode == "zero":
        assert out.tolist() == [0, 0, *row, 0, 0] and data[0, 2, :, 0].tolist() == [102, 103, 104, 105]
    else:
        assert out.tolist() == [row[0]] * 2 + row + [row[-1]] * 2
        assert data[0, 2, 0, 0] in (100, 101, 102) and data[0, 2, 1:3, 0].tolist() == [103, 104]
    np.testing.assert_array_equal(data[0, :2], before[0, :2])


def test_vectors_and_bytes_of_a_surface(machine):
    data = np.zeros((2, 2, 4, 4), np.uint16)
    text = """
    .visible .entry k(.param .u64 handle, .param .u64 data) {
      .reg .b64 %h; .reg .b32 %x, %z; .reg .b16 %s<4>; ld.param.u64 %h, [handle]; mov.u32 %x, 8; mov.u32 %z, 1;
      mov.b16 %s0, 1; mov.b16 %s1, 2; mov.b16 %s2, 3; mov.b16 %s3, 4;
      sust.b.a2d.v4.b16.trap [%h, {%z, %x, %z, %z}], {%s0, %s1, %s2, %s3};
      suld.b.a2d.b8.trap %s0, [%h, {%z, %x, %z, %z}]; add.u16 %s0, %s0, 6; mov.u32 %x, 1;
      sust.b.a2d.b8.trap [%h, {%z, %x, %z, %z}], %s0; ret; }"""
    machine.run(text, handle=made(data), data=data)
    assert data[1, 1].tolist() == [[7 << 8, 0, 0, 0], [1, 2, 3, 4], [0] * 4, [0] * 4] and not data[0].any()
