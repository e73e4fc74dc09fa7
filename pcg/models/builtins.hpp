#pragma once
// The builtin models by name.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pcg/graph/graph.hpp"

namespace pcg::models {

[[nodiscard]] std::vector<std::string> builtin_names();  // sorted
// The graph whose inputs hold `batch` samples. Requires: name is one of builtin_names().
[[nodiscard]] Graph builtin(std::string_view name, std::int64_t batch);

}  // namespace pcg::models
