"""The layer below the stand-in for libcuda: PTX runs on the emulator, device memory is host memory.

`build(folder)` compiles the library and returns the environment in which a Python process finds it instead of a
driver. Kernel failures become the driver's codes. Kernels whose name holds STAND_IN_HANG hang, STAND_IN_CRASH kills
the process, and STAND_IN_WRONG flips a bit of the first byte of its first array. Each may be several names with commas.
STAND_IN_NAME is the GPU that it is taken for: by its own name it validates nothing.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent
CODES = {"out_of_bounds": 700, "misaligned": 716, "trap": 715, "assert": 710, "deadlock": 702}
INVALID_VALUE, OUT_OF_MEMORY, INVALID_PTX, NOT_FOUND, LAUNCH_FAILED = 1, 2, 218, 500, 719
DEFAULT_SMEM_BYTES, SHARED_SIZE, MAX_DYNAMIC = 48 * 1024, 1, 8  # CUfunction_attribute
POISON = 0xCD


def build(folder: Path) -> dict[str, str]:
    """Compile libcuda.so.1 into `folder`; the variables to run a process with it."""
    library = folder / "libcuda.so.1"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), str(HERE / "libcuda.c"), "-ldl"], check=True
    )
    (folder / "libnvidia-ml.so.1").symlink_to(library.name)
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": os.pathsep.join(paths)}


def doomed(variable: str, entry: str) -> bool:
    """Whether a variable of the environment names this kernel, among others with commas between them."""
    return any(name in entry for name in os.environ.get(variable, "?").split(","))


class Function:
    """An entry of a loaded module, and how much dynamic shared memory it was promised."""

    def __init__(self, program, entry):
        self.program, self.entry = program, entry
        self.max_dynamic_smem_bytes = DEFAULT_SMEM_BYTES - entry.static_smem_bytes


class Driver:
    """The functions that the library calls; nothing here may raise, the callers are C."""

    def __init__(self):
        from dsl import emulator

        self.emulator, self.memory = emulator, emulator.Memory()
        self.modules: list = []
        self.functions: list[Function] = []

    def load(self, ptx, log, log_bytes, module):
        try:
            self.modules.append(self.emulator.load(ctypes.string_at(ptx).decode()))
        except Exception as error:
            text = f"ptxas application ptx input, line 1; fatal: {error}".encode()[: max(log_bytes - 1, 0)]
            if log:
                ctypes.memmove(log, text + b"\0", len(text) + 1)
            return INVALID_PTX
        module[0] = len(self.modules)
        return 0

    def function(self, module, name, function):
        program = self.modules[module - 1]
        entry = program.entries.get(name.decode())
        if entry is None:
            return NOT_FOUND
        self.functions.append(Function(program, entry))
        function[0] = len(self.functions)
        return 0

    def function_attribute(self, function, attribute, value, is_set):
        found = self.functions[function - 1]
        if attribute == MAX_DYNAMIC and is_set:
            if value[0] + found.entry.static_smem_bytes > 232448:
                return INVALID_VALUE
            found.max_dynamic_smem_bytes = value[0]
        elif not is_set:
            value[0] = {SHARED_SIZE: found.entry.static_smem_bytes, MAX_DYNAMIC: found.max_dynamic_smem_bytes}.get(
                attribute, 0
            )
        return 0

    def launch(self, function, shape, stream, programmatic, params):
        found = self.functions[function - 1]
        *extents, smem_bytes = [shape[i] for i in range(10)]
        if smem_bytes > found.max_dynamic_smem_bytes:
            return INVALID_VALUE
        values = [ctypes.string_at(params[i], param.size_bytes) for i, param in enumerate(found.entry.params)]
        if doomed("STAND_IN_HANG", found.entry.name):
            time.sleep(600)
        if doomed("STAND_IN_CRASH", found.entry.name):
            os._exit(86)
        try:
            self.emulator.launch(
                found.program,
                found.entry.name,
                tuple(extents[:3]),
                tuple(extents[3:6]),
                values,
                self.memory,
                smem_bytes=smem_bytes,
                cluster=tuple(extents[6:9]),
            )
        except self.emulator.Fault as fault:
            return CODES.get(fault.kind, LAUNCH_FAILED)
        except ValueError:
            return INVALID_VALUE
        if doomed("STAND_IN_WRONG", found.entry.name):
            address = int.from_bytes(values[0], "little")
            ctypes.memset(address, ctypes.string_at(address, 1)[0] ^ 0x40, 1)
        return 0

    def allocate(self, nbytes, address):
        if nbytes > 1 << 36:
            return OUT_OF_MEMORY
        address[0] = self.memory.alloc(nbytes, "device memory")
        ctypes.memset(address[0], POISON, nbytes)
        return 0

    def release(self, address):
        try:
            self.memory.free(address)
        except ValueError:
            return INVALID_VALUE
        return 0

    def holds(self, address):
        return any(each.address <= address < each.end for each in self.memory.allocations())

    def tiled_map(self, target, dtype, rank, address, extents, strides, box, steps, modes):
        tensor = dtype, address, tuple(extents[:rank]), tuple(strides[: rank - 1])
        return self._encode(target, "Tiled", (*tensor, tuple(box[:rank])), steps[:rank], modes)

    def im2col_map(self, target, dtype, rank, address, extents, strides, lower, upper, column, steps, modes):
        tensor = dtype, address, tuple(extents[:rank]), tuple(strides[: rank - 1])
        corners = tuple(lower[: rank - 2]), tuple(upper[: rank - 2])
        return self._encode(target, "Im2col", (*tensor, *corners, column[0], column[1]), steps[:rank], modes)

    def _encode(self, target, kind, arguments, steps, modes):
        from dsl.emulator.families.tensor_map import tensor_map

        interleave, swizzle, l2_promotion, fill = modes[:4]
        try:
            described = getattr(tensor_map, kind)(*arguments, tuple(steps), interleave, swizzle, fill, l2_promotion)
            ctypes.memmove(target, described.encode(), tensor_map.BYTES)
        except tensor_map.BadTensorMap:
            return INVALID_VALUE
        return 0


_u64, _text, _int_p = ctypes.c_uint64, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)
_u64_p, _unsigned_p = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint)
SIGNATURES = {
    "load": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, _u64_p),
    "function": (_u64, _text, _u64_p),
    "function_attribute": (_u64, ctypes.c_int, _int_p, ctypes.c_int),
    "launch": (_u64, _unsigned_p, _u64, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)),
    "allocate": (_u64, _u64_p),
    "release": (_u64,),
    "holds": (_u64,),
    "tiled_map": (_u64, ctypes.c_int, ctypes.c_uint, _u64, _u64_p, _u64_p, _unsigned_p, _unsigned_p, _int_p),
    "im2col_map": (_u64, ctypes.c_int, ctypes.c_uint, _u64, *[_u64_p] * 2, *[_int_p] * 2, *[_unsigned_p] * 2, _int_p),
}
_kept: list = []


def connect() -> None:
    """Fill the library's table with this module's functions."""
    library = ctypes.CDLL("libcuda.so.1")
    library.stand_in_table.restype = ctypes.c_void_p
    driver = Driver()
    callbacks = [ctypes.CFUNCTYPE(ctypes.c_int, *types)(getattr(driver, name)) for name, types in SIGNATURES.items()]
    table = (ctypes.c_void_p * len(callbacks)).from_address(library.stand_in_table())
    for index, callback in enumerate(callbacks):
        table[index] = ctypes.cast(callback, ctypes.c_void_p).value
    _kept.append((driver, callbacks))
