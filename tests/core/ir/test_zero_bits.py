"""The low bits of a number that are known to be 0 are 0 of its real values, and NVIDIA's rules never know of more."""

import numpy as np
import pytest

import dsl.cutlass as cutlass  # noqa: F401 - a name of EXPRESSIONS
from dsl.core.ir import zero_bits
from dsl.cutlass import Int32, Int64, Uint32, cute  # noqa: F401 - names of EXPRESSIONS

EXPRESSIONS = {  # of a thread's number t, n4 (a promised multiple of 4) and n: at least so many bits are known
    "t": 0, "n": 0, "n4": 2, "t * 4": 2, "4 * t + 8": 2, "t << 3": 3, "t * 12": 2, "t * -8": 3, "-(t * 4)": 2,
    "n4 * 2 + t * 4": 2, "n4 * t": 2, "n4 * n4": 4, "(t + 1) * 4 - 4": 2, "t & -8": 3, "t & 24": 3, "~(t * 4 - 1)": 0,
    "(t * 8) // 2": 2, "(t * 8) >> 1": 2, "(t * 8) // 3": 0, "t // 4 * 4": 2, "t - t % 8": 3, "t - (t & 7)": 3,
    "(t * 4) % 32": 2, "(t * 4) % 6": 1, "t % 4": 0, "(t * 4) ^ 8": 2, "(t * 4) | 2": 1, "abs(t * 4)": 2,
    "cutlass.min(t * 4, 16)": 2, "cutlass.max(t * 4, n4)": 2, "t * 4 if t < 3 else n4": 2, "t * 4 if t < 3 else n": 0,
    "Int64(t) * 8": 3, "Int32(Int64(t) * 8)": 3, "Uint32(t) * 4": 2, "cutlass.Int8(t * 4)": 2, "(t * 4) >> n": 0,
    "cute.crd2idx((t, 3), cute.make_layout((8, 4), stride=(n4, 8)))": 2, "cute.round_up(t, 8)": 3,
    "cute.assume(t * 2, divby=2) * 2": 2, "cute.size((n4, 3)) * t": 2, "(n4 - 4) * t": 2, "chosen": 2, "last": 0,
    "(t // 32) * 128 + (t % 32) * 4": 2, "cute.ceil_div(t, 4) * 4": 2, "cute.arch.make_warp_uniform(t) * 4": 2,
    "lay((t, 1))": 2,
}  # fmt: skip
THREADS = 64


def program(tmp_path):
    lines = [f"    e = {text}\n    check({i}, e)\n    out[{i}, t] = Int32(e)\n" for i, text in enumerate(EXPRESSIONS)]
    source = f"""
@cute.kernel
def kernel(out: cute.Tensor, n: Int32):
    t, _, _ = cute.arch.thread_idx()
    n4 = cute.assume(n, divby=4)
    lay = cute.make_layout((8, 4), stride=(4, 32))
    chosen, last = t * 8, Int32(0)
    if t > 2:
        chosen = n4
    for i in range(n):
        last = i + t
{"".join(lines)}

@cute.jit
def host(out: cute.Tensor, n: Int32):
    kernel(out, n).launch(grid=1, block={THREADS})
"""
    file = tmp_path / "author.py"
    file.write_text(source)
    names = {**globals(), "check": check}
    exec(compile(source, str(file), "exec"), names)
    return names["host"]


KNOWN: dict[int, tuple[int, int]] = {}


def check(index: int, number) -> None:
    KNOWN[index] = zero_bits.known(number.ir()), number.divisibility


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_known_bits_are_zero_in_every_thread(tmp_path):
    out = np.zeros((len(EXPRESSIONS), THREADS), np.int32)
    program(tmp_path)(out, 12)
    for index, (text, wanted) in enumerate(EXPRESSIONS.items()):
        bits, divisor = KNOWN[index]
        assert not (out[index] & ((1 << bits) - 1)).any(), text
        assert bits >= wanted, text
        assert bits >= zero_bits.of_number(divisor), text


def test_a_promise_holds_in_its_arm_only():
    inside, after = [], []

    @cute.jit
    def promises(n: Int32):
        if n > 4:
            inside.append(zero_bits.known(cute.assume(n, divby=8).ir()))
        after.append(zero_bits.known(n.ir()))

    cute.compile(promises, 1)
    assert (inside, after) == ([3], [0])


def test_of_number():
    assert [zero_bits.of_number(n) for n in (1, 2, -4, 12, 1 << 40, 0)] == [0, 1, 2, 2, zero_bits.MOST, zero_bits.MOST]
