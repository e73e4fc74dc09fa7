#include "topology/name_ranges.hpp"

#include <fmt/core.h>

#include "base/numbers.hpp"

namespace topology {

std::optional<std::vector<std::string>> names_in_range(const std::string& text) {
  constexpr std::int64_t kMostNames = 1024;  // as many as a node has GPUs
  const std::size_t open = text.find('[');
  if (open == std::string::npos) return std::vector{text};
  const std::size_t dash = text.find('-', open), close = text.find(']', open);
  if (dash == std::string::npos || close == std::string::npos || dash > close) return std::nullopt;
  const auto first = base::parse_integer(std::string_view(text).substr(open + 1, dash - open - 1));
  const auto last = base::parse_integer(std::string_view(text).substr(dash + 1, close - dash - 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= kMostNames) return std::nullopt;
  std::vector<std::string> names;
  for (std::int64_t i = *first; i <= *last; ++i) names.push_back(fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)));
  return names;
}

}  // namespace topology
