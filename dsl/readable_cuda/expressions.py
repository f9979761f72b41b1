"""Values of traced ops as C++ expressions with as few parentheses as C++ allows.

Integers are C's `int` and `long long`; an operation without a sign casts its operands, unless they are known not to be
negative. Operations without a spelling here are refused by name.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from typing import Protocol

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.cpp_types import (
    TYPES,
    UNSIGNED,
    VECTORS,
    Unsupported,
    c_type,
    count_and_element,
    registers_of,
    vector_type,
)
from dsl.readable_cuda.ranges import Ranges
from dsl.readable_cuda.statements import constant_of

ATOM, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CHOICE = range(130, 0, -10)

_INFIX = {
    "arith.addi": ("+", SUM),
    "arith.subi": ("-", SUM),
    "arith.muli": ("*", PRODUCT),
    "arith.addf": ("+", SUM),
    "arith.subf": ("-", SUM),
    "arith.mulf": ("*", PRODUCT),
    "arith.divf": ("/", PRODUCT),
    "arith.divsi": ("/", PRODUCT),
    "arith.remsi": ("%", PRODUCT),
    "arith.andi": ("&", BIT_AND),
    "arith.ori": ("|", BIT_OR),
    "arith.xori": ("^", BIT_XOR),
    "arith.shrsi": (">>", SHIFT),
}
_LOGIC = {"arith.andi": ("&&", AND), "arith.ori": ("||", OR), "arith.xori": ("!=", EQUALITY)}
_UNSIGNED_INFIX = {"arith.divui": ("/", PRODUCT), "arith.remui": ("%", PRODUCT), "arith.shrui": (">>", SHIFT)}
_COMPARE = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FLOAT_COMPARE = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_NEGATED_COMPARE = {9: "<=", 10: "<", 11: ">=", 12: ">"}  # ugt is not <=, and so on
_EXTREMES = {"arith.minsi": "min", "arith.maxsi": "max", "arith.minnumf": "min", "arith.maxnumf": "max"}


class Calls(Protocol):
    """The writer of calls. `helpers`: the device functions that the text needs, name by definition."""

    helpers: dict[str, str]

    def __call__(self, op: Op, write: Expressions, /) -> tuple[str, int]: ...


class Expressions:
    """Writes values as C++. `names`: of variables. `calls`, `addresses` and `vectors` write their part of it."""

    def __init__(
        self,
        names: dict[Value, str],
        calls: Calls,
        addresses: Callable[[Value, Expressions], tuple[str, int]],
        vectors: Callable[[Expressions, Op], tuple[str, int]],
    ):
        self.names, self.calls, self.addresses, self.vectors = names, calls, addresses, vectors
        self.ranges = Ranges()

    def text(self, value: Value, least: int = 0) -> str:
        """The expression, in parentheses where it binds less than `least`."""
        text, binds = self.of(value)
        return f"({text})" if binds < least else text

    def of(self, value: Value) -> tuple[str, int]:
        name = self.names.get(value)
        if name is not None:
            return name, ATOM
        op = value.op
        if op is None:
            raise Unsupported("a block argument", None)
        return self.computed(op, value)

    def computed(self, op: Op, value: Value | None = None) -> tuple[str, int]:
        """The expression that computes an op's result."""
        name = op.name
        if name in ("arith.constant", "llvm.mlir.constant"):
            return self._constant(op)
        if name in ("llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero"):
            return ("nullptr", ATOM) if "ptr" in op.result.type else (f"{c_type(op.result.type, op.place)}()", ATOM)
        if not op.results:
            return self.calls(op, self)
        if vector_type(op.result.type) or name.startswith("vector."):
            return self.vectors(self, op)
        if name in _LOGIC and op.result.type == "i1":
            return self._logic(op)
        if name in _INFIX:
            return self._infix(op)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, op)
        if name in ("llvm.call_intrinsic", "llvm.inline_asm", "llvm.call", "llvm.atomicrmw", "llvm.cmpxchg"):
            return self.calls(op, self)
        if name.startswith("llvm.") and name in _ADDRESSES:
            return self.addresses(op.result, self)
        raise Unsupported(name, op.place)

    # --- constants ---

    def _constant(self, op: Op) -> tuple[str, int]:
        number, type_ = op.attributes["value"], op.result.type
        if isinstance(number, str):
            return self.dense(op)
        if isinstance(number, bool):
            return str(number).lower(), ATOM
        if type_ in ("f32", "f64", "f16", "bf16"):
            return self._float(number, type_)
        suffix = "LL" if type_ == "i64" and abs(number) > 2**31 - 1 else ""
        if number == -(2**31) and type_ == "i32":
            return "-2147483647 - 1", SUM
        if type_ == "i128" and -(2**63) < number < 2**63:
            return f"(__int128){number}{'LL' if abs(number) > 2**31 - 1 else ''}", UNARY
        if number == -(2**63):
            return "-9223372036854775807LL - 1", SUM
        if type_ == "i64" and not suffix:
            return (f"{number}LL", UNARY if number < 0 else ATOM)
        return f"{number}{suffix}", UNARY if number < 0 else ATOM

    def _float(self, number: float, type_: str) -> tuple[str, int]:
        if math.isnan(number):
            bits = struct.unpack("<I", struct.pack("<f", number))[0]
            text = f"__int_as_float({bits:#x})" if type_ != "f64" else "__longlong_as_double(0x7ff8000000000000)"
        elif math.isinf(number):
            text = ("-" if number < 0 else "") + (
                "__int_as_float(0x7f800000)" if type_ != "f64" else "__longlong_as_double(0x7ff0000000000000)"
            )
        elif type_ == "f64":
            text = repr(number)
        else:
            text = _shortest_float(number) + "f"
        if type_ in ("f16", "bf16"):
            return f"{TYPES[type_]}({text})", ATOM
        return text, UNARY if text.startswith("-") else ATOM

    def dense(self, op: Op) -> tuple[str, int]:
        """A vector constant. Raises Unsupported for one whose elements differ."""
        vector = vector_type(op.result.type)
        text = op.attributes["value"].removeprefix("dense<").rpartition(">")[0]
        body = text.rpartition("> : ")[0] if "> : " in text else text
        if vector is None or "[" in body or '"' in body:
            raise Unsupported("a constant vector of different numbers", op.place)
        count, element = vector
        if body in ("true", "false") or element.startswith("i"):
            item = body
        elif body.startswith("0x"):
            raise Unsupported("a constant vector of special floats", op.place)
        else:
            item = self._float(float(body), element)[0]
        return self.vector_of(element, [item] * count), ATOM

    # --- scalars ---

    def _logic(self, op: Op) -> tuple[str, int]:
        a, b = op.operands
        if op.name == "arith.xori":
            if constant_of(b) is True:
                return self.negated(a)
            return f"{self.text(a, EQUALITY + 1)} != {self.text(b, EQUALITY + 1)}", EQUALITY
        sign, binds = _LOGIC[op.name]
        parts = []
        for side in (a, b):
            text, has = self.of(side)
            parts.append(f"({text})" if has < binds or {has, binds} == {AND, OR} else text)
        return f" {sign} ".join(parts), binds

    def negated(self, value: Value) -> tuple[str, int]:
        """`!value`."""
        op = value.op
        is_negation = op is not None and op.name == "arith.xori" and constant_of(op.operands[1]) is True
        if value not in self.names and op is not None and is_negation:
            return self.of(op.operands[0])
        return f"!{self.text(value, UNARY)}", UNARY

    def _infix(self, op: Op) -> tuple[str, int]:
        sign, binds = _INFIX[op.name]
        a, b = op.operands
        type_ = op.result.type
        number = constant_of(b)
        if op.name == "arith.addi" and isinstance(number, int) and -(2**31) < number < 0:
            return f"{self.text(a, SUM)} - {-number}{'LL' if type_ == 'i64' else ''}", SUM
        if op.name in ("arith.addi", "arith.subi", "arith.muli") and type_ in UNSIGNED and self.ranges.may_wrap(op):
            return self._wrapping(op, sign, binds)
        if op.name == "arith.subi" and constant_of(a) == 0:
            return self._narrow(f"-{self.text(b, UNARY + 1)}", UNARY, type_)
        if op.name in ("arith.andi", "arith.ori", "arith.xori", "arith.shrsi"):
            left, right = self._bit_operand(a), self._bit_operand(b)
            return self._narrow(f"{left} {sign} {right}", binds, type_)
        right = self.text(b, binds if sign in ("+", "*") and type_.startswith("i") else binds + 1)
        return self._narrow(f"{self.text(a, binds)} {sign} {right}", binds, type_)

    def _bit_operand(self, value: Value) -> str:
        text, binds = self.of(value)
        return text if binds >= UNARY else f"({text})"

    def _wrapping(self, op: Op, sign: str, binds: int) -> tuple[str, int]:
        """A sum or product that may overflow: computed in an unsigned type, where C++ wraps."""
        unsigned = UNSIGNED[op.result.type]
        a, b = op.operands
        number = constant_of(b)
        right = (
            f"{number}{'u' if op.result.type == 'i32' else 'ull'}"
            if isinstance(number, int) and number >= 0
            else f"({unsigned}){self.text(b, UNARY)}"
        )
        return f"({c_type(op.result.type)})({self.unsigned(a)} {sign} {right})", UNARY

    def _narrow(self, text: str, binds: int, type_: str) -> tuple[str, int]:
        """C++ computes i8 and i16 in int."""
        return (f"({TYPES[type_]})({text})", UNARY) if type_ in ("i8", "i16") else (text, binds)

    def unsigned(self, value: Value) -> str:
        """A value as an operand of an unsigned type."""
        number = constant_of(value)
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return f"{number}{'u' if value.type == 'i32' else 'ull' if value.type == 'i64' else ''}"
        return f"({UNSIGNED[value.type]}){self.text(value, UNARY)}"

    def _unsigned_infix(self, op: Op) -> tuple[str, int]:
        sign, binds = _UNSIGNED_INFIX[op.name]
        a, b = op.operands
        if all(self.ranges.is_natural(side) for side in (a, b)):
            left = self._bit_operand(a) if sign == ">>" else self.text(a, binds)
            right = self._count(b) if sign == ">>" else self.text(b, binds + 1)
            return self._narrow(f"{left} {sign} {right}", binds, op.result.type)
        right = self._count(b) if sign == ">>" else self.unsigned(b)
        return f"({c_type(op.result.type)})({self.unsigned(a)} {sign} {right})", UNARY

    def _shift_left(self, op: Op) -> tuple[str, int]:
        a, b = op.operands
        if self.ranges.may_wrap(op):
            return f"({c_type(op.result.type)})({self.unsigned(a)} << {self._count(b)})", UNARY
        return self._narrow(f"{self._bit_operand(a)} << {self._count(b)}", SHIFT, op.result.type)

    def _count(self, value: Value) -> str:
        """The count of a shift."""
        number = constant_of(value)
        return str(number) if isinstance(number, int) and 0 <= number < 128 else self._bit_operand(value)

    def _compare(self, op: Op) -> tuple[str, int]:
        predicate = op.attributes["predicate"]
        a, b = op.operands
        sign = _COMPARE[predicate]
        binds = EQUALITY if predicate < 2 else RELATION
        if "ptr" in a.type:
            return f"{self.text(a, binds)} {sign} {self.text(b, binds + 1)}", binds
        if predicate >= 6 and a.type in UNSIGNED and not all(self.ranges.is_natural(side) for side in (a, b)):
            return f"{self.unsigned(a)} {sign} {self.unsigned(b)}", binds
        return f"{self.text(a, binds + 1)} {sign} {self.text(b, binds + 1)}", binds

    def _compare_floats(self, op: Op) -> tuple[str, int]:
        predicate = op.attributes["predicate"]
        a, b = op.operands
        if predicate in _FLOAT_COMPARE:
            binds = EQUALITY if predicate in (1, 13) else RELATION
            return f"{self.text(a, binds + 1)} {_FLOAT_COMPARE[predicate]} {self.text(b, binds + 1)}", binds
        x, y = self.text(a, SUM), self.text(b, SUM)
        if predicate in _NEGATED_COMPARE:
            return f"!({x} {_NEGATED_COMPARE[predicate]} {y})", UNARY
        if predicate in (6, 8):
            return (f"({x} < {y} || {x} > {y})", ATOM) if predicate == 6 else (f"!({x} < {y} || {x} > {y})", UNARY)
        if predicate in (7, 14):
            return (f"{x} == {x} && {y} == {y}", AND) if predicate == 7 else (f"{x} != {x} || {y} != {y}", OR)
        return ("true" if predicate == 15 else "false"), ATOM

    def _select(self, op: Op) -> tuple[str, int]:
        division = self._floor_division(op)
        if division is not None:
            return division
        condition, a, b = op.operands
        if op.result.type == "i1":
            for value, sign, binds in ((b, "&&", AND), (a, "||", OR)):
                if value is condition or constant_of(value) is (sign == "||"):
                    other = a if sign == "&&" else b
                    left, right = (self.of(side) for side in (condition, other))
                    mixed = {AND, OR} - {binds}
                    parts = [f"({t})" if has < binds or has in mixed else t for t, has in (left, right)]
                    return f" {sign} ".join(parts), binds
        return self.ternary(condition, a, b)

    def ternary(self, condition: Value, a: Value, b: Value) -> tuple[str, int]:
        op = condition.op
        if condition not in self.names and op is not None:
            if op.name == "arith.xori" and constant_of(op.operands[1]) is True:
                return self.ternary(op.operands[0], b, a)
            if op.name == "arith.cmpf" and op.attributes["predicate"] in _NEGATED_COMPARE:
                x, y = (self.text(operand, SUM) for operand in op.operands)
                test = f"({x} {_NEGATED_COMPARE[op.attributes['predicate']]} {y})"
                return f"{test} ? {self.text(b, CHOICE + 1)} : {self.text(a, CHOICE + 1)}", CHOICE
        test, binds = self.of(condition)
        test = f"({test})" if binds < ATOM else test
        return f"{test} ? {self.text(a, CHOICE + 1)} : {self.text(b, CHOICE + 1)}", CHOICE

    def _floor_division(self, op: Op) -> tuple[str, int] | None:
        """Python's `//`, as tracing writes it: the quotient, less one where signs differ and something remains."""
        condition, lower, quotient = op.operands
        division = quotient.op
        if (
            division is None
            or division.name != "arith.divsi"
            or lower.op is None
            or lower.op.name != "arith.subi"
            or lower.op.operands[0] is not quotient
            or constant_of(lower.op.operands[1]) != 1
            or condition.op is None
            or condition.op.name != "arith.andi"
        ):
            return None
        inexact, opposite = (side.op for side in condition.op.operands)
        if (
            inexact is None
            or inexact.name != "arith.cmpi"
            or opposite is None
            or opposite.name != "arith.cmpi"
            or inexact.operands[0].op is None
            or inexact.operands[0].op.name != "arith.remsi"
            or inexact.operands[0].op.operands != division.operands
        ):
            return None
        a, b = division.operands
        divisor = constant_of(b)
        if not isinstance(divisor, int) or divisor <= 0 or quotient in self.names:
            return None
        if self.ranges.is_natural(a):
            return f"{self.text(a, PRODUCT)} / {self.text(b, PRODUCT + 1)}", PRODUCT
        return f"floordiv({self.text(a)}, {self.text(b)})", ATOM

    def _extend(self, op: Op) -> tuple[str, int]:
        source = op.operands[0]
        to = c_type(op.result.type)
        if source.type == "i1":
            text = self.text(source, UNARY)
            return (f"-({to}){text}" if op.name == "arith.extsi" else f"({to}){text}"), UNARY
        if op.name == "arith.extui" and not self.ranges.is_natural(source):
            return f"({to})({UNSIGNED[source.type]}){self.text(source, UNARY)}", UNARY
        return f"({to}){self.text(source, UNARY)}", UNARY

    def _truncate(self, op: Op) -> tuple[str, int]:
        source = op.operands[0]
        if op.result.type == "i1":
            if self.names.get(source, "").startswith("bool:"):
                return self.names[source][5:], ATOM
            return f"({self._bit_operand(source)} & 1) != 0", EQUALITY
        return f"({c_type(op.result.type)}){self.text(source, UNARY)}", UNARY

    def _to_float(self, op: Op) -> tuple[str, int]:
        source, to = op.operands[0], op.result.type
        inner = self.text(source, UNARY)
        unsigned = op.name == "arith.uitofp" and source.type != "i1" and not self.ranges.is_natural(source)
        if unsigned:
            inner = f"({UNSIGNED[source.type]}){inner}"
        if to in ("f16", "bf16"):  # rounded once
            word = ("u" if unsigned else "") + ("ll" if source.type == "i64" else "int")
            return f"__{word}2{'half' if to == 'f16' else 'bfloat16'}_rn({inner})", ATOM
        text = f"({TYPES[to]}){inner}"
        return text, UNARY

    def _resize_float(self, op: Op) -> tuple[str, int]:
        source, to = op.operands[0], op.result.type
        text = self.text(source)
        rounding = {
            ("f32", "f16"): "__float2half_rn",
            ("f64", "f16"): "__double2half",
            ("f32", "bf16"): "__float2bfloat16_rn",
            ("f64", "bf16"): "__double2bfloat16",
            ("f16", "f32"): "__half2float",
            ("bf16", "f32"): "__bfloat162float",
        }.get((source.type, to))
        if rounding:
            return f"{rounding}({text})", ATOM
        if source.type in ("f16", "bf16"):
            inner = "__half2float" if source.type == "f16" else "__bfloat162float"
            return f"(double){inner}({text})", UNARY
        return f"({c_type(to)}){self.text(source, UNARY)}", UNARY

    def member(self, op: Op) -> tuple[str, int]:
        """The old value of a cmpxchg, or one register of the result of a matrix instruction."""
        source = op.operands[0]
        if registers_of(source.type):
            return f"{self.text(source, ATOM)}.at[{tuple(op.attributes['position'])[0]}]", ATOM
        if source.op is None or source.op.name != "llvm.cmpxchg" or tuple(op.attributes["position"]) != (0,):
            raise Unsupported(op.name, op.place)
        return self.of(source)

    def _bitcast(self, op: Op) -> tuple[str, int]:
        source, to = op.operands[0], op.result.type
        text = self.text(source)
        named = {
            ("f32", "i32"): "__float_as_int",
            ("i32", "f32"): "__int_as_float",
            ("f64", "i64"): "__double_as_longlong",
            ("i64", "f64"): "__longlong_as_double",
            ("f16", "i16"): "__half_as_short",
            ("i16", "f16"): "__short_as_half",
            ("bf16", "i16"): "__bfloat16_as_short",
            ("i16", "bf16"): "__short_as_bfloat16",
        }.get((source.type, to))
        if named:
            return f"{named}({text})", ATOM
        return f"bits_as<{c_type(to, op.place)}>({text})", ATOM

    def _extreme(self, op: Op) -> tuple[str, int]:
        a, b = (self.text(operand) for operand in op.operands)
        name = _EXTREMES[op.name]
        if op.result.type in ("f16", "bf16"):
            name = f"__h{name}"
        return f"{name}({a}, {b})", ATOM

    def _unsigned_extreme(self, op: Op) -> tuple[str, int]:
        name = "min" if op.name == "arith.minui" else "max"
        if all(map(self.ranges.is_natural, op.operands)):
            return f"{name}({', '.join(map(self.text, op.operands))})", ATOM
        return f"({c_type(op.result.type)}){name}({', '.join(map(self.unsigned, op.operands))})", UNARY

    def _negate(self, op: Op) -> tuple[str, int]:
        return f"-{self.text(op.operands[0], UNARY + 1)}", UNARY

    # --- vectors ---

    def vector_of(self, element: str, items: list[str]) -> str:
        """A vector of elements' texts."""
        builtin = VECTORS.get((element, len(items)))
        if builtin:
            return f"make_{builtin}({', '.join(items)})"
        return f"Vector<{TYPES[element]}, {len(items)}>{{{{{', '.join(items)}}}}}"

    def element(self, vector: str, type_: str, index: int) -> str:
        """Element `index` of the vector whose text is `vector`."""
        count, element = count_and_element(type_)
        if (element, count) in VECTORS:
            return f"{vector}.{'xyzw'[index]}"
        return f"{vector}.at[{index}]"


