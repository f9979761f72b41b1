"""The Quadrants surface under upstream's names: `import quadrants as qd` finds it through dsl.alias. It translates."""

from dsl.quadrants import algorithms, experimental, extension, graph, math, simt, types
from dsl.quadrants.errors import errors, refused_names
from dsl.quadrants.errors.errors import *  # noqa: F403
from dsl.quadrants.extension import is_extension_enabled
from dsl.quadrants.functions.annotations import Template, ref
from dsl.quadrants.functions.inlined_function import func, real_func
from dsl.quadrants.functions.kernel import data_oriented, kernel
from dsl.quadrants.functions.struct_types import dataclass
from dsl.quadrants.graph import (
    GraphStatus,
    checkpoint,
    do_while as graph_do_while,
    parallel as graph_parallel,
    parallel_context as graph_parallel_context,
)
from dsl.quadrants.hints import (
    assume_in_range,
    block_local,
    cache_read_only,
    dump_compile_config,
    no_activate,
    pure,
    pyfunc,
)
from dsl.quadrants.log import CRITICAL, DEBUG, ERROR, INFO, TRACE, WARN, is_logging_effective, set_logging_level
from dsl.quadrants.memory.field import (
    Field,
    MatrixField,
    ScalarField,
    SNode,
    axes,
    field,
    i,
    ij,
    ijk,
    ijkl,
    ijl,
    ik,
    ikl,
    il,
    j,
    jk,
    jkl,
    jl,
    k,
    kl,
    l,
    root,
)
from dsl.quadrants.memory.fields_builder import FieldsBuilder
from dsl.quadrants.memory.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, ndarray
from dsl.quadrants.memory.struct_field import StructField
from dsl.quadrants.memory.tensor import Backend, MatrixTensor, Tensor, VectorTensor, tensor, wrap
from dsl.quadrants.runtime import amdgpu, arm64, cpu, cuda, gpu, init, metal, python, reset, sync, vulkan, x64, x86_64
from dsl.quadrants.simt.block import block_idx, global_thread_idx
from dsl.quadrants.streams import Event, Stream, create_event, create_stream, stream_parallel
from dsl.quadrants.syntax.iterate import grouped, ndrange
from dsl.quadrants.syntax.static import loop_config, static, static_assert, static_print
from dsl.quadrants.types.enums import Layout
from dsl.quadrants.values import atomic, decompositions, dtypes, ops
from dsl.quadrants.values.atomic import *  # noqa: F403
from dsl.quadrants.values.decompositions import *  # noqa: F403
from dsl.quadrants.values.dtypes import *  # noqa: F403
from dsl.quadrants.values.makers import Matrix, Struct, vector_maker as Vector
from dsl.quadrants.values.ops import *  # noqa: F403
from dsl.quadrants.values.philox import randn, random

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "TRACE",
    "WARN",
    "Backend",
    "Event",
    "Field",
    "FieldsBuilder",
    "GraphStatus",
    "Layout",
    "Matrix",
    "MatrixField",
    "MatrixNdarray",
    "MatrixTensor",
    "Ndarray",
    "SNode",
    "ScalarField",
    "ScalarNdarray",
    "Stream",
    "Struct",
    "StructField",
    "Template",
    "Tensor",
    "Vector",
    "VectorNdarray",
    "VectorTensor",
    "algorithms",
    "amdgpu",
    "arm64",
    "assume_in_range",
    "axes",
    "block_idx",
    "block_local",
    "cache_read_only",
    "checkpoint",
    "cpu",
    "create_event",
    "create_stream",
    "cuda",
    "data_oriented",
    "dataclass",
    "dump_compile_config",
    "experimental",
    "extension",
    "field",
    "func",
    "global_thread_idx",
    "gpu",
    "graph",
    "graph_do_while",
    "graph_parallel",
    "graph_parallel_context",
    "grouped",
    "i",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "init",
    "is_extension_enabled",
    "is_logging_effective",
    "j",
    "jk",
    "jkl",
    "jl",
    "k",
    "kernel",
    "kl",
    "l",
    "lang",
    "loop_config",
    "math",
    "metal",
    "ndarray",
    "ndrange",
    "no_activate",
    "pure",
    "pyfunc",
    "python",
    "randn",
    "random",
    "real_func",
    "ref",
    "reset",
    "root",
    "set_logging_level",
    "simt",
    "static",
    "static_assert",
    "static_print",
    "stream_parallel",
    "sync",
    "template",
    "tensor",
    "types",
    "vulkan",
    "wrap",
    "x64",
    "x86_64",
]
__all__ += atomic.__all__
__all__ += decompositions.__all__
__all__ += dtypes.__all__
__all__ += errors.__all__
__all__ += ops.__all__


template = Template
VectorNdarray = MatrixNdarray
__version__ = (1, 3, 3)
refused_names.add_modules()
from dsl.quadrants import lang  # noqa: E402 (its modules are those that add_modules makes, under other names)

_missing = refused_names.refuser("", globals())


def __getattr__(name: str):
    return lang.impl.current_cfg() if name == "cfg" else _missing(name)
