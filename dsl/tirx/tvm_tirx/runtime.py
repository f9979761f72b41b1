"""tvm_tirx.runtime: tensors and devices, as tvm.runtime has them."""

from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.runtime import Device, Tensor, cpu, cuda, device, empty, tensor

__all__ = ["Device", "Tensor", "cpu", "cuda", "device", "empty", "tensor"]

_UPSTREAM = frozenset(
    "DataTypeCode MemoryScope enabled ext_dev hexagon load_module memory_scope metal num_threads opencl rocm vpi "
    "vulkan".split()
)
__getattr__ = module_getattr("tvm_tirx.runtime", globals(), _UPSTREAM)
