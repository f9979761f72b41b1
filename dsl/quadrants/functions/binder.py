"""The quick way into a compiled kernel: a Python function made for one specialisation reads a call's arguments.

It answers None for whatever it does not know or finds of another type, and the careful way (annotations) takes over,
whose errors have the words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from dsl.quadrants.functions.annotations import ArrayKind, ScalarKind, TemplateKind
from dsl.quadrants.functions.parameter_kinds import DataclassKind, TensorKind
from dsl.quadrants.memory.captured import CapturedArray, Frozen, Same
from dsl.quadrants.memory.ndarray import ArrayType, MatrixNdarray, ScalarNdarray
from dsl.quadrants.memory.tensor import Tensor
from dsl.quadrants.runtime import Runtime
from dsl.quadrants.values import dtypes as types


class _Source:
    """Lines of the function being made, and the objects they name."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.slots: list[str] = []
        self.storages: list[str] = []

    def object(self, value: Any) -> str:
        name = f"o{len(self.names)}"
        self.names[name] = value
        return name

    def refuse_if(self, test: str) -> None:
        self.lines.append(f"if {test}: return None")


def make(kinds: Sequence[Any], arguments: Sequence[Any], hidden: Sequence[Any], device: Any) -> Callable | None:
    """A function of the arguments that gives (slots, storages) or None; None for a kernel it cannot be made for.

    `arguments` are those the kernel was compiled for, `hidden` what brings its further slots: a number, or what is
    captured.
    Arrays of the host go the careful way to a GPU, which copies them.
    """
    storages, apart = device.wants_storages, device.kind == "cuda"
    source, parameters = _Source(), []
    for position, (kind, like) in enumerate(zip(kinds, arguments)):
        parameters.append(f"a{position}")
        if not _argument(source, f"a{position}", kind, like, storages, apart):
            return None
    for part in hidden:
        if isinstance(part, int):
            source.slots.append(str(part))
        elif isinstance(part, CapturedArray):
            _captured(source, part)
        elif isinstance(part, Frozen):
            source.lines += [
                "try:",
                f"    if {part.way.code(f'a{part.way.position}', source.object)} is not "
                f"{source.object(part.value)}: return None",
                "except Exception:",
                "    return None",
            ]
        elif isinstance(part, Same):
            source.refuse_if(f"{source.object(part.slots)}([{', '.join(parameters)}]) is None")
        else:
            source.slots.append(f"*{source.object(part.slots)}([{', '.join(parameters)}])")
    slots = "".join(f"{slot}, " for slot in source.slots)
    regions = "".join(f"{storage}, " for storage in source.storages)
    body = "\n    ".join([*source.lines, f"return ({slots}), ({regions})"])
    exec(compile(f"def bind({', '.join(parameters)}):\n    {body}\n", "<dsl binder>", "exec"), source.names)
    return source.names["bind"]


def _argument(source: _Source, value: str, kind: Any, like: Any, storages: bool, apart: bool) -> bool:
    """Add what reads one argument; False for a kind that only the careful way reads."""
    if isinstance(kind, TemplateKind):
        _constant(source, value, like)
    elif isinstance(kind, ScalarKind):
        return _number(source, value, kind)
    elif isinstance(kind, ArrayKind):
        type_ = kind.typed(like)
        if not type_.row_major or type_.element_shape:
            return False
        _array(source, value, like, type_, kind.name, storages, apart)
    elif isinstance(kind, TensorKind):
        if isinstance(like, Tensor):
            source.refuse_if(f"type({value}) is not {source.object(type(like))}")
            source.lines.append(f"{value}_b = {value}._impl")
            value, like = f"{value}_b", like._impl
        return _argument(source, value, kind.of(like), like, storages, apart)
    elif isinstance(kind, DataclassKind):
        source.refuse_if(f"type({value}) is not {source.object(type(like))}")
        for number, (name, part) in enumerate(kind.kinds.items()):
            source.lines.append(f"{value}_{number} = {value}.{name}")
            if not _argument(source, f"{value}_{number}", part, getattr(like, name), storages, apart):
                return False
    else:
        return False
    return True


