"""Launches by `cuda.bindings.driver`: the PTX of the module, the parameters by their sizes, memory and launch shape."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from harness.capture.arguments import values
from harness.capture.arguments.spelling import PUBLIC, Spelling
from harness.capture.importing import when_imported
from harness.capture.launches import driver_text, ptx, tensor_maps
from harness.capture.launches.allocations import KINDS, Allocations, driver, names_around
from harness.capture.recorder import Call, Recorder
from harness.capture.refusal import CannotBeCaptured
from harness.run.exception_protocol import outcome_of

MODULE = "cuda.bindings.driver"
MOST_LINES = 200  # of PTX in the file; longer PTX is data
_ELF, _FAT_BINARIES = b"\x7fELF", (b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46")
_LOADS = ("cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuLibraryLoadData")
_FILES = ("cuModuleLoad", "cuLibraryLoadFromFile")
_LAUNCHES = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")


@dataclass
class Image:
    """The image that a module was loaded from."""

    data: bytes
    globals_of: Callable[[bytes], tuple]  # address and size of a variable, with the driver's code

    def text(self) -> str:
        """Its PTX. Raises CannotBeCaptured where it has none."""
        if self.data.startswith((_ELF, *_FAT_BINARIES)):
            kind = "a cubin" if self.data.startswith(_ELF) else "a fat binary"
            raise CannotBeCaptured(f"its module is {kind}, which has no PTX text: have the program load PTX")
        return self.data.rstrip(b"\0").decode(errors="replace")


@dataclass
class Function:
    """A kernel of a module, and the attributes that the program set."""

    image: Image
    name: str
    attributes: dict[int, int] = field(default_factory=dict)


_images: dict[int, Image] = {}
_functions: dict[int, Function] = {}


def install(recorder: Recorder) -> None:
    """Report every launch from now on, as soon as cuda.bindings are imported."""
    when_imported(MODULE, lambda module: _hook(module, recorder))


def _hook(module: ModuleType, recorder: Recorder) -> None:
    for name in _LOADS:
        _after(module, name, _loaded)
    for name in _FILES:
        _after(module, name, _loaded_from_file)
    for name in ("cuModuleGetFunction", "cuLibraryGetKernel"):
        _after(module, name, _function_of)
    _after(module, "cuKernelGetFunction", lambda args, result: _same(args, result, _functions))
    _after(module, "cuLibraryGetModule", lambda args, result: _same(args, result, _images))
    _after(module, "cuFuncSetAttribute", lambda args, result: _attribute(args[0], args[1], args[2]))
    _after(module, "cuKernelSetAttribute", lambda args, result: _attribute(args[2], args[0], args[1]))
    tensor_maps.watch(module, _after)
    for name in _LAUNCHES:
        _watch_launch(module, name, recorder)


def _after(module: ModuleType, name: str, note: Callable[[tuple, Any], None]) -> None:
    """Call `note(arguments, result)` after each call that went well."""
    original = getattr(module, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def called(*args, **keywords):
        result = original(*args, **keywords)
        if int(result[0]) == 0 and not keywords:
            try:
                note(args, result[1] if len(result) > 1 else None)
            except (TypeError, ValueError, OSError, IndexError, AttributeError):
                pass  # the launch then reports that its module is not known
        return result

    setattr(module, name, called)


def _bytes_of(image: Any) -> bytes:
    if isinstance(image, int):
        head = ctypes.string_at(image, 4)
        if head == _ELF or head in _FAT_BINARIES:
            return head
        return ctypes.string_at(image)
    return bytes(memoryview(image))


def _loaded(args: tuple, handle: Any) -> None:
    _images[int(handle)] = Image(_bytes_of(args[0]), functools.partial(variable_of, handle))


def _loaded_from_file(args: tuple, handle: Any) -> None:
    with open(args[0], "rb") as file:
        _images[int(handle)] = Image(file.read(), functools.partial(variable_of, handle))


def variable_of(handle: Any, name: bytes) -> tuple:
    """The driver's code, and the address and size of a variable of a module or library."""
    cuda = driver()
    look = cuda.cuLibraryGetGlobal if type(handle).__name__ == "CUlibrary" else cuda.cuModuleGetGlobal
    return look(handle, name)


