"""Memory for torch tensors that pretend to be on the GPU: aligned as torch's own allocator for CUDA aligns it.

torch's allocator for the CPU gives 64 bytes, and a kernel that relies on what a GPU gives would fail here, or pass by
chance. A tensor gets its place before anybody else knows it, so nothing can tell that it has moved.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

ALIGNMENT_BYTES = 512


class Places:
    """Gives tensors of the `torch` module their place."""

    def __init__(self, torch: ModuleType):
        self._torch = torch
        # Their results are not read before they are written.
        self._unwritten = {torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty}

    def align(self, tensors: Iterable[Any], function: Any = None) -> None:
        """Give each memory of `tensors`, which `function` has just made, a start at ALIGNMENT_BYTES."""
        moved: dict[int, Any] = {}
        for tensor in tensors:
            storage = tensor.untyped_storage()
            address, nbytes = storage.data_ptr(), storage.nbytes()
            if not nbytes or address % ALIGNMENT_BYTES == 0 or tensor.is_conj() or tensor.is_neg():
                continue
            if address not in moved:
                moved[address] = self._new(nbytes)
                if function not in self._unwritten:
                    ctypes.memmove(moved[address].data_ptr(), address, nbytes)
            self._put(tensor, moved[address])

    def loosen(self, tensors: Iterable[Any]) -> bool:
        """Give `tensors` memory that torch may resize, wherever it lies; whether there are any."""
        is_loosened = False
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes() and not storage.resizable():
                self._put(tensor, storage.clone())
                is_loosened = True
        return is_loosened

    def _new(self, nbytes: int) -> Any:
        """A storage of `nbytes`."""
        import numpy

        memory = numpy.empty(nbytes + ALIGNMENT_BYTES, numpy.uint8)
        start = -memory.ctypes.data % ALIGNMENT_BYTES
        return self._torch.from_numpy(memory[start : start + nbytes]).untyped_storage()

    def _put(self, tensor: Any, storage: Any) -> None:
        """By `data`, which autograd does not record."""
        empty = self._torch.empty(0, dtype=tensor.dtype)
        tensor.data = empty.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def storage_key(tensor: Any) -> int | None:
    """The key of its memory; None if it has no memory: sparse, meta."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def tensors_in(tensor_type: type, value: Any) -> Iterator[Any]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, tensor_type):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(tensor_type, part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_in(tensor_type, part)
