"""Map torch's cuda device to host memory, for the time of a run on the emulator.

Programs use device="cuda" and run unmodified: their tensors live in host memory, answer `.is_cuda` and `.device` as on
a GPU, and their storages are registered with the device as allocations. torch computes on them on the CPU. Random
numbers come from the CPU's generator: torch gives others on a GPU for the same seed.
The mapping holds for the thread that installs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import sys
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

from dsl import span
from dsl.gpu_models import GpuModel
from dsl.interrupts import undisturbed
from dsl.launch.devices.torch_mapping import (
    torch_compiler,
    torch_graphs,
    torch_ops,
    torch_profiler,
    torch_scaled,
    torch_streams,
)
from dsl.launch.devices.torch_mapping.torch_devices import names_cuda, of_device, of_known_device
from dsl.launch.devices.torch_mapping.torch_memory import Places, storage_key, tensors_in

span.stands_for_python(__file__)

CAPSULE_DEVICE_AT = 8  # the offset of a DLManagedTensor's DLDeviceType in bytes: after the data pointer


class Memory(Protocol):
    """The device that mapped storages are registered with; see devices.protocol.Device."""

    @property
    def name(self) -> str: ...
    @property
    def limits(self) -> GpuModel: ...

    def register(self, address: int, nbytes: int, label: str) -> None: ...
    def unregister(self, address: int) -> None: ...
    def sync(self) -> None: ...


def properties_of(name: str, limits: GpuModel) -> dict[str, Any]:
    """The answer of torch.cuda.get_device_properties about a device."""
    major, minor = limits.capability
    return {
        "name": name,
        "major": major,
        "minor": minor,
        "multi_processor_count": limits.multiprocessors,
        "total_memory": 80 << 30,
        "warp_size": 32,
        "max_threads_per_multi_processor": limits.sm_threads,
        "max_threads_per_block": 1024,
        "regs_per_multiprocessor": 65536,
        "shared_memory_per_block": 48 << 10,
        "shared_memory_per_multiprocessor": limits.sm_smem_bytes,
        "shared_memory_per_block_optin": limits.smem_bytes,
        "L2_cache_size": limits.l2_bytes,
        "is_integrated": 0,
        "is_multi_gpu_board": 0,
        "gcnArchName": "",
    }


def install(device: Memory, capsules_say_cuda: bool = False) -> Callable[[], None]:
    """Map cuda to host memory registered with `device`, now or when torch is imported; returns what undoes it.

    `capsules_say_cuda`: DLPack capsules of mapped tensors name a CUDA device, for readers that ask where memory is.
    """
    undo: list[Callable[[], None]] = []

    def uninstall() -> None:
        while undo:
            undo.pop()()

    if "torch" in sys.modules:
        undo.append(_install(sys.modules["torch"], device, capsules_say_cuda))
    else:
        finder = AfterImport("torch", lambda torch: undo.append(_install(torch, device, capsules_say_cuda)))
        sys.meta_path.insert(0, finder)
        undo.append(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)
    return uninstall


class AfterImport:
    """Call `then(module)` once, after the first import of `name` that comes to its end."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]):
        self.name, self.then = name, then
        self._asks_others = False

    def find_spec(self, fullname: str, path=None, target=None):
        if fullname != self.name or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asks_others = False
        if spec is not None and (loader := spec.loader) is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop("exec_module", None)  # gone where another waits for the same import
                execute(module)
                undisturbed(self._end, module)

            loader.exec_module = exec_module
        return spec

    def _end(self, module: ModuleType) -> None:
        if self in sys.meta_path:  # and not undone meanwhile
            sys.meta_path.remove(self)
            self.then(module)