def _function_of(args: tuple, handle: Any) -> None:
    if int(args[0]) in _images:
        _functions[int(handle)] = Function(_images[int(args[0])], bytes(args[1]).rstrip(b"\0").decode())


def _same(args: tuple, handle: Any, table: dict[int, Any]) -> None:
    if int(args[0]) in table:
        table[int(handle)] = table[int(args[0])]


def _attribute(handle: Any, attribute: Any, value: Any) -> None:
    if int(handle) in _functions:
        _functions[int(handle)].attributes[int(attribute)] = int(value)


# ** launches


@dataclass
class Shape:
    """How a kernel is launched."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    cluster: tuple[int, ...] | None = None
    is_cooperative: bool = False
    unknown: tuple[str, ...] = ()  # attributes that the file does not have


def _watch_launch(module: ModuleType, name: str, recorder: Recorder) -> None:
    original = getattr(module, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def launch(*args, **keywords):
        if recorder.is_done or keywords:
            return original(*args, **keywords)
        function, shape, parameters, extra = _taken_apart(name, args)
        noted = _functions.get(int(function))
        known = (lambda: ptx.plain_names(noted.name)) if noted else set
        call = functools.partial(launch_call, noted, shape, parameters, extra)
        return recorder.around(call, known, lambda: original(*args))

    setattr(module, name, launch)


def _taken_apart(name: str, args: tuple) -> tuple[Any, Shape, Any, Any]:
    """The function, the shape, the parameters and `extra` of a launch."""
    if name == "cuLaunchKernelEx":
        config, function, parameters, extra = (*args, 0)[:4]
        return function, _shape_of(config), parameters, extra
    numbers = [int(each) for each in args[1:8]]
    shape = Shape(tuple(numbers[:3]), tuple(numbers[3:6]), numbers[6], is_cooperative="Cooperative" in name)
    return args[0], shape, args[9], args[10] if len(args) > 10 else 0


def _shape_of(config: Any) -> Shape:
    shape = Shape(
        (config.gridDimX, config.gridDimY, config.gridDimZ),
        (config.blockDimX, config.blockDimY, config.blockDimZ),
        config.sharedMemBytes,
    )
    unknown = []
    for attribute in list(config.attrs or ())[: config.numAttrs]:
        name = attribute.id.name.removeprefix("CU_LAUNCH_ATTRIBUTE_")
        if name == "CLUSTER_DIMENSION":
            cluster = attribute.value.clusterDim
            shape.cluster = cluster.x, cluster.y, cluster.z
        elif name == "COOPERATIVE":
            shape.is_cooperative = bool(attribute.value.cooperative)
        elif name not in ("IGNORE", "PRIORITY", "PROGRAMMATIC_STREAM_SERIALIZATION"):
            unknown.append(name)
    shape.unknown = tuple(unknown)
    return shape


def launch_call(function: Function | None, shape: Shape, parameters: Any, extra: Any) -> Call:
    """The launch as a call. Raises CannotBeCaptured."""
    if function is None:
        raise CannotBeCaptured("the module of the kernel was not seen being loaded")
    text = function.image.text()
    try:
        listed = ptx.parameters(text, function.name)
    except ptx.NoSuchEntry as error:
        raise CannotBeCaptured(str(error)) from None
    given = _decoded(listed, parameters, extra)
    names = names_around()

    def write(spelling: Spelling) -> str:
        return _text(spelling, function, text, shape, list(zip(listed, given)), names)

    arrays = tuple(_scalar(each, data, dtype) for each, (data, dtype) in zip(listed, given))
    return Call(
        ptx.shown_name(function.name), lambda: ptx.plain_names(function.name), write, arrays, ending=_ending
    )  # fmt: skip


def _scalar(parameter: ptx.Parameter, data: bytes, dtype: str | None) -> Any:
    return np.frombuffer(data, dtype or parameter.dtype)


def _ending(result: tuple) -> dict[str, Any] | None:
    """The emulator's report on a launch that failed."""
    if int(result[0]) == 0:
        return None
    return failure() or {"outcome": "fault", "kind": getattr(result[0], "name", str(result[0]))}


