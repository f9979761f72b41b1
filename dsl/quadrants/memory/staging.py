"""Arrays of the host as arguments of a kernel on a GPU: copied there for the time of a call, and back.

On the emulator, and where a GPU reaches the host's memory, they stay where they lie.
Source: Quadrants user guide, External arrays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from dsl.launch.devices.protocol import DeviceError


@contextlib.contextmanager
def staged(device: Any, slots: Sequence, formats: str, storages: Sequence[tuple[int, int, str]]) -> Iterator[list]:
    """The slots of a call with pointers that `device` reaches; arrays are copied back at the end.

    `formats` has a letter a slot, P for a pointer; `storages` are (address, bytes, name) of the arrays.
    """
    copies: list[tuple[int, int, int]] = []  # (address on the device, on the host, bytes)
    try:
        for address, size_bytes, name in storages:
            if any(start <= address and address + size_bytes <= start + size for _, start, size in copies):
                continue  # the same array twice stays one
            try:
                device.register(address, size_bytes, name)
                device.unregister(address)
            except DeviceError as error:
                if error.name != "HOST_MEMORY":
                    raise
                copies.append((device.alloc(max(size_bytes, 1), name), address, size_bytes))
                device.copy(copies[-1][0], address, size_bytes)
        moved = list(slots)
        for position, (letter, value) in enumerate(zip(formats, slots)):
            for there, here, size_bytes in copies if letter == "P" else ():
                if here <= value < here + max(size_bytes, 1):
                    moved[position] = value - here + there
        yield moved
        device.sync()
        for there, here, size_bytes in copies:
            device.copy(here, there, size_bytes)
    finally:
        for there, _, _ in copies:
            device.free(there)