def _install(torch: ModuleType, device: Memory, capsules_say_cuda: bool) -> Callable[[], None]:
    mapped = _Storages(device, Places(torch))
    patches = contextlib.ExitStack()
    mode = _mode(torch, mapped)
    for owner, name, value in _stand_ins(torch, device, mapped, torch_ops.reentered(torch, mode)):
        _patch(patches, owner, name, value)
    for owner, name, value in _capsules(torch) if capsules_say_cuda else ():
        _patch(patches, owner, name, value)
    uncompiled = torch_compiler.Uncompiled(torch)
    _patch(patches, torch, "compile", uncompiled.stand_in())
    patches.callback(uncompiled.undo)
    patches.callback(torch_ops.without_a_driver())
    patches.enter_context(mode)
    patches.callback(mapped.forget_all)
    return patches.close


def _patch(patches: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    missing = object()
    before = vars(owner).get(name, missing)
    setattr(owner, name, value)
    patches.callback(lambda: delattr(owner, name) if before is missing else setattr(owner, name, before))


class _Storages:
    """The storages that pretend to be on the GPU, for as long as they live."""

    def __init__(self, device: Memory, places: Places):
        self.device, self.places = device, places
        self.finalizers: dict[int, weakref.finalize] = {}  # by the identity of torch's StorageImpl
        self.pinned: dict[int, weakref.finalize] = {}  # likewise: memory of the host that kernels may access
        self.host_memory: Any = getattr(device, "host_memory", None)
        self.capture: torch_graphs.Capture | None = None  # that goes on

    def holds(self, tensor: Any) -> bool:
        key = storage_key(tensor)
        return key is not None and key in self.finalizers

    def add_all(self, tensors: list[Any], function: Any = None) -> None:
        """Tensors that `function` has just made."""
        fresh = [tensor for tensor in tensors if storage_key(tensor) is not None and not self.holds(tensor)]
        with self.capture.paused() if self.capture else contextlib.nullcontext():
            self.places.align(fresh, function)
            for tensor in fresh:
                self._add(tensor)
            if self.capture:
                self.capture.keep(fresh)

    def note_made(self, tensor: Any, before: list[Any]) -> None:
        """A tensor on the CPU that the author's code has made, of these."""
        if self.host_memory is None or storage_key(tensor) is None:
            return
        if tensor._is_view():
            self.host_memory.seen(tensor, tensor.untyped_storage().data_ptr())
            return
        address = tensor.data_ptr()
        if any(storage_key(each) is not None and each.data_ptr() == address for each in before):
            return
        self.host_memory.made(tensor, address)

    def pin(self, tensor: Any) -> Any:
        """Let kernels access a tensor on the CPU, while it lives; returns it."""
        key = storage_key(tensor)
        if key is not None and key not in self.pinned:
            storage = tensor.untyped_storage()
            self.device.register(storage.data_ptr(), storage.nbytes(), "pinned torch tensor")
            self.pinned[key] = weakref.finalize(storage, self._unpin, key, storage.data_ptr())
            self.pinned[key].atexit = False
        return tensor

    def _unpin(self, key: int, address: int) -> None:
        if self.pinned.pop(key, None) is not None:
            self.device.unregister(address)

    def refuse_in_capture(self, what: str, tensors: list[Any]) -> None:
        """The host is about to read these."""
        if self.capture and any(map(self.holds, tensors)):
            self.capture.refuse(f"{what} reads a tensor of the GPU")

    def renew(self, tensors: list[Any]) -> None:
        """Tensors that torch may have given other memory."""
        for tensor in tensors:
            key = storage_key(tensor)
            finalizer = None if key is None else self.finalizers.get(key)
            if finalizer is None:
                continue
            alive = finalizer.peek()
            if alive is None or tensor.untyped_storage().data_ptr() != alive[2][1]:
                finalizer()
                self.add_all([tensor])

    def _add(self, tensor: Any) -> None:
        key = storage_key(tensor)
        if key is None or key in self.finalizers:
            return
        storage = tensor.untyped_storage()
        address, dtype = storage.data_ptr(), str(tensor.dtype).removeprefix("torch.")
        self.device.register(address, storage.nbytes(), f"torch {dtype} tensor of shape {tuple(tensor.shape)}")
        finalizer = weakref.finalize(storage, self._forget, key, address)
        finalizer.atexit = False
        self.finalizers[key] = finalizer

    def _forget(self, key: int, address: int) -> None:
        if self.finalizers.pop(key, None) is not None:
            self.device.unregister(address)

    def forget_all(self) -> None:
        for finalizer in [*self.finalizers.values(), *self.pinned.values()]:
            finalizer()


def _mode(torch: ModuleType, mapped: _Storages) -> Any:
    """The TorchFunctionMode that every torch call goes through."""
    from torch.overrides import TorchFunctionMode

    from dsl.launch.devices.torch_mapping import torch_products  # with numpy, which torch's programs have imported

    tensor_type, cpu = torch.Tensor, torch.device("cpu")
    special = _special_functions(torch, mapped)
    products = torch_products.Products(torch, mapped.device)
    reads = {each: f"Tensor.{each.__name__}" for each in (tensor_type.tolist, tensor_type.item, tensor_type.__bool__)}

    class Cuda(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            handler = special.get(function)
            if handler is not None:
                return handler(function, *args, **kwargs)
            tensors = list(tensors_in(tensor_type, (args, kwargs)))
            to_cuda = any(mapped.holds(tensor) for tensor in tensors)
            wanted = kwargs.get("device")
            if wanted is not None:
                to_cuda = names_cuda(torch, wanted)
                kwargs["device"] = cpu if to_cuda else wanted
            is_pinned = kwargs.pop("pin_memory", False) and not to_cuda
            if function in reads:
                mapped.refuse_in_capture(reads[function], tensors)
            try:
                making = mapped.capture.making(to_cuda) if mapped.capture else contextlib.nullcontext()
                with making, products.around(function, tensors if to_cuda else []):
                    result = function(*args, **kwargs)
            except Exception as error:  # torch's own, without this frame
                mapped_tensors = [tensor for tensor in tensors if mapped.holds(tensor)]
                if "not resizable" not in str(error) or not mapped.places.loosen(mapped_tensors):
                    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                    raise
                result = function(*args, **kwargs)
                mapped.add_all(mapped_tensors)
            if is_pinned:
                mapped.pin(result)
            elif type(result) is tensor_type and not to_cuda:
                mapped.note_made(result, tensors)
            if "out" in kwargs or function is tensor_type.resize_:
                mapped.renew(tensors)
            if to_cuda:
                own = {storage_key(tensor) for tensor in tensors}
                mapped.add_all(
                    [each for each in tensors_in(tensor_type, result) if storage_key(each) not in own], function
                )
            return result

    return Cuda()


def _special_functions(torch: ModuleType, mapped: _Storages) -> dict[Any, Callable]:
    """Functions of a tensor that mean something else where the tensor pretends to be on the GPU."""
    tensor = torch.Tensor
    gpu = torch.device("cuda", 0)

    def move(self, to_cuda: bool, result):
        """`result` is self on the CPU, converted; give it its place, in separate memory if that changes."""
        if not to_cuda:
            mapped.refuse_in_capture("a copy to the host", [self])
        if storage_key(result) == storage_key(self) and to_cuda != mapped.holds(self):
            result = result.clone()
        if to_cuda:
            mapped.add_all([result])
        else:
            mapped.note_made(result, [self])
        return result

    def on_gpu(to_cuda: bool) -> Any:
        return mapped.capture.making(to_cuda) if mapped.capture else contextlib.nullcontext()

    def to(function, self, *args, **kwargs):
        to_cuda = mapped.holds(self)
        for target in (*args[:1], kwargs.get("device"), kwargs.get("other")):
            if isinstance(target, (str, torch.device)):
                to_cuda = False
            elif isinstance(target, tensor):
                to_cuda = mapped.holds(target)
        if args and names_cuda(torch, args[0]):
            to_cuda, args = True, ("cpu", *args[1:])
        if names_cuda(torch, kwargs.get("device")):
            to_cuda, kwargs["device"] = True, "cpu"
        with on_gpu(to_cuda):
            return move(self, to_cuda, function(self, *args, **kwargs))

    def cuda(function, self, device=None, non_blocking=False, memory_format=torch.preserve_format):
        names_cuda(torch, device)
        with on_gpu(True):
            return move(self, True, self.to(memory_format=memory_format))

    def cpu(function, self, memory_format=torch.preserve_format):
        return move(self, False, self.cpu(memory_format=memory_format))

    def to_numpy(function, self, *args, **kwargs):
        if mapped.holds(self):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        return function(self, *args, **kwargs)

    def dlpack(function, self, *args, stream=None, **kwargs):
        return function(self, *args, **kwargs)

    def answer(value: Any) -> Callable:
        def ask(function, self, *args, **kwargs):
            return value if mapped.holds(self) else function(self, *args, **kwargs)

        return ask

    return {
        tensor.to: to,
        tensor.cuda: cuda,
        tensor.cpu: cpu,
        tensor.numpy: to_numpy,
        tensor.__array__: to_numpy,
        tensor.__dlpack__: dlpack,
        tensor.is_cuda.__get__: answer(True),
        tensor.is_cpu.__get__: answer(False),
        tensor.device.__get__: answer(gpu),
        tensor.get_device: answer(0),
        tensor.pin_memory: lambda function, self, *args: mapped.pin(self.clone()),
        tensor.is_pinned: lambda function, self, *args: storage_key(self) in mapped.pinned,
        **torch_scaled.stand_ins(torch, mapped),
    }


def _stand_ins(
    torch: ModuleType, device: Memory, mapped: _Storages, enter: Callable[[], Any]
) -> Iterator[tuple[Any, str, Any]]:
    """Stand-ins for parts of torch that do not go through a mode: (owner, name, stand-in)."""
    from torch.utils import _device

    yield torch, "Generator", _generator(torch)
    yield _device.DeviceContext, "__torch_function__", _default_device(_device, mapped)
    for name, of_stream in (("RawStream", 0), ("Stream", (0, 0, 1))):  # the latter: its id, device and kind of device
        if hasattr(torch._C, f"_cuda_getCurrent{name}"):
            yield torch._C, f"_cuda_getCurrent{name}", of_device(torch, _answer(f"getCurrent{name}", of_stream))
    if hasattr(torch.utils.dlpack, "ReadOnlyTensorWrapper"):  # for export alone: whatever else it is asked, it refuses
        yield torch.utils.dlpack.ReadOnlyTensorWrapper, "__new__", staticmethod(lambda cls, tensor: tensor)
    yield torch.library.Library, "impl", torch_ops.library(torch, mapped, enter)
    yield torch.autograd.graph.saved_tensors_hooks, "__init__", torch_ops.saved_hooks(torch, enter)
    run_backward = torch_ops.derivatives(torch, mapped, enter)
    for owner in (torch.autograd, torch.autograd.graph):
        yield owner, "_engine_run_backward", run_backward
    stream = torch_streams.only_stream(torch, device)
    properties = SimpleNamespace(**properties_of(device.name, device.limits))
    answers = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "device_count": 1,
        "current_device": 0,
        "init": None,
        "get_arch_list": [device.limits.arch.rstrip("a")],
    }
    of_devices = {
        "set_device": None,
        "empty_cache": None,
        "reset_peak_memory_stats": None,
        "ipc_collect": None,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "mem_get_info": (properties.total_memory, properties.total_memory),
        "current_stream": stream,
        "default_stream": stream,
    }
    of_known_devices = {
        "get_device_properties": properties,
        "get_device_capability": device.limits.capability,
        "get_device_name": properties.name,
    }
    for name, value in answers.items():
        yield torch.cuda, name, _answer(name, value)
    for name, value in of_devices.items():
        yield torch.cuda, name, of_device(torch, _answer(name, value))
    for name, value in of_known_devices.items():
        yield torch.cuda, name, of_known_device(torch, _answer(name, value))
    yield torch.cuda, "_lazy_init", _answer("_lazy_init", None)
    yield torch.cuda, "synchronize", of_device(torch, _synchronize(device, mapped))
    yield torch.cuda, "manual_seed", torch.default_generator.manual_seed
    yield torch.cuda, "manual_seed_all", _answer("manual_seed_all", None)  # torch.manual_seed seeds the CPU
    # One generator, of the CPU, draws for both.
    yield torch.cuda, "get_rng_state", of_device(torch, lambda _device=None: torch.get_rng_state())
    yield torch.cuda, "get_rng_state_all", lambda: [torch.get_rng_state()]
    yield torch.cuda, "set_rng_state", lambda new_state, device="cuda": torch.set_rng_state(new_state)
    yield torch.cuda, "set_rng_state_all", lambda new_states: torch.set_rng_state(new_states[0])
    yield torch.cuda, "initial_seed", torch.initial_seed
    for name in ("seed", "seed_all"):
        yield torch.cuda, name, torch.default_generator.seed
    yield torch.cuda, "Stream", type(stream)
    yield torch.Tensor, "record_stream", torch_streams.record_stream(type(stream))
    yield torch.cuda, "Event", torch_streams.Event
    yield torch.cuda, "stream", lambda stream_: contextlib.nullcontext(stream_)
    yield torch.cuda, "device", of_device(torch, contextlib.nullcontext)
    yield from torch_graphs.stand_ins(torch, device, mapped)
    yield from torch_profiler.stand_ins(torch)
    for name in ("range_push", "range_pop", "mark"):
        yield torch.cuda.nvtx, name, _answer(name, None)


def _synchronize(device: Memory, mapped: _Storages) -> Callable:
    def synchronize(device_: Any = None) -> None:
        if mapped.capture:
            mapped.capture.refuse("torch.cuda.synchronize()")
        device.sync()

    return synchronize


def _capsules(torch: ModuleType) -> Iterator[tuple[Any, str, Any]]:
    """Ways out of torch by DLPack that name CUDA for mapped tensors: (owner, name, stand-in)."""
    cuda, cpu = 2, 1  # DLDeviceType
    to_host = torch.Tensor.__dlpack__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

    def to_dlpack(self, **options):
        if self.requires_grad:
            if "stream" in options:
                with torch._C.DisableTorchFunction():
                    to_host(self)  # refuses
            self = self.detach()  # TVM FFI names no stream; its own way into torch takes them
        capsule = to_host(self)
        if self.is_cuda:
            ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + CAPSULE_DEVICE_AT).value = cuda
        return capsule

    if "__dlpack_c_exchange_api__" in vars(torch.Tensor):  # a way past Python
        yield torch.Tensor, "__dlpack_c_exchange_api__", _Absent()
    yield torch.Tensor, "__dlpack__", to_dlpack
    yield torch.utils.dlpack, "to_dlpack", to_dlpack
    yield torch.Tensor, "__dlpack_device__", lambda self: (cuda if self.is_cuda else cpu, 0)


class _Absent:
    """An attribute that a class does not have."""

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError


def _answer(name: str, value: Any) -> Callable:
    def answer(*args, **kwargs):
        return value

    answer.__name__ = name
    return answer


def _generator(torch: ModuleType) -> type:
    real = torch.Generator

    class Generator(real):
        """A generator of the CPU, whatever device it is asked for."""

        def __new__(cls, device="cpu"):
            names_cuda(torch, device)
            return super().__new__(cls, "cpu")

    return Generator


def _default_device(_device: ModuleType, mapped: _Storages) -> Callable:
    """DeviceContext (torch.set_default_device, `with torch.device(...)`) whose cuda is the mapped one."""
    real = _device.DeviceContext.__torch_function__

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if not names_cuda(sys.modules["torch"], self.device):
            return real(self, function, types, args, kwargs)
        result = function(*args, **(kwargs or {}))
        if function in _device._device_constructors() and (kwargs or {}).get("device") is None:
            mapped.add_all([result], function)
        return result

    return __torch_function__
