#pragma once
// Conditions on sizes that typing cannot see: typing sizes are large multiples of 30^4 and meet them, other sizes need not.

#include <optional>
#include <span>
#include <string_view>

#include "search/rules/language/term.hpp"

namespace rules {

struct SizeCondition {
  std::string_view what, cure;  // "cuts outside its tensor", "write the size as ..."
};
// Returns the condition on its inputs' sizes that a node has and that their symbols do not imply: a split cuts where its tensor may have
// ended, a convolution's channels need not divide into groups, attention's last dim into three. Nullopt: the node can be evaluated at any
// sizes. Requires: well typed.
[[nodiscard]] std::optional<SizeCondition> size_condition(const Node& n, std::span<const Types* const> inputs);

}  // namespace rules
