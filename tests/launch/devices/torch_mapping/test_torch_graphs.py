"""torch's graphs and torch.compile around kernels, against torch itself uncaptured and uncompiled.

Modules tested here: dsl/launch/devices/torch_mapping/torch_compiler.py,
dsl/launch/devices/torch_mapping/torch_streams.py.
"""

import copy
import re
import runpy
import warnings
from pathlib import Path

import pytest
import torch

from dsl import alias


@pytest.fixture(scope="module")
def double():
    """A function that launches a kernel: `double(out, x)` writes 2x into out."""
    alias.install("emulator")
    import cutlass.cute as cute

    @cute.kernel
    def kernel(out: cute.Tensor, x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        out[i] = x[i] * 2.0

    @cute.jit
    def host(out: cute.Tensor, x: cute.Tensor):
        kernel(out, x).launch(grid=(1, 1, 1), block=(8, 1, 1))

    yield host
    alias.uninstall()
    is_compiled = torch.compile(lambda x: torch.compiler.is_compiling(), backend="eager")
    assert is_compiled(torch.ones(1)), "torch compiles again where the device is not"


def ramp() -> torch.Tensor:
    return torch.arange(8.0, device="cuda")


@pytest.mark.slow
@pytest.mark.parametrize("launches_before", (0, 3))  # later launches are made by machine code alone
def test_a_graph_runs_what_was_captured_on_the_same_memory(double, launches_before):
    x, out, total = ramp(), torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda")
    for _ in range(launches_before):
        double(out, x)
    out.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        double(out, x)
        more = out + 1
        made = torch.zeros(8, device="cuda")
        double(made, more)
        total += made
        tail = total.view(2, 4)[1] * 2
    assert not torch.cuda.is_current_stream_capturing()
    assert out.tolist() == [0] * 8 and total.tolist() == [0] * 8  # captured is not run
    expected = torch.zeros(8)
    for fill in (None, 1.0, 5.0):
        if fill is not None:
            x.fill_(fill)
        graph.replay()
        expected += (x.cpu() * 2 + 1) * 2
        assert torch.equal(total.cpu(), expected) and torch.equal(tail.cpu(), expected[4:] * 2)
    double(out, ramp())
    assert torch.equal(out.cpu(), torch.arange(8.0) * 2)


READS = {
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x[0]),
    "bool": lambda x: bool(x[0] > 0),
    "tolist": lambda x: x.tolist(),
    "nonzero": lambda x: x.nonzero(),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "a second graph": lambda x: torch.cuda.CUDAGraph().capture_begin(),
}


@pytest.mark.slow
@pytest.mark.parametrize("read", READS)
def test_the_host_reads_nothing_during_a_capture(double, read):
    x, graph = ramp(), torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="operation not permitted when stream is capturing"):
        with torch.cuda.graph(graph):
            READS[read](x)
    assert x.sum().item() == 28  # and the capture is over


@pytest.mark.slow
def test_a_training_step_is_captured(double):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).cuda()
    plain = copy.deepcopy(model)
    steps = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, plain)]
    x = torch.randn(16, 4, device="cuda")
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        steps[0].zero_grad(set_to_none=False)
        loss = model(x).square().mean()
        loss.backward()
        steps[0].step()
    for _ in range(3):
        x.copy_(torch.randn(16, 4))
        graph.replay()
        steps[1].zero_grad()
        expected = plain(x).square().mean()
        expected.backward()
        steps[1].step()
        assert loss.item() == expected.item()
    graphed = torch.cuda.make_graphed_callables(plain, (x.clone(),))
    model.zero_grad()
    plain.zero_grad()
    for each in (model, graphed):
        each(x).sum().backward()
    for one, other in zip(model.parameters(), plain.parameters()):
        assert torch.equal(one.grad, other.grad)


def test_missing_functions_of_graphs_are_refused_by_name(double):
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="capture_begin"):
        graph.capture_end()
    with pytest.raises(NotImplementedError, match="torch.cuda.CUDAGraph.debug_dump is not part"):
        graph.debug_dump("graph.dot")
    with pytest.raises(NotImplementedError, match="`enable_annotations` is not part"):
        torch.cuda.graph(graph, enable_annotations=True)
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="strict")


@pytest.mark.slow
def test_compiled_functions_run_uncompiled(double):
    @torch.library.custom_op("graphs_test::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        double(out, x.detach())
        return out

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    twice.register_autograd(lambda ctx, gradient: twice(gradient.contiguous()))

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return twice(x)

        @staticmethod
        def backward(ctx, gradient):
            return twice(gradient.contiguous())

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        functions = [
            torch.compile(lambda x: op(x).sin() + 1, fullgraph=True, mode="max-autotune") for op in (twice, Twice.apply)
        ]
    assert sum("functions run uncompiled on the emulator" in str(each.message) for each in warned) <= 1
    expected_x = torch.arange(8.0, requires_grad=True)
    expected = (expected_x * 2).sin() + 1
    expected.sum().backward()
    for function in functions:
        x = ramp().requires_grad_()
        y = function(x)
        y.sum().backward()
        assert y.is_cuda and torch.equal(y.cpu(), expected) and torch.equal(x.grad.cpu(), expected_x.grad)
    module = torch.compile(torch.nn.Linear(8, 1, device="cuda"))
    assert list(module.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"] and module(ramp()).is_cuda
    with pytest.raises(Exception, match="Invalid backend: 'nonsense'"):
        torch.compile(ramp, backend="nonsense")


def test_events_have_the_driver_s_handle(double):
    from cuda.bindings import driver

    event = torch.cuda.Event()
    assert event.cuda_event == 0
    event.record()
    assert driver.cuEventQuery(driver.CUevent(event.cuda_event)) == (driver.CUresult.CUDA_SUCCESS,)


def test_the_example_of_the_page(double, tmp_path, capsys):
    page = Path(__file__).parents[4].joinpath("docs/torch.md").read_text()
    program = page.split("```python\n")[1].split("```")[0]
    (tmp_path / "program.py").write_text(program)
    runpy.run_path(str(tmp_path / "program.py"))
    assert capsys.readouterr().out.splitlines() == re.findall(r"print.*# (.*)", program)
