"""The answers of a device to libcuda.so.1: modules, launches, tensor maps. In the helper process and in a program."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dsl.launch.devices.protocol import INVALID_LAUNCH, DeviceError, Launch
from dsl.launch.driver import images, messages, results
from dsl.launch.driver.messages import Reader

_MAX_THREADS = 1024
ROW = struct.Struct("<QQ")


class _Kernel(NamedTuple):
    name: str
    params: list[tuple[int, int]]  # the offset and the size of each


class Answers:
    """The answers of one device, by what is asked."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._programs: dict[int, tuple[Any, list[_Kernel]]] = {}  # by the number that the driver gives a module
        self.by_question: dict[int, Callable[[Reader], tuple[int, bytes]]] = {
            messages.LOAD: self._load,
            messages.UNLOAD: self._unload,
            messages.LAUNCH: self._launch,
            messages.TENSOR_MAP: self._tensor_map,
            messages.CHECK: self._check,
        }

    # ** for who answers

    def not_loaded(self, error: Exception) -> tuple[int, bytes]:
        """A module is refused."""
        raise NotImplementedError

    def told(self, sentence: str) -> None:
        """A call is refused for this reason."""
        raise NotImplementedError

    def run(self, work: Callable[[], None], name: str) -> tuple[int, bool]:
        """Launch `name`: the result, and whether it is an error of the context."""
        raise NotImplementedError

    def again(self, program: Any, name: str, launch: Launch) -> int:
        """The handle by which machine code makes a launch again; 0: none."""
        return self.device.function(program, name, launch)[0]

    # ** modules

    def _load(self, reader: Reader) -> tuple[int, bytes]:
        (number,) = reader.take("Q")
        try:
            program = self.device.load(images.ptx_of(reader))
        except Exception as error:
            return self.not_loaded(error)
        kernels = [_Kernel(name, [*_places(entry)]) for name, entry in program.entries.items()]
        self._programs[number] = program, kernels
        entries = [_entry_row(each) for each in program.entries.values()]
        rows = [messages.text(each.label) + ROW.pack(each.address, each.size_bytes) for each in program.allocations()]
        counts = [struct.pack("<I", len(each)) for each in (entries, rows)]
        return results.SUCCESS, b"".join([counts[0], *entries, counts[1], *rows])

    def _unload(self, reader: Reader) -> tuple[int, bytes]:
        (number,) = reader.take("Q")
        self._programs.pop(number, None)
        return results.SUCCESS, b""

    # ** launches

    def _launch(self, reader: Reader) -> tuple[int, bytes]:
        """The result, whether it is an error of the context, which stays, and what machine code makes it again by."""
        program, name, launch, params = self._asked(reader)
        result, stays = self.run(lambda: self.launch(program, name, launch, params), name)
        return result, struct.pack("<IQ", stays, 0 if result or launch.flags else self.again(program, name, launch))

    def launch(self, program: Any, name: str, launch: Launch, params: list[bytes]) -> None:
        self.device.launch(program, name, launch, params)

    def _check(self, reader: Reader) -> tuple[int, bytes]:
        """Whether a GPU would accept a launch, which is made later."""
        return self.run(lambda: self.device.check(*self._asked(reader)), "a launch")[0], b""

    def _asked(self, reader: Reader) -> tuple[Any, str, Launch, list[bytes]]:
        """The program, the kernel, the launch and the parameters of a message."""
        number, index, *words = reader.take("QI11IQ")
        if number not in self._programs:  # of a device before this one
            raise DeviceError("CUDA_ERROR_INVALID_HANDLE", "the function is of a device that has gone", INVALID_LAUNCH)
        program, kernels = self._programs[number]
        name, places = kernels[index]
        data, shape = reader.rest(), tuple(words)
        params = [data[offset : offset + size] for offset, size in places]
        return program, name, Launch(shape[:3], shape[3:6], shape[6:9], shape[9], shape[11], shape[10]), params

    # ** tensor maps

    def _tensor_map(self, reader: Reader) -> tuple[int, bytes]:
        from dsl.emulator.families.tensor_map import tensor_map

        kind, rank, dtype, address = reader.take("IIIQ")
        extents, strides = reader.take(f"{rank}Q"), reader.take(f"{rank - 1}Q")
        form: Any
        if kind == 0:
            box, steps = reader.take(f"{rank}I"), reader.take(f"{rank}I")
            interleave, swizzle, promotion, fill = reader.take("4I")
            form = tensor_map.Tiled(dtype, address, extents, strides, box, steps, interleave, swizzle, fill, promotion)
        elif kind == 2:
            lower, upper, channels, pixels = reader.take("iiII")
            steps = reader.take(f"{rank}I")
            mode, interleave, swizzle, promotion, fill = reader.take("5I")
            form = tensor_map.Wide(
                dtype, address, extents, strides, lower, upper, channels, pixels, steps, interleave, mode, swizzle,
                fill, promotion,
            )  # fmt: skip
        else:
            lower, upper = reader.take(f"{rank - 2}i"), reader.take(f"{rank - 2}i")
            channels, pixels = reader.take("2I")
            steps = reader.take(f"{rank}I")
            interleave, swizzle, promotion, fill = reader.take("4I")
            form = tensor_map.Im2col(
                dtype, address, extents, strides, lower, upper, channels, pixels, steps, interleave, swizzle, fill,
                promotion,
            )  # fmt: skip
        try:
            return results.SUCCESS, form.encode(self.device.limits.capability)
        except tensor_map.BadTensorMap as wrong:
            self.told(f"a tensor map cannot be made: {wrong}")
            return results.INVALID_VALUE, b""


def _places(entry: Any) -> Iterator[tuple[int, int]]:
    """The offset of each parameter in the buffer of all, and its size."""
    at = 0
    for param in entry.params:
        at = -(-at // param.align_bytes) * param.align_bytes
        yield at, param.size_bytes
        at += param.size_bytes


def _entry_row(entry: Any) -> bytes:
    """A kernel, as modules.cc reads it."""
    places = [*_places(entry)]
    end = sum(places[-1]) if places else 0
    threads = entry.reqntid or (0, 0, 0)
    most = math.prod(entry.reqntid or entry.maxntid or (_MAX_THREADS,))
    numbers = [value for pair in places for value in pair]
    row = [end, entry.static_smem_bytes, most, *threads, *(entry.cluster or (0, 0, 0)), entry.most_cluster or 0]
    return messages.text(entry.name) + struct.pack(f"<{1 + len(numbers) + len(row)}I", len(places), *numbers, *row)
