#include "generated.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "rules.hpp"
#include "search/rules/generation/enumerate.hpp"
#include "search/rules/generation/prune.hpp"

namespace rules::rewriting {
namespace {

bool has_something_to_be_found_by(const Term& source) {
  return std::ranges::none_of(source.outputs, [&](std::uint8_t o) { return source.nodes[o].kind == Kind::variable; });
}

std::vector<Rule> directed(const std::vector<Equation>& equations) {
  std::vector<Rule> rules;
  for (const Equation& e : equations)
    for (const bool forward : {true, false}) {
      Rule r{.name = fmt::format("g{}", rules.size()), .equation = TypedEquation::make(e).value(), .forward = forward, .axioms = {}};
      if (has_something_to_be_found_by(r.source()) && invents_nothing(r) && knows_its_sizes(r.source(), e.variables))
        rules.push_back(std::move(r));
    }
  return rules;
}

}  // namespace

const std::vector<Rule>& generated() {
  static const std::vector<Rule> all = [] {
    std::vector<Equation> found;
    const auto pairs = [](const Setting& s) {
      if (s.use == SettingUse::enumerate) return enumerate(s, 3 + s.more).equations;
      return s.use == SettingUse::shard ? sharded_forms(s) : pairs_of_graphs(s);
    };
    for (const Setting& s : settings()) std::ranges::move(pairs(s), std::back_inserter(found));
    return directed(prune(found).equations);
  }();
  return all;
}

}  // namespace rules::rewriting
