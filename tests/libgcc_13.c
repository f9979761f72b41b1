/* What NVIDIA's compiler calls on the host for BFloat16, and libgcc has from GCC 13 on. By the ABI of x86-64 a bfloat16
   is returned in the low half of the register that a float is returned in. */

#include <stdint.h>
#include <string.h>

float __truncsfbf2(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    memcpy(&x, &bits, 4);
    return x;
}
