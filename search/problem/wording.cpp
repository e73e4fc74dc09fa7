#include "search/problem/wording.hpp"

#include <fmt/core.h>

#include "base/check.hpp"

namespace search {
namespace {

struct WhyLost {
  std::string operator()(const Slower& s) const { return fmt::format("{} against {}", base::to_text(s.time), base::to_text(s.best)); }
  std::string operator()(const NeedsMemory& m) const {
    return fmt::format("needs {} of {}", memory_text(m.needed), memory_text(m.available));
  }
};

struct WhyInfeasible {
  std::string operator()(const Refusal& r) const { return r.why; }
  std::string operator()(const ClosestMiss& m) const {
    return fmt::format("nothing fits into memory: the least is {}, which {}", m.candidate, WhyLost{}(m.memory));
  }
};

}  // namespace

std::string memory_text(base::Bytes b) {
  constexpr double kGib = 1 << 30;
  return fmt::format("{:.1f} GiB", b.value() / kGib);
}

std::string to_text(const std::variant<Slower, NeedsMemory>& why) { return std::visit(WhyLost{}, why); }

std::string to_text(const Termination& t) {
  BASE_CHECK(!t.has_plan(), "there is a plan");
  if (const BindingConstraint* binding = t.binding()) return std::visit(WhyInfeasible{}, *binding);
  return t.limit() == Limit::time ? "time was up before any plan that fits was found"
                                  : "the limit of candidates was met before any plan that fits was found";
}

}  // namespace search
