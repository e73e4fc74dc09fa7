#include "reports/explanation.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <variant>

#include "base/diagnostics.hpp"
#include "pcg/models/load.hpp"
#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"
#include "search/explanation/explanation.hpp"
#include "search/problem/search_result.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

// Groups of operators that fit on a page; JSON has all.
constexpr std::size_t kMostGroups = 30;

struct Compared {
  search::Differences differences;
  std::string why_no_model;  // empty: the model was read
};

Compared compared(const pcg::Plan& plan, const std::filesystem::path& directory) {
  std::string why;
  try {
    const pcg::Graph model = pcg::models::load_model(plan.model, "plan.model", directory, 1);
    return {search::differences(plan, &model), ""};
  } catch (const base::InputError& e) { why = e.diagnostics().front().message; } catch (const pcg::ShapeError& e) {
    why = e.what();
  }
  return {search::differences(plan, nullptr), why};
}

std::string rewrites_text(const pcg::Plan& plan, std::size_t width) {
  if (plan.rewrites.empty()) return "";
  Table table({left("substitution"), left("up to"), right("before"), right("after"), right("gain")});
  for (const pcg::Rewrite& r : plan.rewrites)
    table.row({"  " + r.rule, r.up_to, base::to_text(r.before), base::to_text(r.after),
               r.before > base::Seconds() ? percent(1 - r.after / r.before) : ""});
  return hanging("substitutions, in order, with what the part of the graph that they rewrite takes by the search's estimate", width) +
         table.text(2, width);
}

std::string gone_text(const search::Differences& d, std::size_t width) {
  std::string text;
  for (const auto& [kind, count] : d.gone) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text.empty() ? "" : hanging("  of the model are gone: " + text, width);
}

std::string differences_text(const pcg::Plan& plan, const std::filesystem::path& directory, std::size_t width) {
  const auto [d, why_no_model] = compared(plan, directory);
  std::string out = fmt::format("against data parallelism over {} GPUs\n", plan.gpus);
  if (!why_no_model.empty())
    out += hanging(fmt::format("  the model cannot be read, so that new operators are not marked: {}", why_no_model), width);
  if (!d.why_no_replicas.empty()) out += hanging(fmt::format("  it cannot be: {}", d.why_no_replicas), width);
  out += fmt::format("  {} of {} operators run as there\n", d.alike, d.operators);
  if (d.others.empty()) return out;
  Table table({right("  operators"), left("kind"), left("cut"), left("GPUs"), left(""), left("the first")});
  for (const search::AlikeOperators& o : d.others | std::views::take(kMostGroups))
    table.row({fmt::format("{}", o.count), o.kind, o.cut, pcg::to_text(o.devices) + (o.is_reordered ? ", in another order" : ""),
               o.is_new ? "rewritten" : "", o.first});
  out += table.text(2, width);
  if (d.others.size() > kMostGroups) out += fmt::format("  and {} groups more, which --json lists\n", d.others.size() - kMostGroups);
  return out + gone_text(d, width);
}

std::string runners_up_text(const scenarios::Planning& planning, std::size_t width) {
  std::string out = planning.lost.empty() ? "" : "runners-up\n";
  for (const search::LostCandidate& l : planning.lost) out += hanging(fmt::format("  {}: {}", l.candidate, search::to_text(l.why)), width);
  return out;
}

Json operators_json(const search::AlikeOperators& o) {
  Json j = {{"count", o.count}, {"kind", o.kind}, {"cut", o.cut}, {"rewritten", o.is_new}, {"reordered", o.is_reordered},
            {"first", o.first}};
  j["devices"] = ids(o.devices);
  return j;
}

struct WhyLost {
  Json& j;
  void operator()(const search::Slower& s) const { j["iteration_time_s"] = s.time.value(); }
  void operator()(const search::NeedsMemory& m) const {
    j["needed_bytes"] = count(m.needed);
    j["available_bytes"] = count(m.available);
  }
};

// The rest is rarely worth a change; JSON has more.
constexpr std::size_t kMostShown = 8;
// Shares of an interval are written to a thousandth of a percent: a hundred of them for each type of link are most of a result.
constexpr double kSteps = 1e5;

