#include "reports/why.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/traffic.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// What is behind these is rarely worth a change; JSON has more.
constexpr std::size_t kMostShown = 8;
// Shares of an interval are written to a thousandth of a percent: a hundred of them for each type of link are most of a result.
constexpr double kSteps = 1e5;

std::string path_text(const sim::SimulationResult& s, std::size_t width) {
  if (s.critical_path.empty()) return "";
  std::string title =
      fmt::format("critical path, {} of kernels, transfers and hosts that wait for each other", base::to_text(s.iteration_time));
  if (s.simulated_micro_batches)
    title +=
        fmt::format(" (from {} micro-batches that were simulated: what repeats counts as often as it comes)", *s.simulated_micro_batches);
  Table table({{"  on the path"}, {"kind"}, {"link"}, {"time", Align::right}, {"share", Align::right}});
  // What is together under "other" stands behind the longest, however long it is.
  base::Seconds rest = s.iteration_time;
  std::size_t shown = 0;
  for (const sim::PathPart& p : s.critical_path) {
    if (shown == kMostShown || p.what.name == sim::kOtherParts) continue;
    ++shown;
    rest -= p.time;
    table.row({"  " + p.what.name, sim::to_text(p.what.kind), p.what.link, base::to_text(p.time), percent(p.time / s.iteration_time)});
  }
  if (shown < s.critical_path.size()) table.row({"  the rest", "", "", base::to_text(rest), percent(rest / s.iteration_time)});
  return hanging(title, width) + table.text(2, width);
}

std::string links_text(const sim::SimulationResult& s, std::size_t width) {
  if (s.links.empty()) return "";
  Table table({{"links"},
               {"number", Align::right},
               {"bytes", Align::right},
               {"busy", Align::right},
               {"most in 1 %", Align::right},
               {"busiest", Align::right},
               {"which is"}});
  for (const sim::LinkUse& l : s.links)
    table.row({"  " + l.type, fmt::format("{}", l.count), traffic_text(l.bytes), percent(l.busy),
               l.over_time.empty() ? "" : percent(std::ranges::max(l.over_time)), percent(l.busiest), l.name});
  return table.text(2, width);
}

}  // namespace

std::string why_text(const sim::SimulationResult& s, std::size_t width) { return path_text(s, width) + links_text(s, width); }

void add_why(Json& j, const sim::SimulationResult& s) {
  for (const sim::PathPart& p : s.critical_path) {
    Json& part = j["critical_path"].emplace_back(Json{{"kind", sim::to_text(p.what.kind)}, {"name", p.what.name}});
    if (!p.what.link.empty()) part["link"] = p.what.link;
    part["time_s"] = p.time.value();
  }
  for (const sim::LinkUse& l : s.links) {
    Json& use = j["links"].emplace_back(Json{{"type", l.type},
                                             {"name", l.name},
                                             {"count", l.count},
                                             {"bytes", count(l.bytes)},
                                             {"carried_bytes", count(l.carried)},
                                             {"bandwidth_bytes_per_s", count(l.bandwidth.value())},
                                             {"busy", l.busy},
                                             {"busiest", l.busiest}});
    for (const double u : l.over_time) use["over_time"].push_back(std::round(u * kSteps) / kSteps);
  }
}

}  // namespace reports
