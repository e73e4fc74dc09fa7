// What names of kernels, element types and shapes of operations tell.
#include <doctest/doctest.h>

#include "profiles/imports/traces/kernel_names.hpp"

using namespace imports;
using namespace profiles;
using K = pcg::KernelKind;
using P = pcg::Precision;

TEST_CASE("kinds of kernels by name") {
  struct Case {
    const char* name;
    std::optional<K> kind;
  };
  for (const Case& c :
       {Case{"ampere_sgemm_128x64_tn", K::matmul},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", K::matmul},
        {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(...)", K::matmul},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", K::matmul},
        {"Cijk_Ailk_Bljk_SB_MT64x64x8", K::matmul},
        {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Params)", K::attention},
        {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4",
         K::attention_gradient},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26", K::attention_gradient},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", K::attention},
        {"void cudnn::fusion::compute_dot_do_o_specialized<true, 128>(void const*)", K::attention_gradient},
        {"fmha_cutlassB_bf16_aligned_128x64_k128_dropout_sm80(Params)", K::attention_gradient},
        {"void sum_and_scatter<c10::BFloat16, long>(long const*, c10::BFloat16*, long)", K::embedding},
        {"void detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**, float*, long*)", K::copy},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", K::attention},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(...)", K::softmax},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(...)", K::norm},
        {"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(...)", K::norm},
        {"cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", K::convolution},
        {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", K::convolution},
        {"void cudnn::ops::nchwToNhwcKernel<float, float>(...)", K::copy},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(...)", K::elementwise},
        {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(...)", K::copy},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float>>>(...)", K::reduction},
        {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(...)", K::optimizer},
        {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel<float>(...)", K::embedding},
        {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(...)", K::pooling},
        {"void rotary_embedding_kernel<float>(...)", K::elementwise},
        {"_chunk_scan_fwd_kernel", K::scan},
        {"_chunk_scan_chunk_state_bwd_dx_kernel", K::scan_gradient},
        {"_bmm_chunk_bwd_kernel", K::scan_gradient},
        {"_state_passing_bwd_kernel", K::elementwise},
        {"_permute_kernel", K::permutation},
        {"_unpermute_bwd_with_merging_probs_kernel", K::permutation},
        {"_sort_chunks_by_map_kernel", K::permutation},
        {"void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, true, c10::BFloat16>>(ConvParamsBase)", K::elementwise},
        // FBGEMM's kernels are no matrix products because of the library's name.
        {"void fbgemm_gpu::permute_2D_lengths_kernel<int>(...)", std::nullopt},
        {"void at_cuda_detail::cub::DeviceScanKernel<...>(...)", std::nullopt}})
    CHECK_MESSAGE(kernel_kind(c.name) == c.kind, c.name);
}

TEST_CASE("precisions by name") {
  CHECK(kernel_precision("ampere_bf16_s16816gemm_bf16_128x64") == P::bf16);
  CHECK(kernel_precision("cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4") == P::tf32);
  CHECK(kernel_precision("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn") == P::fp16);
  CHECK(kernel_precision("volta_fp16_s884gemm_fp16_128x128") == P::fp16);
  CHECK(kernel_precision("volta_sgemm_64x64_nt") == P::fp32);
  CHECK(kernel_precision("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n") == P::fp8);
  CHECK(!kernel_precision("void softmax_warp_forward(...)"));
}

TEST_CASE("collectives by the names of kernels, annotations and calls") {
  CHECK(collective_in("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)") == CollectiveKind::all_reduce);
  CHECK(collective_in("nccl:_all_gather_base") == CollectiveKind::all_gather);
  CHECK(collective_in("_reduce_scatter_base") == CollectiveKind::reduce_scatter);
  CHECK(collective_in("alltoallv") == CollectiveKind::all_to_all);
  CHECK(collective_in("nccl:send 0->1") == CollectiveKind::send);
  CHECK(collective_in("ncclKernel_Broadcast_RING_LL_Sum_int8_t(...)") == CollectiveKind::broadcast);
  CHECK(!collective_in("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(...)"));  // all-to-all or send
  CHECK(!collective_in("ncclDevKernel_Reduce_Sum_f32_RING_LL(...)"));
  CHECK(is_collective_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(...)"));
  CHECK(!is_collective_kernel("ampere_sgemm"));
}

TEST_CASE("element types as others spell them") {
  for (const char* name : {"float", "Float", "torch.float32", "f32"}) CHECK(element_type(name)->name == "fp32");
  for (const char* name : {"c10::BFloat16", "bfloat16", "__nv_bfloat16"}) CHECK(element_type(name)->bytes == 2);
  CHECK(element_type("long int")->bytes == 8);
  CHECK(element_type("Byte")->bytes == 1);
  CHECK(element_type("Float8_e4m3fn")->precision == P::fp8);
  CHECK(element_type("Scalar") == nullptr);
}

TEST_CASE("work of operations from the shapes of their inputs") {
  const auto bmm = operation_work("aten::bmm", {{{4, 8, 16}, {4, 16, 32}}, {"c10::Half", "c10::Half"}});
  CHECK(bmm->batch == 4);
  CHECK(bmm->flops.value() == 2.0 * 4 * 8 * 16 * 32);
  CHECK(bmm->bytes.value() == 2.0 * 4 * (8 * 16 + 16 * 32 + 8 * 32));
  // Two tensors read and one written; the second is stretched over the first.
  CHECK(operation_work("aten::add", {{{10, 20}, {20}}, {"float", "float"}})->bytes.value() == 4.0 * (200 + 20 + 200));
  CHECK(operation_work("aten::native_layer_norm", {{{8, 64}, {}, {64}, {64}}, {"float", "", "float", "float"}})->bytes.value() ==
        2.0 * 4 * 512);
  // 6 rows of 100 numbers read and written, and 6 indices of 8 B.
  CHECK(operation_work("aten::embedding", {{{1000, 100}, {2, 3}}, {"c10::Half", "long int"}})->bytes.value() == 6 * (2 * 200 + 8));
  CHECK(operation_work("aten::copy_", {{{10}, {10}}, {"c10::Half", "float"}})->bytes.value() == 60);
  const auto attention = operation_work("aten::_flash_attention_forward",
                                        {{{2, 128, 4, 64}, {2, 256, 4, 64}, {2, 256, 4, 64}}, {"c10::Half", "c10::Half", "c10::Half"}});
  CHECK(attention->batch == 8);
  CHECK(attention->m == 128);
  CHECK(attention->n == 256);
  CHECK(attention->flops.value() == 0);
}

TEST_CASE("shapes that do not fit give no work") {
  CHECK(!operation_work("aten::mm", {{{4, 5}, {6, 7}}, {"float", "float"}}));
  CHECK(!operation_work("aten::mm", {{{4, 5}}, {"float"}}));
  CHECK(!operation_work("aten::mm", {{{4, 5}, {5, 7}}, {"Scalar", "float"}}));
  CHECK(!operation_work("aten::mm", {{{-4, 5}, {5, 7}}, {"float", "float"}}));
  CHECK(!operation_work("aten::mm", {{{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}}, {"float", "float"}}));
  CHECK(!operation_work("aten::nonzero", {{{4, 5}}, {"float"}}));
  CHECK(!operation_work("aten::add", {{}, {}}));
}

TEST_CASE("a norm reads and writes each number once forward, and reads two and writes one backward") {
  const imports::InputShapes half{{{8, 64}, {8, 64}}, {"c10::Half", "c10::Half"}};
  CHECK(operation_work("aten::native_layer_norm", half)->bytes.value() == 2 * 2 * 512);
  CHECK(operation_work("aten::native_layer_norm_backward", half)->bytes.value() == 3 * 2 * 512);
}
