"""Answers a program's messages with the emulator."""

from __future__ import annotations

import contextlib
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dsl import emulator, environment_variables as variables
from dsl.driver import arena, kernel_parameters
from dsl.driver.messages import Channel, Ended
from dsl.driver.report import Report
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import Launch
from dsl.launch.driver import answers, images, messages, results
from dsl.launch.driver.messages import Reader

_LABEL, _MULTICAST = "memory allocated through the CUDA driver", "the multicast object"
_FOLLOWED, _SHOWN, _MULTIMEM = 1 << 63, 1 << 62, 1 << 61


class HelperDevice(answers.Answers):
    """The emulator of one program."""

    def __init__(self, channel: Channel, address: int, file: int, process: int) -> None:
        self.arena = arena.Mapped(address, file)
        emulator.allocate_variables_by(arena.VariableMemory(address).allocate)
        super().__init__(Emulated())
        self._channel, self._report = channel, Report(process)
        self.device.announce = lambda sentence: print(f"gpu-repro: {sentence}", file=sys.stderr)
        self.device.schedule(int(variables.value(variables.SEED, "0")))
        self._overlap: Any = None  # an Overlap, once work may overlap and races are looked for
        self._parameters: dict[tuple[Any, str], tuple[str, ...]] = {}  # of a program's kernels, by the author's names
        self._named: list[int] = []  # addresses of memory that is called so
        warnings.showwarning = self._warned
        self.by_question |= {messages.MEMORY: self._memory, messages.PIECE: self._piece}

    def answer(self, what: int, data: bytes) -> None:
        """Do what is asked, and answer."""
        self._answer(lambda: self.by_question[what](Reader(data)))

    def answer_posted(self, launch: Reader, number: int | None) -> None:
        """Make a launch, and answer; with a number, machine code has made it and it failed."""
        self._answer(lambda: self._launch(launch) if number is None else self._failed(number))

    def _answer(self, work: Callable[[], tuple[int, bytes]]) -> None:
        try:
            result, more = work()
        except Ended:
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

    def not_loaded(self, error: Exception) -> tuple[int, bytes]:
        if isinstance(error, images.BadImage):
            return results.INVALID_IMAGE, messages.text(str(error))
        if isinstance(error, (emulator.PtxError, emulator.Unsupported, ValueError)):
            return results.of_call(error) or results.INVALID_PTX, messages.text(str(error))
        raise error

    def told(self, sentence: str) -> None:
        print(f"gpu-repro: {sentence}", file=sys.stderr)

    # ** memory

    def _memory(self, reader: Reader) -> tuple[int, bytes]:
        """Blocks that came (address, size) or went (address, 0). _FOLLOWED: it is known which bytes were written.
        _SHOWN: the next row has the address of the pages to show there. _MULTIMEM: the next row has the address of the
        memory of these multimem addresses."""
        rows = answers.ROW.iter_unpack(reader.rest())
        for address, nbytes in rows:
            if nbytes & _SHOWN:
                self.arena.show(address, nbytes ^ _SHOWN, next(rows)[0])
            elif nbytes & _MULTIMEM:
                self.device.memory.register_multimem(address, nbytes ^ _MULTIMEM, _MULTICAST, next(rows)[0])
            elif nbytes:
                if nbytes & _FOLLOWED:
                    nbytes ^= _FOLLOWED
                    self.device.memory.follow(address, address + arena.WRITTEN_AFTER)
                self.device.register(address, nbytes, _LABEL)
                if self._overlap is not None:
                    self._overlap.forget(address, nbytes)
            else:
                self.device.unregister(address)
        return results.SUCCESS, b""

    # ** launches

    def launch(self, program: Any, name: str, launch: Launch, params: list[bytes]) -> None:
        self._name_memory(program, name, params)
        super().launch(program, name, launch, params)

    def _name_memory(self, program: Any, name: str, params: list[bytes]) -> None:
        """Call memory as the parameters are called that it is passed for, until the next launch."""
        memory = self.device.memory
        for address in self._named:
            memory.relabel(address, _LABEL)
        key = program, name
        if (names := self._parameters.get(key)) is None:
            names = self._parameters[key] = kernel_parameters.names_of(name, len(params), program.files.values())
        addresses = [(int.from_bytes(each, "little"), called) for each, called in zip(params, names) if len(each) == 8]
        self._named = [address for address, called in addresses if memory.relabel(address, called)]

    def _failed(self, number: int) -> tuple[int, bytes]:
        for address in self._named:  # machine code made the launch: they are of another one
            self.device.memory.relabel(address, _LABEL)

        def fail() -> None:
            raise self.device.refused(number)

        result, stays = self.run(fail, "a kernel")
        return result, struct.pack("<IQ", stays, 0)

    def run(self, work: Callable[[], None], name: str) -> tuple[int, bool]:
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

            self._overlap = Overlap(self.device.memory)
            self.device.accessed = self._overlap.launched
        overlap = self._overlap
        return self.run(lambda: overlap.told(reader), "work of a stream")[0], b""


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the kernel. Between launches the program alone hears it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
