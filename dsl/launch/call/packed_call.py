"""A compiled function as machine code of TVM FFI's calling convention:
LLVM IR that reads the arguments of a packed call.

A packed call is `int (*)(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)`. The code checks
every argument as its type asks, puts the values into an argument block on the stack, and calls the host function. If
an argument is not as expected, the code runs nothing and answers REFUSED, and Python, which has the messages, reads
the same arguments again.

Source: apache-tvm-ffi, include/tvm/ffi/c_api.h (TVMFFISafeCallType, TVMFFIAny, TVMFFITypeIndex); dlpack.h (DLTensor).
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dsl.core.number.dtypes import Boolean, Float32, Float64
from dsl.core.trace import SLOT_BYTES
from dsl.launch.argument import dlpack
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.symbolic_int import SymInt
from dsl.launch.devices.native_launch import Run

DONE, REFUSED, FAILED = range(3)
NONE, INT, BOOL, FLOAT, OPAQUE_POINTER, DL_TENSOR, TENSOR = 0, 1, 2, 3, 4, 7, 70  # TVMFFITypeIndex
OPAQUE_PYTHON, SEQUENCES, STRINGS = 74, (71, 75), (8, 11, 65)  # arrays and lists; three strings
ANY_BYTES, OBJECT_BYTES, CUDA = 16, 24, 2  # kDLCUDA
_DATA, _DEVICE, _NDIM, _DTYPE, _SHAPE, _STRIDES, _OFFSET = 0, 8, 16, 20, 24, 32, 40  # fields of DLTensor
_EXACT_INT = 1 << 53  # and below: exact as a double
_CODES = {dtype: code for code, dtype in dlpack.CODES.items()}


class State(ctypes.Structure):
    """The inputs and results of machine code. `busy` is held by the call that runs, and by one that FAILED.

    `number` appears in the message of a host function that failed.
    """

    _fields_ = [
        ("ready", ctypes.c_int32),
        ("busy", ctypes.c_int32),
        ("outcome", ctypes.c_int32),
        ("failed", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("run", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("begin", ctypes.c_void_p),
        ("begin_argument", ctypes.c_void_p),
        ("sync", ctypes.c_void_p),
        ("number", ctypes.c_int64),
    ]


EXPORTS = ("packed_call", "packed_call_or_refusal", "take")
IMPORTS = ("TVMFFIErrorSetRaisedFromCStr", "TVMFFIEnvGetStream", "dsl_careful", "dsl_state")


def native_types(types: Sequence[Any]) -> bool:
    """Whether machine code can read arguments of all these types."""
    with_tensor = any(isinstance(type_, TensorType) for type_ in types)
    return all(
        isinstance(type_, (PointerType, Static))
        or (isinstance(type_, StreamType) and (with_tensor or not type_.from_environment))
        or (isinstance(type_, TensorType) and type_.dtype in _CODES)
        or (
            isinstance(type_, ScalarType)
            and (type_.dtype.is_integer or type_.dtype in (Boolean, Float32, Float64))
            and type_.dtype.format is not None
        )
        for type_ in types
    )


def llvm_ir(types: Sequence[Any], block_bytes: int) -> str:
    """A module that exports EXPORTS and needs IMPORTS, for `native_types`.

    `packed_call` asks `dsl_careful(args, num_args, result, outcome)` where the call was not DONE;
    `packed_call_or_refusal` ends with an error whose text does not matter, and leaves the outcome in the State.
    """
    leaves = Counter(leaf for type_ in types if isinstance(type_, TensorType) for leaf in type_.shape + type_.stride)
    body, position = _Body({leaf for leaf, count in leaves.items() if count > 1}), 0
    for type_ in types:
        if isinstance(type_, StreamType) and type_.from_environment:
            body.environment_stream()
        elif not isinstance(type_, Static):
            body.argument(position, type_)
            position += 1
    return _MODULE.format(
        checks="\n".join(f"  {line}" if not line.endswith(":") else line for line in body.lines),
        count=position,
        block_bytes=block_bytes,
        launched=Run.launched.offset,
        ended=Run.ended.offset,
        **{field[0]: getattr(State, field[0]).offset for field in State._fields_},
    )


class _Body:
    """The lines that read the arguments of one signature."""

    def __init__(self, shared: set):
        self.lines: list[str] = []
        self._shared = shared  # extents and strides that more than one leaf must agree on
        self._names = 0
        self._slot = 1  # slot 0 is the handle
        self._symbols: dict[SymInt, str] = {}

    def do(self, text: str) -> str:
        """An instruction and the name of its value."""
        self._names += 1
        self.lines.append(f"%v{self._names} = {text}")
        return f"%v{self._names}"

    def refuse_unless(self, test: str) -> None:
        self._names += 1
        self.lines += [f"br i1 {test}, label %b{self._names}, label %refuse, !prof !0", f"b{self._names}:"]

    def load(self, pointer: str, offset: int, kind: str) -> str:
        at = self.do(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.do(f"load {kind}, ptr {at}")

    def store(self, kind: str, value: str) -> None:
        at = self.do(f"getelementptr i8, ptr %block, i64 {SLOT_BYTES * self._slot}")
        self.lines.append(f"store {kind} {value}, ptr {at}")
        self._slot += 1

    def store_int(self, letter: str, value: str) -> None:
        bits = {"b": 8, "h": 16, "i": 32, "?": 8}.get(letter.lower(), 64)
        self.store(f"i{bits}", value if bits == 64 else self.do(f"trunc i64 {value} to i{bits}"))

    def environment_stream(self) -> None:
        self.store("i64", self.do(f"call i64 @TVMFFIEnvGetStream(i32 {CUDA}, i32 0)"))

    def argument(self, position: int, type_: Any) -> None:
        kind = self.load("%args", ANY_BYTES * position, "i32")
        at = self.do(f"getelementptr i8, ptr %args, i64 {ANY_BYTES * position + 8}")
        if isinstance(type_, TensorType):
            self.tensor(type_, kind, at)
        elif isinstance(type_, ScalarType):
            self.number(type_, kind, at)
        else:
            self.either(kind, INT, OPAQUE_POINTER)
            value = self.do(f"load i64, ptr {at}")
            if isinstance(type_, PointerType):
                self.aligned(value, type_.alignment_bytes)
            self.store("i64", value)

    def either(self, kind: str, *wanted: int) -> None:
        tests = [self.do(f"icmp eq i32 {kind}, {index}") for index in wanted]
        while len(tests) > 1:
            tests.append(self.do(f"or i1 {tests.pop()}, {tests.pop()}"))
        self.refuse_unless(tests[0])

    def aligned(self, value: str, alignment_bytes: int) -> None:
        if alignment_bytes > 1:
            low = self.do(f"and i64 {value}, {alignment_bytes - 1}")
            self.refuse_unless(self.do(f"icmp eq i64 {low}, 0"))

    def number(self, type_: ScalarType, kind: str, at: str) -> None:
        dtype = type_.dtype
        if dtype in (Float32, Float64):
            self.floating(dtype, kind, at)
            return
        self.either(kind, BOOL if dtype is Boolean else INT)
        value = self.do(f"load i64, ptr {at}")
        if dtype is not Boolean:
            self.within(value, dtype.min, dtype.max)
        assert dtype.format is not None  # native_types: it can be an argument
        self.store_int(dtype.format, value)

    def within(self, value: str, low: int, high: int) -> None:
        if low > -1 << 63:
            self.refuse_unless(self.do(f"icmp sge i64 {value}, {low}"))
        if high < (1 << 63) - 1:
            self.refuse_unless(self.do(f"icmp sle i64 {value}, {high}"))

    def floating(self, dtype: Any, kind: str, at: str) -> None:
        """A float, or an int that a double holds exactly; past Float32's greatest Python warns."""
        is_int = self.do(f"icmp eq i32 {kind}, {INT}")
        self.refuse_unless(self.do(f"or i1 {is_int}, {self.do(f'icmp eq i32 {kind}, {FLOAT}')}"))
        whole, double = self.do(f"load i64, ptr {at}"), self.do(f"load double, ptr {at}")
        small = self.do(f"icmp ule i64 {self.do(f'add i64 {whole}, {_EXACT_INT}')}, {2 * _EXACT_INT}")
        self.refuse_unless(self.do(f"select i1 {is_int}, i1 {small}, i1 true"))
        converted = self.do(f"sitofp i64 {whole} to double")
        value = self.do(f"select i1 {is_int}, double {converted}, double {double}")
        if dtype is Float32:
            size = self.do(f"call double @llvm.fabs.f64(double {value})")
            self.refuse_unless(self.do(f"fcmp olt double {size}, 3.4e38"))
            self.store("float", self.do(f"fptrunc double {value} to float"))
        else:
            self.store("double", value)

    def tensor(self, type_: TensorType, kind: str, at: str) -> None:
        self.either(kind, DL_TENSOR, TENSOR)
        pointer = self.do(f"load ptr, ptr {at}")
        inside = self.do(f"getelementptr i8, ptr {pointer}, i64 {OBJECT_BYTES}")
        is_object = self.do(f"icmp eq i32 {kind}, {TENSOR}")
        tensor = self.do(f"select i1 {is_object}, ptr {inside}, ptr {pointer}")
        code, bits = _CODES[type_.dtype]
        self.refuse_unless(self.do(f"icmp eq i32 {self.load(tensor, _DTYPE, 'i32')}, {code | bits << 8 | 1 << 16}"))
        self.refuse_unless(self.do(f"icmp eq i32 {self.load(tensor, _NDIM, 'i32')}, {len(type_.shape)}"))
        device = self.do(f"icmp eq i32 {self.load(tensor, _DEVICE, 'i32')}, %device_type")
        self.refuse_unless(self.do(f"or i1 %any_device, {device}"))
        address = self.do(f"add i64 {self.load(tensor, _DATA, 'i64')}, {self.load(tensor, _OFFSET, 'i64')}")
        self.refuse_unless(self.do(f"icmp ne i64 {address}, 0"))
        self.aligned(address, type_.alignment_bytes)
        self.store("i64", address)
        if type_.shape:
            self.layout(type_, tensor)

    def layout(self, type_: TensorType, tensor: str) -> None:
        shape, strides = self.load(tensor, _SHAPE, "ptr"), self.load(tensor, _STRIDES, "ptr")
        self.refuse_unless(self.do(f"icmp ne ptr {strides}, null"))
        extents = [self.load(shape, 8 * mode, "i64") for mode in range(len(type_.shape))]
        for leaf, extent in zip(type_.shape, extents):
            self.leaf(leaf, extent, None)
        for mode, leaf in enumerate(type_.stride):
            unused = self.do(f"icmp sle i64 {extents[mode]}, 1")
            self.leaf(leaf, self.load(strides, 8 * mode, "i64"), unused)

    def leaf(self, leaf: int | SymInt, value: str, unused: str | None) -> None:
        """Check an extent, or a stride, which counts unless it is `unused`. A dynamic one takes a slot."""
        tests = []
        if not isinstance(leaf, SymInt):
            tests.append(self.do(f"icmp eq i64 {value}, {leaf}"))
        else:
            if leaf.divisibility > 1:
                tests.append(self.do(f"icmp eq i64 {self.do(f'srem i64 {value}, {leaf.divisibility}')}, 0"))
            if leaf.width == 32:
                narrow = self.do(f"trunc i64 {value} to i32")
                tests.append(self.do(f"icmp eq i64 {self.do(f'sext i32 {narrow} to i64')}, {value}"))
            if leaf in self._symbols:
                tests.append(self.do(f"icmp eq i64 {value}, {self._symbols[leaf]}"))
        for test in tests:
            self.refuse_unless(test if unused is None else self.do(f"or i1 {unused}, {test}"))
        if isinstance(leaf, SymInt):
            if unused is None:
                self._symbols.setdefault(leaf, value)
            elif leaf in self._shared and leaf not in self._symbols:  # others go by this stride, so it must count
                self.refuse_unless(self.do(f"xor i1 {unused}, true"))
                self._symbols[leaf] = value
            self.store_int("q" if leaf.width == 64 else "i", value)