def _captured(source: _Source, part: CapturedArray) -> None:
    """An array that the arguments lead to."""
    name, way, type_ = f"h{len(source.lines)}", part.way, part.type
    source.lines += [
        "try:",
        f"    {name} = {way.code(f'a{way.position}', source.object)}",
        f"    {name}s = {name}.shape",
        "except Exception:",
        "    return None",
    ]
    kind = MatrixNdarray if type_.element_shape else ScalarNdarray
    source.refuse_if(
        f"type({name}) is not {source.object(kind)} or {name}._memory is None or "
        f"{name}.element_type is not {source.object(type_.dtype)} or len({name}s) != {type_.rank} or "
        f"{name}.element_shape != {type_.element_shape} or {name}.generation != {Runtime.generation}"
    )
    source.slots += [f"{name}._memory.address", *(f"{name}s[{axis}]" for axis in range(type_.rank))]


def _constant(source: _Source, value: str, first: Any) -> None:
    if type(first) in (int, bool, str):
        source.refuse_if(f"type({value}) is not {source.object(type(first))} or {value} != {source.object(first)}")
    else:
        source.refuse_if(f"{value} is not {source.object(first)}")


def _number(source: _Source, value: str, kind: ScalarKind) -> bool:
    if kind.is_bool:
        source.refuse_if(f"type({value}) is not bool")
    elif not kind.is_float:
        source.refuse_if(f"type({value}) is not int or not {kind.low} <= {value} <= {kind.high}")
    elif kind.dtype in (types.f32, types.f64):
        limit = f" or not -3e38 < {value} < 3e38" if kind.dtype is types.f32 else ""
        source.refuse_if(f"type({value}) is not float{limit}")
    else:
        return False
    source.slots.append(value)
    return True


def _array(source: _Source, value: str, like: Any, type_: ArrayType, name: str, storages: bool, apart: bool) -> None:
    """An array of the library that the first one was of."""
    numpy, torch, rank = sys.modules.get("numpy"), sys.modules.get("torch"), type_.rank
    address, shape, size = f"{value}p", f"{value}s", f"{value}n"
    kind = source.object(type(like))
    if isinstance(like, ScalarNdarray):
        source.refuse_if(
            f"type({value}) is not {kind} or {value}.element_type is not {source.object(type_.dtype)} or "
            f"{value}._memory is None or {value}.generation != {Runtime.generation}"
        )
        source.lines += [f"{address} = {value}._memory.address; {shape} = {value}.shape"]
        storages = False
    elif apart and not getattr(like, "is_cuda", False):
        source.refuse_if("True")
        return
    elif numpy is not None and type(like) is numpy.ndarray:
        source.refuse_if(
            f"type({value}) is not {kind} or {value}.dtype is not {source.object(like.dtype)} or "
            f"not {value}.flags.c_contiguous"
        )
        source.lines += [f"{address} = {value}.__array_interface__['data'][0]; {shape} = {value}.shape"]
        size = f"{value}.nbytes"
    elif torch is not None and type(like) is torch.Tensor:
        source.refuse_if(
            f"type({value}) is not {kind} or {value}.dtype is not {source.object(like.dtype)} or "
            f"{value}.requires_grad or not {value}.is_contiguous() or {value}.is_cuda is not "
            f"{like.is_cuda}"
        )
        source.lines += [f"{address} = {value}.data_ptr(); {shape} = {value}.shape"]
        size = f"{value}.nbytes"
    else:
        source.refuse_if("True")
        return
    source.refuse_if(f"len({shape}) != {rank}")
    source.slots.append(address)
    if rank:
        names = [f"{shape}{axis}" for axis in range(rank)]
        source.lines.append(f"{', '.join(names)}, = {shape}")
        source.slots += names
    if storages:
        source.storages.append(f"({address}, {size}, {name!r})")
