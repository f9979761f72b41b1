"""A program that catches a fault reads the device's report in what it caught, whoever compiled its kernels."""

import re

import pytest

from tests import fork_server

PROGRAM = """\
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

Int32 = cutlass.Int32


@cute.kernel
def out_of_bounds(out: cute.Tensor, n: Int32):
    tid, _, _ = cute.arch.thread_idx()
    out[tid + n] = tid


@cute.kernel
def misaligned(out: cute.Tensor, n: Int32):
    address = out.iterator.toint() + 1
    pointer = cute.make_ptr(Int32, address, cute.AddressSpace.gmem, assumed_align=4)
    cute.make_tensor(pointer, cute.make_layout(1))[0] = n


@cute.kernel
def race(out: cute.Tensor, n: Int32):
    tid, _, _ = cute.arch.thread_idx()
    smem = cute.make_tensor(cute.arch.alloc_smem(Int32, 64), cute.make_layout(64))
    smem[tid] = tid
    out[tid] = smem[(tid + 33) % 64]


@cute.kernel
def deadlock(out: cute.Tensor, n: Int32):
    tid, _, _ = cute.arch.thread_idx()
    mbar = cute.arch.alloc_smem(cutlass.Int64, 1)
    if tid == 0:
        cute.arch.mbarrier_init(mbar, 2)
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(mbar, 0)
    out[tid] = 1


@cute.kernel
def good(out: cute.Tensor, n: Int32):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = tid + n


KERNELS = (out_of_bounds, misaligned, race, deadlock)


def host_of(kernel, block):
    @cute.jit
    def host(out: cute.Tensor, n: Int32):
        kernel(out, n).launch(grid=(1, 1, 1), block=(block, 1, 1))
    return host


def run():
    for kernel in KERNELS:
        out = torch.zeros(64, dtype=torch.int32, device="cuda")
        for again in range(2):
            try:
                host_of(kernel, 64)(from_dlpack(out), 1 << 20)
                print("==", "no error")
            except Exception as error:
                print("==", str(error))
        host_of(good, 64)(from_dlpack(out), 7)
        print("== works", int(out[3]))


if __name__ == "__main__":
    run()
"""
SPELLINGS = (  # what the two compilers call otherwise in a report
    (r"`kernel_(?:cutlass_)?([a-z_]+?)_(?:tensor\w*)?\d*_*\d*`", r"`\1`"),
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
    (r"PTX line \d+(: .*)?", "PTX"),
    (r"`mbarrier[^`]*`", "WAIT"),
    (r"caught\.py:\d+\)", "LINE"),
    (r"^caught\.py:\d+:\d+: ", ""),
)


def reports(folder, compiler: str) -> list[str]:
    """The output of the program for each fault, from the report on, without the words that differ between compilers."""
    done = fork_server.run(["-m", "dsl", "--check", "all", "--compiler", compiler, "caught.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    found = []
    for text in done.stdout.split("== ")[1:]:
        report = re.search(r"^(caught\.py:\d+:\d+: |works ).*", text, re.MULTILINE | re.DOTALL)
        assert report, text
        said = report[0].strip()
        for spelling, word in SPELLINGS:
            said = re.sub(spelling, word, said, flags=re.MULTILINE)
        found.append("\n".join(line for line in said.splitlines() if "^" not in line and "mbarrier_wait" not in line))
    return found


@pytest.mark.slow
def test_a_caught_fault_keeps_its_report(installed, tmp_path):
    """Out of bounds, misaligned, a race, a deadlock: each twice, and the next launch works."""
    (tmp_path / "caught.py").write_text(PROGRAM)
    ours = reports(tmp_path, "ours")
    assert [text.split("\n")[0] for text in ours] == [
        name for kind in ("OUT_OF_BOUNDS", "MISALIGNED", "RACE", "DEADLOCK") for name in (kind, kind, "works 10")
    ]
    theirs = reports(tmp_path, "nvidia")
    assert [text for text in theirs if "DEADLOCK" not in text] == [text for text in ours if "DEADLOCK" not in text]
    assert ["0 of 2 arrivals have come" in text for text in theirs] == ["DEADLOCK" in text for text in ours]
