"""Replay a capsule on this machine's GPU: what the recorded kernels do there is written into a folder.

    python replay.py all.capsule -o out/         every case; needs Python 3.11, numpy and cuda-bindings, nothing else
    python all.capsule                           the same: a capsule holds this script
    uv run --with numpy --with cuda-bindings python all.capsule

A capsule is a zip file: `capsule.json`, and in `blobs/` PTX and bytes named by their sha256. Cases run in a child
process, which is given up after a failure or a hang, so that cases share no state. The folder gets, for each case,
`NAME.json` (the GPU, the outcome, what each launch changed) and `NAME.bin` (those bytes), and a copy of the capsule.
Run again with the same folder, it goes on where it was stopped. The file of `repro replay validate` also packs the
folder into one file, FOLDER.zip.
Exit status: 0 every case was replayed (a fault is a result), 1 some were not, 2 no such capsule, or a folder of another
one or one that takes no files, 3 no GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import filecmp
import hashlib
import io
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

try:
    import numpy as np
except ImportError:
    sys.exit("replay: numpy is missing: uv run --no-project --with numpy --with cuda-bindings python ...")

SCHEMA = 1
OUTCOMES = {  # what a failed kernel was. CUDA driver API: CUresult
    "CUDA_ERROR_ILLEGAL_ADDRESS": ("fault", "out_of_bounds"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": ("fault", "misaligned"),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": ("fault", "illegal"),
    "CUDA_ERROR_INVALID_PC": ("fault", "illegal"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": ("fault", "illegal"),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": ("trap", "trap"),
    "CUDA_ERROR_LAUNCH_FAILED": ("trap", "trap"),
    "CUDA_ERROR_ASSERT": ("trap", "assert"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": ("deadlock", "deadlock"),
    "CUDA_ERROR_INVALID_VALUE": ("fault", "invalid_launch"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": ("fault", "invalid_launch"),
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": ("fault", "invalid_launch"),
}
PAGE_BYTES = 4096  # addresses are kept modulo this; around each region lie guards of this size
GUARD = 0xA5
CHUNK_BYTES = 1 << 20
DEFAULT_SMEM_BYTES = 48 * 1024
COOPERATIVE, PROGRAMMATIC = 1, 2  # bits of a launch's flags
TIMEOUT_S = 60.0  # for a case, where the capsule names no other
BYTES_A_SECOND = 100e6  # that are copied, compared and hashed: more time for a case of much memory
START_S = 120.0  # for a child to import and to make a context
USAGE, NO_GPU = 2, 3
KEPT_CAPSULE = "replayed.capsule"
FINAL = ("ran", "fault", "trap", "deadlock", "skipped")  # outcomes that a run which goes on does not repeat
TIMEOUT = "REPLAY_TIMEOUT"  # final only if a deadlock was predicted
FORMS_A_LINE = 100


MOST_MEMBERS_BYTES = 32 << 20  # of the list of a zip file's members
MOST_JSON_BYTES = 32 << 20
MOST_JSON_PARTS = 2_000_000  # values of a JSON text: each takes some hundred bytes of memory
MOST_BLOB_BYTES = 1 << 34
PIECE_BYTES = 1 << 20


class BadCapsule(Exception):
    """The file is not a capsule, or a damaged one; the text states which."""


class BadMember(Exception):
    """A member of a zip file that is not to be unpacked; the text is one sentence."""


class CudaError(Exception):
    """The driver refused a call or a kernel failed; `name` is the driver's name of the error."""

    def __init__(self, name: str, text: str):
        super().__init__(f"{name}: {text}")
        self.name = name


NO_ARCHIVE = (OSError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RecursionError, struct.error)


class _InPieces(io.FileIO):
    """A file that is never read in more than a piece at once: a zip file itself states the length of its list."""

    def read(self, size: int = -1, /) -> bytes:
        if size > MOST_MEMBERS_BYTES:
            raise zipfile.BadZipFile(f"its list of members has more than {MOST_MEMBERS_BYTES >> 20} MB")
        return super().read(size if size >= 0 else 1 << 17) or b""  # its end: at most 65 KB of comment


