#include "pcg/models/builtins.hpp"

#include "base/check.hpp"
#include "pcg/models/builtin_table.hpp"
#include "pcg/models/families/model_config.hpp"

namespace pcg::models {

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
