"""The work that the first compile and launch of a process do once, done early: for a surface whose programs call a
function when they begin."""

from __future__ import annotations

import weakref

from dsl.launch.devices import emulated
from dsl.launch.devices.protocol import Device, Launch
from dsl.lower.machine_code import compile_modules

_KERNEL = "module { llvm.func @ready(%a: !llvm.ptr<1>) attributes {nvvm.kernel} { llvm.return } }"
_HOST = (
    "module { llvm.func @host(%a: !llvm.ptr) -> i32 { %0 = llvm.mlir.constant(0 : i32) : i32 llvm.return %0 : i32 } }"
)
_done: weakref.WeakSet = weakref.WeakSet()


def ready(device: Device) -> None:
    """Compile and, on the emulator itself, launch a kernel that does nothing; once a device."""
    if device in _done:
        return
    _done.add(device)
    _, ptx, _ = compile_modules(_HOST, _KERNEL, device.arch)
    if type(device) is emulated.Emulated:  # a recording device would keep it
        address = device.alloc(8, "ready")
        device.launch(device.load(ptx), "ready", Launch((1, 1, 1), (1, 1, 1)), [address.to_bytes(8, "little")])
        device.free(address)