def failure() -> dict[str, Any] | None:
    """The outcome that the emulator's failure is, None where there is none."""
    session = sys.modules.get("dsl.launch.session")
    running = session and session.current()
    failed = getattr(running.device, "failure", None) if running else None
    return outcome_of(failed) if failed is not None else None


# ** parameters


def _decoded(listed: list[ptx.Parameter], given: Any, extra: Any) -> list[tuple[bytes, str | None]]:
    """The bytes of each parameter, and the numpy dtype that the program gave it."""
    if isinstance(given, tuple):
        return [_of_value(each, *pair) for each, pair in zip(listed, _pairs(given))]
    address = _address(given)
    if listed and not address:
        if not _address(extra):
            raise CannotBeCaptured("the launch has no parameters, but its kernel has")
        return _of_buffer(listed, _address(extra))
    pointers = (ctypes.c_size_t * len(listed)).from_address(address) if listed else ()
    return [(ctypes.string_at(pointer, each.nbytes), None) for pointer, each in zip(pointers, listed)]


def _pairs(given: tuple) -> list[tuple[Any, Any]]:
    if not given:
        return []
    words, kinds = given
    if not isinstance(words, tuple):
        words, kinds = (words,), (kinds,)
    return list(zip(words, kinds))


def _of_value(parameter: ptx.Parameter, value: Any, kind: Any) -> tuple[bytes, str | None]:
    if kind is None:
        if isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
            return bytes(value).ljust(parameter.nbytes, b"\0"), None
        if hasattr(value, "getPtr"):
            return ctypes.string_at(value.getPtr(), parameter.nbytes), None
        return int(value).to_bytes(parameter.nbytes, "little", signed=int(value) < 0), None
    data = bytes(kind(value if not hasattr(value, "getPtr") else int(value)))
    dtype = None
    if kind not in (ctypes.c_void_p, ctypes.c_char_p) and len(data) == parameter.nbytes:
        dtype = np.dtype(kind).name
    return data[: parameter.nbytes].ljust(parameter.nbytes, b"\0"), dtype


