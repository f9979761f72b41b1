"""Answers a program's messages with the emulator."""

from __future__ import annotations

import contextlib
import math
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dsl import emulator, environment_variables as variables
from dsl.driver import arena, images, messages
from dsl.driver.messages import Channel, Reader
from dsl.driver.report import Report
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import Launch
from dsl.launch.driver import results

_MAX_THREADS = 1024
_LABEL = "memory allocated through the CUDA driver"
_ROW = struct.Struct("<QQ")


class HelperDevice:
    """The embedded device of one program."""

    def __init__(self, channel: Channel, address: int, file: int, process: int) -> None:
        arena.map_at(address, file)
        emulator.allocate_variables_by(arena.VariableMemory(address).allocate)
        self._channel, self._report = channel, Report(process)
        self._device = Emulated()
        self._device.announce = lambda sentence: print(f"gpu-repro: {sentence}", file=sys.stderr)
        self._device.schedule(int(variables.value(variables.SEED, "0")))
        self._overlap: Any = None  # an Overlap, once work may overlap and races are looked for
        self._programs: dict[int, Any] = {}  # by the number that the driver gives a module
        warnings.showwarning = self._warned
        self._answers = {
            messages.LOAD: self._load,
            messages.UNLOAD: self._unload,
            messages.LAUNCH: self._launch,
            messages.MEMORY: self._memory,
            messages.TENSOR_MAP: self._tensor_map,
            messages.PIECE: self._piece,
            messages.CHECK: self._check,
        }

    def answer(self, what: int, data: bytes) -> None:
        """Do what is asked, and answer."""
        self._answer(lambda: self._answers[what](Reader(data)))

    def answer_posted(self, launch: Reader, number: int | None) -> None:
        """Make a launch, and answer; with a number, machine code has made it and it failed."""
        self._answer(lambda: self._launch(launch) if number is None else self._failed(number))

    def _answer(self, work: Callable[[], tuple[int, bytes]]) -> None:
        try:
            result, more = work()
        except messages.Ended:
            raise
        except Exception:
            traceback.print_exc()
            result, more = results.LAUNCH_FAILED, b""
        self._channel.answer(result, more)

    def _warned(
        self, message: Warning | str, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        self._report.warned(message)

    # ** modules

    def _load(self, reader: Reader) -> tuple[int, bytes]:
        (number,) = reader.take("Q")
        try:
            program = self._device.load(images.ptx_of(reader))
        except images.BadImage as error:
            return results.INVALID_IMAGE, messages.text(str(error))
        except (emulator.PtxError, emulator.Unsupported, ValueError) as error:
            return results.of_call(error) or results.INVALID_PTX, messages.text(str(error))
        self._programs[number] = program
        entries = [_entry_row(each) for each in program.entries.values()]
        rows = [messages.text(each.label) + _ROW.pack(each.address, each.size_bytes) for each in program.allocations()]
        counts = [struct.pack("<I", len(each)) for each in (entries, rows)]
        return results.SUCCESS, b"".join([counts[0], *entries, counts[1], *rows])

    def _unload(self, reader: Reader) -> tuple[int, bytes]:
        (number,) = reader.take("Q")
        self._programs.pop(number, None)
        return results.SUCCESS, b""

    # ** memory

    def _memory(self, reader: Reader) -> tuple[int, bytes]:
        """Blocks that came (address, size) or went (address, 0)."""
        for address, nbytes in _ROW.iter_unpack(reader.rest()):
            if nbytes:
                self._device.register(address, nbytes, _LABEL)
                if self._overlap is not None:
                    self._overlap.forget(address, nbytes)
            else:
                self._device.unregister(address)
        return results.SUCCESS, b""

    # ** launches

    def _launch(self, reader: Reader) -> tuple[int, bytes]:
        """The result, whether it is an error of the context, which stays, and what machine code makes it again by."""
        program, name, launch, params = self._asked(reader)
        result, stays = self._run(lambda: self._device.launch(program, name, launch, params), name)
        again = 0 if result or launch.flags else self._device.function(program, name, launch)[0]
        return result, struct.pack("<IQ", stays, again)

    def _check(self, reader: Reader) -> tuple[int, bytes]:
        """Whether a GPU would accept a launch, which is made later."""
        return self._run(lambda: self._device.check(*self._asked(reader)), "a launch")[0], b""

    def _asked(self, reader: Reader) -> tuple[Any, str, Launch, list[bytes]]:
        """The program, the kernel, the launch and the parameters of a message."""
        number, index = reader.take("QI")
        shape: Any = reader.take("11I")
        (stream,) = reader.take("Q")
        program = self._programs[number]
        name, entry = list(program.entries.items())[index]
        data = reader.rest()
        params = [data[offset : offset + param.size_bytes] for offset, param in _places(entry)]
        return program, name, Launch(shape[:3], shape[3:6], shape[6:9], shape[9], stream, shape[10]), params

    def _failed(self, number: int) -> tuple[int, bytes]:
        def fail() -> None:
            raise self._device.refused(number)

        result, stays = self._run(fail, "a kernel")
        return result, struct.pack("<IQ", stays, 0)

    def _run(self, work: Callable[[], None], name: str) -> tuple[int, bool]:
        try:
            with _interruptible():
                work()
        except KeyboardInterrupt as stopped:
            print(f"gpu-repro: Ctrl-C stopped `{name}`", *getattr(stopped, "__notes__", ()), sep="\n", file=sys.stderr)
            return results.LAUNCH_FAILED, True
        except Exception as error:
            refused = results.of_call(error)
            result = results.of_kernel(error) if refused is None else refused
            self._report.failed(error, result)
            return result, refused is None
        return results.SUCCESS, False

    def _piece(self, reader: Reader) -> tuple[int, bytes]:
        """Work of a stream that is done next, by a launch if it is a kernel."""
        if self._overlap is None:
            from dsl.driver.overlap import Overlap  # noqa: PLC0415 - few programs need it

            self._overlap = Overlap(self._device.memory)
            self._device.accessed = self._overlap.launched
        overlap = self._overlap
        return self._run(lambda: overlap.told(reader), "work of a stream")[0], b""

    # ** tensor maps

    def _tensor_map(self, reader: Reader) -> tuple[int, bytes]:
        from dsl.emulator.families.tensor_map import tensor_map  # noqa: PLC0415 - few programs need it

        kind, rank, dtype, address = reader.take("IIIQ")
        extents, strides = reader.take(f"{rank}Q"), reader.take(f"{rank - 1}Q")
        form: Any
        if kind == 0:
            box, steps = reader.take(f"{rank}I"), reader.take(f"{rank}I")
            interleave, swizzle, promotion, fill = reader.take("4I")
            form = tensor_map.Tiled(dtype, address, extents, strides, box, steps, interleave, swizzle, fill, promotion)
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
            return results.SUCCESS, form.encode()
        except tensor_map.BadTensorMap as wrong:
            print(f"gpu-repro: a tensor map cannot be made: {wrong}", file=sys.stderr)
            return results.INVALID_VALUE, b""


def _places(entry: Any) -> Iterator[tuple[int, Any]]:
    """The parameters of a kernel, each with its offset in the buffer of all."""
    at = 0
    for param in entry.params:
        at = -(-at // param.align_bytes) * param.align_bytes
        yield at, param
        at += param.size_bytes


def _entry_row(entry: Any) -> bytes:
    """A kernel, as modules.cc reads it."""
    places = [(offset, param.size_bytes) for offset, param in _places(entry)]
    end = sum(places[-1]) if places else 0
    threads = entry.reqntid or (0, 0, 0)
    most = math.prod(entry.reqntid or entry.maxntid or (_MAX_THREADS,))
    numbers = [value for pair in places for value in pair]
    row = [end, entry.static_smem_bytes, most, *threads, *(entry.cluster or (0, 0, 0)), entry.most_cluster or 0]
    return messages.text(entry.name) + struct.pack(f"<{1 + len(numbers) + len(row)}I", len(places), *numbers, *row)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the kernel. Between launches the program alone hears it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