class Archive:
    """A zip file from elsewhere. Each member is unpacked only up to a size, whatever size the file states.

    Raises OSError, and zipfile.BadZipFile, ValueError or NotImplementedError if it is not a zip file.
    """

    def __init__(self, path: str):
        self.file = _InPieces(path)
        try:
            self.zip = zipfile.ZipFile(self.file)  # pyright: ignore[reportArgumentType]
            self.names = self.zip.namelist()
            if len(set(self.names)) < len(self.names):
                raise BadMember("two of its members have one name")
        except BaseException:
            self.file.close()
            raise

    def close(self) -> None:
        self.zip.close()
        self.file.close()

    def pieces(self, name: str, most_bytes: int) -> Iterator[bytes]:
        """A member, a piece at a time. Raises BadMember, KeyError where there is none."""
        about = self.zip.getinfo(name)
        if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BadMember(f"{name} is compressed in a way that no capsule is")
        if about.file_size > most_bytes:
            raise BadMember(f"{name} has {about.file_size} bytes unpacked, but may have at most {most_bytes}")
        try:
            with self.zip.open(name) as member:
                while piece := member.read(PIECE_BYTES):
                    yield piece
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
            raise BadMember(f"{name} is damaged: {error}") from None

    def read(self, name: str, most_bytes: int) -> bytes:
        """A member as a whole. Raises BadMember, KeyError."""
        return b"".join(self.pieces(name, most_bytes))


def parsed(data: bytes) -> Any:
    """JSON from elsewhere, of a size that fits into memory. Raises ValueError, RecursionError."""
    if len(data) > MOST_JSON_BYTES or sum(map(data.count, (b",", b"[", b"{"))) > MOST_JSON_PARTS:
        raise ValueError(f"it has more than {MOST_JSON_BYTES >> 20} MB, or {MOST_JSON_PARTS} values")
    return json.loads(data)


class Capsule:
    """An open capsule."""

    def __init__(self, path: str):
        try:
            self.archive = Archive(path)
            self.index = parsed(self.archive.read("capsule.json", MOST_JSON_BYTES))
            if self.index["schema"] != SCHEMA:
                raise BadCapsule(f"{path} has schema {self.index['schema']}, but this script reads {SCHEMA}")
            self.cases = self.index["cases"]
            if not isinstance(self.cases, list):
                raise ValueError("its cases are not a list")
            for case in self.cases:
                if not re.fullmatch(r"[^/\0]+", case["name"]) or not isinstance(case["launches"], list):
                    raise ValueError("a case of it has no name, or no launches")
            if len({case["name"] for case in self.cases}) < len(self.cases):
                raise ValueError("two cases of it have one name")
        except (*NO_ARCHIVE, BadMember, KeyError, TypeError) as error:
            text = error.strerror if isinstance(error, OSError) else str(error)
            raise BadCapsule(f"{path} is not a capsule, or only part of one: {text}") from None

    def check(self, path: str) -> None:
        """Read all of it once. Raises BadCapsule naming the first part that is damaged."""
        try:
            for name in self.archive.names:
                for _ in self.archive.pieces(name, MOST_BLOB_BYTES):
                    pass
        except BadMember as error:
            raise BadCapsule(f"{path} is damaged: {error}") from None

    def blob_bytes(self, name: str) -> int:
        """How large a blob is, unpacked. Raises BadCapsule."""
        try:
            return self.archive.zip.getinfo(f"blobs/{name}").file_size
        except KeyError as error:
            raise BadCapsule(f"the capsule is damaged: {error}") from None

    def blob(self, name: str) -> bytes:
        return b"".join(self.blob_pieces(name))

    def blob_pieces(self, name: str) -> Iterator[bytes]:
        """A blob, a piece at a time; only after the last is it known to be whole. Raises BadCapsule."""
        digest = hashlib.sha256()
        try:
            for piece in self.archive.pieces(f"blobs/{name}", MOST_BLOB_BYTES):
                digest.update(piece)
                yield piece
        except (KeyError, BadMember) as error:
            raise BadCapsule(f"the capsule is damaged: {error}") from None
        if digest.hexdigest() != name:
            raise BadCapsule(f"the capsule is damaged: blobs/{name} has another sha256")

    def apply(self, data: np.ndarray, row: dict[str, Any]) -> None:
        """Write the bytes of a row of the recording into `data`."""
        part = data[row["at"] : row["at"] + row["size"]]
        if "fill" in row:
            part[:] = row["fill"]
        elif "mask" in row:
            bits = np.unpackbits(np.frombuffer(self.blob(row["mask"]), np.uint8), count=row["size"], bitorder="little")
            np.copyto(part, np.frombuffer(self.blob(row["bytes"]), np.uint8), where=bits.astype(bool))
        else:
            part[:] = np.frombuffer(self.blob(row["bytes"]), np.uint8)


