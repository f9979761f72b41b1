"""Arguments of a call as Python text: numbers, containers, objects, tensors, and what a runtime made.

Names of the author's functions are known only when the program is sliced, and names of variables must not be
theirs; both stand as marks in the text until `finished`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.capture.arguments import constructions, makings
from harness.capture.arguments.memory import Memory, Storage, View, is_tensor, is_torch

# Modules whose public names may be written, and how a file imports each.
PUBLIC = {
    "torch": "import torch",
    "numpy": "import numpy as np",
    "cutlass": "import cutlass",
    "cutlass.cute": "import cutlass.cute as cute",
    "cutlass.cute.runtime": "import cutlass.cute.runtime",
    "cutlass.cute.nvgpu": "import cutlass.cute.nvgpu",
    "cutlass.cute.nvgpu.warpgroup": "import cutlass.cute.nvgpu.warpgroup",
    "cutlass.utils": "import cutlass.utils",
    "cutlass.pipeline": "import cutlass.pipeline",
    "cuda.bindings.driver": "import cuda.bindings.driver as cuda",
    "torch.cuda": "import torch",
    "quadrants": "import quadrants as qd",
}
_SHORT = {"numpy": "np", "cutlass.cute": "cute", "cuda.bindings.driver": "cuda"}
_MARK = re.compile("\x01(\\w+)\x02|\x03(\\d+)\x04")
BUILTINS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
LEAST_ADDRESS = 1 << 20
MOST_ADDRESSES = 256  # in a tensor


@dataclasses.dataclass
class TensorType:
    """A tensor that a function was compiled for: all but its values."""

    shape: tuple
    stride: tuple
    dtype: Any
    device: str
    library: str
    address: int


@dataclasses.dataclass
class ObjectState:
    """An author's object as it was: its class and attributes."""

    kind: type
    attributes: dict[str, Any]
    original: Any
    constructed: constructions.Construction | None = None


def _of_author(kind: type) -> bool:
    """Whether a class is one that can be rebuilt from its attributes: it is written in Python, and no builtin."""
    return (
        kind.__module__ not in ("builtins",)
        and kind.__module__.partition(".")[0] not in ("torch", "numpy", "cutlass", "dsl", "cuda", "mlir", "tvm_ffi")
        and isinstance(kind, type)
        and not issubclass(kind, (BaseException, types.ModuleType))
    )


def frozen(value: Any, depth: int = 0) -> Any:
    """A value as it is now, without its tensors' memory: what compiling saw."""
    if depth > 8:
        return value
    making = makings.of(value)
    if making is not None:
        args = tuple(frozen(each, depth + 1) for each in making.args)
        keywords = {name: frozen(each, depth + 1) for name, each in making.keywords.items()}
        return dataclasses.replace(making, args=args, keywords=keywords, changes=list(making.changes))
    if is_torch(value):
        return TensorType(
            tuple(value.shape), tuple(value.stride()), value.dtype, value.device.type, "torch", _address(value)
        )
    if isinstance(value, np.ndarray):
        return TensorType(value.shape, value.strides, value.dtype, "cpu", "numpy", value.ctypes.data)
    if type(value) in (list, tuple):
        return type(value)(frozen(each, depth + 1) for each in value)
    if type(value) is dict:
        return {key: frozen(each, depth + 1) for key, each in value.items()}
    if hasattr(value, "__dict__") and _of_author(type(value)) and not isinstance(value, (type, enum.Enum)):
        if not callable(value) or not isinstance(value, (types.FunctionType, types.MethodType)):
            state = {name: frozen(each, depth + 1) for name, each in vars(value).items()}
            return ObjectState(type(value), state, value, constructions.of(value))
    return value


def _address(tensor: Any) -> int:
    try:
        return tensor.data_ptr()
    except RuntimeError:  # torch's own fake tensors have none
        return 0


