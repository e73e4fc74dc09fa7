#pragma once
// The builtin models as they are described. Private to pcg/models.

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "pcg/models/families/model_config.hpp"

namespace pcg::models {

using GraphOf = std::function<Graph(std::int64_t batch)>;
// Described by numbers, which overrides may change; or built by a function of its own.
using Builtin = std::variant<ModelConfig, GraphOf>;

[[nodiscard]] const std::map<std::string, Builtin, std::less<>>& builtins();

}  // namespace pcg::models
