"""Memory: allocation, copies, fills and what is asked of a pointer.  CUDA driver API, memory management.

Device memory is host memory, so every kind of allocation is the same, and a copy is finished when its call returns.
A pageable host buffer is any address; a device buffer must be inside an allocation.
"""

from __future__ import annotations

import bisect
import ctypes
import operator

from dsl.launch.driver import attributes, calls, results
from dsl.launch.driver.calls import Byte, Int, Long, Pointer, Short, Unsigned, put, put_if, refuse_if
from dsl.launch.driver.contexts import Contexts

_INT, _UNSIGNED, _SIZE, _POINTER = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
_PITCH_BYTES = 512
_ADDRESS = operator.attrgetter("address")
_DEVICE_MEMORY, _HOST_MEMORY = 2, 1  # CUmemorytype
_CONTEXT, _MEMORY_TYPE, _DEVICE_POINTER, _HOST_POINTER, _MANAGED, _ORDINAL, _START, _SIZE_BYTES, _MAPPED = (
    1, 2, 3, 4, 8, 9, 11, 12, 13,
)  # fmt: skip  # CUpointer_attribute


class MemoryCalls(Contexts):
    """The memory of the device; addresses of host allocations are device addresses too."""

    def _range(self, address: int | None) -> tuple[int, int] | None:
        """Start and size of the allocation that contains an address."""
        memory = getattr(self.device, "memory", None)
        ranges = sorted([*memory.allocations(), *self.variables()], key=_ADDRESS) if memory is not None else []
        at = bisect.bisect_right([each.address for each in ranges], address or 0)
        for each in reversed(ranges[:at]):
            if each.address <= (address or 0) < each.end:
                return each.address, each.size_bytes
        return None

    def _device_range(self, address: int, nbytes: int) -> None:
        """Refuse device memory that is not there."""
        place = self._range(address)
        refuse_if(nbytes and (place is None or address + nbytes > sum(place)))

    def _alloc(self, address: int | None, nbytes: int) -> None:
        self.current()
        refuse_if(not nbytes or not address)
        refuse_if(nbytes > attributes.TOTAL_BYTES, results.OUT_OF_MEMORY)
        try:
            start = self.device.alloc(nbytes, "memory allocated through the CUDA driver")
        except MemoryError:
            raise calls.Refused(results.OUT_OF_MEMORY) from None
        put(address, _POINTER, start)

    def cuMemAlloc(self, address: Pointer, nbytes: Long) -> None:
        self._alloc(address, nbytes)

    def cuMemAllocHost(self, address: Pointer, nbytes: Long) -> None:
        self._alloc(address, nbytes)

    def cuMemHostAlloc(self, address: Pointer, nbytes: Long, flags: Unsigned) -> None:
        refuse_if(flags & ~7)
        self._alloc(address, nbytes)

    def cuMemAllocManaged(self, address: Pointer, nbytes: Long, flags: Unsigned) -> None:
        refuse_if(flags not in (1, 2))
        self._alloc(address, nbytes)

    def cuMemAllocAsync(self, address: Pointer, nbytes: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._alloc(address, nbytes)

    def cuMemAllocPitch(
        self, address: Pointer, pitch: Pointer, row_bytes: Long, rows: Long, element_bytes: Unsigned
    ) -> None:
        refuse_if(element_bytes not in (4, 8, 16) or not row_bytes or not rows)
        width = -(-row_bytes // _PITCH_BYTES) * _PITCH_BYTES
        put(pitch, _SIZE, width)
        self._alloc(address, width * rows)

    def cuMemFree(self, address: Pointer) -> None:
        self.current()
        if address:
            try:
                self.device.free(address)
            except ValueError:
                raise calls.Refused(results.INVALID_VALUE) from None

    def cuMemFreeAsync(self, address: Pointer, stream: Pointer) -> None:
        self.stream(stream)
        self.cuMemFree(address)

    def cuMemFreeHost(self, address: Pointer) -> None:
        self.cuMemFree(address)

    def cuMemHostRegister(self, address: Pointer, nbytes: Long, flags: Unsigned) -> None:
        self.current()
        refuse_if(not address or not nbytes)
        self.device.register(address or 0, nbytes, "host memory registered with the CUDA driver")

    def cuMemHostUnregister(self, address: Pointer) -> None:
        self.current()
        refuse_if(not address or self._range(address) is None)
        self.device.unregister(address or 0)

    def cuMemHostGetDevicePointer(self, device: Pointer, host: Pointer, flags: Unsigned) -> None:
        self.current()
        refuse_if(flags or self._range(host) is None)
        put(device, _POINTER, host)

    def cuMemGetInfo(self, free: Pointer, total: Pointer) -> None:
        self.current()
        put(free, _SIZE, attributes.TOTAL_BYTES)
        put(total, _SIZE, attributes.TOTAL_BYTES)

    def cuMemGetAddressRange(self, start: Pointer, nbytes: Pointer, address: Pointer) -> None:
        self.current()
        place = self._range(address)
        refuse_if(place is None, results.NOT_FOUND)
        put_if(start, _POINTER, (place or (0, 0))[0])
        put_if(nbytes, _SIZE, (place or (0, 0))[1])

    def cuPointerGetAttribute(self, value: Pointer, attribute: Int, address: Pointer) -> None:
        self.current()
        place = self._range(address)
        refuse_if(place is None)
        start, nbytes = place or (0, 0)
        kind, answer = {
            _CONTEXT: (_POINTER, self.current_handle()),
            _MEMORY_TYPE: (_UNSIGNED, _DEVICE_MEMORY),
            _DEVICE_POINTER: (_POINTER, address),
            _HOST_POINTER: (_POINTER, address),
            _MANAGED: (_UNSIGNED, 0),
            _ORDINAL: (_INT, 0),
            _START: (_POINTER, start),
            _SIZE_BYTES: (_SIZE, nbytes),
            _MAPPED: (_UNSIGNED, 1),
        }.get(attribute, (None, None))
        refuse_if(kind is None, results.NOT_SUPPORTED)
        put(value, kind, answer)

    def cuPointerGetAttributes(self, count: Unsigned, kinds: Pointer, values: Pointer, address: Pointer) -> None:
        """As cuPointerGetAttribute, but memory outside the device has zeros."""
        self.current()
        wanted, slots = calls.array(kinds, _INT, count), calls.array(values, _POINTER, count)
        for attribute, slot in zip(wanted, slots):
            if self._range(address) is not None:
                self.cuPointerGetAttribute(slot, attribute, address)
            else:
                put(slot, _SIZE if attribute in (_CONTEXT, _DEVICE_POINTER, _HOST_POINTER) else _UNSIGNED, 0)

    # ** copies

    def _copy(self, to: int | None, source: int | None, nbytes: int, *of_device: int | None) -> None:
        self.current()
        refuse_if(nbytes and not (to and source))
        for address in of_device:
            self._device_range(address or 0, nbytes)
        if nbytes:
            self.device.copy(to or 0, source or 0, nbytes)

    def cuMemcpy(self, to: Pointer, source: Pointer, nbytes: Long) -> None:
        self._copy(to, source, nbytes)

    def cuMemcpyAsync(self, to: Pointer, source: Pointer, nbytes: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._copy(to, source, nbytes)

    def cuMemcpyHtoD(self, to: Pointer, source: Pointer, nbytes: Long) -> None:
        self._copy(to, source, nbytes, to)

    def cuMemcpyHtoDAsync(self, to: Pointer, source: Pointer, nbytes: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._copy(to, source, nbytes, to)

    def cuMemcpyDtoH(self, to: Pointer, source: Pointer, nbytes: Long) -> None:
        self._copy(to, source, nbytes, source)

    def cuMemcpyDtoHAsync(self, to: Pointer, source: Pointer, nbytes: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._copy(to, source, nbytes, source)

    def cuMemcpyDtoD(self, to: Pointer, source: Pointer, nbytes: Long) -> None:
        self._copy(to, source, nbytes, to, source)

    def cuMemcpyDtoDAsync(self, to: Pointer, source: Pointer, nbytes: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._copy(to, source, nbytes, to, source)

    # ** fills

    def _fill(self, to: int | None, value: int, element_bytes: int, count: int) -> None:
        self.current()
        refuse_if((to or 0) % element_bytes)
        self._device_range(to or 0, element_bytes * count)
        ctypes.memmove(to or 0, value.to_bytes(element_bytes, "little") * count, element_bytes * count)

    def cuMemsetD8(self, to: Pointer, value: Byte, count: Long) -> None:
        self._fill(to, value, 1, count)

    def cuMemsetD16(self, to: Pointer, value: Short, count: Long) -> None:
        self._fill(to, value, 2, count)

    def cuMemsetD32(self, to: Pointer, value: Unsigned, count: Long) -> None:
        self._fill(to, value, 4, count)

    def cuMemsetD8Async(self, to: Pointer, value: Byte, count: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._fill(to, value, 1, count)

    def cuMemsetD16Async(self, to: Pointer, value: Short, count: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._fill(to, value, 2, count)

    def cuMemsetD32Async(self, to: Pointer, value: Unsigned, count: Long, stream: Pointer) -> None:
        self.stream(stream)
        self._fill(to, value, 4, count)
