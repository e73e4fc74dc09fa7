#pragma once
// Facts from the name of a GPU kernel: the libraries that frameworks call (cuBLAS, cuDNN, CUTLASS, FlashAttention, NCCL, PyTorch's own,
// apex, Triton, Tensile and MIOpen on AMD) have names of a few forms. Private to this folder.

#include <optional>
#include <string_view>

#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/collective_kind.hpp"

namespace imports {

// Each returns nullopt when the name does not say. Cost: O(length of the name times some 80 words).
[[nodiscard]] std::optional<pcg::KernelKind> kernel_kind(std::string_view kernel_name);
// The same for a framework's operation ("aten::addmm", "aten::embedding_dense_backward"), for kernels whose own name says nothing.
[[nodiscard]] std::optional<pcg::KernelKind> operation_kind(std::string_view operation_name);
// Returns the precision of a matrix or attention kernel.
[[nodiscard]] std::optional<pcg::Precision> kernel_precision(std::string_view kernel_name);
// Returns whether the kernel belongs to a collective library, whatever it does.
[[nodiscard]] bool is_collective_kernel(std::string_view kernel_name);
// Returns the collective of a kernel ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), an annotation ("nccl:_all_gather_base"), or a name of
// PyTorch's
// ("allreduce"). nullopt: the name says none, or one that the simulator does not know (reduce, gather, scatter, barrier; SendRecv may be
// all-to-all or send).
[[nodiscard]] std::optional<profiles::CollectiveKind> collective_in(std::string_view name);

}  // namespace imports
