"""Functions that a captured file of a program with cuda.bindings has: context, module, memory, launch."""

from __future__ import annotations

import importlib.metadata

OK = '''\
def _ok(result):
    """What a function of the driver returns. Raises RuntimeError with the name of its error."""
    code, *values = result
    if code != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(code.name)
    return values[0] if len(values) == 1 else values
'''
MODULE = '''\
def _module(image):
    """The module of this PTX, in the primary context of the first device."""
    _ok(cuda.cuInit(0))
    _ok(cuda.cuCtxSetCurrent(_ok(cuda.cuDevicePrimaryCtxRetain(0))))
    return _ok(cuda.cuModuleLoadData(image))
'''
MEMORY = '''\
def _memory(data, allocate=cuda.cuMemAlloc, *flags):
    """The address of new memory with these contents."""
    address = int(_ok(allocate(data.nbytes, *flags)))
    _ok(cuda.cuMemcpy(address, data.ctypes.data, data.nbytes))
    return address
'''
VARIABLE = '''\
def _variable(module, name, data):
    """The address of a variable of the module, which gets these contents."""
    address = int(_ok(cuda.cuModuleGetGlobal(module, name))[0])
    _ok(cuda.cuMemcpy(address, data.ctypes.data, data.nbytes))
    return address
'''
VALUES = '''\
def _values(address, dtype, count):
    """An array of what is in memory."""
    data = np.empty(count, dtype)
    _ok(cuda.cuMemcpy(data.ctypes.data, address, data.nbytes))
    return data
'''
LAUNCH = '''\
def _launch(kernel, grid, block, shared_bytes, arguments):
    """Launch it with arguments of numpy, or tensor maps, and wait for its end."""
    kept = [each if hasattr(each, "getPtr") else np.asarray(each) for each in arguments]
    pointers = [each.getPtr() if hasattr(each, "getPtr") else each.ctypes.data for each in kept]
    pointers = np.array(pointers, np.uint64)
    _ok(cuda.cuLaunchKernel(kernel, *grid, *block, shared_bytes, 0, pointers.ctypes.data, 0))
    _ok(cuda.cuCtxSynchronize())
'''
LAUNCH_EX = '''\
def _launch(kernel, grid, block, shared_bytes, arguments, cluster=None, cooperative=0):
    """Launch it with arguments of numpy, or tensor maps, and wait for its end."""
    kept = [each if hasattr(each, "getPtr") else np.asarray(each) for each in arguments]
    pointers = [each.getPtr() if hasattr(each, "getPtr") else each.ctypes.data for each in kept]
    pointers = np.array(pointers, np.uint64)
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes = shared_bytes
    attributes = []
    if cluster:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        blocks = attributes[-1].value.clusterDim
        blocks.x, blocks.y, blocks.z = cluster
    if cooperative:
        attributes.append(cuda.CUlaunchAttribute())
        attributes[-1].id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attributes[-1].value.cooperative = cooperative
    config.attrs, config.numAttrs = attributes, len(attributes)
    _ok(cuda.cuLaunchKernelEx(config, kernel, pointers.ctypes.data, 0))
    _ok(cuda.cuCtxSynchronize())
'''
HELPERS = {"_ok": OK, "_module": MODULE, "_memory": MEMORY, "_variable": VARIABLE, "_values": VALUES}


def version(distribution: str) -> str:
    """The installed version of a package, "" if it is none."""
    try:
        return importlib.metadata.version(distribution).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""
