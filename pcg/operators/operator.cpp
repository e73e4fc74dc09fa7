#include "pcg/operators/operator.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace pcg {
namespace {

std::string_view name_of(const Input&) { return "input"; }
std::string_view name_of(const Weight&) { return "weight"; }
std::string_view name_of(const Linear&) { return "linear"; }
std::string_view name_of(const BatchMatmul&) { return "batch_matmul"; }
std::string_view name_of(const Conv2d&) { return "conv2d"; }
std::string_view name_of(const Pool2d&) { return "pool2d"; }
std::string_view name_of(const LayerNorm&) { return "layer_norm"; }
std::string_view name_of(const BatchNorm&) { return "batch_norm"; }
std::string_view name_of(const Softmax&) { return "softmax"; }
std::string_view name_of(const Attention&) { return "attention"; }
std::string_view name_of(const StateSpace&) { return "state_space"; }
std::string_view name_of(const Embedding&) { return "embedding"; }
std::string_view name_of(const EmbeddingBag&) { return "embedding_bag"; }
std::string_view name_of(const Unary&) { return "unary"; }
std::string_view name_of(const Binary&) { return "binary"; }
std::string_view name_of(const Concat&) { return "concat"; }
std::string_view name_of(const Split&) { return "split"; }
std::string_view name_of(const Slice&) { return "slice"; }
std::string_view name_of(const Reshape&) { return "reshape"; }
std::string_view name_of(const Transpose&) { return "transpose"; }
std::string_view name_of(const Broadcast&) { return "broadcast"; }
std::string_view name_of(const Dropout&) { return "dropout"; }
std::string_view name_of(const Reduction&) { return "reduction"; }
std::string_view name_of(const CrossEntropy&) { return "cross_entropy"; }
std::string_view name_of(const SquaredError&) { return "squared_error"; }
std::string_view name_of(const Summands&) { return "summands"; }
std::string_view name_of(const MoeDispatch&) { return "moe_dispatch"; }
std::string_view name_of(const ExpertLinear&) { return "expert_linear"; }
std::string_view name_of(const MoeCombine&) { return "moe_combine"; }

template <std::size_t... I>
std::vector<std::string> all_names(std::index_sequence<I...>) {
  return {std::string(kind_name(Operator(std::in_place_index<I>)))...};
}

}  // namespace

std::string_view kind_name(const Operator& op) {
  return std::visit([](const auto& o) { return name_of(o); }, op);
}

const std::vector<std::string>& operator_kind_names() {
  static const std::vector<std::string> names = all_names(std::make_index_sequence<std::variant_size_v<Operator>>{});
  return names;
}

std::int64_t TensorShape::elements() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

std::string to_text(const TensorShape& s) {
  return fmt::format("[{}]{}", fmt::join(s.sizes, ", "), s.element == Element::index ? " index" : "");
}

std::string_view to_text(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
    case Precision::mxfp8: return "mxfp8";
    case Precision::nvfp4: return "nvfp4";
  }
  BASE_CHECK(false, "precision {}", static_cast<int>(p));
}

base::Bytes element_bytes(Element e, Precision p) {
  if (e == Element::index) return base::Bytes(8);
  return base::Bytes(p == Precision::fp32 || p == Precision::tf32 ? 4 : 2);
}

base::Bytes bytes_of(const TensorShape& s, Precision p) { return element_bytes(s.element, p) * static_cast<double>(s.elements()); }

}  // namespace pcg
