"""The quick way into compiled code: a Python function made for one signature reads the slots of a call's arguments.

It knows torch tensors, tensors of from_dlpack, pointers, streams and Python numbers. Whatever else it is given, or
finds wrong, it leaves to the careful way (`arguments.Signature.bind`), whose errors have the words: it answers None.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.number.dtypes import BFloat16, Boolean, Float32, Float64, NumericMeta
from dsl.core.number.pointer import AddressSpace
from dsl.launch import session
from dsl.launch.argument import kinds
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, SymInt, TensorType
from dsl.launch.devices.protocol import Device

_KINDS = (TensorType, ScalarType, PointerType, StreamType)


class _Source:
    """Lines of the function being made, and the objects that they name."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.shared: set[SymInt] = set()  # that more than one leaf must agree on
        self.symbols: dict[SymInt, str] = {}  # known by now, in which variable
        self.slots: list[str] = []
        self.storages: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += lines

    def refuse_if(self, test: str) -> None:
        self.add(f"if {test}: return None")

    def object(self, value: Any) -> str:
        name = f"o{len(self.names)}"
        self.names[name] = value
        return name


def make(names: Sequence[str], types: Sequence[Any], device: Device | None, exact: bool = False) -> Callable | None:
    """A function of the arguments that gives (slots, storages) or None; or None for a signature it cannot be made for.

    `device` is where it runs, None for a function that launches nothing. `exact`: arguments that would be *typed*
    otherwise are refused too, as their function would be traced for another type.
    """
    storages = device is not None and device.wants_storages
    on_gpu = device is not None and device.kind == "cuda"
    if not all(isinstance(type_, _KINDS) or (exact and isinstance(type_, Static)) for type_ in types):
        return None
    source, parameters = _Source(), []
    leaves = [leaf for type_ in types if isinstance(type_, TensorType) for leaf in type_.shape + type_.stride]
    source.shared = {leaf for leaf, count in Counter(leaves).items() if isinstance(leaf, SymInt) and count > 1}
    for position, (name, type_) in enumerate(zip(names, types)):
        if isinstance(type_, StreamType) and type_.from_environment:
            source.slots.append(f"{source.object(type_.read)}(None, None)[0]")
            continue
        value = f"a{position}"
        parameters.append(value)
        if isinstance(type_, Static):
            _constant(source, value, type_.value)
        elif isinstance(type_, TensorType):
            if not _torch_dtype(type_):
                return None
            _tensor(source, value, name, type_, storages, on_gpu, exact)
        elif isinstance(type_, ScalarType):
            _number(source, value, type_)
        elif isinstance(type_, PointerType):
            source.refuse_if(
                f"type({value}) is not {source.object(kinds.RuntimePointer)} or "
                f"{value}.dtype is not {source.object(type_.dtype)}"
            )
            if exact:
                return None
            source.add(f"p{position} = {value}.address")
            source.refuse_if(f"p{position} % {type_.alignment_bytes}")
            source.slots.append(f"p{position}")
        else:
            source.refuse_if(
                f"type({value}) is not {source.object(session.CUstream)}"
                + f" and type({value}) is not int" * (not exact)
            )
            source.slots.append(f"int({value})")
    body = "\n        ".join(
        [
            *source.lines,
            f"return ({''.join(slot + ', ' for slot in source.slots)}), "
            f"({''.join(storage + ', ' for storage in source.storages)})",
        ]
    )
    text = f"def bind({', '.join(parameters)}):\n    try:\n        {body}\n    except Exception:\n        return None\n"
    exec(compile(text, "<dsl binder>", "exec"), source.names)  # every name in it was made above
    return source.names["bind"]


def _constant(source: _Source, value: str, known: Any) -> None:
    """A static argument: a number or a text of equal value and type, or the very object."""
    if type(known) in (int, bool, str):
        source.refuse_if(f"type({value}) is not {source.object(type(known))} or {value} != {source.object(known)}")
    else:
        source.refuse_if(f"{value} is not {source.object(known)}")


def _torch_dtype(type_: TensorType) -> Any | None:
    """torch's element type, where torch is there."""
    torch = sys.modules.get("torch")
    if torch is None or type_.space is not AddressSpace.gmem:
        return None
    name = "bfloat16" if type_.dtype is BFloat16 else type_.dtype.numpy_name
    return getattr(torch, name, None) if name else None


def _number(source: _Source, value: str, type_: ScalarType) -> None:
    """Numbers whose type Python says; those that do not fit fail when they are packed, and go the careful way."""
    dtype: NumericMeta = type_.dtype
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


def _tensor(
    source: _Source, value: str, name: str, type_: TensorType, storages: bool, on_gpu: bool, exact: bool
) -> None:
    torch, rank = sys.modules["torch"], len(type_.shape)
    shape, stride, at = f"{value}s", f"{value}d", f"{value}p"
    size_bytes = type_.alignment_bytes
    source.add(f"if type({value}) is {source.object(torch.Tensor)}:")
    wrong = [
        f"{value}.dtype is not {source.object(_torch_dtype(type_))}",
        f"{value}.requires_grad",
        f"{value}.is_neg()",
    ]
    if exact:
        wrong.append(f"{value}.is_cuda is {type_.on_host}")
    if on_gpu:
        wrong.append(f"not {value}.is_cuda")
    source.add(
        f"    if {' or '.join(wrong)}: return None",
        f"    {shape} = {value}.shape; {stride} = {value}.stride(); {at} = {value}.data_ptr()",
    )
    if storages:
        source.add(
            f"    {value}m = {value}.untyped_storage(); {value}m = {value}m.data_ptr(), {value}m.nbytes(), {name!r}"
        )
        source.storages.append(f"{value}m")
    if exact:
        source.add("else: return None")
    else:
        source.add(
            f"elif type({value}) is {source.object(kinds.RuntimeTensor)}:",
            f"    {value}v = {value}.view; {shape} = {value}v.shape; {stride} = {value}v.strides",
            f"    {at} = {value}v.address",
            f"    if {value}v.dtype is not {source.object(type_.dtype)}: return None",
        )
        if storages:
            source.add(f"    {value}m = *{value}v.storage, {name!r}")
        if on_gpu:
            source.add(f"    if not getattr({value}.source, 'is_cuda', False): return None")
        source.add("else: return None")
    ragged = [f"{at} % {size_bytes}"] if size_bytes > 1 else []
    source.refuse_if(" or ".join([f"not {at}", *ragged, *[f"len({shape})"] * (not rank)]))
    source.slots.append(at)
    if rank:  # of another rank it cannot be taken apart
        source.add(
            f"{', '.join(f'{shape}{mode}' for mode in range(rank))}, = {shape}",
            f"{', '.join(f'{stride}{mode}' for mode in range(rank))}, = {stride}",
        )
    if exact:
        _same_type(source, shape, stride, type_)
    for mode, leaf in enumerate(type_.shape):
        _leaf(source, leaf, f"{shape}{mode}", "")
    for mode, leaf in enumerate(type_.stride):
        _leaf(source, leaf, f"{stride}{mode}", f"{shape}{mode} > 1 and ")


def _leaf(source: _Source, leaf: int | SymInt, value: str, used: str) -> None:
    """Check an extent or stride; `used` says where it counts. A dynamic one takes a slot."""
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
    """Refuse a tensor whose dynamic layout is another type: arguments.RuntimeTensor.mark_layout_dynamic."""
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
