"""Traced kernels as CUDA C++ to read: `if` and `for` as the author wrote them, the author's names, nothing dead.

`to_cuda(text)` takes the MLIR text of a device module as traced, before its scf is lowered, and gives a file that nvcc
takes. Its kernels have the names and parameters of ours. docs/readable-cuda.md describes what the text promises.
"""

from __future__ import annotations

from dsl.analysis import mlir_reader
from dsl.analysis.mlir_reader import Module, Op
from dsl.readable_cuda import author_names
from dsl.readable_cuda.calls import Calls
from dsl.readable_cuda.control_flow import Flow
from dsl.readable_cuda.cpp_types import Unsupported
from dsl.readable_cuda.kernel_body import Body

__all__ = ["Unsupported", "to_cuda"]

_HEADERS = {"__half": "#include <cuda_fp16.h>", "__nv_bfloat16": "#include <cuda_bf16.h>"}
_FLOORDIV = """\
static __device__ __forceinline__ int floordiv(int a, int b) { return a / b - (a % b != 0 && (a ^ b) < 0); }
static __device__ __forceinline__ long long floordiv(long long a, long long b) {
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
"""
_BITS = """\
template <typename To, typename From> static __device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
"""
_VECTOR = "template <typename T, int N> struct Vector { T at[N]; };\n"
_TENSOR_MAP = "struct __align__(64) TensorMap { char bytes[128]; };\n"
_HELPERS = {"floordiv(": _FLOORDIV, "bits_as<": _BITS, "Vector<": _VECTOR, " TensorMap ": _TENSOR_MAP}


def to_cuda(mlir_text: str) -> str:
    """The kernels of a traced device module as CUDA C++. Raises Unsupported, which names what has no spelling yet."""
    module = mlir_reader.read(mlir_text)
    calls = Calls(_texts(module))
    kernels = [_kernel(kernel, module, calls) for kernel in module.kernels]
    text = "".join([*calls.helpers, *kernels])
    parts = [header + "\n" for word, header in _HEADERS.items() if word in text]
    parts += [helper for word, helper in _HELPERS.items() if word in text]
    parts += list(calls.helpers)
    return "\n".join(["".join(parts), *kernels] if parts else kernels)


def _kernel(kernel: Op, module: Module, calls: Calls) -> str:
    statements = Flow(kernel).statements()
    names = author_names.of_values(statements)
    return Body(kernel, statements, names, module.globals, calls).text()


def _texts(module: Module) -> dict[str, bytes]:
    """The strings among a module's globals."""
    texts = {}
    for symbol, op in module.globals.items():
        value = op.attributes.get("value")
        if isinstance(value, str) and "constant" in op.attributes and not value.startswith("dense<["):
            texts[symbol] = value.encode("utf-8", "surrogateescape")
    return texts
