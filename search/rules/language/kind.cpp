#include "search/rules/language/kind.hpp"

#include <algorithm>

namespace rules {
namespace {

constexpr std::array<std::string_view, kFunctions> kFunctionNames{"none", "relu", "gelu", "tanh", "sigmoid", "silu", "relu2"};

}  // namespace

std::string_view name_of(Function f) { return kFunctionNames[static_cast<std::size_t>(f)]; }

std::optional<Function> function_named(std::string_view name) {
  const auto it = std::ranges::find(kFunctionNames, name);
  return it == kFunctionNames.end() ? std::nullopt : std::optional(static_cast<Function>(it - kFunctionNames.begin()));
}

std::optional<Kind> kind_named(std::string_view name) {
  const auto it = std::ranges::find(kKindFacts, name, &KindFacts::name);
  return it == kKindFacts.end() ? std::nullopt : std::optional(static_cast<Kind>(it - kKindFacts.begin()));
}

}  // namespace rules
