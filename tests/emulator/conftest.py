"""Running PTX from tests: whole modules, or one instruction over arrays of operands."""

from __future__ import annotations

import struct
import subprocess

import numpy as np
import pytest

from dsl import emulator

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
HEADER_100 = HEADER.replace("sm_90a", "sm_100a")  # of instructions that Hopper does not have
_PTX_TYPE = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}


def pack(value) -> bytes:
    """A kernel argument: an array's address, an int as s32, a float as f32; numpy scalars as they are."""
    if isinstance(value, np.ndarray):
        return struct.pack("<Q", value.ctypes.data)
    if isinstance(value, np.generic):
        return value.tobytes()
    return struct.pack("<i", value) if isinstance(value, int) else struct.pack("<f", value)


class Machine:
    """The emulator with every argument array registered under its keyword's name."""

    def __init__(self, gpu_model: str = "h100", header: str = HEADER):
        self.printed, self.gpu_model, self.header = "", gpu_model, header

    def run(
        self, ptx: str, grid=1, block=1, smem_bytes: int = 0, entry: str | None = None, cluster=(1, 1, 1), seed=0,
        checks=(), multimem=(), **arguments,
    ):  # fmt: skip
        """Launch the first entry (or `entry`) of a PTX text; `arguments` are its parameters in order. `multimem`: (address,
        target, bytes) of multimem addresses."""
        text = ptx if ".version" in ptx else self.header + ptx
        program = emulator.load(text, gpu_model=self.gpu_model)
        memory = emulator.Memory()
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                memory.register(value.ctypes.data, value.nbytes, name)
        for address, target, nbytes in multimem:
            memory.register_multimem(address, nbytes, "multicast", target)
        shape = [v if isinstance(v, tuple) else (v, 1, 1) for v in (grid, block)]
        params = [v if isinstance(v, bytes) else pack(v) for v in arguments.values()]
        name = entry or next(iter(program.entries))
        emulator.launch(program, name, *shape, params, memory, smem_bytes, cluster, write=self.write, seed=seed,
                        checks=checks)  # fmt: skip

    def write(self, text: str) -> None:
        self.printed += text

    def each(self, instruction: str, *operands: np.ndarray, out, wide_out: int | None = None) -> np.ndarray:
        """`instruction` on %a, %b, %c, %e (elements of `operands`) giving %d of dtype `out`, one thread an element.

        Registers of 8-bit operands are 16 bits wide. `%p`, `%q` are free predicates, `%t`, `%u` free b32 registers.
        """
        count = len(operands[0])
        result = np.zeros(count, dtype=out)
        self.run(self.each_ptx(instruction, [o.dtype for o in operands], np.dtype(out), wide_out),
                 grid=-(-count // 128), block=128, result=result,
                 **{f"x{i}": np.ascontiguousarray(o) for i, o in enumerate(operands)}, n=count)  # fmt: skip
        return result

    @staticmethod
    def each_ptx(instruction: str, dtypes: list, out, wide_out: int | None = None, name: str = "each") -> str:
        names = "abcef"[: len(dtypes)]
        params = ["result", *(f"x{i}" for i in range(len(dtypes)))]
        lines = [f".visible .entry {name}("]
        lines += [f"  .param .u64 {p}," for p in params] + ["  .param .u32 n)", "{"]
        lines += ["  .reg .pred %p, %q, %past;", "  .reg .b32 %i, %n, %w, %t, %u;", "  .reg .b64 %base, %off;"]
        for name, dtype in zip(names, dtypes):
            lines.append(f"  .reg .b{max(16, 8 * dtype.itemsize)} %{name};")
        lines.append(f"  .reg .b{wide_out or max(16, 8 * out.itemsize)} %d;")
        lines += ["  mov.u32 %i, %ctaid.x;", "  mov.u32 %w, %tid.x;", "  mad.lo.s32 %i, %i, 128, %w;",
                  "  ld.param.u32 %n, [n];", "  setp.ge.s32 %past, %i, %n;", "  @%past bra DONE;"]  # fmt: skip
        for index, (name, dtype) in enumerate(zip(names, dtypes)):
            lines += [f"  ld.param.u64 %base, [x{index}];", f"  mul.wide.s32 %off, %i, {dtype.itemsize};",
                      "  add.s64 %base, %base, %off;",
                      f"  ld.global.{_PTX_TYPE[dtype.itemsize]} %{name}, [%base];"]  # fmt: skip
        lines.append("  " + instruction)
        lines += ["  ld.param.u64 %base, [result];", f"  mul.wide.s32 %off, %i, {out.itemsize};",
                  "  add.s64 %base, %base, %off;", f"  st.global.{_PTX_TYPE[out.itemsize]} [%base], %d;",
                  "DONE:", "  ret;", "}\n"]  # fmt: skip
        return "\n".join(lines)


def use(ptx: str, gpu_model: str = "h100") -> None:
    """Load a text and use each entry of it, as a launch would. Raises PtxError, Unsupported."""
    program = emulator.load(ptx if ".version" in ptx else HEADER + ptx, gpu_model=gpu_model)
    for name in program.entries:
        program.llvm_ir(name)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def machine_100() -> Machine:
    """A machine whose texts have .target sm_100a."""
    return Machine(header=HEADER_100)


@pytest.fixture
def ptxas(ptxas_path):
    """A function that raises if NVIDIA's assembler refuses a PTX text."""

    def assemble(ptx: str, arch: str = "sm_90a") -> None:
        text = ptx if ".version" in ptx else HEADER + ptx
        done = subprocess.run([ptxas_path, f"-arch={arch}", "-o", "/dev/null", "-"], input=text, text=True,
                              capture_output=True)  # fmt: skip
        assert done.returncode == 0, done.stderr

    return assemble