_MODULE = """
@dsl_state = external global i8
@kind = private constant [13 x i8] c"RuntimeError\\00"
@text = private constant [8 x i8] c"refused\\00"

declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare i64 @TVMFFIEnvGetStream(i32, i32)
declare i32 @dsl_careful(ptr, i32, ptr, i32)
declare double @llvm.fabs.f64(double)

define i32 @take() {{
  %busy.at = getelementptr i8, ptr @dsl_state, i64 {busy}
  %pair = cmpxchg ptr %busy.at, i32 0, i32 1 acquire monotonic
  %taken = extractvalue {{ i32, i1 }} %pair, 1
  %r = zext i1 %taken to i32
  ret i32 %r
}}

define internal i32 @call(ptr %args, i32 %count) {{
  %block = alloca [{block_bytes} x i8], align 8
  %ready.at = getelementptr i8, ptr @dsl_state, i64 {ready}
  %ready = load atomic i32, ptr %ready.at acquire, align 4
  %is_ready = icmp ne i32 %ready, 0
  %right_count = icmp eq i32 %count, {count}
  %both = and i1 %is_ready, %right_count
  br i1 %both, label %check, label %refuse, !prof !0
check:
  %device_type.at = getelementptr i8, ptr @dsl_state, i64 {device_type}
  %device_type = load i32, ptr %device_type.at
  %any_device = icmp eq i32 %device_type, 0
{checks}
  %taken = call i32 @take()
  %free = icmp ne i32 %taken, 0
  br i1 %free, label %begin, label %refuse, !prof !0
begin:
  %run.at = getelementptr i8, ptr @dsl_state, i64 {run}
  %run = load ptr, ptr %run.at
  store ptr %run, ptr %block
  %begin.at = getelementptr i8, ptr @dsl_state, i64 {begin}
  %begin.to = load ptr, ptr %begin.at
  %no_begin = icmp eq ptr %begin.to, null
  br i1 %no_begin, label %run_host, label %begins
begins:
  %begin_argument.at = getelementptr i8, ptr @dsl_state, i64 {begin_argument}
  %begin_argument = load ptr, ptr %begin_argument.at
  %begun = call i32 %begin.to(ptr %begin_argument)
  %begun_well = icmp eq i32 %begun, 0
  br i1 %begun_well, label %run_host, label %give_back, !prof !0
run_host:
  %host.at = getelementptr i8, ptr @dsl_state, i64 {host}
  %host = load ptr, ptr %host.at
  %failed = call i32 %host(ptr %block)
  %failed.at = getelementptr i8, ptr @dsl_state, i64 {failed}
  store i32 %failed, ptr %failed.at
  %number = load i64, ptr %block
  %number.at = getelementptr i8, ptr @dsl_state, i64 {number}
  store i64 %number, ptr %number.at
  %well = icmp eq i32 %failed, 0
  br i1 %well, label %wait, label %bad, !prof !0
wait:
  %sync.at = getelementptr i8, ptr @dsl_state, i64 {sync}
  %sync = load ptr, ptr %sync.at
  %no_sync = icmp eq ptr %sync, null
  br i1 %no_sync, label %done, label %waits
waits:
  %waited = call i32 %sync()
  %waited_well = icmp eq i32 %waited, 0
  br i1 %waited_well, label %done, label %bad, !prof !0
done:
  %launched.at = getelementptr i8, ptr %run, i64 {launched}
  %launched = load i64, ptr %launched.at
  %ended.at = getelementptr i8, ptr %run, i64 {ended}
  store i64 %launched, ptr %ended.at
  call void @release()
  ret i32 0
bad:
  %outcome.at = getelementptr i8, ptr @dsl_state, i64 {outcome}
  store i32 2, ptr %outcome.at
  ret i32 2
give_back:
  call void @release()
  ret i32 1
refuse:
  ret i32 1
}}

define internal void @release() {{
  %busy.at = getelementptr i8, ptr @dsl_state, i64 {busy}
  store atomic i32 0, ptr %busy.at release, align 4
  ret void
}}

define i32 @packed_call_or_refusal(ptr %self, ptr %args, i32 %count, ptr %result) {{
  %outcome = call i32 @call(ptr %args, i32 %count)
  %done = icmp eq i32 %outcome, 0
  br i1 %done, label %good, label %bad, !prof !0
good:
  ret i32 0
bad:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @kind, ptr @text)
  ret i32 -1
}}

define i32 @packed_call(ptr %self, ptr %args, i32 %count, ptr %result) {{
  %outcome = call i32 @call(ptr %args, i32 %count)
  %done = icmp eq i32 %outcome, 0
  br i1 %done, label %good, label %bad, !prof !0
good:
  ret i32 0
bad:
  %answer = call i32 @dsl_careful(ptr %args, i32 %count, ptr %result, i32 %outcome)
  ret i32 %answer
}}

!0 = !{{!"branch_weights", i32 1000, i32 1}}
"""
