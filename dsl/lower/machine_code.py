"""MLIR text of kernels and of their host function to LLVM IR, PTX and machine code: every stage, in the guard child.

MLIR and LLVM end the process where they fail: MLIR's translation to LLVM IR reads through a null pointer after it has
reported what it cannot translate. So all stages run in one request to the child; plain modules need no guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dsl import interrupts
from dsl.core.ir import mlir
from dsl.lower import host, llvm, nvptx
from dsl.lower.guard import LoweringCrash, guarded
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.passes import LoweringError, convert_to_llvm
from dsl.lower.rewrites import signals
from dsl.lower.rewrites.failed_calls import return_after_failed_call

# A search in the text: it names a module that ends MLIR's process, maybe as soon as MLIR reads it.
_KERNEL = re.compile(r"llvm\.func @(\S+?)\(.*\bnvvm\.kernel\b")


def compile_modules(
    host_mlir: str, device_mlir: str, arch: str, opt_level: int = 3, jump_slot: int | None = None
) -> tuple[str, str, bytes]:
    """LLVM IR and PTX of the kernels ("" where there are none) and the host function's machine code.

    `jump_slot`: see host.may_fail. Raises LoweringError for what a stage refuses, LoweringCrash (naming the kernels)
    where a stage ends its process, each with the author's place if MLIR has named it.
    """
    llvm.all_targets()  # before the fork, which inherits them
    host.ready()
    work = host_mlir, device_mlir, arch, opt_level, jump_slot
    try:
        if is_plain(device_mlir) and is_plain(host_mlir, on_host=True):
            llvm_ir, ptx, code, names = _compile(*work, nvptx.plain_to_ptx)
        else:
            kernels = ", ".join(_KERNEL.findall(device_mlir))
            llvm_ir, ptx, code, names = guarded(
                _compile, *work, nvptx.to_ptx, subject=f"{kernels} for {arch}" if kernels else "a host function"
            )
    except (LoweringError, LoweringCrash) as error:
        error.place = mlir.place_in(str(error))
        raise
    host.refuse_unknown_names(names, ("dsl_launch", *interrupts.FUNCTIONS))
    return llvm_ir, ptx, code


def _compile(
    host_mlir: str,
    device_mlir: str,
    arch: str,
    opt_level: int,
    jump_slot: int | None,
    to_ptx: Callable[[str, str, int], str],
) -> tuple[str, str, bytes, list[str]]:
    """`compile_modules` in this process, and the names that the host function calls."""
    rewrites = (signals.hear_in_loops,), (return_after_failed_call,)
    host_llvm = to_llvm_ir(convert_to_llvm(host_mlir, False, *rewrites))
    if jump_slot is not None:
        host_llvm = host.may_fail(host_llvm, jump_slot)
    code = host.object_code(host_llvm)
    llvm_ir = to_llvm_ir(convert_to_llvm(device_mlir), contract=True) if device_mlir else ""
    ptx = to_ptx(llvm_ir, arch, opt_level) if device_mlir else ""
    return llvm_ir, ptx, code, host.called(host_llvm)


# --- plain modules ------------------------------------------------------------------------------------------------

PLAIN_LINES = 400
_ARITHMETIC = {
    f"arith.{name}"
    for name in ("addi subi muli shli shrsi shrui divsi divui remsi remui sitofp uitofp fptosi fptoui").split()
}
_WORDS = (
    _ARITHMETIC
    | {
        f"arith.{name}"
        for name in ("constant andi ori xori addf subf mulf divf cmpi cmpf select extsi extui trunci").split()
    }
    | set(
        """
    module llvm.func attributes nvvm.kernel llvm.return scf.if else scf.yield llvm.load llvm.store llvm.getelementptr
    to true false eq ne ugt uge ult ule sgt sge slt sle oeq ogt oge olt ole one ord uno ueq une
    i1 i8 i16 i32 i64 f32 f64""".split()
    )
)
_HOST_WORDS = _WORDS | set("llvm.ptr llvm.alloca x llvm.call scf.for step iter_args".split())
_WORD = re.compile(r"(?<![%@#\w.])[A-Za-z_][\w.]*|@llvm\b|[<\"]")
_KNOWN = re.compile(
    r' loc\((?:#\w+|unknown|callsite\(#\w+ at #\w+\)|"[^"\\\n]*":\d+:\d+)\)|<1>|'
    r' \{alignment = (?:[1248]|16) : i64\}|dsl\.names = "[^"\\\n]*"|'
    r"nvvm\.reqntid = array<i32: \d+, \d+, \d+>|"
    r'llvm\.call_intrinsic "llvm\.nvvm\.read\.ptx\.sreg\.n?(?:cta|t)id\.[xyz]"\(\) : \(\) -> '
)


def is_plain(mlir_text: str, on_host: bool = False) -> bool:
    """Whether a module is short, without loops, and of nothing but arithmetic, tests and global memory,
    1 to 64 bits wide. One `on_host` may have loops, local memory and calls.

    MLIR's verifier tells every wrong use of these ops, and every back end has each of them, so they are trusted in
    this process. All else goes to the guard, whose child costs more than such a compile does.
    """
    if mlir_text.count("\n") > PLAIN_LINES:
        return False
    words = _HOST_WORDS if on_host else _WORDS
    text = _KNOWN.sub("", mlir_text if on_host else mlir_text.replace("!llvm.ptr<1>", ""))
    for line in text.split("\n"):
        used = _WORD.findall(line)
        if not words.issuperset(used) or ("i1" in used and not _ARITHMETIC.isdisjoint(used)):
            return False
    return True