class Gpu:
    """The first GPU, through cuda-bindings."""

    def __init__(self):
        from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue]  # noqa: PLC0415

        self.driver = driver
        self.call("cuInit", 0)
        self.device = self.call("cuDeviceGet", 0)
        self.call("cuCtxSetCurrent", self.call("cuDevicePrimaryCtxRetain", self.device))
        parts = [f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}" for part in ("MAJOR", "MINOR")]
        names = driver.CUdevice_attribute
        self.capability = [self.call("cuDeviceGetAttribute", getattr(names, part), self.device) for part in parts]

    def call(self, name: str, *arguments: Any) -> Any:
        code, *results = getattr(self.driver, name)(*arguments)
        if code != self.driver.CUresult.CUDA_SUCCESS:
            name_bytes, text = (
                get(code)[1] or b"" for get in (self.driver.cuGetErrorName, self.driver.cuGetErrorString)
            )
            raise CudaError(name_bytes.decode() or f"CUDA error {int(code)}", f"{text.decode()} ({name})")
        return results[0] if len(results) == 1 else results

    def facts(self) -> dict[str, Any]:
        version = self.call("cuDriverGetVersion")
        cuda = f"{version // 1000}.{version % 1000 // 10}"
        driver = driver_version() or f"CUDA {cuda}"
        name = self.call("cuDeviceGetName", 256, self.device).split(b"\0")[0].decode()
        uuid = bytes(self.call("cuDeviceGetUuid", self.device).bytes).hex()
        arch = "sm_{}{}".format(*self.capability)
        return {"kind": "cuda", "name": name, "driver": driver, "cuda": cuda, "arch": arch, "uuid": uuid}

    def load(self, ptx: bytes) -> Any:
        log, options = bytearray(1 << 14), self.driver.CUjit_option
        keys = [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return self.call("cuModuleLoadDataEx", ptx + b"\0", 2, keys, [log, len(log)])
        except CudaError as error:
            said = log.split(b"\0")[0].decode(errors="replace").strip()
            raise CudaError(error.name, f"{error}\n{said}".strip()) from None

    def tensor_map(self, mode: str, arguments: dict[str, Any], address: int) -> bytes:
        """The 128 bytes that this GPU's driver makes of a tensor map's arguments."""
        driver = self.driver

        def words(kind: Any, name: str) -> list[Any]:
            return [kind(each) for each in arguments[name]]

        tensor = (
            driver.CUtensorMapDataType(arguments["dtype"]), len(arguments["extents"]), address,
            words(driver.cuuint64_t, "extents"), words(driver.cuuint64_t, "strides"),
        )  # fmt: skip
        modes = (
            driver.CUtensorMapInterleave(arguments["interleave"]), driver.CUtensorMapSwizzle(arguments["swizzle"]),
            driver.CUtensorMapL2promotion(arguments["l2_promotion"]), driver.CUtensorMapFloatOOBfill(arguments["fill"]),
        )  # fmt: skip
        steps = words(driver.cuuint32_t, "steps")
        if mode == "tiled":
            made = self.call("cuTensorMapEncodeTiled", *tensor, words(driver.cuuint32_t, "box"), steps, *modes)
        elif mode == "im2col_wide":
            pixels = arguments["lower"], arguments["upper"], arguments["channels"], arguments["pixels"]
            wide = driver.CUtensorMapIm2ColWideMode(arguments["mode"])
            made = self.call("cuTensorMapEncodeIm2colWide", *tensor, *pixels, steps, modes[0], wide, *modes[1:])
        else:
            pixels = arguments["lower"], arguments["upper"], arguments["channels"], arguments["pixels"]
            made = self.call("cuTensorMapEncodeIm2col", *tensor, *pixels, steps, *modes)
        return b"".join(int(word).to_bytes(8, "little") for word in made.opaque)

    def launch(self, function: Any, line: dict[str, Any], params: list[bytes]) -> None:
        config, names = self.driver.CUlaunchConfig(), self.driver.CUfunction_attribute
        config.gridDimX, config.gridDimY, config.gridDimZ = line["grid"]
        config.blockDimX, config.blockDimY, config.blockDimZ = line["block"]
        config.sharedMemBytes, config.numAttrs = line["smem_bytes"], 0
        static = self.call("cuFuncGetAttribute", names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function)
        if static + line["smem_bytes"] > DEFAULT_SMEM_BYTES:
            attribute = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, attribute, line["smem_bytes"])
        attributes = []
        if line["cluster"] != [1, 1, 1]:
            attributes.append(self._attribute("CLUSTER_DIMENSION"))
            cluster = attributes[-1].value.clusterDim
            cluster.x, cluster.y, cluster.z = line["cluster"]
            if cluster.x * cluster.y * cluster.z > 8:
                self.call("cuFuncSetAttribute", function, names.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        if line["flags"] & COOPERATIVE:
            attributes.append(self._attribute("COOPERATIVE"))
            attributes[-1].value.cooperative = 1
        if line["flags"] & PROGRAMMATIC:
            attributes.append(self._attribute("PROGRAMMATIC_STREAM_SERIALIZATION"))
            attributes[-1].value.programmaticStreamSerializationAllowed = 1
        config.attrs, config.numAttrs = attributes, len(attributes)
        cells = [ctypes.create_string_buffer(param, len(param)) for param in params]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(*[ctypes.addressof(cell) for cell in cells])
        self.call("cuLaunchKernelEx", config, function, ctypes.addressof(pointers), 0)
        self.call("cuCtxSynchronize")

    def _attribute(self, name: str) -> Any:
        attribute = self.driver.CUlaunchAttribute()
        attribute.id = getattr(self.driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
        return attribute


def driver_version() -> str:
    """`580.65.06`, as the kernel's module or NVML tells it; '' where neither does."""
    try:
        with open("/sys/module/nvidia/version") as file:
            return file.read().strip()
    except OSError:
        pass
    try:
        nvml, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.create_string_buffer(81)
        if nvml.nvmlInit_v2() == 0 and nvml.nvmlSystemGetDriverVersion(text, len(text)) == 0:
            return text.value.decode()
    except (OSError, AttributeError):
        pass
    return ""


class Region:
    """Memory on the GPU with a guard on either side, and `known`, its contents."""

    def __init__(self, gpu: Gpu, size_bytes: int, residue: int):
        self.gpu, self.known = gpu, np.zeros(size_bytes, np.uint8)
        whole = size_bytes + 4 * PAGE_BYTES
        self.start = int(gpu.call("cuMemAlloc", whole))
        gpu.call("cuMemsetD8", self.start, GUARD, whole)
        self.address = self.start + PAGE_BYTES + (residue - self.start) % PAGE_BYTES
        gpu.call("cuMemsetD8", self.address, 0, size_bytes)

    def write(self, at: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data)
        self.gpu.call("cuMemcpyHtoD", self.address + at, data.ctypes.data, data.nbytes)

    def read(self, at: int, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        self.gpu.call("cuMemcpyDtoH", data.ctypes.data, self.address + at, size)
        return data

    def guards_hold(self) -> bool:
        ends = (self.read(-PAGE_BYTES, PAGE_BYTES), self.read(self.known.size, PAGE_BYTES))
        return all((end == GUARD).all() for end in ends)

    def changes(self, pointers: list[int]) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """(offset, bytes, which of them changed) of each chunk that is not as known; then it is known.

        A pointer changes as a whole: its single bytes belong to another machine.
        """
        runs = []
        for at in range(0, self.known.size, CHUNK_BYTES):
            old = self.known[at : at + CHUNK_BYTES]
            new = self.read(at, old.size)
            differs = new != old
            for place in (pointer - at for pointer in pointers if at <= pointer < at + old.size):
                differs[place : place + 8] = differs[place : place + 8].any()
            if differs.any():
                first, last = np.flatnonzero(differs)[[0, -1]]
                runs.append((at + int(first), new[first : last + 1], differs[first : last + 1]))
                old[:] = new
        return runs


class Replay:
    """One case on the GPU."""

    def __init__(self, capsule: Capsule, case: dict[str, Any], gpu: Gpu):
        self.capsule, self.case, self.gpu = capsule, case, gpu
        self.regions: dict[str, Region] = {}
        self.modules: dict[str, Any] = {}
        self.data = bytearray()

    def run(self) -> dict[str, Any]:
        """Run the case; return the outcome `ran`, or how it failed, and the changes of each launch."""
        result: dict[str, Any] = {"outcome": "ran", "launches": []}
        try:
            for line in self.case["launches"]:
                self.check_arch(self.capsule.blob(line["ptx"]))
                result["launches"].append(self.launch(line))
        except CudaError as error:
            outcome, kind = OUTCOMES.get(error.name, ("error", None))
            if kind == "invalid_launch" and "(cuLaunchKernelEx)" not in str(error):
                outcome, kind = "error", None
            result |= {"outcome": outcome, "kind": kind, "name": error.name, "text": str(error).partition(": ")[2]}
            result["launch"] = len(result["launches"])
            if error.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
                result |= {"outcome": "skipped", "kind": None, "text": "the PTX is newer than this driver"}
        except TooOld as error:
            result |= {"outcome": "skipped", "text": str(error)}
        if "form" in self.case and all(launch["as_predicted"] for launch in result["launches"]):
            self.data.clear()  # the capsule has these bytes
            result["launches"] = [launch | {"changes": {}} for launch in result["launches"]]
        return result

    def close(self) -> None:
        """Give back memory and modules."""
        for region in self.regions.values():
            self.gpu.call("cuMemFree", region.start)
        for module in self.modules.values():
            self.gpu.call("cuModuleUnload", module)

    def check_arch(self, ptx: bytes) -> None:
        target = re.search(rb"^\.target\s+sm_(\d+)(a?)", ptx, re.MULTILINE)
        mine = 10 * self.gpu.capability[0] + self.gpu.capability[1]
        if target and (int(target[1]) > mine or (target[2] and int(target[1]) != mine)):
            raise TooOld(f"the PTX is for sm_{target[1].decode()}{target[2].decode()}, but this GPU is sm_{mine}")

    def launch(self, line: dict[str, Any]) -> dict[str, Any]:
        for name, about in line["regions"].items():
            if name not in self.regions:
                self.regions[name] = Region(self.gpu, about["size_bytes"], about["residue"])
        for name, rows in line["writes"].items():
            region = self.regions[name]
            for row in rows:
                self.capsule.apply(region.known, row)
                if "fill" in row:
                    self.gpu.call("cuMemsetD8", region.address + row["at"], row["fill"], row["size"])
                else:
                    region.write(row["at"], region.known[row["at"] : row["at"] + row["size"]])
        for owner, at, to, offset in line["pointers"]:
            address = np.array([self.regions[str(to)].address + offset], "<u8").view(np.uint8)
            self.regions[str(owner)].known[at : at + 8] = address
            self.regions[str(owner)].write(at, address)
        params = [self.param(one) for one in line["params"]]
        self.make_tensor_maps(line, params)
        pointers = {name: [row[1] for row in line["pointers"] if str(row[0]) == name] for name in line["regions"]}
        predicted = line.get("predicted", {}).items()
        wanted = {name: self.predicted(name, rows, pointers[name]) for name, rows in predicted}
        self.gpu.launch(self.function(line), line, params)
        changes = {name: self.regions[name].changes(pointers[name]) for name in line["regions"]}
        outside = [line["regions"][name]["label"] for name in line["regions"] if not self.regions[name].guards_hold()]
        same = all(self.is_predicted(name, chunks, changes[name], pointers[name]) for name, chunks in wanted.items())
        rows = {name: [self.row(*one) for one in cases] for name, cases in changes.items() if cases}
        return {"changes": rows, "as_predicted": same and bool(wanted), "wrote_outside": outside}

    def predicted(self, name: str, rows: list[dict[str, Any]], pointers: list[int]) -> dict[int, np.ndarray]:
        """The chunks of a region that these changes touch, as they are after them, without pointers."""
        known = self.regions[name].known
        touched = {
            chunk
            for row in rows
            for chunk in range(row["at"] // CHUNK_BYTES, -(-(row["at"] + row["size"]) // CHUNK_BYTES))
        }
        before = {chunk: self.chunk(known, chunk).copy() for chunk in touched}
        for row in rows:
            self.capsule.apply(known, row)
        after = {chunk: self.without_pointers(known, chunk, pointers) for chunk in touched}
        for chunk, data in before.items():
            self.chunk(known, chunk)[:] = data
        return after

    def is_predicted(
        self,
        name: str,
        wanted: dict[int, np.ndarray],
        changes: list[tuple[int, np.ndarray, np.ndarray]],
        pointers: list[int],
    ) -> bool:
        """Whether a region's touched chunks are as wanted, and no other byte changed that is not of a pointer."""
        for at, _, differs in changes:
            elsewhere = differs.copy()
            for pointer in pointers:
                elsewhere[max(pointer - at, 0) : max(pointer + 8 - at, 0)] = False
            if elsewhere.any() and at // CHUNK_BYTES not in wanted:  # each change is within one chunk
                return False
        known = self.regions[name].known
        return all(
            np.array_equal(self.without_pointers(known, chunk, pointers), data) for chunk, data in wanted.items()
        )

    def chunk(self, data: np.ndarray, number: int) -> np.ndarray:
        return data[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES]

    def without_pointers(self, data: np.ndarray, number: int, pointers: list[int]) -> np.ndarray:
        """A copy of a chunk in which pointers are zero."""
        copy, start = self.chunk(data, number).copy(), number * CHUNK_BYTES
        for at in pointers:
            copy[max(at - start, 0) : max(at + 8 - start, 0)] = 0
        return copy

    def make_tensor_maps(self, line: dict[str, Any], params: list[bytes]) -> None:
        """Replace the emulator's tensor maps of the recording by the driver's maps."""
        for row in line.get("tensor_maps", ()):
            at = row["at"]
            if "param" in row:
                form = params[row["param"]]
                address = int.from_bytes(form[at : at + 8], "little")
                made = self.gpu.tensor_map(row["mode"], row["arguments"], address)
                params[row["param"]] = form[:at] + made + form[at + len(made) :]
            else:
                region = self.regions[str(row["region"])]
                place = region.known[at : at + 128]
                address = int.from_bytes(place[:8].tobytes(), "little")
                made = self.gpu.tensor_map(row["mode"], row["arguments"], address)
                place[:] = np.frombuffer(made, np.uint8)
                region.write(at, place)

    def param(self, one: dict[str, Any]) -> bytes:
        data = bytearray.fromhex(one["bytes"])
        for at, region, offset in one["pointers"]:
            data[at : at + 8] = (self.regions[str(region)].address + offset).to_bytes(8, "little")
        return bytes(data)

    def function(self, line: dict[str, Any]) -> Any:
        if line["ptx"] not in self.modules:  # a case has the same delays in all launches of a module
            ptx = self.capsule.blob(line["ptx"]).decode()
            for at, delay in reversed(line.get("delays", ())):
                ptx = ptx[:at] + delay + ptx[at:]
            self.modules[line["ptx"]] = self.gpu.load(ptx.encode())
        return self.gpu.call("cuModuleGetFunction", self.modules[line["ptx"]], line["entry"].encode())

    def row(self, at: int, new: np.ndarray, differs: np.ndarray) -> dict[str, Any]:
        """Bytes of the result's data file; `mask` only if some between the first and the last did not change."""
        row = {"at": at, "size": new.size, "bytes": len(self.data)}
        self.data += new.tobytes()
        if not differs.all():
            row["mask"] = len(self.data)
            self.data += np.packbits(differs, bitorder="little").tobytes()
        return row


class AnotherGpu(Exception):
    """The folder has results of another GPU."""


class TooOld(Exception):
    """The GPU cannot run this PTX."""


def sha256(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def write(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        if os.path.exists(part):
            os.unlink(part)
        raise


def not_written(out: str, error: OSError) -> str:
    return f"cannot write into {out}: {error.strerror or error}"


def write_result(out: str, case: dict[str, Any], device: dict[str, Any], result: dict[str, Any], data: bytes) -> None:
    keys = ("name", "repro", "case", "repro_sha256")
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"schema": SCHEMA, "device": device, "date": now, "data_sha256": sha256(data)}
    write(os.path.join(out, case["name"] + ".bin"), data)
    text = json.dumps({key: case[key] for key in keys} | about | {"result": result}, indent=1)
    write(os.path.join(out, case["name"] + ".json"), text.encode() + b"\n")


def limit_s(case: dict[str, Any], timeout_s: float) -> float:
    """How long a case may take: its time, and more for its memory."""
    moved = sum(about["size_bytes"] for line in case["launches"] for about in line["regions"].values())
    return timeout_s + moved // BYTES_A_SECOND


def is_final(case: dict[str, Any], result: dict[str, Any], timeout_s: float) -> bool:
    """Whether a run which goes on need not repeat this: a timeout may come from a slow GPU."""
    if result.get("name") == TIMEOUT:
        return case["predicted"] == "deadlock" and result.get("limit_s", 0) >= limit_s(case, timeout_s)
    return result["outcome"] in FINAL


def finished(out: str, capsule: Capsule, timeout_s: float = 0) -> dict[int, dict[str, Any]]:
    """The results that are whole and final in a folder of this capsule, by number of the case."""
    results = {}
    for number, case in enumerate(capsule.cases):
        try:
            with open(os.path.join(out, case["name"] + ".json"), "rb") as file:
                table = json.loads(file.read())
            with open(os.path.join(out, case["name"] + ".bin"), "rb") as file:
                is_whole = sha256(file.read()) == table["data_sha256"]
            if is_whole and is_final(case, table["result"], timeout_s):
                results[number] = table
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return results


def pack(out: str) -> str:
    """Write the folder of results as one file; its path."""
    path = out.rstrip("/\\") + ".zip"
    with zipfile.ZipFile(f"{path}.part", "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(os.listdir(out)):
            if name.endswith((".json", ".bin")):
                file.write(os.path.join(out, name), name)
        file.write(os.path.join(out, KEPT_CAPSULE), KEPT_CAPSULE, zipfile.ZIP_STORED)
    os.replace(f"{path}.part", path)
    return path


def die_with_parent() -> None:
    """Linux: be killed when the parent is, also in the middle of a kernel that hangs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def child(capsule: Capsule, out: str, numbers: list[int], pipe: int) -> int:
    """Replay cases until one fails; tell the parent of each."""
    die_with_parent()
    try:
        gpu = Gpu()
        device = gpu.facts()
    except ImportError as error:
        print(f"{error}: uv run --no-project --with numpy --with cuda-bindings python ...", file=sys.stderr)
        return NO_GPU
    except (RuntimeError, CudaError) as error:
        print(f"no GPU that can be used: {error}", file=sys.stderr)
        return NO_GPU
    os.write(pipe, f"device {json.dumps(device)}\n".encode())
    for number in numbers:
        os.write(pipe, f"start {number}\n".encode())
        replay = Replay(capsule, capsule.cases[number], gpu)
        result = replay.run()
        try:
            write_result(out, capsule.cases[number], device, result, bytes(replay.data))
        except OSError as error:
            print(f"replay: {not_written(out, error)}", file=sys.stderr)
            return USAGE
        os.write(pipe, f"done {number} {result['outcome']}\n".encode())
        if result["outcome"] not in ("ran", "skipped"):
            return 0  # the context may be lost: the next case gets another process
        replay.close()
    return 0


class Children:
    """Child processes, one after another, until every case has a result."""

    def __init__(self, capsule: Capsule, path: str, out: str, timeout_s: float):
        self.capsule, self.path, self.out, self.timeout_s = capsule, path, out, timeout_s
        self.device: dict[str, Any] = {}
        self.outcomes: dict[int, str] = {}
        self.count = 0

    def run(self, numbers: list[int], earlier: dict[int, dict[str, Any]]) -> int:
        """0, or NO_GPU if a child could not begin, or USAGE if the `earlier` results come from another GPU."""
        self.outcomes = {number: earlier[number]["result"]["outcome"] for number in numbers if number in earlier}
        self.count = len(numbers)
        if self.outcomes:
            self.device = earlier[min(self.outcomes)]["device"]
            print(f"{len(self.outcomes)} of {self.count} cases have results from an earlier run", flush=True)
        todo = [number for number in numbers if number not in self.outcomes]
        while todo:
            status = self.one(todo)
            left = [number for number in todo if number not in self.outcomes]
            if status == USAGE or len(left) == len(todo):
                return status or NO_GPU
            todo = left
        return 0

    def one(self, numbers: list[int]) -> int:
        reader, writer = os.pipe()
        argv = [sys.executable, sys.argv[0], self.path, "-o", self.out, "--child", ",".join(map(str, numbers))]
        process = subprocess.Popen(  # in a separate session: Ctrl-C reaches only us
            [*argv, "--pipe", str(writer)], pass_fds=[writer], stdin=subprocess.DEVNULL, start_new_session=True
        )
        os.close(writer)
        running: Any = None
        timed_out = False
        try:
            with open(reader, "rb", buffering=0) as pipe:
                for line in lines(pipe, lambda: START_S if running is None else self.limit_s(running)):  # noqa: B023
                    word, _, rest = line.partition(" ")
                    if word == "device":
                        device = json.loads(rest)
                        if self.device not in ({}, device):
                            raise AnotherGpu(f"{self.out} has results of {self.device['name']}, not of this GPU")
                        self.device = device
                    elif word == "start":
                        running = int(rest)
                    else:
                        self.end(running, rest.partition(" ")[2])
                        running = None
        except TimeoutError:
            timed_out = True
        except AnotherGpu as error:
            print(f"replay: {error}, its driver included: choose another folder with -o", file=sys.stderr)
            process.kill()
            return process.wait() and USAGE
        finally:
            if timed_out or sys.exc_info()[0]:
                process.kill()
            process.wait()
        if running is not None and process.returncode != USAGE:
            limit = self.limit_s(running)
            text = f"did not end within {limit:g} s" if timed_out else f"it died: {process.returncode}"
            ended = {"outcome": "deadlock" if timed_out else "crash", "kind": "deadlock" if timed_out else None}
            result = ended | {"name": TIMEOUT if timed_out else "REPLAY_CRASH", "text": text, "launches": []}
            result |= {"limit_s": limit} if timed_out else {}
            write_result(self.out, self.capsule.cases[running], self.device, result, b"")
            self.end(running, result["outcome"])
        return process.returncode

    def limit_s(self, number: int) -> float:
        return limit_s(self.capsule.cases[number], self.timeout_s)

    def end(self, number: int, outcome: str) -> None:
        self.outcomes[number] = outcome
        case, so_far = self.capsule.cases[number], len(self.outcomes)
        if "form" not in case or outcome not in ("ran", "skipped"):
            print(f"[{so_far}/{self.count}] {case['name']}: {outcome}", flush=True)
        elif so_far % FORMS_A_LINE == 0 or so_far == self.count:
            print(f"[{so_far}/{self.count}] instruction forms, now {case['form']}", flush=True)


def lines(pipe: Any, limit_s: Any) -> Any:
    """Lines of a pipe until its end. Raises TimeoutError where none comes within `limit_s()`."""
    buffered = b""
    while True:
        if not select.select([pipe], [], [], limit_s())[0]:
            raise TimeoutError
        piece = pipe.read(1 << 16)
        if not piece:
            return
        buffered += piece
        *whole, buffered = buffered.split(b"\n")
        for line in whole:
            yield line.decode()


def main(argv: list[str] | None = None) -> int:
    own = sys.argv[0] if zipfile.is_zipfile(sys.argv[0]) else None
    options = parser(own).parse_args(argv)
    try:
        capsule = Capsule(options.capsule)
        if options.child:
            return child(capsule, options.out, [int(number) for number in options.child.split(",")], options.pipe)
        capsule.check(options.capsule)
        prepare(options.out, options.capsule)
    except (BadCapsule, OSError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return USAGE
    numbers = [number for number, case in enumerate(capsule.cases) if options.k in case["name"]]
    timeout_s = options.timeout or capsule.index.get("timeout_s", TIMEOUT_S)
    children = Children(capsule, options.capsule, options.out, timeout_s)
    status = 0
    try:
        try:
            status = children.run(numbers, finished(options.out, capsule, timeout_s))
        except KeyboardInterrupt:
            print("replay: stopped; run the same command again to go on", file=sys.stderr)
            status = 130
        if status in (0, 130) and children.outcomes:
            results = pack(options.out) if capsule.index.get("one_file") else options.out
            summarize(children, results)
    except OSError as error:
        print(f"replay: {not_written(options.out, error)}", file=sys.stderr)
        return USAGE
    return status or int(any(word in children.outcomes.values() for word in ("crash", "error", "skipped")))


def parser(own: str | None) -> argparse.ArgumentParser:
    about = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    options.add_argument("capsule", nargs="?" if own else None, default=own, help="what `repro replay capsule` wrote")
    options.add_argument("-o", "--out", default="out", metavar="FOLDER", help="where results go (default out)")
    options.add_argument("-k", default="", metavar="TEXT", help="only cases whose name contains it")
    options.add_argument("--timeout", type=float, metavar="SECONDS", help=f"for one case (default {TIMEOUT_S:g})")
    options.add_argument("--child", help=argparse.SUPPRESS)
    options.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    return options


def prepare(out: str, path: str) -> None:
    """Make the folder, with a copy of the capsule in it. Raises BadCapsule if it belongs to another capsule."""
    os.makedirs(out, exist_ok=True)
    kept = os.path.join(out, KEPT_CAPSULE)
    if os.path.exists(kept) and not filecmp.cmp(kept, path, shallow=False):
        raise BadCapsule(f"{out} has results of another capsule: choose another folder with -o")
    if not os.path.exists(kept):
        shutil.copyfile(path, kept + ".part")
        os.replace(kept + ".part", kept)


def summarize(children: Children, results: str) -> None:
    """Say what was skipped and why, how many cases ended how, and where the results are."""
    reasons: dict[str, int] = {}
    for number, table in finished(children.out, children.capsule).items():
        if children.outcomes.get(number) == "skipped":
            text = table["result"]["text"]
            reasons[text] = reasons.get(text, 0) + 1
    for text, count in sorted(reasons.items()):
        print(f"skipped {count}: {text}")
    counts = {word: list(children.outcomes.values()).count(word) for word in sorted(set(children.outcomes.values()))}
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    print(f"{said} on {children.device.get('name', 'no GPU')}: {results}")


if __name__ == "__main__":
    sys.exit(main())
