"""Kernels of other people, unmodified: `python tests/upstream/third_party.py CHECKOUT [NAME...]`.

CHECKOUT is a checkout of one of the repositories in REPOSITORIES; its programs are run, or those that are named. `quack`
and `einops` are packages of this environment (`uv run --with quack-kernels --with einops`); the programs of quack are
run with the checkout of flash-attention. Each program runs small, in a separate process, and compares with torch.
Prints a row a program: its name, and `passes` or the first thing in the way.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from own_words import failure_in
from third_party_packages import FLASHLIB, LIGER, LIGER_LOSSES, LIGER_NORMS, LIGER_ROPE, MSA, TORCH_NATIVE, TRIMUL

LIMIT_S = 900

HEAD = """
import sys, types
import torch
import torch.nn.functional as F

def close(got, expected, bound):
    error = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().max().item()
    assert error < bound, f"differs from torch by {error}"

def twin(x):
    return x.detach().cpu().double().requires_grad_()

def compare(got, expected, bound, *pairs):
    close(got, expected, bound)
    gradient = torch.randn(got.shape)
    got.backward(gradient.to(got.dtype).cuda())
    expected.backward(gradient.double())
    for x, reference in pairs:
        close(x.grad, reference.grad, bound * 10)

torch.manual_seed(0)
"""
FLASH = """
library = types.ModuleType("flash_attn")
library.__path__ = [sys.argv[1] + "/flash_attn"]
sys.modules["flash_attn"] = library
from flash_attn.cute.interface import flash_attn_func

