"""Names of apache-tvm 0.26.0 and 0.27 that this compiler lacks: each is refused by name. A pure table."""

from __future__ import annotations

T = frozenset(
    """
Assert Bind Break BufferLoad Call CallEffectKind CommReducer ComposeLayout Continue DtypeConstructor Else ExecScope
If Iter IterVar Layout Let LetAnnotation LocalVectorAnnotation ProducerLoad Ptr R Range Reduce Return S SMEMPool
ScopeIdDef Shuffle StringImm TMEMPool TVMBackendAllocWorkspace TVMBackendFreeWorkspace TensorMap Then TileLayout
Tuple Var While add_to_parent alloc_cast_frag alloc_tcgen05_ldst_frag anylist_getitem anylist_resetitem
anylist_setitem_call_cpacked anylist_setitem_call_packed arg axis bind block_name_suffix_context buffer_var builder
call_cpacked call_cpacked_lowered call_extern call_ffi_kernel call_intrin call_kernel call_llvm_intrin
call_llvm_pure_intrin call_packed call_packed_lowered call_pure_extern cluster comm_reducer cooperative_tensor_fill
cooperative_tensor_load cooperative_tensor_multiply_accumulate cooperative_tensor_store cta cta_id_in_pair
decl_scalar dp4a end_profile_intrinsic env_thread float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4
float8_e4m3fnuz float8_e5m2fnuz func_name func_ret get_active_lane_mask handle_add_byte_offset ignore_loop_partition
index_map init isnullptr iter_var llvm_lookup_intrinsic_id lookup_param masked_load masked_store metal nextafter nki
nvshmem parser print_buffer ptr ptr_byte_offset ptx_legacy q_multiply_shift q_multiply_shift_per_axis reads
register_script_namespace s_tir sblock sblock_alloc_buffer sblock_attr scalar_wrapper scope_id selector
start_profile_intrinsic target tensormap_encode_tiled thread tmem tvm_access_ptr tvm_bmma_sync tvm_call_cpacked
tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered tvm_fill_fragment tvm_global_barrier_kinit
tvm_kernel_replace_point tvm_load_matrix_sync tvm_mma_sync tvm_stack_alloca tvm_stack_make_array
tvm_stack_make_shape tvm_store_matrix_sync tvm_struct_get tvm_struct_set tvm_thread_allreduce tvm_thread_invariant
tvm_throw_last_error tvm_tuple type_annotation undef var vectorcombine vectorhigh vectorlow void vscale warp
warpgroup webgpu wg wg_reg_tile where writes
""".split()
)
CUDA = frozenset(
    """
_activemask _shfl_down_sync _shfl_sync _shfl_up_sync _shfl_xor_sync fadd2_rn fmul2_rn func_call get_tmem_addr
grid_sync iket mma_fill mma_fill_legacy mma_store mma_store_legacy runtime_instr_desc sm100_2sm_leader_smem_addr
tcgen05 timer_end timer_finalize timer_init timer_start wait_until wgmma
""".split()
)
PTX = frozenset(
    """
add_f32 add_f32x2 add_f64 add_rn_f32_bf16 atom_scalar clc_query_cancel clc_try_cancel clmad clusterlaunchcontrol
cp_async cp_async_bulk_g2s_cluster cp_async_bulk_g2s_cta cp_async_bulk_s2g cp_async_bulk_s2s_cluster fabric
fetch_register fma_f32 fma_f32x2 fma_f64 fns_b32 ld_acquire ld_global_acquire ld_global_nc ld_mmio ld_relaxed
ld_volatile ldg32
ldmatrix_legacy map_shared_rank mbarrier_test_wait_parity mul_f32 mul_f32x2 mul_f64 multimem_cp
multimem_red_async multimem_st_async prefetch_tensormap red_scalar reduce3_max_f32
reduce3_min_f32 spcompress spdecompress st_bulk st_mmio st_relaxed st_release st_volatile sub_f32 sub_f32x2 sub_f64
tcgen05
""".split()
)
PTX_GROUPS = frozenset("try_wait_acquire_cluster red".split())
