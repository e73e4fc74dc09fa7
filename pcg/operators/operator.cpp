#include "pcg/operators/operator.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <numeric>

namespace pcg {
namespace {

// In the order of the alternatives of Operator.
constexpr auto kKindNames = std::to_array<std::string_view>(
    {"input",         "weight",    "linear",       "batch_matmul",  "conv2d",        "pool2d",  "layer_norm", "batch_norm",
     "softmax",       "attention", "state_space",  "embedding",     "embedding_bag", "unary",   "binary",     "concat",
     "split",         "slice",     "reshape",      "transpose",     "broadcast",     "dropout", "reduction",  "cross_entropy",
     "squared_error", "summands",  "moe_dispatch", "expert_linear", "moe_combine"});
static_assert(kKindNames.size() == std::variant_size_v<Operator>);

}  // namespace

std::string_view kind_name(const Operator& op) { return kKindNames[op.index()]; }

const std::vector<std::string>& operator_kind_names() {
  static const std::vector<std::string> names(kKindNames.begin(), kKindNames.end());
  return names;
}

std::int64_t TensorShape::elements() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

std::string to_text(const TensorShape& s) {
  return fmt::format("[{}]{}", fmt::join(s.sizes, ", "), s.element == Element::index ? " index" : "");
}

base::Bytes element_bytes(Element e, Precision p) {
  return base::Bytes(e == Element::index ? 8 : p == Precision::fp32 || p == Precision::tf32 ? 4 : 2);
}

base::Bytes bytes_of(const TensorShape& s, Precision p) { return element_bytes(s.element, p) * static_cast<double>(s.elements()); }

}  // namespace pcg
