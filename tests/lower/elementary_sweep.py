"""The functions of dsl/lower/elementary as C, compared with the C library's doubles over the floats.

    python tests/lower/elementary_sweep.py [--step 1] [--only exp,sin]

`--step 1` takes all 2**32 arguments of each function of one, about a minute of CPU time a function. The printed
CUDA C++ is compiled by `cc` with a few definitions of CUDA's names; every operation in it is correctly rounded, so it
gives the bits that GPUs and the emulator give. Functions of two arguments get 2**32 / step pairs, many of them special.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)] * (str(ROOT) not in sys.path)

from dsl.lower import elementary  # noqa: E402

NAMES = sorted(symbol[4:-1] for symbol in elementary.SYMBOLS)
OF_TWO = ("atan2", "pow")

_CUDA = r"""
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define __device__
#define __forceinline__ inline
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline unsigned __float_as_uint(float a) { unsigned r; memcpy(&r, &a, 4); return r; }
static inline float __uint_as_float(unsigned a) { float r; memcpy(&r, &a, 4); return r; }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  n &= 31;
  return n ? high << n | low >> (32 - n) : high;
}
"""
# ulps: how far `got` is from `exact` in units of the last place, 1e9 for a wrong special value or sign of zero
_COMPARE = r"""
static double ulps(float got, double exact) {
  if (exact != exact || got != got) return exact != exact && got != got ? 0 : 1e9;
  if (!!signbit(got) != !!signbit(exact)) return 1e9;
  if (isinf((float)exact) || isinf(got))
    return got == (float)exact || fabs(exact) > 0x1.fffffdp127 && fabs(exact) < 0x1.000001p128 ? 0 : 1e9;
  int exponent;
  frexp(exact, &exponent);
  if (exact == 0) exponent = -200;
  return fabs(got - exact) * ldexp(1, -(exponent - 24 < -149 ? -149 : exponent - 24));
}
struct worst { double ulps; float at[2]; };
static void note(struct worst *worst, float got, double exact, float x, float y) {
  double error = ulps(got, exact);
  if (error > worst->ulps) { worst->ulps = error; worst->at[0] = x; worst->at[1] = y; }
}
"""
_OF_ONE = r"""
double {exact}(double);
void sweep_{name}(uint64_t start, uint64_t step, struct worst *worst) {{
  for (uint64_t i = start; i < 1ull << 32; i += step) {{
    float x = __uint_as_float(i);
    note(worst, dsl_{name}f(x), {exact}(x), x, 0);
  }}
}}
void values_{name}(const float *x, const float *y, float *out, int n) {{
  for (int i = 0; i < n; ++i) out[i] = dsl_{name}f(x[i]);
}}
"""
_OF_TWO = r"""
double {exact}(double, double);
void sweep_{name}(uint64_t seed, uint64_t step, struct worst *worst) {{
  uint64_t state = seed * 2 + 1;
  for (uint64_t i = 0; i < (1ull << 32) / step; ++i) {{
    float x = operand(&state), y = operand(&state);
    note(worst, dsl_{name}f(x, y), {exact}(x, y), x, y);
  }}
}}
void values_{name}(const float *x, const float *y, float *out, int n) {{
  for (int i = 0; i < n; ++i) out[i] = dsl_{name}f(x[i], y[i]);
}}
"""
# any bits, numbers about 1, numbers just about 1, special ones: three kinds of numbers for every kind of the other
_OPERANDS = r"""
static const float special[] = {0, 1, 2, 3, 0.5f, 1.5f, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 0x1.fffffep-1f,
  0x1.000002p0f, 0x1p23f, 0x1.000002p23f, 0x1p24f, 8388609, 100, 0x1.fffffep127f, INFINITY, NAN, 0x1p127f, 1.0f / 3};
static float operand(uint64_t *state) {
  *state ^= *state << 13; *state ^= *state >> 7; *state ^= *state << 17;
  uint64_t bits = *state * 0x2545F4914F6CDD1Dull;
  unsigned sign = bits >> 63 << 31, mantissa = bits & 0x7fffff;
  switch (bits >> 60 & 3) {
    case 0: return __uint_as_float(bits >> 24);
    case 1: return __uint_as_float(sign | (unsigned)(112 + (bits >> 55 & 31)) << 23 | mantissa);
    case 2: return __uint_as_float(126 + (bits >> 55 & 1) << 23 | mantissa);
    default: { float x = special[(bits >> 40) % (sizeof special / 4)]; return sign ? -x : x; }
  }
}
"""


POINTER = ctypes.POINTER(ctypes.c_float)


class Worst(ctypes.Structure):
    _fields_ = [("ulps", ctypes.c_double), ("at", ctypes.c_float * 2)]


def library(names: list[str], cc: str = "cc") -> ctypes.CDLL:
    """The functions, `sweep_NAME(start, step, worst)` and `values_NAME(x, y, out, n)`, compiled."""
    parts = [_CUDA, _COMPARE, _OPERANDS]
    for name in names:
        test = _OF_TWO if name in OF_TWO else _OF_ONE
        parts += [elementary.cuda(f"dsl_{name}f"), test.format(name=name, exact=name)]
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "sweep.c"), Path(folder, "sweep.so")
        source.write_text("\n".join(parts))
        subprocess.run(
            [
                cc,
                "-O2",
                "-D_GNU_SOURCE",
                "-march=native",
                "-ffp-contract=off",
                "-fno-math-errno",
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                str(made),
                "-lm",
            ],
            check=True,
        )
        return ctypes.CDLL(str(made))


def worst(made: ctypes.CDLL, name: str, step: int, start: int = 0) -> Worst:
    """The worst argument of a function, every `step`-th float from `start`."""
    found = Worst()
    getattr(made, f"sweep_{name}")(ctypes.c_uint64(start), ctypes.c_uint64(step), ctypes.byref(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--only", default=",".join(NAMES))
    options = parser.parse_args()
    names = options.only.split(",")
    made = library(names)
    for name in names:
        found = worst(made, name, options.step, 1 if name in OF_TWO else 0)
        at = ", ".join(f"{value:.9g}" for value in found.at[: 2 if name in OF_TWO else 1])
        print(f"{name:8}{found.ulps:8.4f} at {at}", flush=True)


if __name__ == "__main__":
    main()