_ADDRESSES = {
    "llvm.getelementptr",
    "llvm.load",
    "llvm.mlir.addressof",
    "llvm.addrspacecast",
    "llvm.ptrtoint",
    "llvm.inttoptr",
    "llvm.alloca",
    "llvm.bitcast",
}
_SPECIAL: dict[str, Callable[[Expressions, Op], tuple[str, int]]] = {
    "arith.divui": Expressions._unsigned_infix,
    "arith.remui": Expressions._unsigned_infix,
    "arith.shrui": Expressions._unsigned_infix,
    "arith.shli": Expressions._shift_left,
    "arith.cmpi": Expressions._compare,
    "arith.cmpf": Expressions._compare_floats,
    "arith.select": Expressions._select,
    "arith.extsi": Expressions._extend,
    "arith.extui": Expressions._extend,
    "arith.trunci": Expressions._truncate,
    "arith.sitofp": Expressions._to_float,
    "arith.uitofp": Expressions._to_float,
    "arith.negf": Expressions._negate,
    "arith.extf": Expressions._resize_float,
    "arith.truncf": Expressions._resize_float,
    "llvm.extractvalue": Expressions.member,
    "arith.bitcast": Expressions._bitcast,
    "arith.minui": Expressions._unsigned_extreme,
    "arith.maxui": Expressions._unsigned_extreme,
    **dict.fromkeys(_EXTREMES, Expressions._extreme),
}


def _shortest_float(number: float) -> str:
    """The shortest decimal that reads back as this float of 32 bits."""
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    text = next(text for text in texts if ctypes.c_float(float(text)).value == ctypes.c_float(number).value)
    return text if any(letter in text for letter in ".e") else text + ".0"