def attention(queries, keys, heads, kv_heads, width, causal, backward):
    shapes = ((queries, heads), (keys, kv_heads), (keys, kv_heads))
    q, k, v = (
        torch.randn(1, n, h, width, dtype=torch.float16, device="cuda", requires_grad=backward) for n, h in shapes
    )
    out = flash_attn_func(q, k, v, causal=causal)
    out = out[0] if isinstance(out, tuple) else out
    Q, K, V = twin(q), twin(k), twin(v)
    wide = [x.repeat_interleave(heads // kv_heads, 2).transpose(1, 2) for x in (K, V)]
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries) if causal else None
    expected = F.scaled_dot_product_attention(Q.transpose(1, 2), *wide, attn_mask=mask).transpose(1, 2)
    if backward:
        compare(out, expected, 5e-3, (q, Q), (k, K), (v, V))
    else:
        close(out, expected, 5e-3)
"""
TRANSPOSES = """
import runpy
from cutlass.cute.runtime import from_dlpack

def transposed(file, *names):
    functions = runpy.run_path(f"{sys.argv[1]}/03_transpose/{file}.py")
    for name in names:
        a = torch.randn(128, 256, device="cuda").half()
        b = torch.zeros(256, 128, device="cuda").half()
        functions[name](*(from_dlpack(x, assumed_align=16) for x in (a, b)))
        assert torch.equal(a.T, b), name

def product(file, name, m, n, k):
    function = runpy.run_path(f"{sys.argv[1]}/04_gemm/{file}.py")[name]
    a, b, c = (torch.randn(shape, device="cuda").half() for shape in ((m, k), (n, k), (m, n)))
    function(*(from_dlpack(x, assumed_align=16) for x in (a, b, c)))
    close(c, a.cpu().double() @ b.cpu().double().T, 0.1)
"""
HOPPER_GEMM = """
sys.path.insert(0, sys.argv[1] + "/attempt4")
import cuda.bindings.driver as cuda
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from gemm import GemmSM90

def product(m, n, k, **options):
    a, b, c = (torch.randn(shape, device="cuda").bfloat16() for shape in ((m, k), (n, k), (m, n)))
    tensors = [from_dlpack(x, assumed_align=16).mark_compact_shape_dynamic(mode=0, stride_order=(0, 1)) for x in (a, b, c)]
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    gemm = GemmSM90(tile_shape_mn=(128, 256), epi_tile_mn=(128, 32), atom_layout_mn=(2, 1), ab_stage=3, reuse_ab=False, **options)
    cute.compile(gemm, *tensors, stream)(*tensors, stream)
    close(c, a.cpu().double() @ b.cpu().double().T, 0.3)
"""
PUZZLES = """
import runpy
for number in (0, *range(2, 20)):
    runpy.run_path(f"{sys.argv[1]}/problems/p{number:02}/p{number:02}.py", run_name="__main__")
"""
SNIPPETS = """
sys.path.insert(0, sys.argv[1])
from tests.test_rmsnorm import test_rmsnorm
from tests.test_softmax import test_softmax
assert test_softmax() and test_rmsnorm()
"""
QUACK = "x = torch.randn(8, 256, device='cuda', requires_grad=True)\nX = twin(x)\n"
SM80 = {"FLASH_ATTENTION_ARCH": "sm_80", "CUTE_DSL_ARCH": "sm_80", "FLASH_ATTENTION_NUM_SMS": "108"}
SM90 = {"FLASH_ATTENTION_ARCH": "sm_90", "CUTE_DSL_ARCH": "sm_90a", "FLASH_ATTENTION_NUM_SMS": "132"}
SM120 = {"FLASH_ATTENTION_ARCH": "sm_120", "CUTE_DSL_ARCH": "sm_120a", "FLASH_ATTENTION_NUM_SMS": "108"}

FLASHINFER = """
for name in ("", ".norm", ".cute_dsl"):  # without what else the package imports
    package = sys.modules["flashinfer" + name] = types.ModuleType("flashinfer" + name)
    package.__path__ = [sys.argv[1] + "/flashinfer" + name.replace(".", "/")]
from flashinfer.norm.kernels import fused_add_rmsnorm_cute, layernorm_cute, rmsnorm_cute

x, residual, weight = (torch.randn(shape, device="cuda").half() for shape in ((5, 512), (5, 512), (512,)))

def normed(rows):
    return F.rms_norm(rows, (512,), twin(weight), 1e-6)

out = torch.empty_like(x)
rmsnorm_cute(x, weight, out, 1e-6)
close(out, normed(twin(x)), 1e-2)
scale, shift = (torch.randn(512, device="cuda") for _ in "ab")
layernorm_cute(out, x, scale, shift, 1e-6)
close(out, F.layer_norm(twin(x), (512,), twin(scale), twin(shift), 1e-6), 1e-2)
total = twin(x) + twin(residual)
fused_add_rmsnorm_cute(x, residual, weight, 1e-6)
close(x, normed(total), 1e-2)
close(residual, total, 1e-2)
"""

TOP_K = """
sys.path.insert(0, sys.argv[1] + "/flashinfer/topk_varlen")  # without what else the package imports
import cuda.bindings.driver as driver, cutlass, cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from kernels.radix_topk import STATE_SIZE, SinglePassMultiCTARadixTopKKernel

count, stream = 64, driver.CUstream(0)
for dtype, known in ((cutlass.Float32, torch.float32), (cutlass.Float16, torch.float16)):
    x, lengths = torch.randn(2, 2048, device="cuda").to(known), torch.tensor([2048, 1500], dtype=torch.int32)
    states, places = (torch.zeros(2, n, dtype=torch.int32, device="cuda") for n in (STATE_SIZE, count))
    values = torch.zeros(2, count, dtype=known, device="cuda")
    kernel = SinglePassMultiCTARadixTopKKernel(dtype, 1024, count, ctas_per_group=2, num_sms=4)
    tensors = [from_dlpack(t, assumed_align=32) for t in (x, states, lengths.cuda(), places, values)]
    cute.compile(kernel, *tensors, stream)(*tensors, stream)
    for row, length in enumerate(lengths.tolist()):
        wanted = torch.topk(x[row, :length].float(), count).values.sort().values
        for got in (values[row], x[row][places[row].long()]):
            assert torch.equal(got.float().sort().values, wanted)
"""

CULA = """
for name in ("", ".ops"):  # without what else the package imports
    package = sys.modules["cula" + name] = types.ModuleType("cula" + name)
    package.__path__ = [sys.argv[1] + "/cula" + name.replace(".", "/")]
sys.modules["cula.utils"] = types.SimpleNamespace(USE_FAST_MATH=True)
from cula.ops.la_decode import linear_attention_decode

batch, heads, width = 2, 2, 128
q, k, v = (torch.randn(batch, heads, width).bfloat16() for _ in "qkv")
state, decay = torch.randn(batch, heads, width, width) * 0.01, torch.rand(heads)
moved = state.transpose(-1, -2).contiguous().reshape(batch * heads, width, width).cuda()
out = torch.zeros(batch, heads, width, device="cuda").bfloat16()
offsets = torch.arange(batch, device="cuda").int()
inputs = (x.cuda() for x in (q, k, v))
linear_attention_decode(*inputs, moved, out, 0.1, 0, 0, 0, 0, 0, offsets, decay.cuda(), width, width, width)
Q, K, V, S, D = (x.double() for x in (q, k, v, state, decay))
S = S * torch.exp(-D).view(1, heads, 1, 1) + K[..., None] * V[..., None, :]
close(out, torch.einsum("bhk,bhkv->bhv", Q * 0.1, S), 5e-2)
close(moved.reshape(S.shape).transpose(-1, -2), S, 1e-5)
"""
SOFTMAX = """
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/softmax"]
from softmax_bwd import softmax_bwd_builder
from softmax_fwd import softmax_fwd_builder

for shape in ((4, 100), (3, 2048)):
    x, gradient = (torch.randn(shape, device="cuda") for _ in "xg")
    X = twin(x)
    out, expected = softmax_fwd_builder(x)(x), X.softmax(-1)
    expected.backward(gradient.cpu().double())
    close(out, expected, 1e-6)
    close(softmax_bwd_builder(out, gradient)(out, gradient), X.grad, 1e-6)
"""
LEARNING_TOP_K = """
sys.path.insert(0, sys.argv[1] + "/topk")
import select_radix_cute, sort_bitonic_cute

for topk, shape, count in ((select_radix_cute.topk, (2, 32), 4), (sort_bitonic_cute.topk, (3, 64), 8)):
    x = torch.randn(shape, device="cuda")
    values, places = topk(x, count)
    expected = torch.topk(x.cpu(), count)
    assert torch.equal(values.cpu(), expected.values) and torch.equal(places.cpu().long(), expected.indices)
"""

PROGRAMS: dict[str, tuple[str, dict[str, str]]] = {
    "flash_attn forward": (f"{FLASH}attention(64, 64, 2, 2, 64, False, False)", SM80),
    "flash_attn forward, causal": (f"{FLASH}attention(100, 130, 2, 2, 64, True, False)", SM80),
    "flash_attn forward, grouped heads": (f"{FLASH}attention(40, 40, 4, 2, 128, False, False)", SM80),
    "flash_attn forward, sm_90": (f"{FLASH}attention(64, 64, 2, 2, 64, False, False)", SM90),
    "flash_attn forward, sm_90, causal": (f"{FLASH}attention(100, 130, 2, 2, 64, True, False)", SM90),
    "flash_attn forward, sm_90, grouped heads": (f"{FLASH}attention(40, 72, 4, 2, 128, False, False)", SM90),
    "flash_attn backward, sm_90, causal, grouped heads": (f"{FLASH}attention(40, 72, 2, 1, 64, True, True)", SM90),
    "flash_attn backward, sm_90": (f"{FLASH}attention(64, 64, 2, 2, 64, False, True)", SM90),
    "flash_attn backward": (f"{FLASH}attention(64, 64, 2, 2, 64, False, True)", SM120),
    "quack softmax": (
        f"{QUACK}from quack.softmax import softmax\ncompare(softmax(x), F.softmax(X, -1), 1e-5, (x, X))",
        {},
    ),
    "quack rmsnorm": (
        f"{QUACK}w = torch.randn(256, device='cuda', requires_grad=True)\nW = twin(w)\n"
        "from quack.rmsnorm import rmsnorm\n"
        "compare(rmsnorm(x, w, eps=1e-6), F.rms_norm(X, (256,), W, 1e-6), 1e-4, (x, X), (w, W))",
        {},
    ),
    "quack layernorm": (
        f"{QUACK}w = torch.randn(256, device='cuda')\nfrom quack.rmsnorm import layernorm_fwd\n"
        "close(layernorm_fwd(x.detach(), w), F.layer_norm(X, (256,), twin(w)), 1e-4)",
        {},
    ),
    "quack cross-entropy": (
        f"{QUACK}t = torch.randint(0, 256, (8,), device='cuda')\nfrom quack.cross_entropy import cross_entropy\n"
        "compare(cross_entropy(x, t, reduction='mean'), F.cross_entropy(X, t.cpu()), 1e-4, (x, X))",
        {},
    ),
    "quack top-k": (
        f"{QUACK}from quack.topk import topk\nclose(topk(x.detach(), 8)[0], torch.topk(X, 8)[0], 1e-3)",
        {},
    ),
    "quack gemm": (
        "from quack.gemm_interface import gemm\na, b = (torch.randn(64, 64, device='cuda').bfloat16() for _ in 'ab')\n"
        "close(gemm(a, b, tuned=False), a.cpu().double() @ b.cpu().double(), 0.2)",
        {},
    ),
    "learn-CuTeDSL transposition, universal copy": (
        f"{TRANSPOSES}transposed('01_swizzle_universal_copy_transpose', 'transpose_no_swizzle', 'transpose_swizzle')",
        {},
    ),
    "learn-CuTeDSL transposition, cp.async and ldmatrix": (
        f"{TRANSPOSES}transposed('03_cpasync_ldmatrix_transpose', 'async_ldmatrix_transpose_no_swizzle', "
        "'async_ldmatrix_transpose_swizzle')",
        {},
    ),
    "learn-CuTeDSL product, ldmatrix": (
        f"{TRANSPOSES}product('03_ampere_ldmatrix_mma_gemm', 'ldmatrix_mma_gemm', 128, 256, 128)",
        {},
    ),
    "learn-CuTeDSL product, three stages": (
        f"{TRANSPOSES}product('05_ampere_sol_gemm', 'ampere_sol_gemm', 256, 128, 256)",
        {},
    ),
    "gemm_cuteDSL product, persistent, clusters of 2": (
        f"{HOPPER_GEMM}product(256, 256, 128, cluster_shape_mnk=(2, 1, 1), is_persistent=True)",
        {},
    ),
    "cute-dsl puzzles": (PUZZLES, {}),
    "flashinfer norms": (FLASHINFER, {}),
    "flashinfer top-k": (TOP_K, {}),
    "Cute-Snippets softmax and rmsnorm": (SNIPPETS, {}),
    "cuLA decoding by linear attention": (CULA, {}),
    "cute-kernels softmax, forward and backward": (SOFTMAX, {}),
    "liger layernorm and rmsnorm, forward and backward": (f"{LIGER}{LIGER_NORMS}", {}),
    "liger losses, forward and backward": (f"{LIGER}{LIGER_LOSSES}", {}),
    "liger rotations by TMA": (f"{LIGER}{LIGER_ROPE}", {}),
    "torch's own kernels": (TORCH_NATIVE, {}),
    "flashlib products and scaling": (FLASHLIB, {}),
    "fast-trimul": (TRIMUL, {}),
    "flash-msa selection of blocks": (MSA, {}),
    "cutedsl-learning top-k, 1026 votes written out; by bitonic sorting": (LEARNING_TOP_K, {}),
}

# The folder of each repository by which its checkout is known.
REPOSITORIES = {
    "flash_attn": "flash_attn/cute",  # Dao-AILab/flash-attention
    "quack": "flash_attn/cute",  # a package, run with it
    "learn-CuTeDSL": "03_transpose",  # KindRoach/learn-CuTeDSL
    "gemm_cuteDSL": "attempt4",  # dungwoong/gemm_cuteDSL
    "cute-dsl": "problems/p00",  # kaakkkaaaa/cute-dsl
    "flashinfer": "flashinfer/norm/kernels",  # flashinfer-ai/flashinfer
    "Cute-Snippets": "htile",  # KuangjuX/Cute-Snippets
    "cuLA": "cula/ops",  # inclusionAI/cuLA
    "cute-kernels": "softmax",  # minoya1220/cute-kernels
    "liger": "liger_kernel/ops/cutedsl",  # the unpacked wheel of liger-kernel, as the three below are of theirs
    "torch's": "torch/_native/ops",  # the folder that torch is installed in
    "flashlib": "flashlib/linalg/gemm/cutedsl",
    "fast-trimul": "fast_trimul/ops",
    "flash-msa": "flash_msa/csrc",
    "cutedsl-learning": "topk",  # alan-hpc/cutedsl-learning
}


def outcome(name: str, checkout: Path, compiler: str) -> str:
    """`passes`, or the first line that names the obstacle."""
    text, variables = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(HEAD + text + "\nprint('it passes')\n")
        command = [
            sys.executable,
            "-m",
            "dsl",
            "--check",
            "none",
            "--compiler",
            compiler,
            str(path),
            "--",
            str(checkout.resolve()),
        ]
        environment = {**os.environ, **variables, "QUACK_CACHE_DIR": folder}
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT_S} s"
    lines = run.stderr.splitlines()
    if "it passes" in run.stdout:
        return failure_in(run.stdout) or "passes"
    return next((line.strip() for line in lines if "^^" in line), lines[-1] if lines else "ended").lstrip("^ ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--compiler", choices=("ours", "nvidia"), default="ours")
    options = parser.parse_args()
    failed = 0
    here = [name for name in PROGRAMS if (options.checkout / REPOSITORIES[name.split()[0]]).is_dir()]
    if not here:
        parser.error(f"{options.checkout} is not a checkout of a known repository: see REPOSITORIES")
    for name in options.names or here:
        said = outcome(name, options.checkout, options.compiler)
        failed += said != "passes"
        print(f"| {name} | {said} |", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
