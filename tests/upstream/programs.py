"""The programs of NVIDIA/cutlass that are run: the path of each in its repository, how it is run, and its result.

A `test` is a pytest file, run without its conftest (which asks for a GPU and plugins). A `notebook` is run cell by cell
in one process; `expects` is what each cell's output is compared with: the output saved in the file ("saved"), what
NVIDIA's compiler prints here ("nvidia"), or "nothing" where it is times; it has no arguments, so one that is `smaller` is a copy with other sizes. A `program` is run with arguments and must end
with status 0 and without a word of failure, or, where it is there to fail, with the error that it `fails_with`. `sets_of` puts every file that needs no
Blackwell into a set: T1 to T4, or the repository's own tests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from own_words import failure_in

_CUTE = "examples/python/CuTeDSL"


@dataclass(frozen=True)
class Program:
    """One file of the repository. `limit_s`: how long it may take."""

    name: str
    kind: str  # test, notebook, program
    path: str
    arguments: tuple[str, ...] = ()
    expects: str = "saved"  # of a notebook: saved, nvidia or nothing
    fails_with: str = ""  # of a program: a part of its error
    limit_s: int = 300
    after: str = ""  # of a program: the path of one that is run before it in the same folder
    is_by_time: bool = False  # it chooses a kernel by its time, so two runs of it need not make the same launches
    # of a notebook: a text that sets its sizes, and the one in a copy that is run
    smaller: tuple[str, str] | None = None

    @property
    def set(self) -> str:
        return set_of(self.path)

    def is_passed_by(self, status: int, output: str) -> bool:
        """Whether a run that ended so did what it is there for."""
        if self.fails_with:
            return status == 1 and self.fails_with in output
        return status == 0 and not failure_in(output)


_SETS = (
    ("test/", "tests"),
    (f"{_CUTE}/dsl_tutorials/export/", "T4"),
    (f"{_CUTE}/dsl_tutorials/ffi/", "T4"),
    (f"{_CUTE}/dsl_tutorials/tvm_ffi/", "T4"),
    (f"{_CUTE}/cute/tvm_ffi/", "T4"),
    (f"{_CUTE}/utils/", "T4"),
    (f"{_CUTE}/cute/ampere/", "T2"),
    (f"{_CUTE}/cute_ext/ampere/", "T2"),
    (f"{_CUTE}/dsl_tutorials/", "T1"),
    (f"{_CUTE}/cute/notebooks/", "T1"),
    (f"{_CUTE}/experimental/primitives/tutorial/", "T1"),
    (f"{_CUTE}/cute/hopper/", "T3"),
    (f"{_CUTE}/experimental/primitives/", "T3"),
)


def set_of(path: str) -> str:
    """T1: tutorials and notebooks; T2: Ampere; T3: Hopper and the primitives; T4: tools; tests; or "more"."""
    return next((name for folder, name in _SETS if path.startswith(folder)), "more")


def at_its_size(path: Path, program: Program, scratch: Path) -> Path:
    """The file that is run of a program at `path`: a copy in `scratch` where its sizes are others. Raises ValueError."""
    if program.smaller is None:
        return path
    large, small = program.smaller
    text = path.read_text(encoding="utf-8")
    if text.count(large) != 1:
        raise ValueError(f"{path} has {text.count(large)} times {large!r}, which is to be made smaller")
    copy = scratch / path.name
    copy.write_text(text.replace(large, small), encoding="utf-8")
    return copy


def _tests(folder: str, *names: str) -> list[Program]:
    return [Program(f"tests/{name}", "test", f"{folder}/{name}.py") for name in names]


def _notebooks(expects: str, *names: str, **options) -> list[Program]:
    return [
        Program(f"notebooks/{name}", "notebook", f"{_CUTE}/cute/notebooks/{name}.ipynb", expects=expects, **options)
        for name in names
    ]


def _tutorial(name: str, *arguments: str, folder: str = "", **options) -> Program:
    return Program(f"tutorials/{name}", "program", f"{_CUTE}/dsl_tutorials/{folder}{name}.py", arguments, **options)


def _kernel(folder: str, name: str, *arguments: str, called: str = "", **options) -> Program:
    full = f"{folder.partition('/')[0]}/{called or name}"
    return Program(full, "program", f"{_CUTE}/cute/{folder}/{name}.py", arguments, **options)


def _primitives(folder: str, *names: str) -> list[Program]:
    return [
        Program(f"primitives/{name}", "program", f"{_CUTE}/experimental/primitives/{folder}{name}.py") for name in names
    ]


# The program exports a function of row-major tensors, of a multiple of 16 rows, and passes column-major ones of 10.
LOAD_IN_PYTHON = (
    "ValueError: Mismatched a.shape[0] on argument #0 when calling: `print_tensor(a: Tensor([?{div=16}, ?], float32), "
    "stream: Stream)`, expected to be a multiple of 16, got 10"
)
_TIMED = ("--iterations", "2", "--warmup_iterations", "1")

PROGRAMS: tuple[Program, ...] = (
    *_tests("test/python/CuTeDSL", "test_numeric_construction", "test_struct_in_if", "test_export_c_header_shape_type"),
    *_tests(
        "test/examples/CuTeDSL", "test_dataclasses", "test_for_control_flow", "test_math", "test_tvm_ffi_env_stream"
    ),
    *_notebooks("saved", "data_types", "print", "hello_world", "cute_layout_algebra"),
    *_notebooks("nvidia", "tensorssa", "tensor", "composed_layout"),
    *_notebooks("nvidia", "elementwise_add", smaller=("M, N = 16384, 8192", "M, N = 256, 512")),
    *_notebooks("nothing", "async_pipeline", "cuda_graphs"),
    *_notebooks("nothing", "benchmark_autotune", is_by_time=True),
    _tutorial("print_latex"),
    Program("tutorials/print_latex_tv", "program", f"{_CUTE}/dsl_tutorials/print_latex.py", ("--tv_layout",)),
    _tutorial("dataclass_immutable"),
    _tutorial("dynamic_smem_size"),
    _tutorial("smem_allocator"),
    _tutorial("inline_ptx"),
    _tutorial("torch_fake_tensor"),
    _tutorial("call_from_jit"),
    _tutorial("call_bypass_dlpack"),
    _tutorial("cooperative_launch"),
    _tutorial("programmatic_dependent_launch", *_TIMED),
    _tutorial("launch_completion_and_programmatic_events"),
    _tutorial("compile_with_fake_tensor", folder="tvm_ffi/"),
    _tutorial("jit_and_use_in_torch", folder="tvm_ffi/"),
    _tutorial(
        "error_reporting",
        folder="tvm_ffi/",
        fails_with="ValueError: Mismatched a.shape[0] on argument #0 when calling: "
        "`add_one(a: Tensor([10], float32), b: Tensor([10], float32))`, expected to be 10",
    ),
    _tutorial("aot_export", folder="tvm_ffi/"),
    _tutorial("aot_use_in_torch", folder="tvm_ffi/", after=f"{_CUTE}/dsl_tutorials/tvm_ffi/aot_export.py"),
    _tutorial("ampere_gemm_with_fake_tensor", folder="tvm_ffi/"),
    _tutorial("export_to_c", folder="export/"),
    _tutorial(
        "load_in_python",
        folder="export/",
        after=f"{_CUTE}/dsl_tutorials/export/export_to_c.py",
        fails_with=LOAD_IN_PYTHON,
    ),
    _tutorial("jit_argument", folder="ffi/"),
    Program("utils/test_sparse_utils", "program", f"{_CUTE}/utils/test_sparse_utils.py"),
    Program("tvm_ffi/fp4_x2_tensor", "program", f"{_CUTE}/cute/tvm_ffi/fp4_x2_tensor.py"),
    _kernel("ampere/kernel/elementwise", "elementwise_add", "--M", "256", "--N", "256", *_TIMED),
    _kernel("ampere/kernel/elementwise", "elementwise_apply", "--M", "256", "--N", "256", *_TIMED),
    _kernel("ampere/tutorial", "elementwise_add_autotune", "--M", "64", "--N", "64", *_TIMED, is_by_time=True),
    _kernel("blackwell/tutorial/tutorial_tma", "tma_v0", "--M", "256", "--num_warmup", "1", "--num_iters", "1"),
    _kernel("blackwell/tutorial/tutorial_tma", "tma_v1", "--M", "256", "--num_warmup", "1", "--num_iters", "1"),
    _kernel("blackwell/tutorial/tutorial_tma", "tma_v2", "--M", "256", "--num_warmup", "1", "--num_iters", "1"),
    _kernel("blackwell_geforce/kernel/dense_gemm", "dense_gemm", "--mnkl", "128,128,64,1"),
    _kernel("hopper/kernel/cta_norm", "cta_norm", "--M", "32", "--N", "1024", *_TIMED),
    _kernel("hopper/kernel/dense_gemm", "dense_gemm", "--mnkl", "128,128,128,1", "--tile_shape_mn", "64,64"),
    _kernel("hopper/kernel/dense_gemm", "dense_gemm_persistent", "--mnkl", "128,128,128,1"),
    _kernel("hopper/kernel/dense_gemm", "dense_gemm_fp8_2xacc", "--mnkl", "128,128,128,1"),
    _kernel("hopper/kernel/dense_gemm", "dense_gemm_fp8_gelu_persistent", "--mnkl", "128,128,128,1"),
    _kernel(  # the same without erf, which is another approximation under each compiler
        "hopper/kernel/dense_gemm",
        "dense_gemm_fp8_gelu_persistent",
        "--mnkl",
        "128,128,128,1",
        "--gelu_kind",
        "poly11",
        called="dense_gemm_fp8_gelu_poly11",
    ),
    _kernel(
        "hopper/kernel/grouped_gemm",
        "grouped_gemm",
        "--num_groups",
        "2",
        "--problem_sizes_mnkl",
        "(128,128,64,1),(64,128,128,1)",
        "--tile_shape_mn",
        "64,64",
        "--iterations",
        "0",
    ),
    _kernel("hopper/kernel/attention", "fmha", "--q_shape", "1,128,1,64", "--k_shape", "1,128,1,64", *_TIMED),
    _kernel("ampere/kernel/dense_gemm", "sgemm", "--mnk", "128,128,32", *_TIMED),
    _kernel("ampere/kernel/dense_gemm", "tensorop_gemm", "--mnkl", "128,128,64,1", *_TIMED),
    _kernel(
        "ampere/kernel/attention",
        "flash_attention_v2",
        "--batch_size",
        "1",
        "--seqlen_q",
        "128",
        "--seqlen_k",
        "128",
        "--num_head",
        "1",
        *_TIMED,
    ),
    _kernel("ampere/kernel/attention", "hstu_attention"),
    _kernel("blackwell/kernel/rmsnorm", "rmsnorm", "--M", "16", "--N", "512"),
    *_primitives(
        "",
        "basic_types",
        "barrier_cta_red",
        "barrier_cta_sync",
        "bar_warp_sync",
        "elect_sync",
        "mbarrier",
        "mbarrier_lifecycle",
        "async_pipeline",
        "pipeline_software_fill",
        "cp_async_shared_global",
        "cp_async_shared_global_swizzled",
        "cp_async_mbarrier_arrive_cta",
        "cp_async_mbarrier_arrive_cluster",
        "cp_async_bulk",
        "cp_async_bulk_prefetch",
        "warp_named_barrier",
        "vote_sync",
        "mapa",
        "red",
        "redux_sync",
        "shfl_sync",
        "ldmatrix_stmatrix",
    ),
    *_primitives(
        "reduction/", "thread_vector_reduce", "warp_vector_reduce", "block_smem_reduce", "cluster_smem_reduce"
    ),
    *_primitives(
        "tma/",
        "tma_store",
        "tma_load_store",
        "tma_1cta_mbarrier",
        "tma_pipeline_single_warp",
        "tma_pipeline_warpspec",
        "tma_pipeline_pingpong",
        "tma_pipeline_count2",
        "tma_swizzle_modes",
        "tma_tensormap_replace",
        "tma_load_to_ldmatrix",
        "tma_multicast",
    ),
    *_primitives(
        "tutorial/",
        "01_hello_world",
        "02_naive_gemm",
        "03_gemm_tiled_smem",
        "04_tma_load",
        "06_softmax",
        "07_vectorized_array",
        "08_mlir_value_tree_debug",
        "09_tma_4d_to_2d",
    ),
    Program("ampere/memcpy_simt_universal_copy", "program", f"{_CUTE}/cute_ext/ampere/memcpy_simt_universal_copy.py"),
)


def is_clone(folder: Path) -> bool:
    """Whether this is NVIDIA/cutlass."""
    return (folder / _CUTE).is_dir()


def chosen(names: Sequence[str]) -> list[Program]:
    """Those of a set, or with a part of their name; all without names. Raises ValueError for a name of none."""
    for name in names:
        if not any(_is_called(program, name) for program in PROGRAMS):
            raise ValueError(f"no program is called {name!r}")
    return [program for program in PROGRAMS if not names or any(_is_called(program, name) for name in names)]


def _is_called(program: Program, name: str) -> bool:
    return name == program.set or name in program.name


def rows_of(results: Path) -> list[dict]:
    """The lines that a driver wrote, of JSON each; none where it wrote none."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
