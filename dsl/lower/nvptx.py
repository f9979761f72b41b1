"""LLVM IR text to PTX text, by LLVM's NVPTX back end."""

from __future__ import annotations

import re

from dsl.lower import llvm
from dsl.lower.call_sites import into_inlined_at
from dsl.lower.device_functions import with_device_functions
from dsl.lower.guard import guarded
from dsl.lower.passes import LoweringError
from dsl.lower.rewrites.contraction import with_contracted_sums_only
from dsl.lower.rewrites.guarded_division import divisions_without_guards
from dsl.lower.rewrites.pointer_sums import with_pointer_sums

TRIPLE = "nvptx64-nvidia-cuda"

# The oldest PTX that knows each target, as LLVM 22 emits it without a feature.
ARCH_PTX = {
    "sm_70": 60,
    "sm_72": 61,
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_100f": 88,
    "sm_101": 86,
    "sm_101a": 86,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_120": 87,
    "sm_120a": 87,
    "sm_121": 88,
    "sm_121a": 88,
}

# Instructions that need a newer PTX than their target does; matched in LLVM IR (an intrinsic with dots for
# separators, or the text of inline assembly). PTX ISA, "PTX ISA Notes" of each instruction. A test compares them with
# what the emulator's rows need, which ptxas has confirmed.
FEATURE_PTX = (
    (r"tanh\.approx|ex2\.approx\.(ftz\.)?b?f16", 70),
    (r"cvt\.f32\.bf16|test.wait\.parity", 71),
    (r"mma\.sp\.|and\.popc", 71),
    (r"xorsign", 72),
    (
        r"createpolicy|cache.hint|L2::(64|128|256)B|L[12](::|\.)(evict|no_alloc)|discard\.(global\.)?L2|applypriority",
        74,
    ),
    (r"fence\.proxy\.alias", 75),
    (r"alloca\.u|stack(save|restore)\.u", 73),
    (r"(bmsk|szext)\.(clamp|wrap)", 76),
    (r"(cvta(\.to)?|isspacep)\.param", 77),
    (r"stmatrix|griddepcontrol|mbarrier\.try.wait|barrier\.cluster|mapa|getctarank", 78),
    (r"shared::cta|movmatrix|(?<!nvvm\.)\bbar(rier)?\.cta\.", 78),
    (r"elect\.sync|expect_tx|(cp|reduce)\.async\.bulk|wgmma|setmaxnreg|fence\.proxy\.async|fence\.mbarrier.init", 80),
    (r"barrier\.cluster\.(arrive|wait)\.(relaxed|release|acquire)|mbarrier[\w.]*\.(release|relaxed|acquire)", 80),
    (r"mbarrier\.(complete_tx|[\w.]*shared::cluster)", 80),
    (r"fma[\w.]*\.oob", 81),
    (r"mma\.sp\.[\w.]*\.e[45]m", 84),
    (r"sp::ordered_metadata", 85),
    (r"[us]16x2|(min|max)\.relu\.s32|prefetch\.(param\.|const\.)?tensormap", 80),
    (r"satfinite\.(tf32|b?f16)|e4m3x2|e5m2x2|multimem|st\.async|red\.async|(atom|red)[\w.:]*\.(vec|v2|v4|v8)", 81),
    (r"\.mmio\.|lop3\.(and|or)\.|mma_async\.sp\.|multimem[\w.:]*acc::f32", 82),
    (r"fence\.proxy\.tensormap|tensormap\.(replace|cp)|\.b128|param::(entry|func)", 83),
    (r"mma\.(sync\.aligned\.)?m16n8k32[\w.]*\.(e4m3|e5m2)|wgmma[\w.]*\.(s8\.u8|u8\.s8)", 84),
    (r"mbarrier\.(arrive|(try|test).wait)[\w.]*\.relaxed|sync_restrict", 86),
    (r"mma\.(sync\.aligned\.)?(m16n8k16[\w.]*\.(e4m3|e5m2)|m16n8k32\.row\.col\.f16\.e)", 87),
    (r"tcgen05|redux\.sync\.f(min|max)|clusterlaunchcontrol|e2m1x2|e2m3x2|e3m2x2|ue8m0x2", 86),
    (r"bulk\.(tensor\.\dd\.)?shared::cta\.global", 86),
    (r"(ld|st)\b[\w.:]*\.(v8\.\w32|v4\.\w64)", 88),
)


