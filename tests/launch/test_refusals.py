"""Calls and launches that mean nothing are refused with the author's line, in the author's words, with the fix."""

import pytest
import torch

from dsl import alias
from dsl.core.errors import DSLUserCodeError

HEAD = """\
import cutlass, numpy as np, torch
import cutlass.cute as cute
from cutlass import Boolean, Float16, Float32, Int32, Uint8

data = np.zeros(128, np.float32)

@cute.kernel
def kernel(a: cute.Tensor, n: Int32):
    pass

"""
HEAD_LINES = HEAD.count("\n")

PROGRAMS = {}


def program(text: str) -> None:
    """A program, and the whole text of its error after `---`; the line numbers of the text count from HEAD's end."""
    source, _, error = text.strip("\n").partition("\n---\n")
    PROGRAMS[source] = error


with open(__file__.replace(".py", ".txt")) as cases:
    for case in cases.read().split("\n======\n"):
        program(case)


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: PROGRAMS[source].split("\n")[0].partition(": ")[2])
def test_whole_text(source, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + source + "\n")
    alias.install("emulator")
    try:
        with pytest.raises(DSLUserCodeError) as error:
            exec(compile(path.read_text(), str(path), "exec"), {"__name__": "program"})
    finally:
        alias.uninstall()
    assert relative(str(error.value), tmp_path) == PROGRAMS[source]


def relative(text: str, folder) -> str:
    """`text` with lines counted from the end of HEAD and without the folder."""
    import re

    text = text.replace(f"{folder}/", "")
    return re.sub(r"program\.py:(\d+)", lambda found: f"program.py:{int(found[1]) - HEAD_LINES}", text)


def test_probable_mistakes_give_a_warning(recwarn):
    from dsl.core.errors import DSLWarning
    from dsl.cutlass import Float32, cute, utils
    from dsl.launch import session

    @cute.kernel
    def kernel():
        utils.SmemAllocator().allocate_array(Float32, 64)

    @cute.jit
    def host():
        kernel().launch(grid=16, block=1, cluster=(16, 1, 1), smem=16)

    session.start("emulator")
    try:
        cute.compile(host)
    finally:
        session.stop()
    assert [str(warned.message) for warned in recwarn if warned.category is DSLWarning] == [
        "LAUNCH_CLUSTER_NOT_PORTABLE: the cluster of `kernel` has 16 blocks; more than 8 run on some GPUs only",
        "SMEM_TOO_SMALL: `kernel` allocates 256 bytes of shared memory and is launched with smem=16",
    ]


ODD_LAUNCHES = [
    (0, 1, 0),
    (-1, 1, 0),
    (1, 0, 0),
    (1, -5, 0),
    (1, 2000, 0),
    (1, 1 << 30, 0),
    (1, 1, -1),
    (1, 1, 300_000),
]


@pytest.mark.parametrize("grid, block, smem", ODD_LAUNCHES)
def test_a_dynamic_launch_no_gpu_runs_is_refused_when_it_is_run(grid, block, smem):
    from dsl.cutlass import Int32, cute
    from dsl.launch import session
    from dsl.launch.devices.protocol import DeviceError

    @cute.kernel
    def kernel(x):
        cute.arch.thread_idx()

    @cute.jit
    def host(grid: Int32, block: Int32, smem: Int32):
        kernel(1).launch(grid=(grid, 1, 1), block=(block, 1, 1), smem=smem)

    session.start("emulator")
    try:
        with pytest.raises(DeviceError, match=r"test_refusals.py:\d+:9: CUDA_ERROR_INVALID_VALUE\n") as error:
            host(grid, block, smem)
        assert error.value.repro_outcome["kind"] == "invalid_launch"
    finally:
        session.stop()


def _of_itself():
    made = [1]
    made.append(made)
    return made


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: 1 << 70, ValueError, "a number that Int32 can hold, got 1180591620717411303424"),
        (lambda: float("nan"), ValueError, "a number that Int32 can hold, got nan"),
        (lambda: float("inf"), ValueError, "a number that Int32 can hold, got inf"),
        (_of_itself, TypeError, "takes Int32 for `x`, got list of 2"),
        (object, TypeError, "takes Int32 for `x`, got object"),
        (lambda: torch.zeros(3), TypeError, "takes Int32 for `x`, got a tensor"),
        (lambda: (_of_itself(),), TypeError, "takes Int32 for `x`, got tuple of 1"),
    ],
)
def test_odd_values_for_a_number(make, error, text):
    from dsl.cutlass import Int32, cute

    @cute.jit
    def host(x: Int32):
        return x

    with pytest.raises(error, match=text):
        host(make())


@pytest.mark.parametrize(
    "make, text",
    [
        (_of_itself, "gets a container for `x` that contains itself"),
        (
            lambda: torch.zeros(3, requires_grad=True),
            "a torch tensor cannot be passed: Can't export tensors that require gradient",
        ),
        (
            lambda: torch.zeros(3).to_sparse(),
            "a torch tensor cannot be passed: Can't export tensors with layout other than",
        ),
        (lambda: __import__("numpy").array(["a"]), "a numpy tensor cannot be passed: DLPack only supports"),
    ],
)
def test_odd_containers_and_tensors(make, text):
    from dsl.cutlass import cute

    @cute.jit
    def host(x):
        return 1

    with pytest.raises(DSLUserCodeError) as error:
        host(make())
    assert text in error.value.message and error.value.fix
