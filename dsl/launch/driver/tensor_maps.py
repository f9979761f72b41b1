"""cuTensorMapEncodeTiled and its like: 128 bytes that describe a tensor to TMA, with the checks of the documentation.

The emulator owns the form of a map and its rules (dsl.emulator.families.tensor_map). CUDA driver API, section 6.26.
"""

from __future__ import annotations

import ctypes

from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver import results
from dsl.launch.driver.calls import Int, Pointer, Refused, Unsigned, array, refuse_if
from dsl.launch.driver.contexts import Contexts

_U32, _U64, _INT = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
_MOST_RANK = 5


class TensorMapCalls(Contexts):
    """The encoders. A refusal's reason goes to `failed`: the code alone does not explain it. The map may be
    anywhere: CUtensorMap of cuda.bindings is aligned to 16 bytes, and kernels get copies."""

    def _write(self, target: int | None, arguments: object) -> None:
        from dsl.emulator.families.tensor_map import tensor_map

        try:
            refuse_if(not target)
            form = arguments.encode()  # type: ignore[attr-defined]
        except tensor_map.BadTensorMap as wrong:
            self.failed(DeviceError("CUDA_ERROR_INVALID_VALUE", f"a tensor map cannot be made: {wrong}"))
            raise Refused(results.INVALID_VALUE) from None
        ctypes.memmove(target or 0, form, len(form))

    def cuTensorMapEncodeTiled(
        self, target: Pointer, dtype: Int, rank: Unsigned, address: Pointer, extents: Pointer, strides: Pointer,
        box: Pointer, steps: Pointer, interleave: Int, swizzle: Int, l2_promotion: Int, fill: Int,
    ) -> None:  # fmt: skip
        from dsl.emulator.families.tensor_map.tensor_map import Tiled

        self.current()
        self._rank(rank, 1)
        self._write(target, Tiled(
            dtype, address or 0, array(extents, _U64, rank), array(strides, _U64, rank - 1) if rank > 1 else (),
            array(box, _U32, rank), array(steps, _U32, rank), interleave, swizzle, fill, l2_promotion,
        ))  # fmt: skip

    def cuTensorMapEncodeIm2col(
        self, target: Pointer, dtype: Int, rank: Unsigned, address: Pointer, extents: Pointer, strides: Pointer,
        lower: Pointer, upper: Pointer, channels: Unsigned, pixels: Unsigned, steps: Pointer, interleave: Int,
        swizzle: Int, l2_promotion: Int, fill: Int,
    ) -> None:  # fmt: skip
        from dsl.emulator.families.tensor_map.tensor_map import Im2col

        self.current()
        self._rank(rank, 3)
        self._write(target, Im2col(
            dtype, address or 0, array(extents, _U64, rank), array(strides, _U64, rank - 1),
            array(lower, _INT, rank - 2), array(upper, _INT, rank - 2), channels, pixels,
            array(steps, _U32, rank), interleave, swizzle, fill, l2_promotion,
        ))  # fmt: skip

    def cuTensorMapEncodeIm2colWide(
        self, target: Pointer, dtype: Int, rank: Unsigned, address: Pointer, extents: Pointer, strides: Pointer,
        lower: Int, upper: Int, channels: Unsigned, pixels: Unsigned, steps: Pointer, interleave: Int, mode: Int,
        swizzle: Int, l2_promotion: Int, fill: Int,
    ) -> None:  # fmt: skip
        """Blackwell only."""
        self.current()
        self.failed(DeviceError(
            "CUDA_ERROR_INVALID_VALUE", "cuTensorMapEncodeIm2colWide needs compute capability 10.0; this device has 9.0"
        ))  # fmt: skip
        raise Refused(results.INVALID_VALUE)

    def cuTensorMapReplaceAddress(self, target: Pointer, address: Pointer) -> None:
        self.current()
        refuse_if(not target or not address or (address or 0) % 16)
        _U64.from_address(target or 0).value = address or 0

    def _rank(self, rank: int, least: int) -> None:
        if not least <= rank <= _MOST_RANK:
            text = f"a tensor map has {least} to {_MOST_RANK} dimensions, got {rank}"
            self.failed(DeviceError("CUDA_ERROR_INVALID_VALUE", text))
            raise Refused(results.INVALID_VALUE)
