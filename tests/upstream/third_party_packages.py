"""The programs of third_party.py that run kernels of packages, each with the folder of an unpacked wheel as its argument."""

LIGER = """
sys.path.insert(0, sys.argv[1])

def gradients(made, expected, bound, *inputs):
    twins, inputs = [twin(x) for x in inputs], [x.requires_grad_() for x in inputs]
    compare(made(*inputs), expected(*twins), bound, *zip(inputs, twins))

def op(name, function):
    import importlib
    return getattr(importlib.import_module("liger_kernel.ops." + name), function)

R = lambda *shape: torch.randn(shape, device="cuda")
"""
LIGER_NORMS = """
layer, rms = (op(f"backends._cutedsl.{name}_norm", f"{name}_norm_cutedsl") for name in ("layer", "rms"))
for width in (256, 1024):
    x, w, b = R(5, width), R(width), R(width)
    gradients(lambda x, w, b: layer(x, w, b, 1e-6), lambda x, w, b: F.layer_norm(x, (width,), w, b, 1e-6), 1e-5, x, w, b)
    x, w = R(5, width), R(width)
    gradients(lambda x, w: rms(x, w, 1e-6), lambda x, w: F.rms_norm(x, (width,), w, 1e-6), 1e-5, x, w)
"""
LIGER_LOSSES = """
targets = torch.randint(0, 256, (6,), device="cuda")
ce = op("backends._cutedsl.cross_entropy", "cross_entropy_cutedsl")
gradients(lambda x: ce(x * 1, targets)[0], lambda x: F.cross_entropy(x, targets.cpu()), 1e-5, R(6, 256))
kl, wanted = op("backends._cutedsl.kl_div", "kl_div_cutedsl"), R(6, 256).softmax(-1)
x = R(6, 256).log_softmax(-1)
gradients(lambda x: kl(x, wanted), lambda x: F.kl_div(x, wanted.cpu().double(), reduction="batchmean"), 1e-5, x)
"""
LIGER_ROPE = """
rope = op("cutedsl.ops.rope", "LigerRopeCuteDSLFunction").apply
cos, sin = (R(1, 8, 32).repeat(1, 1, 2) for _ in "cs")

def turned(x):
    half = torch.cat((-x[..., 32:], x[..., :32]), -1)
    return x * cos.cpu().double()[:, None] + half * sin.cpu().double()[:, None]

q, k = R(2, 4, 8, 64).bfloat16(), R(2, 2, 8, 64).bfloat16()
Q, K = twin(q), twin(k)
for got, expected in zip(rope(q, k, cos, sin), (turned(Q), turned(K))):
    close(got, expected, 5e-2)
"""
TORCH_NATIVE = """
from torch._native.ops.reductions import kernel_coltile, kernel_general, kernel_rowtile, traits
from torch._native.ops.reductions.inner_tree_kernel import inner_tree_sum_into
from torch._native.ops.scatter_add.tma_kernel import tma_scatter_add_into
from torch._native.ops.linear_cross_entropy.fused_grad_logits_kernel import fused_grad_logits_into
from torch._native.ops.norm.norms import quack_rmsnorm_bwd, quack_rmsnorm_fwd
from torch._native.ops.topk.cutedsl_kernels import topk_radix

x = torch.randn(6, 512, device="cuda")
X, total = x.cpu().double(), traits.SumOps()
close(kernel_rowtile.reduce_row_tile(total, "sum", x, [torch.float32])[0].reshape(-1), X.sum(1), 1e-4)
close(kernel_coltile.reduce_col_tile(total, "sum", x, torch.float32), X.sum(0), 1e-4)
got = kernel_general.reduce_dim(total, "sum", x.view(6, 8, 64), [0, 2], torch.float32)
close(got.reshape(-1), X.view(6, 8, 64).sum((0, 2)), 1e-4)
out = torch.empty(6, device="cuda")
inner_tree_sum_into(out, x)
close(out, X.sum(1), 1e-4)
index, rows = torch.tensor([3, 0, 3, 1, 2, 3], device="cuda"), torch.randn(4, 512, device="cuda")
expected = rows.cpu().double().index_add(0, index.cpu(), X)
tma_scatter_add_into(rows, index, x)
close(rows, expected, 1e-5)
target, scale = torch.randint(0, 512, (6,), device="cuda"), torch.rand(6, device="cuda")
term, gradient = torch.empty(6, device="cuda"), torch.empty_like(x)
fused_grad_logits_into(gradient, term, x, scale, target, threads_per_block=128)
close(gradient, (X.softmax(1) - F.one_hot(target.cpu(), 512)) * scale.cpu().double()[:, None], 1e-5)
weight = torch.randn(512, device="cuda")
W, X = twin(weight), twin(x)
made, scales = quack_rmsnorm_fwd(x, weight, [512], 1e-6)
close(made, F.rms_norm(X, (512,), W, 1e-6), 1e-5)
F.rms_norm(X, (512,), W, 1e-6).backward(x.cpu().double())
for got, expected in zip(quack_rmsnorm_bwd(x, x, scales, weight, [512]), (X.grad, W.grad)):
    close(got, expected, 1e-4)
x = torch.randn(3, 1024, device="cuda")
for got, expected in zip(topk_radix(x, 64), torch.topk(x.cpu(), 64)):
    assert torch.equal(got.cpu(), expected)
"""
FLASHLIB = """
sys.path.insert(0, sys.argv[1])
from flashlib.linalg.gemm.cutedsl import bf16_chained, int8_gemm
from flashlib.primitives.pca.cutedsl.gemm import cutedsl_cov_gemm
from flashlib.primitives.standard_scaler.cutedsl.scaler import cutedsl_standard_scaler_fit_transform

a, b = (torch.randint(-8, 8, (128, 128), device="cuda").to(torch.int8) for _ in "ab")
out = torch.empty(128, 128, dtype=torch.int32, device="cuda")
int8_gemm.cute_int8_mm(a, b, out)
assert torch.equal(out.cpu(), a.cpu().int() @ b.cpu().int().T)
a, b = (torch.randn(128, 128, device="cuda").bfloat16() for _ in "ab")
close(bf16_chained.gemm_bf16(a, b), a.cpu().double() @ b.cpu().double(), 1e-3)
x = torch.randn(300, 64, device="cuda")
X = x.cpu().double()
close(cutedsl_cov_gemm(x), X.T @ X, 1e-3)
scaled = cutedsl_standard_scaler_fit_transform(x)
close(scaled[0] if isinstance(scaled, tuple) else scaled, (X - X.mean(0)) / X.std(0, unbiased=False), 1e-3)
"""
TRIMUL = """
package = sys.modules["fast_trimul"] = types.ModuleType("fast_trimul")  # without what else it imports
package.__path__ = [sys.argv[1] + "/fast_trimul"]
from fast_trimul import _kernels

R = lambda *shape: torch.randn(shape, device="cuda").half()
D = lambda x: x.cpu().double()
x, w, b = R(3, 5, 128), R(128), R(128)
close(_kernels.layer_norm(x, w, b), F.layer_norm(D(x), (128,), D(w), D(b)), 2e-2)
p, pb, g, gb = R(6, 64), R(64), R(6, 64), R(64)
close(_kernels.gate(p, pb, g, gb), (D(p) + D(pb)) * torch.sigmoid(D(g) + D(gb)), 2e-2)
a, b = R(1, 16, 16, 2), R(1, 16, 16, 2)
close(_kernels.outgoing(a, b), torch.einsum("bikc,bjkc->bijc", D(a), D(b)), 3e-2)
close(_kernels.incoming(a, b), torch.einsum("bkic,bkjc->bijc", D(a), D(b)), 3e-2)
"""
MSA = """
package = sys.modules["flash_msa"] = types.ModuleType("flash_msa")  # without what else it imports
package.__path__ = [sys.argv[1] + "/flash_msa"]
from flash_msa.msa_select_cutedsl import select_blocks

q, k = (torch.randn(1, heads, 512, 128, device="cuda").half() for heads in (2, 1))
got = select_blocks(q, k, scale=0.09, num_blocks=4, top_k_blocks=2).cpu()
scores = q.cpu().double() @ k.cpu().double().transpose(-1, -2) * 0.09
best = scores.masked_fill(torch.ones(512, 512).triu(1).bool(), -1e30).reshape(2, 512, 4, 128).amax(-1)
own = torch.arange(512) // 128
best[:, torch.arange(512), own] = 1e30  # a query's own block is always one of them
for head in range(2):
    for query in range(128, 512):
        assert set(got[0, head, query].tolist()) == set(best[head, query].topk(2).indices.tolist())
"""
