"""A host function as an object file that other programs link: its machine code under its own name, and constants.

It launches through a variable, the address of a function that is called as `dsl_launch` (core.trace). Its loops hear no
signals: there may be no Python in the process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dsl.lower import host
from dsl.lower.guard import guarded
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import convert_to_llvm
from dsl.lower.rewrites.failed_calls import return_after_failed_call

_DECLARED = re.compile(r"^declare i32 @dsl_launch\(.*$", re.MULTILINE)
_HOST = re.compile(r"@host\b(?!_)")


def symbols(name: str) -> dict[str, str]:
    """The symbols of an exported function: its code, the variable it launches through, its PTX, what Python reads."""
    return {part: f"{name}__{part}" for part in ("host", "launch", "ptx", "about")}


def object_file(
    name: str, host_mlir: str, jump_slot: int | None, constants: Mapping[str, bytes], functions: str = ""
) -> bytes:
    """The bytes of an ELF object. `functions` is LLVM IR to add. Raises LoweringError, LoweringCrash."""
    host.ready()
    llvm_ir = guarded(_host_llvm, host_mlir, jump_slot, subject="a host function")
    text = _HOST.sub(f"@{symbols(name)['host']}", llvm_ir)
    text = _DECLARED.sub(_LAUNCH.format(variable=symbols(name)["launch"]), text)
    rows = [f"@{symbol} = constant [{len(data)} x i8] {_literal(data)}, align 8" for symbol, data in constants.items()]
    return host.object_code("\n".join([text, *rows, functions]))


def _host_llvm(host_mlir: str, jump_slot: int | None) -> str:
    text = to_llvm_ir(convert_to_llvm(host_mlir, debug_lines=False, after=(return_after_failed_call,)))
    return text if jump_slot is None else host.may_fail(text, jump_slot)


_LAUNCH = """@{variable} = global ptr null

define internal i32 @dsl_launch(i64 %run, i32 %index, ptr %record, ptr %params) {{
  %function = load ptr, ptr @{variable}
  %handle = inttoptr i64 %run to ptr
  %failed = call i32 %function(ptr %handle, i32 %index, ptr %record, ptr %params)
  ret i32 %failed
}}"""


def _literal(data: bytes) -> str:
    """A constant of LLVM: every byte that is not a plain character as its two digits."""
    plain = set(range(32, 127)) - {ord('"'), ord("\\")}
    return 'c"' + "".join(chr(byte) if byte in plain else f"\\{byte:02X}" for byte in data) + '"'
