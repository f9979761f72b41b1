"""The options of instructions as enumerations: the words of PTX, and numbers. Names and values are from upstream.

This is a table: a line an enumeration. A word's member is the word in upper case.
"""

from __future__ import annotations

import enum
import re
from typing import Any


def _words(name: str, words: str) -> Any:
    """An enumeration of words, `w` or `NAME=w`."""
    pairs = [each.rpartition("=")[::2] for each in words.split()]
    members = [(own or re.sub(r"\W+", "_", word).upper(), word) for own, word in pairs]
    return enum.StrEnum(name, members, module=__name__)


def _numbers(name: str, names: str, start: int = 0) -> Any:
    """An enumeration of numbers from `start` on, or of those given as `NAME=7`."""
    pairs = [each.partition("=")[::2] for each in names.split()]
    members = [(own, int(number or start + place)) for place, (own, number) in enumerate(pairs)]
    return enum.IntEnum(name, members, module=__name__)


AtomicOp = _words("AtomicOp", "and or xor cas exch add inc dec min max")
BarrierRedux = _words("BarrierRedux", "and or popc")
CTAGroup = _words("CTAGroup", "cta_1 cta_2")
CVTPackFloat = _words("CVTPackFloat", "f32 f16x2 e4m3x2 e5m2x2 bf16x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2")
CacheLevel = _words("CacheLevel", "l1 l2")
ClusterLaunchControlQueryType = _words(
    "ClusterLaunchControlQueryType", "is_canceled get_first_cta_id_x get_first_cta_id_y get_first_cta_id_z"
)
CmpOp = _words("CmpOp", "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan")
ConvertScale = _words("ConvertScale", "ue8m0")
CpReduceOp = _words("CpReduceOp", "add min max inc dec and or xor")
CpReduceType = _words("CpReduceType", "f16 bf16 b32 b64 u32 u64 s32 s64 f32 f64")
CvtaSize = _words("CvtaSize", "u32 u64")
CvtaSpace = _words("CvtaSpace", "global shared shared::cta shared::cluster local const param param::entry")
DotAccumulateType = _words("DotAccumulateType", "signed unsigned")
EvictPriority = _words(
    "EvictPriority",
    "first last normal unchanged noallocate normal_demote normal_near first_near last_near normal_demote_near",
)
FPRoundingMode = _words("FPRoundingMode", "rn rm rp rz rna rs")
GridDepAction = _words("GridDepAction", "wait launch_dependents")
IntRoundingMode = _words("IntRoundingMode", "rni rzi rmi rpi")
L1EvictKind = _words("L1EvictKind", "normal first last noallocate unchanged")
L2PrefetchSize = _words("L2PrefetchSize", "size_64b size_128b size_256b")
LoadCacheModifier = _words("LoadCacheModifier", "ca cg cs lu cv")
LoadShape = _words("LoadShape", "m8n8 m8n16 m16n16")
LoadSrcFormat = _words("LoadSrcFormat", "b6x16_p32 b4x16_p64 b8")
MBarrierScope = _words("MBarrierScope", "cta cluster")
MBarrierWait = _words("MBarrierWait", "test try")
MMAB1Op = _words("MMAB1Op", "none xor_popc and_popc")
MMAFrag = _words("MMAFrag", "a b c")
MMAIntOverflow = _words("MMAIntOverflow", "satfinite wrapped")
MMAKind = _words("MMAKind", "f8f6f4")
MMALayout = _words("MMALayout", "row col")
MMAType = _words("MMAType", "f16 f32 tf32 bf16 s8 u8 s32 s4 u4 b1 f64 e4m3 e5m2 e3m2 e2m3 e2m1")
MatchSync = _words("MatchSync", "any all")
MemOrder = _words("MemOrder", "weak relaxed acquire release acq_rel sc mmio volatile constant")
MemScope = _words("MemScope", "cta cluster gpu sys")
MulMode = _words("MulMode", "hi lo wide")
PermuteMode = _words("PermuteMode", "default f4e b4e rc8 ecl ecr rc16")
Proxy = _words("Proxy", "alias async async_global async_shared tensormap generic")
ReductionOp = _words("ReductionOp", "and or xor add inc dec min max")
ReductionType = _words("ReductionType", "b32 b64 u32 u64 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2")
SaturationMode = _words("SaturationMode", "satfinite sat")
SaturationModeKind = _words("SaturationModeKind", "satfinite")
SetMaxRegisterAction = _words("SetMaxRegisterAction", "decrease increase")
SetpType = _words("SetpType", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 f32 f64 bf16")
Shfl = _words("Shfl", "bfly up down idx")
StoreCacheModifier = _words("StoreCacheModifier", "wb cg cs wt")
StoreShape = _words("StoreShape", "m8n8 m16n8")
TMALoadMode = _words("TMALoadMode", "tile im2col im2col_w im2col_w_128 tile_gather4")
TMARedux = _words("TMARedux", "add max min inc dec and or xor")
TMAStoreMode = _words("TMAStoreMode", "tile im2col tile_scatter4")
Tcgen05CpMulticast = _words("Tcgen05CpMulticast", "warpx2_02_13 warpx2_01_23 warpx4")
Tcgen05CpShape = _words("Tcgen05CpShape", "shape_128x256b shape_4x256b shape_128x128b shape_64x128b shape_32x128b")
Tcgen05CpSrcFormat = _words("Tcgen05CpSrcFormat", "b6x16_p32 b4x16_p64")
Tcgen05Fence = _words("Tcgen05Fence", "before_thread_sync after_thread_sync")
Tcgen05LdStShape = _words(
    "Tcgen05LdStShape",
    "SHAPE_16X32BX2=16x32bx2 SHAPE_16X64B=16x64b SHAPE_32X32B=32x32b SHAPE_16X128B=16x128b SHAPE_16X256B=16x256b",
)
Tcgen05MMACollectorBBuffer = _words("Tcgen05MMACollectorBBuffer", "b0 b1 b2 b3")
Tcgen05MMACollectorOp = _words("Tcgen05MMACollectorOp", "discard lastuse fill use")
Tcgen05MMAKind = _words("Tcgen05MMAKind", "mxf4nvf4 f8f6f4 mxf8f6f4 int8 f16 tf32 mxf4")
Tcgen05Wait = _words("Tcgen05Wait", "load store")
TensormapElemtype = _words(
    "TensormapElemtype",
    "u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16 tf32 tf32.ftz b4x16 B4X16P64=b4x16_p64 B6X16P32=b6x16_p32",
)
TensormapField = _words(
    "TensormapField",
    "global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout "
    "swizzle_mode swizzle_atomicity fill_mode",
)
TensormapFillMode = _words("TensormapFillMode", "zero oob_nan")
TensormapInterleaveLayout = _words("TensormapInterleaveLayout", "no_interleave b16 b32")
TensormapSpace = _words("TensormapSpace", "const param")
TensormapSwizzleAtomicity = _words("TensormapSwizzleAtomicity", "b16 b32 B32_FLIP_8B=b32_flip_b8 b64")
TensormapSwizzleMode = _words("TensormapSwizzleMode", "no_swizzling b32 b64 b128 b96")
VoteSync = _words("VoteSync", "any all ballot uni")
WGMMAScaleIn = _words("WGMMAScaleIn", "one neg")
WGMMAScaleOut = _words("WGMMAScaleOut", "zero one")
WGMMAType = _words("WGMMAType", "f16 tf32 u8 s8 b1 bf16 e4m3 e5m2 f32 s32")

BarrierReduction = _numbers("BarrierReduction", "POPC AND OR")
BlockScaleFormat = _numbers("BlockScaleFormat", "UE8M0 UE4M3")
ConvertFP4Type = _numbers("ConvertFP4Type", "E2M1")
LdStMatrixEltType = _numbers("LdStMatrixEltType", "B16 B8 B8X16_B6X16_P32 B8X16_B4X16_P64")
MMABlockScaleKind = _numbers("MMABlockScaleKind", "MXF8F6F4 MXF4 MXF4NVF4")
MMACtaCount = _numbers("MMACtaCount", "cta1 cta2", start=1)
MxScaleFormat = _numbers("MxScaleFormat", "UE4M3 E8M0 UE5M3")
NVVMMemorySpace = _numbers("NVVMMemorySpace", "Generic=0 Global=1 Shared=3 Constant=4 Local=5 Tensor=6 SharedCluster=7")
ReductionKind = _numbers("ReductionKind", "ADD AND MAX MIN OR UMAX UMIN XOR FMIN FMAX", start=1)
ScaleVecSize = _numbers("ScaleVecSize", "X1 X2 X4")
SharedSpace = _numbers("SharedSpace", "shared_cta shared_cluster")
SparsityFormat = _numbers("SparsityFormat", "THREAD")
StateSpace = _numbers("StateSpace", "GENERIC GLOBAL SHARED_CTA SHARED_CLUSTER CONSTANT LOCAL TENSOR")
TCBarParam = _numbers("TCBarParam", "a1t0 a0tx")
Tcgen05InputFormat = _numbers("Tcgen05InputFormat", "F16 BF16 TF32 E2M3 E3M2 E2M1")
Tcgen05MMABlockScale = _numbers("Tcgen05MMABlockScale", "DEFAULT BLOCK16 BLOCK32")
Tcgen05OutputFormat = _numbers("Tcgen05OutputFormat", "F16 F32 S32")
Tcgen05SmemSwizzle = _numbers(
    "Tcgen05SmemSwizzle", "NONE=0 SWIZZLE_128B_ATOM_32B=1 SWIZZLE_128B=2 SWIZZLE_64B=4 SWIZZLE_32B=6"
)
TmemLayout = _numbers(
    "TmemLayout",
    "tmem_16dp_128bit tmem_16dp_256bit tmem_32dp_32bit tmem_16dp_64bit tmem_16dp_32bit_t0_t15 tmem_16dp_32bit_t16_t31",
)
WgmmaSwizzle = _numbers("WgmmaSwizzle", "INTERLEAVE SWIZZLE_128B SWIZZLE_64B SWIZZLE_32B")
