#include "pcg/models/onnx/model.hpp"

#include <fmt/core.h>

namespace pcg::models::onnx {

Element element_of(std::int64_t data_type) {
  if (data_type == 9) return Element::boolean;
  return data_type == 1 || data_type == 10 || data_type == 11 || data_type == 16 ? Element::real : Element::integer;
}

std::int64_t Tensor::count() const {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n)) return INT64_MAX;
  return n;
}

std::optional<double> Tensor::scalar() const { return count() == 1 && is_known() ? std::optional(number(0)) : std::nullopt; }

std::int64_t Node::integer(const std::string& key, std::int64_t otherwise) const {
  const auto* value = attribute<std::int64_t>(key);
  return value == nullptr ? otherwise : *value;
}

double Node::real(const std::string& key, double otherwise) const {
  const auto* value = attribute<double>(key);
  return value == nullptr ? otherwise : *value;
}

std::string Node::text(const std::string& key, const std::string& otherwise) const {
  const auto* value = attribute<std::string>(key);
  return value == nullptr ? otherwise : *value;
}

std::optional<std::vector<std::int64_t>> Node::integers(const std::string& key) const {
  const auto* value = attribute<std::vector<std::int64_t>>(key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string called(const Node& node) {
  const std::string name = !node.name.empty() ? node.name : !node.outputs.empty() ? node.outputs.front() : "a node without a name";
  return fmt::format("{} ({})", name, node.type);
}

}  // namespace pcg::models::onnx
