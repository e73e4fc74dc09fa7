#include "search/problem/limit_options.hpp"

#include <fmt/core.h>

#include <iterator>

namespace search {

std::vector<Option> with_limits(base::Seconds budget, const std::string& counted, std::vector<Option> own, std::string time_for) {
  std::vector<Option> options = {
      {"budget", Duration{budget}, std::move(time_for)},
      {"candidates", WholeNumber{.by_default = 0}, fmt::format("so many {} end the search, alike on every machine", counted), "no limit"}};
  std::ranges::move(own, std::back_inserter(options));
  return options;
}

SearchLimits limits_of(const OptionValues& values) {
  const std::int64_t candidates = values.whole_number("candidates");
  return {values.duration("budget"), candidates > 0 ? static_cast<std::uint64_t>(candidates) : SearchLimits::kUncounted};
}

}  // namespace search
