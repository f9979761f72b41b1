"""The memory of a call's arguments: each storage once, with the views of it, before the call and after it.

A storage is known by its address. Two tensors of one storage stay two views of one storage in the captured file.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.capture.arguments.device_memory import DeviceMemory


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_tensor(value: Any) -> bool:
    return isinstance(value, (np.ndarray, DeviceMemory)) or is_torch(value)


@dataclass
class View:
    """One tensor of the program: which elements of its storage, strides and offset in elements."""

    name: str
    tensor: Any
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    item_bytes: int
    requires_grad: bool = False

    @property
    def is_contiguous(self) -> bool:
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.stride)):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    @property
    def nbytes(self) -> int:
        return self.item_bytes * int(np.prod(self.shape, dtype=np.int64))


@dataclass
class Storage:
    """Memory that tensors share. `before`: its bytes when the call began."""

    library: str  # torch, numpy, or driver for DeviceMemory
    address: int
    nbytes: int
    device: str
    owner: Any
    before: np.ndarray
    views: list[View] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)  # its elements as text, where some are addresses

    def now(self) -> np.ndarray:
        return _bytes(self.library, self.owner)

    def changed(self) -> bool:
        return not np.array_equal(self.before, self.now())


class Memory:
    """Every storage that the arguments of one call reach, in the order they were met."""

    def __init__(self) -> None:
        self.storages: list[Storage] = []
        self._by_key: dict[tuple[str, int], Storage] = {}

    def view(self, tensor: Any, name: str) -> View:
        """The tensor as a view of its storage; the same view for an equal one of that storage."""
        library = "torch" if is_torch(tensor) else "driver" if isinstance(tensor, DeviceMemory) else "numpy"
        made = {"torch": _torch_view, "driver": _driver_view, "numpy": _numpy_view}[library]
        view, owner, address, nbytes, device = made(tensor, name)
        key = library, address if nbytes else id(owner)
        storage = self._by_key.get(key)
        if storage is None:
            storage = Storage(library, address, nbytes, device, owner, _bytes(library, owner))
            self._by_key[key] = storage
            self.storages.append(storage)
        for other in storage.views:
            same = (other.dtype, other.shape, other.stride, other.offset, other.requires_grad)
            if same == (view.dtype, view.shape, view.stride, view.offset, view.requires_grad):
                return other
        storage.views.append(view)
        return view

    def covering(self, address: int) -> Any:
        """A tensor of the program whose storage an address is in, or None."""
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        found = None
        for value in gc.get_objects():
            if type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type in ("cpu", "cuda"):
                try:
                    begin = value.untyped_storage().data_ptr()
                    size = value.untyped_storage().nbytes()
                except (RuntimeError, NotImplementedError):
                    continue  # a tensor without storage, which has no address
                if begin <= address < begin + size:
                    if value.data_ptr() == address:
                        return value
                    found = value
        return found


def _torch_view(tensor: Any, name: str) -> tuple:
    storage = tensor.untyped_storage()
    grad = bool(tensor.requires_grad)
    view = View(
        name, tensor, str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(),
        tensor.element_size(), grad,
    )  # fmt: skip
    return view, tensor, storage.data_ptr(), storage.nbytes(), tensor.device.type


def _numpy_view(array: np.ndarray, name: str) -> tuple:
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low, high = np.lib.array_utils.byte_bounds(owner) if owner.size else (owner.ctypes.data, owner.ctypes.data)
    stride = tuple(step // array.itemsize for step in array.strides)
    offset = (array.ctypes.data - low) // array.itemsize if array.itemsize else 0
    view = View(name, array, array.dtype.name, array.shape, stride, offset, array.itemsize)
    return view, owner, low, high - low, "cpu"


def _driver_view(memory: DeviceMemory, name: str) -> tuple:
    size = np.dtype(memory.dtype).itemsize
    view = View(name, memory, memory.dtype, (memory.nbytes // size,), (1,), 0, size)
    return view, memory, memory.address, memory.nbytes, "cuda"


def _bytes(library: str, owner: Any) -> np.ndarray:
    """A copy of a whole storage on the host."""
    if library == "driver":
        return owner.bytes()
    if library == "numpy":
        if not owner.size:
            return np.empty(0, np.uint8)
        low, high = np.lib.array_utils.byte_bounds(owner)
        return np.lib.stride_tricks.as_strided(_first(owner).view(np.uint8), (high - low,), (1,)).copy()
    torch = sys.modules["torch"]
    flat = torch.empty(0, dtype=torch.uint8, device=owner.device)
    with torch.no_grad():
        flat.set_(owner.detach().untyped_storage(), 0, (owner.untyped_storage().nbytes(),), (1,))
        return flat.cpu().numpy().copy()


def _first(owner: np.ndarray) -> np.ndarray:
    """The array of one element at the lowest address of `owner`."""
    at = tuple(slice(-1, None) if step < 0 else slice(0, 1) for step in owner.strides)
    return owner[at].reshape(-1)


def is_packed(dtype: str) -> bool:
    """Whether torch can only store elements of this type: two numbers in a byte. They are compared as bytes."""
    return dtype.endswith("_x2")


def host_values(tensor: Any) -> tuple[str, np.ndarray]:
    """dtype and bits of an output, as unsigned integers of its element size, in its shape."""
    if isinstance(tensor, DeviceMemory):
        tensor = tensor.array()
    if isinstance(tensor, np.ndarray):
        array = np.ascontiguousarray(tensor)
        return array.dtype.name, array.view(f"u{array.itemsize}").reshape(tensor.shape).copy()
    torch = sys.modules["torch"]
    if is_packed(str(tensor.dtype)):
        tensor = tensor.view(torch.uint8)
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return str(tensor.dtype).removeprefix("torch."), flat.view(f"u{tensor.element_size()}").reshape(tensor.shape).copy()
