#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "reports/explanation.hpp"
#include "reports/layout/speedups.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

constexpr double kWorthASentence = 0.08;  // of the time

std::string largest(const std::map<std::string, base::Seconds>& parts) {
  const auto at = std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  return at == parts.end() ? "" : at->first;
}

// "; twice its bandwidth takes 9.2 % off".
std::string bought(const std::string& link, const scenarios::Run& run, std::span<const scenarios::Sensitivity> sensitivities) {
  for (const scenarios::Sensitivity& s : sensitivities)
    if (s.plan == run.plan && s.parameter == "cluster.links." + link + ".bandwidth" && s.improved)
      return s.speedup && s.speedup->is_no_sure_gain()
                 ? fmt::format("; twice its bandwidth is no sure gain: {} times as quick", speedup_range(*s.speedup))
                 : fmt::format("; twice its bandwidth takes {} off", percent(1 - *s.improved / s.time));
  return "";
}

std::string of_communication(const scenarios::Run& run, double share, std::span<const scenarios::Sensitivity> sensitivities) {
  const sim::Breakdown& b = run.simulation->breakdown;
  const std::string link = largest(b.exposed_by_link);
  const std::string most = link.empty() ? "" : fmt::format(", most of it {} over {}", largest(b.exposed_by_collective), link);
  return fmt::format("for communication {} of the time{}: overlap it, let fewer GPUs share it, or take faster links{}", percent(share),
                     most, bought(link, run, sensitivities));
}

}  // namespace

std::string advice_text(const scenarios::Run& run, std::span<const scenarios::Sensitivity> sensitivities) {
  const sim::Breakdown& b = run.simulation->breakdown;
  const base::Seconds all = run.simulation->iteration_time;
  if (!(all > base::Seconds(0))) return "";
  std::vector<std::pair<double, std::string>> parts;
  const auto add = [&](base::Seconds part, const auto& sentence) {
    if (const double share = part / all; share >= kWorthASentence) parts.emplace_back(share, sentence(share));
  };
  add(b.exposed_communication, [&](double share) { return of_communication(run, share, sensitivities); });
  add(b.bubble, [](double share) {
    return fmt::format("for other pipeline stages {}: more micro-batches, or more chunks per stage, fill the bubble", percent(share));
  });
  add(b.imbalance, [](double share) {
    return fmt::format("for slower pipeline stages {}: layers_per_stage moves layers to the others", percent(share));
  });
  add(b.idle, [](double share) {
    return fmt::format(
        "for its host {}, which launches kernels more slowly than the GPU runs them: larger micro-batches, fused kernels or "
        "CUDA graphs",
        percent(share));
  });
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& p) { return p.first; });
  return fmt::format("{}", fmt::join(parts | std::views::values, "; "));
}

}  // namespace reports