std::string stages_text(const sim::SimulationResult& s, std::size_t width) {
  if (s.stages.size() < 2) return "";
  Table table({right("  stage"), right("compute"), right("exposed comm."), right("bubble"), right("imbalance"), right("idle")});
  for (std::size_t i = 0; i < s.stages.size(); ++i) {
    const sim::Breakdown& b = s.stages[i];
    table.row({fmt::format("{}", i), base::to_text(b.compute), base::to_text(b.exposed_communication), base::to_text(b.bubble),
               base::to_text(b.imbalance), base::to_text(b.idle)});
  }
  return table.text(2, width);
}

std::string path_text(const sim::SimulationResult& s, std::size_t width) {
  if (s.critical_path.empty()) return "";
  std::string title =
      fmt::format("critical path, {} of kernels, transfers and hosts that wait for each other", base::to_text(s.iteration_time));
  if (s.simulated_micro_batches)
    title +=
        fmt::format(" (from {} micro-batches that were simulated: what repeats counts as often as it comes)", *s.simulated_micro_batches);
  Table table({left("  on the path"), left("kind"), left("link"), right("time"), right("share")});
  // The sum under "other" comes after the longest, however long it is.
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
  Table table({left("links"), right("number"), right("bytes"), right("busy"), right("most in 1 %"), right("busiest"), left("which is")});
  for (const sim::LinkUse& l : s.links)
    table.row({"  " + l.type, fmt::format("{}", l.count), traffic_text(l.bytes), percent(l.busy),
               l.over_time.empty() ? "" : percent(std::ranges::max(l.over_time)), percent(l.busiest), l.name});
  return table.text(2, width);
}

}  // namespace

std::string plan_explanation_text(const pcg::Plan& plan, const std::filesystem::path& directory, std::size_t width) {
  const std::string rewrites = rewrites_text(plan, width);
  return rewrites + (rewrites.empty() ? "" : "\n") + differences_text(plan, directory, width);
}

void add_plan_explanation(Json& j, const pcg::Plan& plan, const std::filesystem::path& directory) {
  const auto [d, why_no_model] = compared(plan, directory);
  Json& a = j["against_data_parallel"];
  a["operators"] = d.operators;
  a["alike"] = d.alike;
  if (!why_no_model.empty()) a["model_unreadable"] = why_no_model;
  if (!d.why_no_replicas.empty()) a["impossible"] = d.why_no_replicas;
  a["others"] = Json::array();
  for (const search::AlikeOperators& o : d.others) a["others"].push_back(operators_json(o));
  a["gone"] = Json::object();
  for (const auto& [kind, count] : d.gone) a["gone"][kind] = count;
}

std::string explanation_text(const scenarios::ScenarioResult& result, std::size_t width) {
  std::string out;
  for (const scenarios::Run& r : result.runs) {
    if (!r.made || !r.replanned) continue;
    out += "\n" + hanging(fmt::format("{}{}: {}", r.plan, r.is_of_base() ? "" : fmt::format(" ({})", r.variant), r.plan_summary), width);
    if (r.simulation) out += why_text(*r.simulation, width);
    out += plan_explanation_text(*r.made.value(), {}, width);  // a scenario names files of models from the root
    if (r.planning) out += runners_up_text(*r.planning, width);
  }
  return out;
}

void add_rewrites(Json& j, const std::vector<pcg::Rewrite>& rewrites) {
  for (const pcg::Rewrite& r : rewrites)
    j["rewrites"].push_back({{"rule", r.rule}, {"up_to", r.up_to}, {"before_s", r.before.value()}, {"after_s", r.after.value()}});
}

void add_runners_up(Json& j, const scenarios::Planning& planning) {
  for (const search::LostCandidate& l : planning.lost) {
    Json candidate = {{"plan", l.candidate}};
    std::visit(WhyLost{candidate}, l.why);
    j["runners_up"].push_back(std::move(candidate));
  }
}

std::string why_text(const sim::SimulationResult& s, std::size_t width) {
  return stages_text(s, width) + path_text(s, width) + links_text(s, width);
}

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
