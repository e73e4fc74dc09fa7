#include <map>

#include "base/check.hpp"
#include "pcg/models/families/model_config.hpp"
#include "pcg/models/load.hpp"
#include "pcg/models/model_sections.hpp"

namespace pcg::models {

const std::map<std::string, Builtin, std::less<>>& builtins() {
  static const std::map<std::string, Builtin, std::less<>> all = [] {
    std::map<std::string, Builtin, std::less<>> result;
    for (const auto& [name, config] : published_transformers()) result.emplace(name, config);
    for (const auto& [name, build_it] : unity_networks()) result.emplace(name, build_it);
    for (const auto& [name, build_it] : convolutional_networks()) result.emplace(name, build_it);
    return result;
  }();
  return all;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& [name, builtin] : builtins()) names.push_back(name);
  return names;  // a map is sorted
}

Graph builtin(std::string_view name, std::int64_t batch) {
  const auto found = builtins().find(name);
  BASE_CHECK(found != builtins().end(), "no builtin is called {}", name);
  if (const ModelConfig* config = std::get_if<ModelConfig>(&found->second)) return build(*config, batch);
  return std::get<GraphOf>(found->second)(batch);
}

}  // namespace pcg::models
