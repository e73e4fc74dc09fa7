#include "search/problem/given_rules.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/diagnostics.hpp"
#include "search/rules/rule_files/rule_file.hpp"
#include "search/rules/selection/selection.hpp"

namespace search {

GivenRules load_given_rules(const std::filesystem::path& file) {
  const int processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  auto wanted = select(rules::load_rules(file, processes), rules::Wanted::algebra);
  if (wanted.rules.empty())
    base::refuse(file.string(), "a search asks none of its rules; " + left_out_text(wanted),
                 "it asks algebraic ones; algebra: false asks none");
  return {file, std::make_shared<const rules::Selection>(std::move(wanted))};
}

std::span<const rules::Rule> rules_to_ask(const GivenRules& given) {
  return given.of_file ? given.of_file->rules : rules::builtin_algebraic_rules().rules;
}

std::string asked_text(const GivenRules& given) {
  const rules::Selection& s = *given.of_file;
  const std::size_t all = std::accumulate(s.count.begin(), s.count.end(), std::size_t{0});
  return fmt::format("{} of the {} rules of {} are asked; {}", s.rules.size(), all, given.file.string(), left_out_text(s));
}

}  // namespace search
