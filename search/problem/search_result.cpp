#include "search/problem/search_result.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace search {
namespace {

struct Why {
  std::string operator()(const Slower& s) const { return fmt::format("{} against {}", base::to_text(s.time), base::to_text(s.best)); }
  std::string operator()(const NeedsMemory& m) const {
    return fmt::format("needs {} of {}", memory_text(m.needed), memory_text(m.available));
  }
  std::string operator()(const Refusal& r) const { return r.why; }
  std::string operator()(const ClosestMiss& m) const {
    return fmt::format("nothing fits into memory: the least is {}, which {}", m.candidate, (*this)(m.memory));
  }
};

}  // namespace

std::string_view stop_reason(const Termination& t) {
  if (t.is_infeasible()) return "infeasible";
  if (t.limit() == Limit::time) return "time_limit";
  return t.limit() == Limit::effort ? "effort_limit" : t.limit() == Limit::candidates ? "candidate_limit" : "complete";
}

SearchResult result_of_rule(Attempt<pcg::Plan> plan) {
  if (!plan) return {.termination = Termination::infeasible(plan.refusal())};
  return {.termination = Termination::optimal(), .best = std::move(plan).value(), .candidates = 1};
}

std::string memory_text(base::Bytes b) {
  constexpr double kGib = 1 << 30;
  return fmt::format("{:.1f} GiB", b.value() / kGib);
}

std::string to_text(const std::variant<Slower, NeedsMemory>& why) { return std::visit(Why{}, why); }

std::string to_text(const Termination& t) {
  BASE_CHECK(!t.has_plan(), "there is a plan");
  if (const BindingConstraint* binding = t.binding()) return std::visit(Why{}, *binding);
  switch (t.limit().value_or(Limit::options)) {
    case Limit::time: return "time was up before any plan that fits was found";
    case Limit::effort: return "the budget was spent before any plan that fits was found";
    default: return "the limit of candidates was met before any plan that fits was found";
  }
}

}  // namespace search
