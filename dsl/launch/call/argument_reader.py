"""The quick way into compiled code: a Python function made for one signature reads the slots of a call's arguments.

It reads torch tensors, tensors of from_dlpack, pointers, streams and Python numbers. For any other argument, and for
one that does not fit, it answers None: the call then goes the careful way (argument/signature), whose errors name the
expected value.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.number.dtypes import BFloat16, Boolean, Float32, Float64
from dsl.core.number.pointer import AddressSpace
from dsl.launch import session
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.runtime_pointer import RuntimePointer
from dsl.launch.argument.runtime_tensor import RuntimeTensor
from dsl.launch.argument.symbolic_int import SymInt
from dsl.launch.devices.protocol import Device


class _NotPossible(Exception):
    """No quick reader can be made for a type."""


class _Source:
    """Lines of the function being made, and the objects that they name."""

    def __init__(self, types: Sequence[Any], device: Device | None, exact: bool):
        self.exact = exact
        self.wants_storages = device is not None and device.wants_storages
        self.on_gpu = device is not None and device.kind == "cuda"
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.parameters: list[str] = []
        self.slots: list[str] = []
        self.storages: list[str] = []
        leaves = [leaf for type_ in types if isinstance(type_, TensorType) for leaf in type_.shape + type_.stride]
        counts = Counter(leaf for leaf in leaves if isinstance(leaf, SymInt))
        self.shared = {leaf for leaf, count in counts.items() if count > 1}  # that more than one leaf must agree on
        self.symbols: dict[SymInt, str] = {}  # already read, and into which variable

    def parameter(self) -> str:
        """The variable of the next argument."""
        self.parameters.append(f"a{len(self.parameters)}")
        return self.parameters[-1]

    def add(self, *lines: str) -> None:
        self.lines += lines

    def refuse_if(self, test: str) -> None:
        self.add(f"if {test}: return None")

    def object(self, value: Any) -> str:
        name = f"o{len(self.names)}"
        self.names[name] = value
        return name

    def function(self) -> Callable:
        """The function, compiled."""
        body = "\n        ".join([*self.lines, f"return {_tuple(self.slots)}, {_tuple(self.storages)}"])
        head = f"def bind({', '.join(self.parameters)}):"
        text = f"{head}\n    try:\n        {body}\n    except Exception:\n        return None\n"
        exec(compile(text, "<dsl binder>", "exec"), self.names)  # every name in it was made above
        return self.names["bind"]


def _tuple(items: Sequence[str]) -> str:
    return f"({''.join(item + ', ' for item in items)})"


def make(names: Sequence[str], types: Sequence[Any], device: Device | None, exact: bool = False) -> Callable | None:
    """A function of the arguments that gives (slots, storages) or None; or None for a signature it cannot be made for.

    `device` is where it runs, None for a function that launches nothing. `exact`: arguments that would be *typed*
    otherwise are refused too, as their function would be traced for another type.
    """
    source = _Source(types, device, exact)
    try:
        for name, type_ in zip(names, types):
            if type(type_) not in _WRITERS:
                return None
            _WRITERS[type(type_)](source, name, type_)
    except _NotPossible:
        return None
    return source.function()


def _constant(source: _Source, name: str, type_: Static) -> None:
    """A static argument: a number or a text of equal value and type, or the very object."""
    if not source.exact:  # a call may leave it out
        raise _NotPossible
    value, expected = source.parameter(), type_.value
    if type(expected) in (int, bool, str):
        source.refuse_if(
            f"type({value}) is not {source.object(type(expected))} or {value} != {source.object(expected)}"
        )
    else:
        source.refuse_if(f"{value} is not {source.object(expected)}")


def _pointer(source: _Source, name: str, type_: PointerType) -> None:
    if source.exact:  # its type holds more than is compared here
        raise _NotPossible
    value = source.parameter()
    source.refuse_if(
        f"type({value}) is not {source.object(RuntimePointer)} or {value}.dtype is not {source.object(type_.dtype)}"
    )
    source.add(f"{value}p = {value}.address")
    source.refuse_if(f"{value}p % {type_.alignment_bytes}")
    source.slots.append(f"{value}p")


def _stream(source: _Source, name: str, type_: StreamType) -> None:
    if type_.from_environment:  # no argument brings it
        source.slots.append(f"{source.object(type_.read)}(None, None)[0]")
        return
    value = source.parameter()
    wrong = f"type({value}) is not {source.object(session.CUstream)}"
    source.refuse_if(wrong if source.exact else f"{wrong} and type({value}) is not int")
    source.slots.append(f"int({value})")


def _torch_dtype(type_: TensorType) -> Any | None:
    """torch's element type, where torch is there."""
    torch = sys.modules.get("torch")
    if torch is None or type_.space is not AddressSpace.gmem:
        return None
    name = "bfloat16" if type_.dtype is BFloat16 else type_.dtype.numpy_name
    return getattr(torch, name, None) if name else None