# Lines of LLVM IR from which straight-line strength reduction is left out. It makes the sum of k terms out of k
# addresses at one stride, so its time and the time of all later stages grow with the square: 7 s for 1 000 loads, 0.5 s
# without. It saves one multiplication an address.
LONG_LINES = 2000


# What LLVM leaves to ptxas, which knows the machine: unrolling loops whose trips are counted at run time, and moving
# code into the one arm that uses it, where an arm of one store would be a predicate and becomes a branch. Addresses are
# made before such an arm even if they cost a multiplication: several arms share them then. A loop's test stays the
# `<` that was written: of `!=` ptxas does not know that it ends, and unrolls with a copy more and a loop for the rest.
_OPTIONS = ("-unroll-runtime=false", "-disable-lftr", "-disable-machine-sink", "-spec-exec-max-speculation-cost=10")


def to_ptx(llvm_ir: str, arch: str = "sm_90a", optimize: int = 3) -> str:
    """PTX of the lowest `.version` that has what is used, with the `.loc` lines of the IR's debug locations.

    Raises LoweringError for IR LLVM refuses, LoweringCrash (naming the kernels) where LLVM aborts.
    """
    _check_arch(arch)
    llvm_ir = with_device_functions(llvm_ir)
    kernels = ", ".join(re.findall(r"define ptx_kernel void @(\S+?)\(", llvm_ir)) or "a module without kernels"
    llvm.all_targets()  # before the fork, which inherits them
    long = llvm_ir.count("\n") > LONG_LINES
    return guarded(
        _compile_long if long else _compile_kernels,
        llvm_ir,
        arch,
        optimize,
        subject=f"{kernels} for {arch}",
        spends=long,
    )


def plain_to_ptx(llvm_ir: str, arch: str, optimize: int) -> str:
    """`to_ptx` in this process, of IR that every back end has each instruction of and that calls no function."""
    _check_arch(arch)
    return _compile(llvm_ir, arch, optimize)


def _check_arch(arch: str) -> None:
    if arch not in ARCH_PTX:
        raise LoweringError("PTX", f"unknown GPU arch {arch!r}; known: {', '.join(ARCH_PTX)}")


def ptx_version(llvm_ir: str, arch: str) -> int:
    """Ten times the lowest PTX ISA version that has `arch` and every instruction the IR calls."""
    calls = "\n".join(line for line in llvm_ir.split("\n") if "call " in line)  # not file names, not kernels
    return max([ARCH_PTX[arch], *(version for pattern, version in FEATURE_PTX if re.search(pattern, calls))])


def _compile_long(llvm_ir: str, arch: str, optimize: int) -> str:
    """`_compile_kernels` without straight-line strength reduction; LLVM cannot take the option back in this process."""
    llvm.set_option("-opt-disable=slsr")
    return _compile_kernels(llvm_ir, arch, optimize)


def _compile_kernels(llvm_ir: str, arch: str, optimize: int) -> str:
    """`_compile` in the guard's child, whose LLVM may keep the options."""
    for option in _OPTIONS:
        llvm.set_option(option)
    return _compile(llvm_ir, arch, optimize)


def _compile(llvm_ir: str, arch: str, optimize: int) -> str:
    llvm.all_targets()
    version = ptx_version(llvm_ir, arch)
    features = f"+ptx{version}" if version > ARCH_PTX[arch] else ""
    machine = llvm.Machine(TRIPLE, arch, features, optimize)
    try:
        module = llvm.Module(divisions_without_guards(llvm_ir), machine)
    except RuntimeError as error:
        raise LoweringError("LLVM IR", str(error)) from None
    module.optimize(machine, optimize)
    return tidy(machine.emit(_prepared(module, machine), machine_code=False).decode())


