"""Kinds and sizes of kernel parameters: those that the argument block of a launch has to have."""

import linecache
import random
import re

import numpy as np
import pytest

import dsl.cutlass.cute as cute
import dsl.quadrants as qd
import dsl.tirx as tvm
from dsl.core import kernel_parameter
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Float32
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.tirx.script import tirx as T


@pytest.fixture(scope="module", autouse=True)
def emulated():
    session.start("emulator")
    qd.init(arch=qd.cpu)
    yield
    session.stop()


KINDS = {
    "Boolean": ("int", 1, "i8"),
    "Int8": ("int", 1, "i8"),
    "Uint16": ("int", 2, "i16"),
    "Int32": ("int", 4, "i32"),
    "Uint64": ("int", 8, "i64"),
    "Float16": ("float", 2, "f16"),
    "BFloat16": ("float", 2, "bf16"),
    "Float32": ("float", 4, "f32"),
    "Float64": ("float", 8, "f64"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_number_takes_the_bytes_of_its_type(name):
    kind, size_bytes, type_ = kernel_parameter.of(getattr(dtypes, name)(1))
    assert (kind, size_bytes, str(type_)) == KINDS[name]


def test_memory_is_passed_as_it_is():
    class Block:
        param_bytes = 128

        def ir_type(self):
            return "a block"

    assert kernel_parameter.of(Block()) == ("bytes", 128, "a block")


# --- the order of a kernel's parameters ---

QUADRANTS = """
import dsl.quadrants as qd
@qd.kernel
def main({signature}):
    for i in range(4):
{body}
"""
TIRX = """
from dsl.tirx.script import tirx as T
@T.prim_func
def main({signature}):
    T.device_entry()
    bx = T.cta_id([1])
    i = T.thread_id([4])
{body}
"""
CUTE = """
import dsl.cutlass as cutlass
import dsl.cutlass.cute as cute
import dsl.quadrants as qd
@cute.kernel
def kernel({signature}):
    i, _, _ = cute.arch.thread_idx()
{body}
@cute.jit
def main({signature}):
    kernel({names}).launch(grid=(1, 1, 1), block=(4, 1, 1))
"""
SURFACES = {  # the program, the annotation of an array and of a number, and the name of an array in CUDA
    "quadrants": (QUADRANTS, "qd.types.ndarray(dtype=qd.f32, ndim=1)", "qd.f32", "{}"),
    "tirx": (TIRX, 'T.Buffer((4,), "float32")', "T.float32", "{}_ptr"),
    "cute": (CUTE, "cute.Tensor", "cutlass.Float32", "{}"),
}


def kernel_of(surface: str, choose: random.Random) -> tuple[list[str], str, str]:
    """The names of a kernel's signature as CUDA has them, and the kernel as CUDA and as PTX."""
    program, array, number, name_of = SURFACES[surface]
    kinds = {name: choose.choice("an") for name in choose.sample("abcdefgh", 5)}
    kinds[choose.choice(list(kinds))] = "a"
    used = list(kinds)
    choose.shuffle(used)
    target = next(name for name in used if kinds[name] == "a")
    body = [f"{target}[i] = {target}[i] + {name}" + "[i]" * (kinds[name] == "a") for name in used]
    signature = ", ".join(f"{name}: {array if kind == 'a' else number}" for name, kind in kinds.items())
    indent = " " * (8 if surface == "quadrants" else 4)
    source = program.format(signature=signature, names=", ".join(kinds), body="\n".join(indent + line for line in body))
    file = f"order_{surface}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict = {"__name__": "order"}
    exec(compile(source, file, "exec"), names)
    arguments = [np.zeros(4, np.float32) if kind == "a" else 1.0 for kind in kinds.values()]
    main = names["main"]
    if surface == "tirx":
        module = tvm.compile(main, target="cuda").mod.imports[0]
        cuda, ptx = module.inspect_source(), module.inspect_source("ptx")
    elif surface == "quadrants":
        main(*arguments)
        cuda, ptx = main.cuda_source, main._last.compiled.ptx
    else:
        compiled = cute.compile(main, *(from_dlpack(a) if isinstance(a, np.ndarray) else Float32(a) for a in arguments))
        cuda, ptx = compiled.cuda_source, compiled.compiled.ptx
    return [name_of.format(name) if kinds[name] == "a" else name for name in kinds], cuda, ptx


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_parameters_keep_the_order_of_the_signature(surface, seed):
    names, cuda, ptx = kernel_of(surface, random.Random(seed))
    printed = re.search(r"__global__ .*?\w\((.*)\) \{", cuda)[1].split(", ")
    assert [part.split()[-1] for part in printed] == names, cuda
    is_pointer = [".ptr" in line for line in re.findall(r"^\s*\.param (.*)", ptx, re.M)]
    assert is_pointer == ["*" in part for part in printed], ptx


def test_numbers_of_the_launch_alone_are_parameters_and_what_is_unused_is_none():
    """As apache-tvm: `n` only sets the grid, `O` is not used. A result of the host is not a parameter."""

    @T.prim_func
    def main(O: T.Buffer((4,), "float32"), n: T.int32, a: T.handle, k: T.int32):
        A = T.match_buffer(a, (n, 2, 4), "float32")
        wide = k * 2
        T.device_entry()
        bx = T.cta_id([n])
        i = T.thread_id([4])
        A[bx, 0, i] = T.float32(wide)

    source = tvm.compile(main, target="cuda").mod.imports[0].inspect_source()
    assert "main_kernel(int n, float* A_ptr, int k)" in source
