// Arithmetic in the rounding modes a CPU has only as a mode register: .rz, .rm, .rp. PTX ISA: rounding modifiers.
//
// Each function sets the mode of SSE, does one operation and goes back to nearest-even.
#include "machine/emu.h"
#pragma STDC FENV_ACCESS ON

namespace {
constexpr u32 RM = 1u << 13, RP = 2u << 13, RZ = 3u << 13;  // of MXCSR; 0: to nearest even

template <u32 mode> struct Rounding {
  u32 before = __builtin_ia32_stmxcsr();
  Rounding() { __builtin_ia32_ldmxcsr((before & ~RZ) | mode); }
  ~Rounding() { __builtin_ia32_ldmxcsr(before & ~RZ); }
};
}  // namespace

#define FUNCTION(name, result, mode, value, ...) \
  extern "C" [[gnu::noinline]] result emu_##name(__VA_ARGS__) { Rounding<mode> rounding; return value; }
#define OF_TYPE(t, suffix, mode, MODE, sqrt, fma) \
  FUNCTION(fadd_##t##_##mode, t, MODE, a + b, t a, t b) FUNCTION(fsub_##t##_##mode, t, MODE, a - b, t a, t b) \
  FUNCTION(fmul_##t##_##mode, t, MODE, a * b, t a, t b) FUNCTION(fdiv_##t##_##mode, t, MODE, a / b, t a, t b) \
  FUNCTION(sqrt_##t##_##mode, t, MODE, sqrt(a), t a) FUNCTION(fma_##t##_##mode, t, MODE, fma(a, b, c), t a, t b, t c) \
  FUNCTION(sitofp_i32_##t##_##mode, t, MODE, a, i32 a) FUNCTION(sitofp_i64_##t##_##mode, t, MODE, a, i64 a) \
  FUNCTION(uitofp_i32_##t##_##mode, t, MODE, a, u32 a) FUNCTION(uitofp_i64_##t##_##mode, t, MODE, a, u64 a)
#define OF_MODE(mode, MODE) \
  OF_TYPE(float, f, mode, MODE, __builtin_sqrtf, __builtin_fmaf) \
  OF_TYPE(double, , mode, MODE, __builtin_sqrt, __builtin_fma) \
  FUNCTION(fptrunc_double_float_##mode, float, MODE, a, double a)
OF_MODE(rz, RZ)
OF_MODE(rp, RP)
OF_MODE(rm, RM)