class Spelling:
    """Writes values. `statements` come before the expressions that use their names."""

    def __init__(self, plain: Callable[[Any], Any] = lambda function: function):
        """`plain` gives the author's function of what a decorator made of it."""
        self.memory = Memory()
        self.views: list[View] = []
        self.statements: list[tuple[str, str]] = []  # (mark of the name, expression)
        self.setting: list[str] = []  # statements of the module before the author's code
        self.spells: Callable[[Spelling, Any, str], str | None] = lambda spelling, value, hint: None
        self.first: list[str] = []  # statements before the memory of the call
        self.constants: dict[str, str] = {}  # of the module: name -> expression
        self.stored: dict[str, np.ndarray] = {}  # data that constants read, by name
        self.packages: dict[str, str | None] = {}  # distributions with versions; None: it is not one
        self.imports: dict[str, None] = {}
        self.roots: list[Any] = []
        self.missing: list[str] = []
        self.helpers: dict[str, str] = {}  # functions of the file: name -> text
        self._plain = plain
        self._named: dict[int, tuple[Any, str]] = {}  # values that are written once, by id
        self._made_before: dict[str, str] = {}  # arguments made of tensors, by their text
        self._names: set[str] = set()
        self._open: set[int] = set()

    # ** names

    def root(self, value: Any) -> str:
        """A mark for the name of one of the author's functions or classes."""
        for place, other in enumerate(self.roots):
            if other is value:
                return f"\x03{place}\x04"
        self.roots.append(value)
        return f"\x03{len(self.roots) - 1}\x04"

    def name(self, hint: str) -> str:
        """A mark for a variable of this name, or one like it."""
        hint = re.sub(r"\W|^(?=\d)", "_", hint).strip("_") or "value"
        name, number = hint, 2
        while name in self._names:
            name, number = f"{hint}_{number}", number + 1
        self._names.add(name)
        return f"\x01{name}\x02"

    def finished(self, text: str, root_names: Mapping[int, str], taken: set[str]) -> str:
        """Text with its marks replaced; variables keep clear of `taken`."""

        def replace(mark: re.Match) -> str:
            if mark[1]:
                return mark[1] + "_" * (mark[1] in taken)
            return root_names.get(id(self.roots[int(mark[2])]), "None")

        return _MARK.sub(replace, text)

    # ** values

    def of(self, value: Any, hint: str = "value") -> str:
        """An expression for the value."""
        noted = self._named.get(id(value))
        if noted is not None and noted[0] is value:
            return noted[1]
        if id(value) in self._open:
            return self.lacks(f"{hint} contains itself")
        self._open.add(id(value))
        try:
            return self._of(value, hint)
        finally:
            self._open.discard(id(value))

    def lacks(self, what: str) -> str:
        """Note a value that cannot be written; `None` replaces it."""
        if what not in self.missing:
            self.missing.append(what)
        return "None"

    def once(self, value: Any, hint: str, expression: str) -> str:
        """Give the value a name: where it appears again, it is the same object."""
        mark = self.name(hint)
        self.statements.append((mark, expression))
        self._named[id(value)] = value, mark
        return mark

    def _of(self, value: Any, hint: str) -> str:
        kind = type(value)
        if kind in BUILTINS:
            return self._builtin(value, hint)
        making = value if isinstance(value, makings.Making) else makings.of(value)
        if making is not None:
            return self._made(value, making, hint)
        if isinstance(value, TensorType):
            return self._tensor_type(value, hint)
        if isinstance(value, ObjectState):
            if value.constructed is not None:
                return self._constructed(value.original, value.constructed, hint)
            return self._object(value.original, value.kind, value.attributes, hint)
        if is_tensor(value):
            return self._tensor(value, hint)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return self._container(value, hint)
        if isinstance(value, enum.Enum):
            return f"{self.of(kind, hint)}.{value.name}"
        if isinstance(value, np.generic):
            self.imports[PUBLIC["numpy"]] = None
            return f"np.{kind.__name__}({value.item()!r})"
        if isinstance(value, (slice, range)):
            return f"{kind.__name__}({self.of(value.start)}, {self.of(value.stop)}, {self.of(value.step)})"
        if isinstance(value, functools.partial):
            self.imports["import functools"] = None
            words = [self.of(value.func, "function"), *(self.of(each, hint) for each in value.args)]
            words += [f"{name}={self.of(each, name)}" for name, each in value.keywords.items()]
            return f"functools.partial({', '.join(words)})"
        return self.spells(self, value, hint) or self._named_object(value, hint) or self._foreign(value, hint)

    def _builtin(self, value: Any, hint: str) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if type(value) is int and value > LEAST_ADDRESS:
            owner = self.memory.covering(value)
            if owner is not None:
                past = value - owner.data_ptr()
                return f"{self.of(owner, hint)}.data_ptr()" + (f" + {past}" if past else "")
        return repr(value)

    def _container(self, value: Any, hint: str) -> str:
        kind = type(value)
        if isinstance(value, dict):
            rows = [f"{self.of(key)}: {self.of(each, str(key))}" for key, each in value.items()]
            text = "{" + ", ".join(rows) + "}"
            return text if kind is dict else f"{self.of(kind)}({text})"
        parts = [self.of(each, hint) for each in value]
        if hasattr(kind, "_fields"):
            names = zip(kind._fields, value)
            return f"{self.of(kind)}({', '.join(f'{name}={self.of(each, name)}' for name, each in names)})"
        if kind is list:
            return f"[{', '.join(parts)}]"
        if kind.__name__ == "Size" or kind is tuple:
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if isinstance(value, (set, frozenset)):
            return f"{kind.__name__}([{', '.join(parts)}])"
        return f"{self.of(kind)}([{', '.join(parts)}])"

    def _made(self, value: Any, making: makings.Making, hint: str) -> str:
        module, _, name = making.function.rpartition(".")
        words = [self.of(each, hint) for each in making.args]
        words += [f"{key}={self.of(each, hint)}" for key, each in making.keywords.items()]
        text = f"{self._module(module)}.{name}({', '.join(words)})"
        methods = [change for change in making.changes if not change[0].endswith(" =")]
        for method, args, keywords in methods:
            words = [self.of(each, hint) for each in args]
            words += [f"{key}={self.of(each, hint)}" for key, each in keywords.items()]
            text += f".{method}({', '.join(words)})"
        assigned = [change for change in making.changes if change[0].endswith(" =")]
        if name.startswith("sym_int"):
            return self.once(value, "n", text)
        if name != "from_dlpack" and not assigned:
            return text
        later = [(target.removesuffix(" ="), self.of(args[0], hint)) for target, args, _ in assigned]
        known = f"{text} {later}"
        if known not in self._made_before:
            mark = self._made_before[known] = self.name(f"{hint}_cute")
            self.statements += [(mark, text), *((f"{mark}.{target}", each) for target, each in later)]
        return self._made_before[known]

    def _module(self, module: str) -> str:
        if module == "cutlass.cute.runtime":
            self.imports["from cutlass.cute import runtime"] = None
            return "runtime"
        self.imports[PUBLIC.get(module, f"import {module}")] = None
        return _SHORT.get(module, module)

    # ** tensors

    def _tensor(self, tensor: Any, hint: str) -> str:
        view = self.memory.view(tensor, "")
        if view.name:
            return view.name
        view.name = self.name(hint)
        self.views.append(view)
        if view.dtype == "torch.int64":
            self._addresses(self.memory.storages[-1], hint)
        return view.name

    def _addresses(self, storage: Storage, hint: str) -> None:
        """Write elements that are addresses of other tensors as such."""
        numbers = storage.before.view(np.int64) if storage.nbytes % 8 == 0 else np.empty(0, np.int64)
        if len(storage.views) > 1 or not 0 < numbers.size <= MOST_ADDRESSES or not (numbers > LEAST_ADDRESS).any():
            return
        texts = [self._builtin(number, f"{hint}_at") for number in numbers.tolist()]
        if any(".data_ptr()" in text for text in texts):
            storage.addresses = texts

    def _tensor_type(self, value: TensorType, hint: str) -> str:
        """The same tensor where the call has it, else one of the call of this type, else a new one."""
        fitting = [view for view in self.views if _has_type(view, value)]
        same = [view for view in fitting if value.address and _address_of(view) == value.address]
        named = [view for view in fitting if view.name == f"\x01{hint}\x02"]
        for view in [*same, *named, *fitting]:
            return view.name
        if value.library == "numpy":
            self.imports[PUBLIC["numpy"]] = None
            return f'np.empty({value.shape}, "{value.dtype.name}")'
        self.imports[PUBLIC["torch"]] = None
        place = "" if value.device == "cpu" else f', device="{value.device}"'
        return f"torch.empty_strided({value.shape}, {value.stride}, dtype={value.dtype}{place})"

    # ** everything else

    def _named_object(self, value: Any, hint: str) -> str | None:
        """Functions, classes, modules, methods, and what a public module has under a name."""
        if isinstance(value, types.ModuleType):
            return self._module(public_name(value.__name__))
        if isinstance(value, types.MethodType) and value.__self__ is not None:
            return f"{self.of(value.__self__, 'instance')}.{value.__func__.__name__}"
        name = getattr(value, "__name__", None) or getattr(value, "__qualname__", None)
        is_dtype = type(value).__module__ == "torch" and type(value).__name__ in ("dtype", "layout", "memory_format")
        if is_dtype:
            self.imports[PUBLIC["torch"]] = None
            return str(value)
        if type(value).__module__.startswith("torch") and type(value).__name__ == "device":
            return f'torch.device("{getattr(value, "type", "")}")'
        if not isinstance(value, types.FunctionType) and (module := self._public(value)):
            return f"{self._module(module)}.{name}"
        plain = self._plain(value)
        if isinstance(plain, types.FunctionType) or (isinstance(plain, type) and plain.__module__ != "builtins"):
            return self.root(plain)
        if isinstance(value, types.BuiltinFunctionType) and value.__module__ not in (None, "builtins"):
            return f"{self._module(value.__module__.lstrip('_'))}.{value.__name__}"
        if isinstance(plain, type) or isinstance(value, types.BuiltinFunctionType):
            return value.__name__
        return None

    def _public(self, value: Any) -> str | None:
        """The module of PUBLIC that has the value under its own name."""
        name = getattr(value, "__name__", None) or getattr(value, "__qualname__", None)
        if not isinstance(name, str):
            return None
        return next((m for m in PUBLIC if m in sys.modules and sys.modules[m].__dict__.get(name) is value), None)

    def _constructed(self, value: Any, made: constructions.Construction, hint: str) -> str:
        words = [self.of(each, hint) for each in made.args]
        words += [f"{name}={self.of(each, name)}" for name, each in made.keywords.items()]
        return self.once(value, hint, f"{self.of(made.kind)}({', '.join(words)})")

    def _foreign(self, value: Any, hint: str) -> str:
        kind = type(value)
        if kind.__name__ == "CUstream":
            self.imports[PUBLIC["cuda.bindings.driver"]] = None
            return f"cuda.CUstream({self._stream(int(value))})"
        if kind.__module__.startswith("torch") and kind.__name__ in ("Stream", "ExternalStream"):
            return "torch.cuda.current_stream()"
        number = getattr(value, "value", None)
        if type(number) in (int, float, bool) and kind.__module__.partition(".")[0] in ("cutlass", "dsl"):
            return f"{self.of(kind)}({self._builtin(number, hint)})"
        if hasattr(value, "__dict__") or hasattr(kind, "__slots__"):
            made = constructions.of(value) if hasattr(value, "__dict__") else None
            if made is not None:
                return self._constructed(value, made, hint)
            if _of_author(kind) or self._public(kind):
                return self._object(value, kind, attributes_of(value), hint)
        return self.lacks(f"{hint} is a {kind.__module__}.{kind.__qualname__}, which cannot be written down")

    def _stream(self, handle: int) -> str:
        torch = sys.modules.get("torch")
        if handle in (0, 1, 2) or torch is None:
            return str(handle)
        self.imports[PUBLIC["torch"]] = None
        return "torch.cuda.current_stream().cuda_stream"

    def _object(self, value: Any, kind: type, attributes: dict[str, Any], hint: str) -> str:
        if dataclasses.is_dataclass(kind):
            names = {field.name for field in dataclasses.fields(kind) if field.init}
            if names == set(attributes) and "__post_init__" not in vars(kind):
                words = [f"{name}={self.of(each, name)}" for name, each in attributes.items()]
                return self.once(value, hint, f"{self.of(kind)}({', '.join(words)})")
        self.helpers["_object"] = OBJECT_HELPER
        words = []
        for name, each in attributes.items():
            before = len(self.missing)
            text = self.of(each, name)
            if len(self.missing) == before:
                words.append(f"{name}={text}")
            else:  # what an earlier trace left there; the next one sets it again
                del self.missing[before:]
        return self.once(value, hint, f"_object({', '.join([self.of(kind), *words])})")


def _has_type(view: View, value: TensorType) -> bool:
    tensor = view.tensor
    if is_torch(tensor) != (value.library == "torch"):
        return False
    stride = tuple(tensor.stride()) if is_torch(tensor) else tensor.strides
    same = (tuple(tensor.shape), stride, tensor.dtype) == (value.shape, value.stride, value.dtype)
    return same and (value.library == "numpy" or tensor.device.type == value.device)


def _address_of(view: View) -> int:
    return _address(view.tensor) if is_torch(view.tensor) else view.tensor.ctypes.data


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots too."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found | dict(getattr(value, "__dict__", {}))


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def public_name(module: str) -> str:
    """The name by which a program imports a module; modules of our alias have NVIDIA's names."""
    return re.sub(r"^dsl\.(cutlass|quadrants)(?=\.|$)", r"\1", module)


OBJECT_HELPER = '''\
def _object(kind, **attributes):
    """An object as it was when the program made the call, without its constructor."""
    new = object.__new__(kind)
    for name, value in attributes.items():
        object.__setattr__(new, name, value)
    return new
'''
