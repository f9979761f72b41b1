"""Calls of a kernel in CUDA C++: an intrinsic of CUDA where there is one, else a helper round its PTX instruction."""

from __future__ import annotations

import re

from dsl.analysis.mlir_reader import Op, Value
from dsl.lower import elementary
from dsl.readable_cuda import matrices
from dsl.readable_cuda.cpp_types import TYPES, Unsupported, c_type
from dsl.readable_cuda.expressions import ATOM, UNARY, Expressions
from dsl.readable_cuda.statements import constant_of

_INDEX = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}
_REGISTER = re.compile(r"nvvm\.read\.ptx\.sreg\.([\w.]+)$")
_LETTERS = {"f": "float", "d": "double", "r": "unsigned", "l": "unsigned long long", "h": "unsigned short"}
_LETTER_OF = {"f32": "f", "f64": "d", "i32": "r", "i64": "l", "f16": "h", "bf16": "h", "i16": "h", "i1": "r", "i8": "r"}
_MATH = {
    "fma": "fma",
    "fabs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "round",
    "roundeven": "rint",
    "rint": "rint",
    "nearbyint": "nearbyint",
    "copysign": "copysign",
    "exp": "exp",
    "exp2": "exp2",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "sin": "sin",
    "cos": "cos",
    "pow": "pow",
    "minnum": "fmin",
    "maxnum": "fmax",
}
_HALF_MATH = {
    "fma": "__hfma",
    "fabs": "__habs",
    "sqrt": "hsqrt",
    "floor": "hfloor",
    "ceil": "hceil",
    "trunc": "htrunc",
    "roundeven": "hrint",
    "rint": "hrint",
}
_ROUNDED = {"rn": "rn", "rz": "rz", "rp": "ru", "rm": "rd"}
_VOTES = {"ballot": "__ballot_sync", "any": "__any_sync", "all": "__all_sync"}
_SHUFFLES = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "bfly": "__shfl_xor_sync"}
_FENCES = {
    "nvvm.membar.cta": "__threadfence_block()",
    "nvvm.membar.gl": "__threadfence()",
    "nvvm.membar.sys": "__threadfence_system()",
    "trap": "__trap()",
}
_CLASSES = {3: "isnan({})", 516: "isinf({})", 504: "isfinite({})"}
_ATOMICS = {
    0: "Exch",
    1: "Add",
    2: "Sub",
    3: "And",
    5: "Or",
    6: "Xor",
    7: "Max",
    8: "Min",
    9: "Max",
    10: "Min",
    11: "Add",
}


_NUMBERED_TEXT = """static __device__ void dsl_numbered_text(signed char *to, const char *before, long long n,
                                         const char *after) {
    while (*before) *to++ = *before++;
    if (n < 0) *to++ = '-';
    unsigned long long size = n < 0 ? -(unsigned long long)n : n, unit = 1;
    while (size / unit > 9) unit *= 10;
    for (; unit; unit /= 10) *to++ = '0' + size / unit % 10;
    while ((*to++ = *after++)) {}
}
"""


