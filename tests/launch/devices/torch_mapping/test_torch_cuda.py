"""Programs with device="cuda" run on host memory, and nothing of it is left afterwards.

Modules tested here: dsl/launch/devices/torch_mapping/torch_modes.py, dsl/launch/devices/torch_mapping/torch_ops.py.
"""

import gc
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from dsl import gpu_models
from dsl.launch.devices.torch_mapping import torch_cuda


class Registry:
    """A device that remembers what was registered."""

    name, limits = "a device", gpu_models.limits_of(gpu_models.DEFAULT)

    def __init__(self):
        self.live, self.syncs = {}, 0

    def register(self, address, nbytes, label):
        assert address not in self.live
        self.live[address] = (nbytes, label)

    def unregister(self, address):
        del self.live[address]

    def sync(self):
        self.syncs += 1


@pytest.fixture
def registry():
    made = Registry()
    undo = torch_cuda.install(made)
    yield made
    undo()
    assert not made.live


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(4, 8, device="cuda"),
        lambda: torch.tensor([[0.0] * 8] * 4, device="cuda:0"),
        lambda: torch.zeros(4, 8).cuda(),
        lambda: torch.zeros(4, 8).to("cuda"),
        lambda: torch.zeros(4, 8).to(0),
        lambda: torch.zeros(4, 8, device=0),
        lambda: torch.zeros(4, 8).to("cuda", torch.float16, non_blocking=True, copy=True),
        lambda: torch.zeros(4, 8, device="cuda").to(torch.int32),
        lambda: torch.zeros(4, 8).to(device=torch.device("cuda")),
        lambda: torch.zeros(4, 8).to(torch.device("cuda"), torch.float64),
        lambda: torch.zeros(4, 8).to(torch.ones(1, device="cuda")),
        lambda: torch.empty(4, 8, device=torch.device("cuda", 0), pin_memory=False),
        lambda: torch.zeros_like(torch.ones(4, 8, device="cuda")),
        lambda: torch.ones(1, device="cuda").new_zeros(4, 8),
        lambda: torch.zeros(4, 8, device="cuda") + 1,
        lambda: torch.arange(32, device="cuda").reshape(4, 8),
        lambda: torch.from_numpy(np.zeros((4, 8))).cuda(),
        lambda: torch.randn(4, 8, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
        lambda: torch.nn.Linear(8, 4).to("cuda").weight,
        lambda: torch.stack([torch.zeros(8, device="cuda")] * 4),
        lambda: torch.zeros(8, 4, device="cuda").t().contiguous(),
    ],
)
def test_tensor_is_on_the_gpu(registry, make):
    tensor = make()
    assert tensor.is_cuda and not tensor.is_cpu and tensor.get_device() == 0
    assert tensor.device == torch.device("cuda:0")
    assert tensor.shape == (4, 8)
    storage = tensor.untyped_storage()
    assert registry.live[storage.data_ptr()][0] == storage.nbytes()


def test_cpu_tensors_stay_cpu(registry):
    on_gpu, on_cpu = torch.ones(4, device="cuda"), torch.ones(4)
    assert not on_cpu.is_cuda and on_cpu.device.type == "cpu"
    assert not on_cpu.copy_(on_gpu).is_cuda
    assert not on_gpu.cpu().is_cuda and not on_gpu.to("cpu").is_cuda
    assert not torch.zeros_like(on_gpu, device="cpu").is_cuda
    assert on_gpu.cuda() is not None and on_gpu.to("cuda").data_ptr() == on_gpu.data_ptr()


def test_moving_copies(registry):
    source = torch.ones(4)
    on_gpu = source.cuda()
    on_gpu.add_(1)
    back = on_gpu.cpu()
    on_gpu.add_(1)
    assert source.tolist() == [1] * 4 and back.tolist() == [2] * 4 and on_gpu.tolist() == [3] * 4


