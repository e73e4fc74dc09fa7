#include "pcg/models/onnx/model.hpp"

#include <fmt/core.h>

namespace pcg::models::onnx {

std::int64_t Tensor::count() const {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n)) return INT64_MAX;
  return n;
}

std::optional<double> Tensor::scalar() const {
  if (count() != 1) return std::nullopt;
  if (reals) return reals->front();
  if (integers) return static_cast<double>(integers->front());
  return std::nullopt;
}

std::int64_t Node::integer(const std::string& key, std::int64_t otherwise) const {
  const auto at = attributes.find(key);
  const auto* value = at == attributes.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
  return value == nullptr ? otherwise : *value;
}

double Node::real(const std::string& key, double otherwise) const {
  const auto at = attributes.find(key);
  const auto* value = at == attributes.end() ? nullptr : std::get_if<double>(&at->second);
  return value == nullptr ? otherwise : *value;
}

std::string Node::text(const std::string& key, const std::string& otherwise) const {
  const auto at = attributes.find(key);
  const auto* value = at == attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
  return value == nullptr ? otherwise : *value;
}

std::optional<std::vector<std::int64_t>> Node::integers(const std::string& key) const {
  const auto at = attributes.find(key);
  const auto* value = at == attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&at->second);
  if (value == nullptr) return std::nullopt;
  return *value;
}

std::string called(const Node& node) {
  const std::string name = !node.name.empty() ? node.name : !node.outputs.empty() ? node.outputs.front() : "a node without a name";
  return fmt::format("{} ({})", name, node.type);
}

}  // namespace pcg::models::onnx
