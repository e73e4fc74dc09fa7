#include "reports/layout/speedups.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace reports {

using scenarios::Speedup;

std::string ratio_text(const Speedup& s) { return fmt::format("{:.2f}x", s.ratio); }

std::string ends_text(const Speedup& s) {
  return s.is_exact() ? "" : fmt::format("-{:.0f} +{:.0f}", 100 * (1 - s.low / s.ratio), 100 * (s.high / s.ratio - 1));
}

std::string speedup_cell(const Speedup& s) {
  const std::string ends = ends_text(s);
  return ends.empty() ? ratio_text(s) : ratio_text(s) + " " + ends;
}

std::string speedup_range(const Speedup& s) { return fmt::format("{:.2f} to {:.2f}", s.low, s.high); }

// Not "100 %" of what is not certain.
std::string favourite_text(const scenarios::Favourite& f) {
  const std::string percent = f.probability > 0.995 ? "over 99 %" : fmt::format("{:.0f} %", 100 * f.probability);
  if (f.plans.size() == f.of) return fmt::format("all {} plans that fit are equally quick", f.of);
  if (f.plans.size() == 1) return fmt::format("best of {} plans that fit with {}", f.of, percent);
  return fmt::format("{}, which are equally quick, are the best of {} plans that fit with {}", fmt::join(f.plans, " and "), f.of, percent);
}

void add_speedup(nlohmann::ordered_json& j, const std::string& key, const Speedup& s) {
  j[key] = s.ratio;
  j[key + "_interval"] = {s.low, s.high};
}

}  // namespace reports