def test_numpy_of_a_gpu_tensor_is_refused_as_on_a_gpu(registry):
    tensor = torch.ones(4, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        tensor.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(tensor)
    assert tensor.cpu().numpy().sum() == 4


def test_allocation_lives_as_long_as_a_view(registry):
    tensor = torch.zeros(16, device="cuda")
    view = tensor[4:]
    address = tensor.data_ptr()
    assert registry.live[address] == (64, "torch float32 tensor of shape (16,)")
    del tensor
    gc.collect()
    assert address in registry.live
    del view
    gc.collect()
    assert address not in registry.live


def test_default_device(registry):
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda and not torch.zeros(3, device="cpu").is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(3).is_cuda and torch.get_default_device().type == "cuda"
    finally:
        torch.set_default_device(None)
    assert not torch.zeros(3).is_cuda


def test_torch_cuda_answers(registry):
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_properties(0).multi_processor_count == 132
    assert torch.cuda.current_stream().cuda_stream == 0
    assert torch._C._cuda_getCurrentRawStream(0) == 0 and torch._C._cuda_getCurrentStream(0)[0] == 0
    wrapper = getattr(torch.utils.dlpack, "ReadOnlyTensorWrapper", lambda tensor: tensor)
    assert wrapper(torch.ones(2, device="cuda")).is_cuda  # torch's own kernels pass what it wraps
    torch.cuda.synchronize()
    torch.cuda.current_stream().synchronize()
    assert registry.syncs == 2
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        end.record()
    assert start.elapsed_time(end) >= 0
    torch.manual_seed(3)
    first = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(3)
    assert torch.rand(3, device="cuda").equal(first)
    assert first.record_stream(torch.cuda.current_stream(device=first.device)) is None
    with pytest.raises(NotImplementedError, match="for tensors on the GPU"):
        torch.zeros(2).record_stream(torch.cuda.current_stream())


def test_the_state_of_the_generator_is_kept_and_put_back(registry):
    torch.manual_seed(5)
    assert torch.cuda.initial_seed() == 5
    state, states = torch.cuda.get_rng_state(), torch.cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state, device="cuda:0")
    assert torch.rand(3, device="cuda").equal(first)
    torch.cuda.set_rng_state_all(states)
    with torch.random.fork_rng():
        torch.cuda.seed_all()
        assert not torch.rand(3, device="cuda").equal(first)
    assert torch.rand(3, device="cuda").equal(first)


def test_nothing_is_left_afterwards():
    before = {name: vars(torch.cuda).get(name) for name in dir(torch.cuda)}
    generator, context = torch.Generator, torch.utils._device.DeviceContext.__torch_function__
    device = Registry()
    undo = torch_cuda.install(device)
    kept = torch.ones(4, device="cuda")
    undo()
    assert not device.live and not kept.is_cuda
    assert {name: vars(torch.cuda).get(name) for name in dir(torch.cuda)} == before
    assert torch.Generator is generator and torch.utils._device.DeviceContext.__torch_function__ is context
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            torch.ones(4, device="cuda")


@pytest.mark.slow
def test_torch_is_mapped_when_it_is_imported_later():
    program = """if True:
        import sys
        from dsl import gpu_models
        from dsl.launch.devices.torch_mapping import torch_cuda
        class Device:
            name, limits = "a device", gpu_models.limits_of(gpu_models.DEFAULT)
            def register(self, *allocation): pass
            def unregister(self, address): pass
        undo = torch_cuda.install(Device())
        assert "torch" not in sys.modules
        import torch
        assert torch.ones(3, device="cuda").is_cuda
        x = torch.ones(3, device="cuda", requires_grad=True)
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2, 2, 2] and "torch._dynamo" not in sys.modules  # seconds
        undo()
        assert not torch.ones(3).is_cuda"""
    subprocess.run([sys.executable, "-c", program], check=True)


MAKERS = {
    "empty": lambda n: torch.empty(n, device="cuda"),
    "zeros": lambda n: torch.zeros(n, device="cuda"),
    "to": lambda n: torch.ones(n).to("cuda"),
    "cuda": lambda n: torch.ones(n).cuda(),
    "half": lambda n: torch.ones(n, device="cuda").half(),
    "sum": lambda n: torch.ones(n, device="cuda") + 1,
    "clone": lambda n: torch.ones(n, device="cuda").clone(),
    "like": lambda n: torch.rand_like(torch.ones(n).cuda()),
    "tensor": lambda n: torch.tensor([1, 2, 3], device="cuda"),
    "new": lambda n: torch.ones(1).cuda().new_zeros(n),
    "parameter": lambda n: torch.nn.Linear(n, 2, device="cuda").weight,
    "moved": lambda n: torch.nn.Linear(n, 2).cuda().weight,
    "gradient": lambda n: torch.ones(n, device="cuda", requires_grad=True) * 2,
    "cat": lambda n: torch.cat([torch.ones(n).cuda()] * 2),
    "strided": lambda n: torch.empty_strided((n,), (2,), device="cuda"),
    "sort": lambda n: torch.rand(n, device="cuda").sort()[1],
    "complex": lambda n: torch.ones(n, device="cuda") * 1j,
    "out": lambda n: torch.add(torch.ones(n).cuda(), 1, out=torch.empty(0, device="cuda")),
}