def _number(source: _Source, name: str, type_: ScalarType) -> None:
    """A number of the Python type that fits. One that is too large fails when it is packed."""
    value, dtype = source.parameter(), type_.dtype
    if dtype is Boolean:
        source.refuse_if(f"type({value}) is not bool")
    elif dtype.is_integer:
        source.refuse_if(f"type({value}) is not int")
    elif dtype in (Float32, Float64):
        source.refuse_if(f"type({value}) is not float")
        if dtype is Float32:  # past the greatest it is an infinity, with a warning
            source.refuse_if(f"not -3.4e38 < {value} < 3.4e38")
    else:
        source.refuse_if("True")
    source.slots.append(value)


def _tensor(source: _Source, name: str, type_: TensorType) -> None:
    if not _torch_dtype(type_):
        raise _NotPossible
    value, rank = source.parameter(), len(type_.shape)
    shape, stride, at = f"{value}s", f"{value}d", f"{value}p"
    _torch_tensor(source, value, name, type_)
    if not source.exact:
        _runtime_tensor(source, value, name, type_)
    source.add("else: return None")
    ragged = [f"{at} % {type_.alignment_bytes}"] if type_.alignment_bytes > 1 else []
    source.refuse_if(" or ".join([f"not {at}", *ragged, *[f"len({shape})"] * (not rank)]))
    source.slots.append(at)
    if rank:  # of another rank it cannot be taken apart
        source.add(
            f"{', '.join(f'{shape}{mode}' for mode in range(rank))}, = {shape}",
            f"{', '.join(f'{stride}{mode}' for mode in range(rank))}, = {stride}",
        )
    if source.exact:
        _same_type(source, shape, stride, type_)
    for mode, leaf in enumerate(type_.shape):
        _leaf(source, leaf, f"{shape}{mode}", "")
    for mode, leaf in enumerate(type_.stride):
        _leaf(source, leaf, f"{stride}{mode}", f"{shape}{mode} > 1 and ")


def _torch_tensor(source: _Source, value: str, name: str, type_: TensorType) -> None:
    """Read shape, strides and address of a torch tensor, and where they are asked for the bounds of its storage."""
    torch = sys.modules["torch"]
    wrong = [
        f"{value}.dtype is not {source.object(_torch_dtype(type_))}",
        f"{value}.requires_grad",
        f"{value}.is_neg()",
    ]
    if source.exact:
        wrong.append(f"{value}.is_cuda is {type_.on_host}")
    if source.on_gpu:
        wrong.append(f"not {value}.is_cuda")
    source.add(
        f"if type({value}) is {source.object(torch.Tensor)}:",
        f"    if {' or '.join(wrong)}: return None",
        f"    {value}s = {value}.shape; {value}d = {value}.stride(); {value}p = {value}.data_ptr()",
    )
    if source.wants_storages:
        storage = f"{value}.untyped_storage()"
        source.add(f"    {value}m = {storage}; {value}m = {value}m.data_ptr(), {value}m.nbytes(), {name!r}")
        source.storages.append(f"{value}m")


def _runtime_tensor(source: _Source, value: str, name: str, type_: TensorType) -> None:
    """The same of a tensor of from_dlpack."""
    source.add(
        f"elif type({value}) is {source.object(RuntimeTensor)}:",
        f"    {value}v = {value}.view; {value}s = {value}v.shape; {value}d = {value}v.strides",
        f"    {value}p = {value}v.address",
        f"    if {value}v.dtype is not {source.object(type_.dtype)}: return None",
    )
    if source.wants_storages:
        source.add(f"    {value}m = *{value}v.storage, {name!r}")
    if source.on_gpu:
        source.add(f"    if not getattr({value}.source, 'is_cuda', False): return None")


def _leaf(source: _Source, leaf: int | SymInt, value: str, used: str) -> None:
    """Check an extent or stride; `used` is the condition under which it counts. A dynamic one takes a slot."""
    if not isinstance(leaf, SymInt):
        source.refuse_if(f"{used}{value} != {leaf}")
        return
    source.slots.append(value)
    if leaf.divisibility > 1:
        source.refuse_if(f"{used}{value} % {leaf.divisibility}")
    if leaf in source.symbols:
        source.refuse_if(f"{used}{value} != {source.symbols[leaf]}")
    elif leaf in source.shared:
        source.symbols[leaf] = value
        if used:  # the first is a stride: others go by it, so it must count
            source.refuse_if(f"not ({used}True)")


def _same_type(source: _Source, shape: str, stride: str, type_: TensorType) -> None:
    """Refuse a tensor whose dynamic layout is another type: RuntimeTensor.mark_layout_dynamic."""
    leading = [mode for mode, leaf in enumerate(type_.stride) if leaf == 1]
    for mode, leaf in enumerate(type_.stride):
        own = f"{stride}{mode}"
        if leaf == 0 and not isinstance(leaf, SymInt):
            source.refuse_if(f"{own} != 0")
        elif mode in leading:
            source.refuse_if(f"{own} != 1")
        else:  # a second unit stride counts where its mode has elements
            also = (
                f" or {own} == 1 and not ({shape}{leading[0]} > 1 and {shape}{mode} == 1)"
                if leading
                else f" or {own} == 1"
            )
            source.refuse_if(f"{own} == 0{also}")


_WRITERS: dict[type, Callable[[_Source, str, Any], None]] = {  # by argument type: what adds its lines
    TensorType: _tensor,
    ScalarType: _number,
    PointerType: _pointer,
    StreamType: _stream,
    Static: _constant,
}
