"""There is one GPU: whatever names another is refused, as torch refuses it."""

import pytest
import torch

from dsl import gpu_models
from dsl.launch.devices.torch_mapping import torch_cuda


class Registry:
    name, limits = "a device", gpu_models.limits_of(gpu_models.DEFAULT)

    def register(self, address, nbytes, label): ...
    def unregister(self, address): ...
    def sync(self): ...


@pytest.fixture(autouse=True)
def mapped():
    undo = torch_cuda.install(Registry())
    yield
    undo()


def under_default(where):
    torch.set_default_device(where)
    try:
        return torch.zeros(2)
    finally:
        torch.set_default_device(None)


def under_context(where):
    with torch.device(where):
        return torch.zeros(2)


def under_cuda_device(where):
    with torch.cuda.device(where):
        return torch.zeros(2, device="cuda")


USES = {
    "zeros": lambda where: torch.zeros(2, device=where),
    "tensor": lambda where: torch.tensor([1], device=where),
    "arange": lambda where: torch.arange(3, device=where),
    "empty_like": lambda where: torch.empty_like(torch.zeros(2), device=where),
    "new_zeros": lambda where: torch.zeros(2).new_zeros(2, device=where),
    "asarray": lambda where: torch.asarray([1.0], device=where),
    "to": lambda where: torch.zeros(2).to(where),
    "to(device=)": lambda where: torch.zeros(2).to(device=where),
    "cuda()": lambda where: torch.zeros(2).cuda(where),
    "a module": lambda where: torch.nn.Linear(2, 2).to(where),
    "a generator": lambda where: torch.Generator(device=where),
    "the default device": under_default,
    "with torch.device": under_context,
    "with torch.cuda.device": under_cuda_device,
    "set_device": lambda where: torch.cuda.set_device(where),
    "synchronize": lambda where: torch.cuda.synchronize(where),
    "current_stream": lambda where: torch.cuda.current_stream(where),
    "a stream": lambda where: torch.cuda.Stream(device=where),
    "mem_get_info": lambda where: torch.cuda.mem_get_info(where),
    "memory_allocated": lambda where: torch.cuda.memory_allocated(where),
}
ASKED = ("get_device_properties", "get_device_name", "get_device_capability")


@pytest.mark.parametrize("name", USES)
def test_another_gpu_is_refused(name):
    error = "^CUDA error: invalid device ordinal\nthere is one device here, cuda:0, got cuda:1$"
    spelt = ["cuda:1", torch.device("cuda", 1), *([1] if name not in ("with torch.device", "a generator") else [])]
    for other in spelt:
        with pytest.raises(RuntimeError, match=error):
            USES[name](other)
    for the_one in ("cuda:0", "cuda", torch.device("cuda"), torch.device("cuda", 0)):
        USES[name](the_one)


@pytest.mark.parametrize("name", ASKED)
def test_lookups_of_another_gpu(name):
    ask = getattr(torch.cuda, name)
    for other in ("cuda:1", 1, torch.device("cuda", 1)):
        with pytest.raises(AssertionError, match="^Invalid device id: there is one device here, cuda:0, got cuda:1$"):
            ask(other)
    assert ask() == ask(0) == ask("cuda") == ask(torch.device("cuda:0"))


def test_other_devices_are_torchs():
    assert torch.zeros(2, device="cpu").device.type == torch.zeros(2).to("cpu").device.type == "cpu"
    assert torch.zeros(2, device="meta").is_meta
    assert torch.device("cuda:1").index == 1  # a name alone does not use it
