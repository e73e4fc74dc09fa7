#pragma once
// Facts from the name of a GPU kernel: the libraries that frameworks call (cuBLAS, cuDNN, CUTLASS, FlashAttention, NCCL, PyTorch's own,
// apex, Triton, Tensile and MIOpen on AMD) have names of a few forms.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/operators/tensor.hpp"
#include "pcg/work/kernel.hpp"
#include "profiles/kinds.hpp"

namespace imports {

// Returns the text with its ASCII letters in lower case.
[[nodiscard]] std::string lower_case(std::string_view text);

// Each returns nullopt when the name does not say.
// Cost: O(length of the name times some 80 words).
[[nodiscard]] std::optional<pcg::KernelKind> kernel_kind(std::string_view kernel_name);
// The same for a framework's operation ("aten::addmm", "aten::embedding_dense_backward"), for kernels whose own name says nothing.
[[nodiscard]] std::optional<pcg::KernelKind> operation_kind(std::string_view operation_name);
// Returns the precision of a matrix or attention kernel.
[[nodiscard]] std::optional<pcg::Precision> kernel_precision(std::string_view kernel_name);
// Returns whether the kernel belongs to a collective library, whatever it does.
[[nodiscard]] bool is_collective_kernel(std::string_view kernel_name);
// Returns the collective of a kernel ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), an annotation ("nccl:_all_gather_base"), or a name of
// PyTorch's ("allreduce"). nullopt: the name says none, or one that the simulator does not know (reduce, gather, scatter, barrier; SendRecv
// may be all-to-all or send).
[[nodiscard]] std::optional<profiles::CollectiveKind> collective_in(std::string_view name);

// Names of element types as PyTorch, NCCL, nccl-tests and kernels spell them. Private to this folder.
struct ElementType {
  std::string_view name;  // ours: "fp32", "bf16", "int64"
  double bytes;
  std::optional<pcg::Precision> precision;  // of types that networks are trained in
  std::string_view spellings;               // in lower case, without name space, commas between them
};

// Returns the type that a name means ("float", "c10::BFloat16", "torch.float16", "half", "long int", "Float8_e4m3fn" ...), or nullptr.
[[nodiscard]] const ElementType* element_type(std::string_view name);

// The work of a framework's operation from the shapes of its inputs, as pcg/work counts it. Private to this folder.
// One entry per input, in order; it is empty for a list of tensors and for what is no tensor.
struct InputShapes {
  std::vector<std::vector<std::int64_t>> dims;
  std::vector<std::string> types;  // "float", "c10::BFloat16", ...
};

// Returns the kernel that an operation amounts to. It knows matrix products, softmax, layer norm, embedding, copies and the usual
// elementwise operations with their gradients. Attention has its sizes but no FLOPs (the shapes do not say whether it is causal). Returns
// nullopt for another operation, shapes that do not fit it, an unknown type, or sizes whose product is beyond 2^53. In-place operations
// count the tensor they overwrite as read and written.
[[nodiscard]] std::optional<pcg::Kernel> operation_work(std::string_view operation, const InputShapes& inputs);

}  // namespace imports
