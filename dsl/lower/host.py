"""LLVM IR text to a native host function, in this process, through ORC."""

from __future__ import annotations

import ctypes
import functools
import re

from dsl.lower import llvm
from dsl.lower.cpu_builtins import load_wide_integers, with_builtins
from dsl.lower.passes import LoweringError


class Native:
    """Machine code of one module.

    The code is unmapped when this object dies: hold it as long as a function pointer taken from it may be called, and
    hold whatever the bound symbols point to (ctypes callbacks) just as long. ctypes callbacks must not raise: an
    exception would be printed and lost; store it, return non-zero, raise after the native function has returned.
    """

    def __init__(self, linked: llvm.Linked, keep_alive: tuple = ()):
        self._linked, self._keep_alive = linked, keep_alive
        self.addresses = linked.addresses

    def function(self, name: str, result: type | None, *arguments: type):
        """A ctypes function; it keeps this object alive."""
        function = ctypes.CFUNCTYPE(result, *arguments)(self.addresses[name])
        vars(function)["native"] = self
        return function


@functools.cache
def ready() -> str:
    """This machine's triple; code made here finds the compiler's own library."""
    load_wide_integers()
    return llvm.native_target()


def native(
    llvm_ir: str, symbols: dict[str, int], exports: tuple[str, ...] = ("host",), keep_alive: tuple = ()
) -> Native:
    """Compile `llvm_ir` for this CPU and link it; see `object_code` and `link`."""
    code = object_code(llvm_ir)
    refuse_unknown_names(called(llvm_ir), tuple(symbols))
    return link(code, symbols, exports, keep_alive)


def object_code(llvm_ir: str, quickly: bool = False) -> bytes:
    """Relocatable machine code of `llvm_ir`, which may call names that `link` is given, and libc.

    No fast-math and no fma: host arithmetic rounds after each operation. `quickly`: without optimising it. Raises
    LoweringError for IR LLVM refuses.
    """
    triple = ready()
    straight = quickly or llvm_ir.count("\nbr") + llvm_ir.count(" br ") < 2  # no loop: it is not worth optimising
    machine = llvm.Machine(triple, level=0 if straight else 1, reloc="pic", model="small", jit=True)
    try:
        module = llvm.Module(with_builtins(llvm_ir), machine)
    except RuntimeError as error:
        raise LoweringError("host LLVM IR", str(error)) from None
    if not straight:
        module.optimize(machine, 1)
    return machine.emit(module, machine_code=True)


def link(code: bytes, symbols: dict[str, int], exports: tuple[str, ...] = ("host",), keep_alive: tuple = ()) -> Native:
    """Bring machine code into this process; `symbols` are addresses it may call by name, libc is there anyway.

    Raises LoweringError where a name is missing.
    """
    ready()
    try:
        linked = llvm.Linked(code, symbols.items(), exports)
    except RuntimeError as error:
        raise LoweringError("host linking", str(error)) from None
    return Native(linked, keep_alive)


_JUMP = """
define i32 @host(ptr %args) {{
  %state = alloca [64 x i64], align 16
  %slot = getelementptr i64, ptr %args, i64 {slot}
  store ptr %state, ptr %slot
  %failed = call i32 @_setjmp(ptr %state) returns_twice
  %first = icmp eq i32 %failed, 0
  br i1 %first, label %run, label %end
run:
  %done = call i32 @host_body(ptr %args)
  ret i32 %done
end:
  ret i32 %failed
}}

declare i32 @_setjmp(ptr) returns_twice
"""


def may_fail(llvm_ir: str, jump_slot: int) -> str:
    """A host module whose `host` may leave by longjmp: it returns the number given there, else what it returned.

    The jump target is stored in the argument block's 8-byte slot `jump_slot`. No frame of Python is in between.
    """
    body, count = re.subn(r"^define i32 @host\(", "define internal i32 @host_body(", llvm_ir, flags=re.MULTILINE)
    if count != 1:
        raise LoweringError("host LLVM IR", "there is no function `host` in it")
    return body + _JUMP.format(slot=jump_slot)


_DECLARED = re.compile(r'^declare [^@\n]*@"?([^"(\n]+)"?\(', re.MULTILINE)


def called(llvm_ir: str) -> list[str]:
    """The functions that `llvm_ir` calls and does not define."""
    return [name for name in _DECLARED.findall(llvm_ir) if not name.startswith("llvm.")]


def refuse_unknown_names(names: list[str], symbols: tuple[str, ...]) -> None:
    """Raise LoweringError for a name that is none of `symbols` and that this process does not have: the linker would
    not name it."""
    process = ctypes.CDLL(None)
    unknown = [name for name in names if name not in symbols and not hasattr(process, name)]
    if unknown:
        raise LoweringError("host linking", f"nobody defines {', '.join(unknown)}")
