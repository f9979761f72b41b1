"""Names of apache-tvm-tirx 0.1.0a4 that this compiler lacks, each refused by name, and tvm's names of what has another
name here. A pure table."""

from __future__ import annotations

T = frozenset(
    """
AlreadyEmitted Any Axis Bind Call CallEffectKind CallFFIKernelAttr ComposeLayout DataTypeImm Func FuncType GenericConst
IRBuilder IRModuleFrame Iter Lambda Layout Let LetAnnotation MISSING MemoryScope Missing MissingType NoneType Op Opaque
Prim PrimType Ptr R Range S Shuffle String StringImm StringType TensorMap TensorRegion TensorRegionType ThreadScope
TileLayout Tuple Type Var abi_field_get abi_field_set add_to_parent alloc_workspace and_ arg_ assert_ assign
assume_aligned assume_always at_ atomic_add bind_ break_ call_cpacked call_cpacked_lowered call_extern call_ffi_kernel
call_global_var_ call_intrin call_kernel call_llvm_intrin call_llvm_pure_intrin call_packed call_packed_lowered
call_pure_extern call_spirv_pure_glsl450 check_well_formed_ compute_scope continue_ cpu_parallel_barrier decl_function
decl_mutable_cell_ decl_scalar device_context device_scope dtype else_ emit emit_ eq_ expose_script_op
expose_script_type external_kernel float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3fnuz
float8_e5m2fnuz for_ frame frame_scope free_workspace func_name_ func_ret func_ret_type_ function_ ge_
get_active_lane_mask gpu_active_thread_selector gpu_dp4a gpu_fill_fragment gpu_load_matrix_sync gpu_mma_sync
gpu_store_matrix_sync gpu_thread_allreduce gpu_thread_invariant gt_ handle_add_byte_offset if_
if_then_else_ ignore_loop_partition index_map ir ir_builder ir_module isnullptr kernel_replace_point le_
llvm_lookup_intrinsic_id lt_ make_node masked_load masked_store metal module_attrs module_get_attr module_global_infos
module_member_ module_set_attr ne_ nextafter nki not_ nvshmem op opencl or_ parallel_launch parser_protocol prefetch ptr
ptr_byte_offset ptx_legacy pyfunc range_ region register_script_namespace resolve_global_info_
resolve_global_info_args return_ s_tir set_mutable_cell_ setattr_ setitem_ stack_alloca stack_make_dltensor
stack_make_shape static_handle supports_mutable_declarations target tensor_data_ptr tensor_indices then_
throw_last_error tile tmem trn undef unpack_ utils vector_combine vector_high vector_low void vscale webgpu while_
with_at_group_
""".split()
)
CUDA = frozenset(
    """
AccessPolicyWindow Axis BackendConfig LaunchCompletionEvent MemSyncDomainMap ProgrammaticEvent
TCGen05InstrDescriptorAttrs TCGen05InstrDescriptorBlockScaledAttrs TensorMapEncodeTiledAttr ThreadScope bmma_sync
cta_pair_id decl_tmem fadd2_rn fmul2_rn func_call get_tmem_addr grid_sync iket layout mma_fill mma_store
runtime_instr_desc sm100_2sm_leader_smem_addr tcgen05 tensormap_encode_tiled tile timer_end timer_finalize timer_init
timer_start wait_until wgmma
""".split()
)
RENAMED = {
    "prim_func": "T.function",
    "Buffer": "T.Tensor",
    "match_buffer": "T.Tensor, the annotation of a parameter",
    "alloc_buffer": "T.alloc_tensor(ty_args=[T.Tensor(...)])",
    "decl_buffer": "T.decl_tensor(data, ty_args=[T.Tensor(...)])",
    "buffer_store": "T.tensor_store",
    "cta_id": 'T.cuda.block_idx("x")',
    "thread_id": 'T.cuda.thread_idx("x")',
    "thread_binding": 'T.cuda.thread_idx("x")',
    "warp_id": "T.cuda.warp_id()",
    "lane_id": "T.cuda.lane_id()",
    "warpgroup_id": "T.cuda.warpgroup_id()",
    "warp_id_in_wg": "T.cuda.warp_in_warpgroup()",
    "thread_id_in_wg": "T.cuda.thread_in_warpgroup()",
    "cluster_id": 'T.cuda.cluster_id("x")',
    "cta_id_in_cluster": 'T.cuda.cluster_cta_id("x")',
    "filter": "T.gpu_thread_filter",
    "thread_return": "T.gpu_thread_return",
    "tvm_storage_sync": "T.gpu_storage_sync",
    "tvm_warp_activemask": "T.gpu_warp_activemask",
    "tvm_warp_shuffle": "T.gpu_warp_shuffle",
    "tvm_warp_shuffle_up": "T.gpu_warp_shuffle_up",
    "tvm_warp_shuffle_down": "T.gpu_warp_shuffle_down",
    "tvm_warp_shuffle_xor": "T.gpu_warp_shuffle_xor",
}