def _address(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    if isinstance(value, ctypes.Array):
        return ctypes.addressof(value)
    return value.getPtr() if hasattr(value, "getPtr") else int(value)


def _of_buffer(listed: list[ptx.Parameter], extra: int) -> list[tuple[bytes, str | None]]:
    """The parameters in the buffer that `extra` names by pairs: 1 and its address, 2 and the address of its size."""
    words: dict[int, int] = {}
    while key := ctypes.c_size_t.from_address(extra).value:
        words[key] = ctypes.c_size_t.from_address(extra + 8).value
        extra += 16
    parts, at = [], words[1]
    begin = at
    for each in listed:
        at = begin + -(-(at - begin) // each.align) * each.align
        parts.append((ctypes.string_at(at, each.nbytes), None))
        at += each.nbytes
    return parts


# ** text


def _text(
    spelling: Spelling, function: Function, text: str, shape: Shape, pairs: list, names: dict[int, str]
) -> str:  # fmt: skip
    spelling.imports |= {PUBLIC[MODULE]: None, PUBLIC["numpy"]: None}
    spelling.packages |= {"cuda-bindings": driver_text.version("cuda-bindings"), "numpy": np.__version__}
    spelling.packages |= dict.fromkeys(["cuda-core", "cuda-pathfinder", "cuda-python"])
    for name in shape.unknown:
        spelling.missing.append(f"the launch attribute {name}")
    module, kernel = spelling.name("module"), spelling.name("kernel")
    image = image_text(spelling, ptx.alone(text, function.name))
    spelling.first += [
        f"{module} = _module({image})",
        f'{kernel} = _ok(cuda.cuModuleGetFunction({module}, b"{function.name}"))',
    ]
    kinds = driver().CUfunction_attribute
    for attribute, value in function.attributes.items():
        name = kinds(attribute).name
        spelling.first.append(f"_ok(cuda.cuFuncSetAttribute({kernel}, cuda.CUfunction_attribute.{name}, {value}))")
    memory = Allocations(
        spelling,
        lambda kind: "_memory({})" if kind == "device" else f"_memory({{}}, {KINDS[kind]})",
        lambda dtype, count: f'_values({{}}, "{dtype}", {count})',
        lambda name, past: f"{name} + {past}" if past else name,
        names,
    )
    for name in ptx.variables(text, function.name):
        code, *found = function.image.globals_of(name.encode())
        if int(code) == 0:
            making = f'_variable({module}, b"{name}", {{}})'
            memory.variable(int(found[0]), int(found[1]), name, ptx.dtype_of_variable(text, name), making)
    types = ptx.pointed_types(text, function.name)
    words = [
        Argument(memory, each, data, dtype, types, function.name).text() for each, (data, dtype) in pairs
    ]  # fmt: skip
    more = f", cluster={shape.cluster}" if shape.cluster else ""
    more += ", cooperative=1" if shape.is_cooperative else ""
    spelling.helpers |= driver_text.HELPERS | {"_launch": driver_text.LAUNCH_EX if more else driver_text.LAUNCH}
    return f"_launch({kernel}, {shape.grid}, {shape.block}, {shape.shared_bytes}, [{', '.join(words)}]{more})"


def image_text(spelling: Spelling, text: str) -> str:
    """An expression for the bytes of PTX: a constant of the file, or data where it is long."""
    if len(text.splitlines()) > MOST_LINES:
        data = np.frombuffer(text.encode(), np.uint8)
        name = values.name_of(data)
        spelling.stored[name] = data
        return f'_stored_array("{name}", "uint8").tobytes()'
    quoted = f'"""\\\n{text}"""'
    spelling.constants["PTX"] = quoted if '"""' not in text and "\\" not in text else repr(text)
    return "PTX.encode()"


@dataclass
class Argument:
    """One parameter of a launch, and how it is written."""

    memory: Allocations
    parameter: ptx.Parameter
    data: bytes
    dtype: str | None
    types: dict[tuple[str, int], str]
    entry: str

    def text(self) -> str:
        hint = self.parameter.name.replace(f"{self.entry}_param", "argument")
        if self.parameter.nbytes == 8 and self.parameter.type in ("u64", "b64", "s64"):
            pointer = self._pointer(0, hint)
            if pointer is not None:
                return f"np.uint64({pointer})"
        if self.parameter.type.endswith("8") and self.parameter.nbytes > 1:
            return self._structure(hint)
        return number_text(self.data, self.dtype or self.parameter.dtype)

    def _pointer(self, at: int, hint: str) -> str | None:
        word = int.from_bytes(self.data[at : at + 8], "little")
        dtype = self.types.get((self.parameter.name, at), "uint32")
        return self.memory.pointer(word, self.memory.names.get(word, hint), dtype)

    def _structure(self, hint: str) -> str:
        spelling = self.memory.spelling
        made = tensor_maps.text_of(self.data, self.memory, hint)
        if made is not None:
            return spelling.once(made, f"{hint}_map", made)
        if self.parameter.nbytes == tensor_maps.NBYTES and self.parameter.align >= 64:
            raise CannotBeCaptured(f"{self.parameter.name} is a tensor map that was not seen being made")
        if self.parameter.nbytes % 8 == 0:
            texts = [self._pointer(at, hint) for at in range(0, self.parameter.nbytes, 8)]
            if any(texts):
                words = np.frombuffer(self.data, np.uint64).tolist()
                rows = ", ".join(text or str(word) for text, word in zip(texts, words))
                return f"np.array([{rows}], np.uint64)"
        return f"np.frombuffer({self.data!r}, np.uint8)"


def number_text(data: bytes, dtype: str) -> str:
    """A number as a scalar of numpy."""
    number = np.frombuffer(data, dtype)[0]
    if number.dtype.kind == "f" and not np.isfinite(number):
        text = f'np.{dtype}("{number}")'
        if np.dtype(dtype).type(str(number)).tobytes() == data:
            return text
        return f"np.uint{8 * len(data)}({int.from_bytes(data, 'little')})"
    return f"np.{dtype}({str(number.item()) if number.dtype.kind != 'f' else str(number)})"