_FAR_OFFSET = re.compile(r"^( *)(%\S+ = getelementptr .*, i64 )(-?\d{10,})(.*)$", re.MULTILINE)
_SAME_SIGN = re.compile(r"(?<= = icmp )samesign u(?=(?:lt|le|gt|ge) )")
_SIGNED_BIT = re.compile(r"^( *%\S+ = )sitofp (i1|<\d+ x i1>) (\S+) to (bfloat|<\d+ x bfloat>)", re.MULTILINE)


def _prepared(module: llvm.Module, machine: llvm.Machine) -> llvm.Module:
    """The optimised module as LLVM's back end makes good PTX of it.

    Numbers of one sign are compared as signed ones, as they were before LLVM: ptxas unrolls a loop by such a test best.
    """
    text = str(module)
    prepared = _around_errors(with_contracted_sums_only(with_pointer_sums(_SAME_SIGN.sub("s", text))))
    return llvm.Module(prepared, machine) if prepared != text else module


def _around_errors(text: str) -> str:
    """Optimised LLVM IR without what LLVM 22 turns into wrong PTX.

    Address offsets past 32 bits are printed modulo 2**32 (`ld [%rd1+-2147483643]`): they are kept in registers. The
    bfloat of a signed bit is +1 (`selp.b32 1, 0`), of every other float type -1: it is selected.
    """
    count = 0

    def in_register(match: re.Match) -> str:
        nonlocal count
        indent, head, offset, tail = match.groups()
        if -(1 << 31) <= int(offset) < 1 << 31:
            return match.group()
        count += 1
        name = f"%far.offset.{count}"
        return f'{indent}{name} = call i64 asm "mov.b64 $0, {offset};", "=l"()\n{indent}{head}{name}{tail}'

    def selected(match: re.Match) -> str:
        nonlocal count
        count += 1
        head, bits, value, floats = match.groups()
        one, zero = ("splat (bfloat 0xRBF80)", "zeroinitializer") if bits[0] == "<" else ("0xRBF80", "0xR0000")
        return f"{head}select {bits} {value}, {floats} {one}, {floats} {zero}"

    return _SIGNED_BIT.sub(selected, _FAR_OFFSET.sub(in_register, text))


_DWARF = re.compile(r"^\t\.section\t\.debug_\w+\s*\{[^}]*\}\n?", re.MULTILINE)
_LABEL = re.compile(r"^\$L__(?:func_begin|func_end|tmp)\d+:\n", re.MULTILINE)
_FILE = re.compile(r"^\t\.file\t.*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)")
_EXTERN = re.compile(r"^\.extern \.func .*?\b([\w.$]+)\s*$", re.MULTILINE)
_RUNTIME_FUNCTIONS = {"vprintf", "malloc", "free", "__assertfail"}  # the four the driver links


def tidy(ptx: str) -> str:
    """PTX that ptxas optimises: no `debug` target and no DWARF, but all `.loc` and `.file` lines, with the calls.

    A quote in a file's name is `\\042`: LLVM writes `\\"`, which ends the name for ptxas.
    Raises LoweringError for a call of a function nobody defines, such as an intrinsic LLVM does not know.
    """
    unknown = sorted(set(_EXTERN.findall(_DWARF.sub("", ptx))) - _RUNTIME_FUNCTIONS)
    if unknown:
        raise LoweringError("PTX", f"LLVM knows no intrinsic or function {', '.join(unknown)}")
    ptx = re.sub(r"^(\.target .*), debug$", r"\1", ptx, flags=re.MULTILINE)
    ptx = _LABEL.sub("", _DWARF.sub("", ptx))
    ptx = _FILE.sub(lambda line: _ESCAPE.sub(_octal_quote, line.group()), ptx)
    return into_inlined_at(ptx.rstrip() + "\n")


def _octal_quote(escape: re.Match) -> str:
    return r"\042" if escape.group(1) == '"' else escape.group()
