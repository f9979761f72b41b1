"""Repros whose kernels CUDA's own functions launch: they run on the emulator, and faults are their outcomes."""

from importlib.resources import files

import pytest

from harness import judge
from harness.run.frames import STOP_SIGNAL

HEAD = """
import numpy as np
from cuda.bindings import driver as d

PTX = '''.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b64 %a; .reg .b32 %r, %t; .reg .pred %p; .shared .align 4 .b8 s[256];
  ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mul.lo.u32 %r, %t, 4;
  BODY
  ret;
}'''

def good(result):
    if result[0]: raise RuntimeError(result[0].name)
    return result[1] if len(result) == 2 else result[1:]

def begin():
    good(d.cuInit(0))
    good(d.cuCtxSetCurrent(good(d.cuDevicePrimaryCtxRetain(0))))
    kernel = good(d.cuModuleGetFunction(good(d.cuModuleLoadData(PTX.encode())), b"k"))
    return kernel, good(d.cuMemAlloc(256))

def launch(kernel, out, threads=64):
    at = np.array([int(out)], np.uint64)
    return d.cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, 0, np.array([at.ctypes.data], np.uint64).ctypes.data, 0)

def read(out):
    host = np.zeros(64, np.int32)
    good(d.cuMemcpyDtoH(host.ctypes.data, out, 256))
    return {"out": host}
"""
RAISES = "def run():\n    kernel, out = begin()\n    good(launch(kernel, out))\n    return read(out)\n"
CATCHES = (
    "def run():\n    kernel, out = begin()\n    try: good(launch(kernel, out))\n    except RuntimeError: pass\n"
    "    return {'out': np.zeros(1)}\n"
)
IGNORES = "def run():\n    kernel, out = begin()\n    launch(kernel, out)\n    return {'out': np.zeros(1)}\n"
STORE = "cvt.u64.u32 %b, %r; add.s64 %a, %a, %b; st.global.u32 [%a], %t;"
IN_BOUNDS = ".reg .b64 %b; " + STORE
KERNELS = {
    "out_of_bounds": "add.s64 %a, %a, 4096; st.global.u32 [%a], %t;",
    "misaligned": "add.s64 %a, %a, 2; st.global.u32 [%a], %t;",
    "trap": "trap;",
    "deadlock": "bar.sync 0, 96;",
    "race": "mov.u32 %r, s; st.shared.u32 [%r], %t; ld.shared.u32 %t, [%r]; st.global.u32 [%a], %t;",
    "undefined_read": "ld.shared.u32 %t, [s]; setp.ne.u32 %p, %t, 1; @%p st.global.u32 [%a], %t;",
}


@pytest.fixture
def outcome_of(write, embedded):
    host, transport = embedded

    def run(ptx: str, body: str, table: str = ""):
        return judge.run(transport, next(write(HEAD.replace("BODY", ptx) + body, table).cases()), host)

    return run


def test_a_repro_without_a_compiler_runs_on_the_emulator(outcome_of):
    outcome = outcome_of(IN_BOUNDS, RAISES)
    assert outcome.kind == "outputs", outcome.text
    assert outcome.outputs["out"].values().tolist() == list(range(64))
    assert outcome.device["kind"] == "emulator"


def test_torch_alone_finds_the_emulator(write, embedded):
    host, transport = embedded
    case = next(write("import torch\ndef run(): return {'out': torch.arange(3, device='cuda') + 1}\n").cases())
    outcome = judge.run(transport, case, host)
    assert outcome.kind == "outputs", outcome.text
    assert outcome.outputs["out"].values().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", KERNELS)
def test_a_kernel_that_fails_is_the_outcome(outcome_of, kind):
    outcome = outcome_of(KERNELS[kind], RAISES)
    assert outcome.kind == kind
    assert kind.upper() in outcome.text and "`k`" in outcome.text


@pytest.mark.parametrize("body", [CATCHES, IGNORES])
def test_a_program_that_goes_on_has_the_outcome_too(outcome_of, body):
    assert outcome_of(KERNELS["race"], body).kind == "race"


def test_an_error_that_the_program_raises_is_an_error_of_the_program(outcome_of):
    outcome = outcome_of(IN_BOUNDS, "def run():\n    begin()\n    raise ValueError('mine')\n")
    assert outcome.kind == "error" and "ValueError: mine" in outcome.text


def test_a_refused_launch_is_one_no_gpu_accepts(outcome_of):
    outcome = outcome_of(IN_BOUNDS, RAISES.replace("launch(kernel, out)", "launch(kernel, out, threads=2048)"))
    assert outcome.kind == "invalid_launch", outcome.text
    caught = CATCHES.replace("launch(kernel, out)", "launch(kernel, out, threads=2048)")
    assert outcome_of(IN_BOUNDS, caught).kind == "outputs"  # the context is sound


def test_a_kernel_that_never_ends_reports_where_its_warps_are(outcome_of):
    """As when the supervisor's patience is over; here the repro's own thread rings once the kernel runs."""
    endless = "st.global.u32 [%a], 7; L: add.u32 %r, %r, 2; setp.ne.u32 %p, %r, 1; @%p bra L;"
    body = """
    import ctypes, os, threading
    def ring(out):
        while ctypes.c_int32.from_address(int(out)).value != 7: pass
        os.kill(os.getpid(), STOP)
    def run():
        kernel, out = begin()
        good(d.cuMemsetD32(out, 0, 64))
        threading.Thread(target=ring, args=[out]).start()
        good(launch(kernel, out))
        return read(out)
    """.replace("STOP", str(int(STOP_SIGNAL)))
    outcome = outcome_of(endless, body.replace("\n    ", "\n"))
    assert "`k` was stopped: 1 block of 64 threads\n    block (0, 0, 0):" in outcome.text, outcome.text
    assert "in the loop at PTX line " in outcome.text


def test_the_compiler_needs_no_torch(write, embedded):
    """A repro of numpy arrays compiles, launches and is judged in a process that never imports torch."""
    text = (files("harness") / "first_repro_numpy.txt").read_text()
    body = text[text.index("import ctypes") :] + (
        "\n\nimport sys\ntheirs = run\n\ndef run(n):\n"
        "    return theirs(n) | {'torch': np.int32(['to' + 'rch' in sys.modules])}\ndel expected\n"
    ).replace("'torch'", "'to' 'rch'")
    host, transport = embedded
    for case in write(body, "params = { n = [40] }").cases():
        outcome = judge.run(transport, case, host, fresh=True)
        assert outcome.kind == "outputs", outcome.text
        assert outcome.outputs["torch"].values().tolist() == [0]
        assert outcome.outputs["out"].values()[39:41].tolist() == [117, -1]
