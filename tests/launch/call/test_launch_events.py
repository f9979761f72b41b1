"""Events that a launch records: the driver knows them as recorded when the launch is done."""

import pytest
import torch

from dsl import alias
from dsl.core.errors import DSLUserCodeError


@pytest.fixture
def cute():
    alias.install("emulator")
    import cutlass.cute as cute

    yield cute
    alias.uninstall()


def test_the_launch_records_its_events(cute, tmp_path):
    from cuda.bindings import driver, runtime

    @cute.kernel
    def kernel(out: cute.Tensor):
        out[0] = out[0] + 1

    @cute.jit
    def host(out: cute.Tensor, first: runtime.cudaEvent_t, second: driver.CUevent, stream: runtime.cudaStream_t):
        kernel(out).launch(launch_completion_event=first, programmatic_event=second, stream=stream)
        kernel(out).launch(launch_completion_event_flags=0, programmatic_event=None)

    @cute.jit
    def flagged(out: cute.Tensor, event: driver.CUevent):
        kernel(out).launch(programmatic_event=event, programmatic_event_trigger_at_block_start=1)

    @cute.jit
    def wrong(out: cute.Tensor):
        kernel(out).launch(launch_completion_event="event")

    out = torch.zeros(1, device="cuda")
    start, events = driver.cuEventCreate(0)[1], [driver.cuEventCreate(0)[1] for _ in range(2)]
    driver.cuEventRecord(start, 0)
    unrecorded = driver.cuEventElapsedTime(start, events[0])
    assert unrecorded[0] == driver.CUresult.CUDA_ERROR_INVALID_HANDLE
    for count in (2, 4):
        host(out, runtime.cudaEvent_t(int(events[0])), events[1], runtime.cudaStream_t(0))
        assert out.tolist() == [count]
    for event in events:
        status, milliseconds = driver.cuEventElapsedTime(start, event)
        assert status == driver.CUresult.CUDA_SUCCESS and milliseconds > 0
    compiled = cute.compile(host, out, runtime.cudaEvent_t(1), driver.CUevent(1), runtime.cudaStream_t(0))
    compiled.export_to_c(str(tmp_path), "events", function_prefix="events")
    first, second = (driver.cuEventCreate(0)[1] for _ in range(2))
    cute.runtime.load_module(str(tmp_path / "events.o")).events(out, first, second, driver.CUstream(0))
    assert out.tolist() == [6]
    for event in (first, second):
        assert driver.cuEventElapsedTime(start, event)[0] == driver.CUresult.CUDA_SUCCESS
    with pytest.raises(Exception, match="a launch has an event that is none"):
        host(out, runtime.cudaEvent_t(64), events[1], runtime.cudaStream_t(0))
    with pytest.raises(DSLUserCodeError, match="programmatic_event_trigger_at_block_start.* is 1: events of a launch"):
        flagged(out, events[0])
    with pytest.raises(DSLUserCodeError, match="must be an event of cuda.bindings"):
        wrong(out)