@pytest.mark.parametrize("make", MAKERS)
def test_memory_is_aligned_as_on_a_gpu(registry, make):
    """torch's allocator for CUDA gives 512 bytes, cudaMalloc 256."""
    kept = [MAKERS[make](n) for n in (1, 3, 17, 1000, 65536, 400_000)]
    for tensor in kept:
        assert tensor.data_ptr() % 512 == 0 and tensor.storage_offset() == 0 and tensor.is_cuda
        assert tensor.untyped_storage().data_ptr() in registry.live


@pytest.mark.slow
def test_aligned_memory_holds_what_was_computed(registry):
    for n in (1, 5, 1000):
        x = torch.arange(n, device="cuda", dtype=torch.float32).requires_grad_()
        y = (x.exp() * x).sum()
        y.backward()
        expected = torch.arange(n, dtype=torch.float32)
        assert torch.equal(x.grad.cpu(), expected.exp() * expected + expected.exp())
        parts = torch.stack([x.detach(), x.detach() + 1]).unbind()
        assert torch.equal(parts[1].cpu(), expected + 1)
        assert parts[0].untyped_storage().data_ptr() == parts[1].untyped_storage().data_ptr()


@pytest.mark.slow
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_computes_its_part_again(registry, reentrant):
    def part(x, w):
        return ((x @ w).exp() * x).relu().softmax(-1) @ w

    x, w = torch.arange(6.0).reshape(2, 3) / 7, torch.arange(9.0).reshape(3, 3) / 5
    gradients = []
    for is_checkpoint in (False, True):  # both in memory of one alignment, by which torch's CPU code rounds
        inputs = [each.to("cuda", copy=True).requires_grad_() for each in (x, w)]
        made = checkpoint(part, *inputs, use_reentrant=reentrant) if is_checkpoint else part(*inputs)
        made.square().sum().backward()
        gradients.append([each.grad.cpu() for each in inputs])
    assert made.is_cuda and inputs[0].grad.is_cuda
    assert all(torch.equal(*pair) for pair in zip(*gradients))


def test_aligned_memory_grows_as_torch_s_own(registry):
    x = torch.arange(4, device="cuda")
    assert x.resize_(1000)[:4].tolist() == [0, 1, 2, 3] and x.data_ptr() % 512 == 0 and x.is_cuda
    with pytest.warns(UserWarning, match="was resized"):
        torch.add(torch.ones(5, device="cuda"), 1, out=(out := torch.zeros(2, device="cuda")))
    assert out.tolist() == [2] * 5 and out.data_ptr() % 512 == 0 and out.is_cuda


@pytest.mark.slow
def test_the_authors_derivatives_and_ops_run_with_the_mapping(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        """
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        print(x.is_cuda, gradient.is_cuda, torch.zeros(2, device="cuda").is_cuda, gradient.cpu().is_cuda)
        return gradient * 2


@torch.library.custom_op("own::twice", mutates_args=(), device_types="cuda")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(3, device="cuda")


@torch.library.custom_op("own::halve", mutates_args=("out",))
def halve(x: torch.Tensor, out: torch.Tensor) -> None:  # for all devices
    print(x.is_cuda, torch.empty_like(out).device.type, x.cpu().is_cuda)
    out.copy_(x / 2)


x = torch.zeros(3, device="cuda", requires_grad=True)
halve(torch.ones(3, device="cuda"), out := torch.empty(3, device="cuda"))
print(out.is_cuda, out.tolist())
(Double.apply(x) * 3).sum().backward()
Double.apply(x).backward(torch.ones(3).cuda())
y = twice(x.detach())
print(x.grad.is_cuda, x.grad.tolist(), y.is_cuda, y.tolist(), isinstance(torch.cuda.Stream(), torch.cuda.Stream))
"""
    )
    run = subprocess.run([sys.executable, "-m", "dsl", str(path)], capture_output=True, text=True)
    assert run.stdout.splitlines() == [
        "True cuda False",
        "True [0.5, 0.5, 0.5]",
        "True True True False",
        "True True True False",
        "True [8.0, 8.0, 8.0] True [1.0, 1.0, 1.0] True",
    ], run.stderr
    assert run.stderr == ""
