#include "pcg/models/builtin_table.hpp"

#include "pcg/models/families/convolutional.hpp"
#include "pcg/models/families/published.hpp"
#include "pcg/models/families/unity.hpp"

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

}  // namespace pcg::models
