#pragma once
// The work of a framework's operation from the shapes of its inputs, as pcg/work counts it. Private to this folder.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/work/kernel.hpp"

namespace imports {

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