class Calls:
    """Writes calls as C++. `helpers`: the device functions that the text needs, name by definition."""

    def __init__(self, texts: dict[str, bytes]):
        self.texts = texts  # the strings of the module by their symbol
        self.helpers: dict[str, str] = {}  # definition -> name

    def __call__(self, op: Op, write: Expressions) -> tuple[str, int]:
        if op.name == "llvm.inline_asm":
            return self._asm(op, write)
        if op.name == "llvm.call":
            return self._function(op, write)
        if op.name in ("llvm.atomicrmw", "llvm.cmpxchg"):
            return self._atomic(op, write)
        name = op.callee
        if register := _REGISTER.match(name):
            return self._register(register[1], op)
        if name in _FENCES:
            return _FENCES[name], ATOM
        if name.startswith("nvvm.barrier"):
            return self._barrier(op, write)
        if name == "nvvm.bar.warp.sync":
            mask = constant_of(op.operands[0])
            return ("__syncwarp()" if mask == -1 else f"__syncwarp({self._mask(op.operands[0], write)})"), ATOM
        if name.startswith("nvvm.shfl.sync."):
            return self._shuffle(op, write)
        if name.startswith("nvvm.vote."):
            return self._vote(op, write)
        if name.startswith("nvvm.cp.async."):
            return self._cp_async(op, write)
        if matrices.is_matrix(name):
            return matrices.call(op, write, self.helpers)
        return self._arithmetic(op, write)

    # --- registers, threads ---

    def _register(self, register: str, op: Op) -> tuple[str, int]:
        name, _, axis = register.partition(".")
        if name in _INDEX:
            return f"(int){_INDEX[name]}.{axis}", UNARY
        if name == "warpsize":
            return "warpSize", ATOM
        kind, letter = ("u64", "l") if op.result.type == "i64" else ("u32", "r")
        register = re.sub(r"\.(?![xyz]$)", "_", register)  # LLVM's cluster.ctaid.x is %cluster_ctaid.x
        return self._helper(register, f"mov.{kind} $0, %{register};", [("=", letter)], op.result.type, [], False)

    def _barrier(self, op: Op, write: Expressions) -> tuple[str, int]:
        if constant_of(op.operands[0]) == 0 and op.callee.endswith(".all"):
            return "__syncthreads()", ATOM
        word = "bar.arrive" if "arrive" in op.callee else "bar.sync"
        if ".red." in op.callee:
            raise Unsupported(op.callee, op.place)
        return self._volatile(word, op.operands, write), ATOM

    def _volatile(self, word: str, operands: list[Value], write: Expressions) -> str:
        """An instruction without a result whose operands are integers, constants among them written into it."""
        parts, inputs = [], []
        for operand in operands:
            number = constant_of(operand)
            if isinstance(number, int):
                parts.append(str(number))
            else:
                parts.append(f"%{len(inputs)}")
                inputs.append(f'"{_LETTER_OF[operand.type]}"({write.text(operand)})')
        return _statement(f"{word} {', '.join(parts)};", inputs)

    def _mask(self, value: Value, write: Expressions) -> str:
        number = constant_of(value)
        return f"{number & 0xFFFFFFFF:#x}" if isinstance(number, int) else write.text(value)

    def _shuffle(self, op: Op, write: Expressions) -> tuple[str, int]:
        kind = op.callee.split(".")[3]
        mask, value, lane, clamp = op.operands
        number = constant_of(clamp)
        bound = 0 if kind == "up" else 31
        width = 32 - (number >> 8) if isinstance(number, int) else 0
        if number is not None and number & 0xFF == bound and width > 0 and width & (width - 1) == 0 and width <= 32:
            parts = [self._mask(mask, write), write.text(value), write.text(lane)]
            parts += [str(width)] if width != 32 else []
            return f"{_SHUFFLES[kind]}({', '.join(parts)})", ATOM
        letter = "f" if op.result.type == "f32" else "r"
        return self._helper(
            f"shfl_sync_{kind}",
            f"shfl.sync.{kind}.b32 $0, $1, $2, $3, $4;",
            [("=", letter), ("", letter), ("", "r"), ("", "r"), ("", "r")],
            op.result.type,
            [write.text(part) for part in (value, lane, clamp, mask)],
            True,
        )

    def _vote(self, op: Op, write: Expressions) -> tuple[str, int]:
        kind = op.callee.split(".")[2]
        mask, flag = self._mask(op.operands[0], write), write.text(op.operands[1])
        if kind in _VOTES:
            text = f"{_VOTES[kind]}({mask}, {flag})"
            return (f"(int){text}", UNARY) if kind == "ballot" else (f"{text} != 0", 70)
        text = "{ .reg .pred p, q; setp.ne.u32 p, $1, 0; vote.sync.uni.pred q, p, $2; selp.u32 $0, 1, 0, q; }"
        call, _ = self._helper("uni_sync", text, [("=", "r"), ("", "r"), ("", "r")], "i32", [flag, mask], True)
        return f"{call} != 0", 70

    def _cp_async(self, op: Op, write: Expressions) -> tuple[str, int]:
        parts = op.callee.split(".")
        if parts[3] in ("commit", "wait"):
            word = (
                "cp.async.commit_group;"
                if parts[3] == "commit"
                else f"cp.async.wait_group {constant_of(op.operands[0])};"
                if parts[-1] == "group"
                else "cp.async.wait_all;"
            )
            return f'asm volatile("{word}" ::: "memory")', ATOM
        if parts[4] != "shared":
            raise Unsupported(op.callee, op.place)
        size = op.operands[2:]
        inputs = [
            f'"r"((unsigned)__cvta_generic_to_shared({write.text(op.operands[0])}))',
            f'"l"({write.text(op.operands[1])})',
            *(f'"r"({write.text(part)})' for part in size),
        ]
        word = f"cp.async.{parts[3]}.shared.global [%0], [%1], {parts[6]}{', %2' if size else ''};"
        return f'asm volatile("{word}" :: {", ".join(inputs)} : "memory")', ATOM

    # --- arithmetic ---

    def _arithmetic(self, op: Op, write: Expressions) -> tuple[str, int]:
        name, type_ = op.callee or op.name, op.result.type if op.results else ""
        operands = [write.text(operand) for operand in op.operands]
        base = name.split(".")[0]
        if name.startswith("nvvm."):
            return self._nvvm(op, operands)
        if base in ("fptosi", "fptoui"):
            return self._to_integer(op, base == "fptosi", write)
        if base == "ctpop":
            return (f"__popcll({operands[0]})", ATOM) if type_ == "i64" else (f"__popc({operands[0]})", ATOM)
        if base in ("fshl", "fshr") and type_ == "i64":
            definition = (
                "static __device__ __forceinline__ long long fshl(long long a, long long b, long long n) {\n"
                "  n &= 63;\n  return n ? (long long)((unsigned long long)a << n | (unsigned long long)b >> "
                "(64 - n)) : a;\n}\n"
            )
            if base == "fshr":
                raise Unsupported(name, op.place)
            self.helpers.setdefault(definition, "fshl")
            return f"fshl({', '.join(operands)})", ATOM
        if base == "is" and (test := _CLASSES.get(constant_of(op.operands[1]))):
            return test.format(operands[0]), ATOM
        if type_ in ("f32", "f64") and base in _MATH and not name.startswith("vector"):
            return f"{_MATH[base]}{'f' if type_ == 'f32' else ''}({', '.join(operands)})", ATOM
        if type_ in ("f16", "bf16") and base in _HALF_MATH:
            return f"{_HALF_MATH[base]}({', '.join(operands)})", ATOM
        raise Unsupported(name, op.place)

    def _to_integer(self, op: Op, signed: bool, write: Expressions) -> tuple[str, int]:
        source, to = op.operands[0], op.result.type
        if to not in ("i8", "i16", "i32", "i64"):
            raise Unsupported(op.callee, op.place)
        text, from_ = write.text(source, UNARY), source.type
        if from_ in ("f16", "bf16"):
            text, from_ = f"{'__half2float' if from_ == 'f16' else '__bfloat162float'}({write.text(source)})", "f32"
        if to == "i32" and signed and from_ == "f32":
            return f"(int){text}", UNARY
        if to == "i32" and not signed and from_ == "f32":
            return f"(int)(unsigned){text}", UNARY
        c, letter = TYPES[from_], _LETTER_OF[from_]
        kind = f"{'s' if signed else 'u'}{to[1:] if to in ('i32', 'i64') else 32}"
        wide = "long long" if to == "i64" else "int" if signed else "unsigned"
        width = int(to[1:])
        bounded = (
            "r"
            if width > 16
            else f"max({-(1 << width - 1)}, min({(1 << width - 1) - 1}, r))"
            if signed
            else f"min({(1 << width) - 1}u, r)"
        )
        name = f"to_{'s' if signed else 'u'}{to[1:]}_{from_}"
        definition = (
            f'static __device__ __forceinline__ {wide} {name}({c} x) {{\n  {wide} r;\n  asm("cvt.rzi.{kind}.'
            f'{from_} %0, %1;" : "={_LETTER_OF["i64" if wide == "long long" else "i32"]}"(r) : '
            f'"{letter}"(x));\n  return x == x ? {bounded} : 0;\n}}\n'
        )
        self.helpers.setdefault(definition, name)
        call = f"{name}({text})"
        return (call, ATOM) if c_type(to) == wide else (f"({c_type(to)}){call}", UNARY)

    def _nvvm(self, op: Op, operands: list[str]) -> tuple[str, int]:
        """nvvm.fmax.ftz.nan.f and its like: the PTX instruction of the same name."""
        name = op.callee.removeprefix("nvvm.")
        word, *rest = name.split(".")
        type_ = op.result.type
        suffix = "f64" if rest[-1:] == ["d"] else "f32"
        modifiers = [part for part in rest if part not in ("f", "d", "f32", "f64")]
        if word in ("fmax", "fmin") and not modifiers:
            return f"{word}f({', '.join(operands)})" if suffix == "f32" else f"{word}({', '.join(operands)})", ATOM
        is_rounded = len(modifiers) == 1 and modifiers[0] in _ROUNDED and suffix == "f32"
        if word in ("add", "mul", "div", "sqrt", "rcp", "fma") and is_rounded:
            return f"__{'f' if word != 'fma' else ''}{word}_{_ROUNDED[modifiers[0]]}({', '.join(operands)})", ATOM
        if word in ("ff", "ff2f16x2", "f16x2", "e4m3x2", "e5m2x2") or type_ not in ("f32", "f64"):
            return self._fp8(op, operands)
        mnemonic = {"fmax": "max", "fmin": "min", "fabs": "abs"}.get(word, word)
        if word not in (
            "fmax",
            "fmin",
            "fabs",
            "ex2",
            "lg2",
            "sin",
            "cos",
            "rcp",
            "sqrt",
            "rsqrt",
            "div",
            "add",
            "mul",
            "fma",
        ):
            raise Unsupported(op.callee, op.place)
        text = ".".join([mnemonic, *modifiers, suffix])
        letter = "d" if suffix == "f64" else "f"
        places = ", ".join(f"${k}" for k in range(len(operands) + 1))
        kinds = [("=", letter), *[("", letter)] * len(operands)]
        return self._helper(text.replace(".", "_"), f"{text} {places};", kinds, type_, operands, False)

    def _fp8(self, op: Op, operands: list[str]) -> tuple[str, int]:
        conversion = re.match(r"nvvm\.ff\.to\.(e4m3x2|e5m2x2)\.rn$", op.callee)
        if not conversion:
            raise Unsupported(op.callee, op.place)
        kinds = [("=", "h"), ("", "f"), ("", "f")]
        return self._helper(
            conversion[1], f"cvt.rn.satfinite.{conversion[1]}.f32 $0, $1, $2;", kinds, "i16", operands, False
        )

    # --- PTX ---

    def _asm(self, op: Op, write: Expressions) -> tuple[str, int]:
        kinds = []
        for constraint in op.attributes["constraints"].split(","):
            if not constraint or constraint.startswith("~"):
                continue
            sign = "=" if constraint.startswith("=") else ""
            letter = constraint.removeprefix("=")
            if letter not in _LETTERS:
                raise Unsupported(f"an operand `{constraint}` of inline PTX", op.place)
            kinds.append((sign, letter))
        text = op.attributes["asm_string"]
        instruction = re.search(r"(?:^|[;{]\s*)(?!\.)\s*(?:@!?\w+\s+)?([a-z][\w.]*)", text.replace("|", " "))
        mnemonic = instruction[1] if instruction else "ptx"
        if not op.results:
            return _statement(
                _escaped(text),
                [f'"{letter}"({self._input(operand, write)})' for operand, (_, letter) in zip(op.operands, kinds)],
            ), ATOM
        if op.result.type.startswith("!llvm.struct"):
            raise Unsupported("inline PTX with several results", op.place)
        name = mnemonic.rstrip(".").replace(".", "_").replace("mov_u32", "register").replace("mov_u64", "register")
        if name == "register":
            special = re.search(r"%(?!\d)(\w+)", text)
            assert special is not None, text
            name = special[1]
        return self._helper(name, text, kinds, op.result.type, [self._input(o, write) for o in op.operands], True)

    def _input(self, operand: Value, write: Expressions) -> str:
        if operand.type in ("f16", "bf16"):
            return f"{'__half' if operand.type == 'f16' else '__bfloat16'}_as_ushort({write.text(operand)})"
        if operand.type == "!llvm.ptr<3>":
            return f"(unsigned)__cvta_generic_to_shared({write.text(operand)})"
        if operand.type.startswith("!llvm.ptr"):
            return f"(unsigned long long){write.text(operand, UNARY)}"
        return write.text(operand)

    def _helper(
        self, name: str, text: str, kinds: list[tuple[str, str]], type_: str, operands: list[str], volatile: bool
    ) -> tuple[str, int]:
        """A call of a device function round one PTX text; the first of `kinds` is for its result."""
        result = _LETTERS[kinds[0][1]]
        parameters = [f"{_LETTERS[letter]} {chr(97 + k)}" for k, (_, letter) in enumerate(kinds[1:])]
        inputs = ", ".join(f'"{letter}"({chr(97 + k)})' for k, (_, letter) in enumerate(kinds[1:]))
        tail = f" : {inputs}" if inputs or volatile else ""
        tail += ' : "memory"' if volatile else ""
        name = re.sub(r"\W", "_", name)
        definitions = {helper: definition for definition, helper in self.helpers.items()}
        word = "asm volatile" if volatile else "asm"
        body = (
            f'({", ".join(parameters)}) {{\n  {result} r;\n  {word}("{_escaped(text)}" : '
            f'"={kinds[0][1]}"(r){tail});\n'
            "  return r;\n}\n"
        )
        chosen, number = name, 1
        while (
            chosen in definitions
            and definitions[chosen] != f"static __device__ __forceinline__ {result} {chosen}{body}"
        ):
            number += 1
            chosen = f"{name}_{number}"
        self.helpers[f"static __device__ __forceinline__ {result} {chosen}{body}"] = chosen
        call = f"{chosen}({', '.join(operands)})"
        if type_ in ("f16", "bf16"):
            return f"{'__ushort_as_half' if type_ == 'f16' else '__ushort_as_bfloat16'}({call})", ATOM
        if result == c_type(type_):
            return call, ATOM
        return f"({c_type(type_)}){call}", UNARY

    # --- functions, atomics ---

    def string(self, value: Value) -> str | None:
        """The C string literal that a pointer points at, None where it is none."""
        op = value.op
        while op is not None and op.name == "llvm.addrspacecast":
            op = op.operands[0].op
        if op is None or op.name != "llvm.mlir.addressof":
            return None
        text = self.texts.get(op.attributes["global_name"].removeprefix("@"))
        return None if text is None else literal(text)

    def _function(self, op: Op, write: Expressions) -> tuple[str, int]:
        if op.callee == "__assertfail":
            self.helpers.setdefault(
                'extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);\n',
                "__assertfail",
            )
            words, *parts = [self.string(operand) or write.text(operand) for operand in op.operands]
            words = words if words.startswith('"') else f"(const char*){words}"
            return f"__assertfail({', '.join([words, *parts])})", ATOM
        if op.callee == "dsl_numbered_text":
            self.helpers.setdefault(_NUMBERED_TEXT, "dsl_numbered_text")
            parts = [self.string(operand) or write.text(operand) for operand in op.operands]
            return f"dsl_numbered_text({', '.join(parts)})", ATOM
        if op.callee in elementary.SYMBOLS:
            self.helpers.setdefault(elementary.cuda(op.callee), op.callee)
            return f"{op.callee}({', '.join(map(write.text, op.operands))})", ATOM
        if op.callee == "vprintf":
            parts = [self.string(op.operands[0]), *map(write.text, op.operands[1:])]
            if None in parts or "printed" not in op.attributes:
                raise Unsupported("printf with arguments from elsewhere", op.place)
            return f"printf({', '.join(parts)})", ATOM
        raise Unsupported(f"a call of {op.callee}", op.place)

    def _atomic(self, op: Op, write: Expressions) -> tuple[str, int]:
        """atomicAdd and its like, in the type that CUDA has them for."""
        type_, kind = op.operands[-1].type, op.attributes.get("bin_op", 0)
        word = "CAS" if op.name == "llvm.cmpxchg" else _ATOMICS.get(kind)
        c = {"i32": "int", "i64": "unsigned long long", "f32": "float", "f64": "double"}.get(type_)
        if word is None or c is None or (word == "CAS" and type_[0] != "i") or (word == "Sub" and type_ == "i64"):
            raise Unsupported(f"{op.name} {word or kind} of {type_}", op.place)
        if kind in (9, 10) and type_ == "i32":
            c = "unsigned"
        elif kind in (7, 8) and type_ == "i64":
            c = "long long"
        address, *values = op.operands
        own = c == c_type(type_)
        parts = [write.addresses.typed(address, type_, write) if own else f"({c}*){write.text(address, UNARY)}"]
        parts += [write.text(value) if own else f"({c}){write.text(value, UNARY)}" for value in values]
        text = f"atomic{word}({', '.join(parts)})"
        return (text, ATOM) if own else (f"({c_type(type_)}){text}", UNARY)


def _statement(text: str, inputs: list[str]) -> str:
    """An asm statement without a result."""
    return f'asm volatile("{text}" {":: " + ", ".join(inputs) + " : " if inputs else "::: "}"memory")'


def literal(text: bytes) -> str:
    """A C string literal of a NUL-terminated text."""
    characters = []
    for byte in text.removesuffix(b"\0"):
        char = chr(byte)
        named = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}.get(char)
        characters.append(named or (char if 32 <= byte < 127 else f"\\{byte:03o}"))
    return '"' + "".join(characters) + '"'


def _escaped(text: str) -> str:
    """PTX text with $0 as the text of an asm statement."""
    percent = text.replace("%", "%%")
    return re.sub(r"\$(\d+)", r"%\1", percent).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
