#pragma once
// Names of element types as PyTorch, NCCL, nccl-tests and kernels spell them. Private to this folder.

#include <optional>
#include <string_view>

#include "pcg/operators/tensor.hpp"

namespace imports {

struct ElementType {
  std::string_view name;  // ours: "fp32", "bf16", "int64"
  double bytes;
  std::optional<pcg::Precision> precision;  // of types that networks are trained in
};

// Returns the type that a name means ("float", "c10::BFloat16", "torch.float16", "half", "long int", "Float8_e4m3fn" ...), or nullptr.
[[nodiscard]] const ElementType* element_type(std::string_view name);

}  // namespace imports
