"""The Quadrants surface under upstream's names: `import quadrants as qd` finds it through dsl.alias. It translates."""

from dsl.quadrants import experimental, extension, math, refused, simt, types
from dsl.quadrants.annotations import ref, Template
from dsl.quadrants.atomic import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
)
from dsl.quadrants.errors import (
    QuadrantsAssertionError,
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsNameError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from dsl.quadrants.extension import is_extension_enabled
from dsl.quadrants.fields_builder import FieldsBuilder
from dsl.quadrants.hints import (
    assume_in_range,
    block_local,
    cache_read_only,
    dump_compile_config,
    no_activate,
    pure,
    pyfunc,
)
from dsl.quadrants.log import CRITICAL, DEBUG, ERROR, INFO, is_logging_effective, set_logging_level, TRACE, WARN
from dsl.quadrants.philox import randn, random
from dsl.quadrants.field import (
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
from dsl.quadrants.iterate import grouped, ndrange
from dsl.quadrants.func import func, real_func
from dsl.quadrants.kernel import data_oriented, kernel
from dsl.quadrants.matrix import Matrix, vector_maker as Vector
from dsl.quadrants.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, ndarray
from dsl.quadrants.ops import (
    abs,
    acos,
    asin,
    atan2,
    bit_cast,
    bit_shr,
    cast,
    ceil,
    cos,
    exp,
    floor,
    log,
    max,
    min,
    one,
    pow,
    raw_div,
    raw_mod,
    round,
    rsqrt,
    select,
    sin,
    sqrt,
    tan,
    tanh,
    zero,
)
from dsl.quadrants.runtime import amdgpu, arm64, cpu, cuda, gpu, init, metal, python, reset, sync, vulkan, x64, x86_64
from dsl.quadrants.simt.block import global_thread_idx
from dsl.quadrants.static import loop_config, static, static_assert, static_print
from dsl.quadrants.types.enums import Layout
from dsl.quadrants.dtypes import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)

template = Template
VectorNdarray = MatrixNdarray
__version__ = (1, 3, 3)
refused.add_modules()
from dsl.quadrants import lang  # noqa: E402 (its modules are those that add_modules makes, under other names)

_missing = refused.refuser("", globals())


def __getattr__(name: str):
    return lang.impl.current_cfg() if name == "cfg" else _missing(name)
