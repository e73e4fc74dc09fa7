#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "reports/reports.hpp"
#include "reports/table.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::Status;

constexpr const char* kRed = "\033[31m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kBold = "\033[1m";
constexpr const char* kPlain = "\033[0m";

std::string coloured(std::string text, const char* code, bool colour) { return colour ? code + text + kPlain : text; }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double share(base::Seconds part, const Run& r) { return r.simulation->iteration_time.value() > 0 ? part / r.simulation->iteration_time : 0; }

std::string status_text(const Run& r, bool colour) {
  switch (r.status) {
    case Status::ok: return coloured("ok", kGreen, colour);
    case Status::out_of_memory: return coloured("out of memory", kRed, colour);
    case Status::infeasible: return coloured("infeasible", kRed, colour);
    case Status::time_limit: return coloured("time limit", kRed, colour);
  }
  return {};
}

// The run of the same plan entry on the base.
const Run* base_of(const scenarios::ScenarioResult& result, const Run& r) {
  for (const Run& b : result.runs)
    if (b.variant == "base" && b.plan == r.plan && b.simulation) return &b;
  return nullptr;
}

std::string against_base(const scenarios::ScenarioResult& result, const Run& r) {
  const Run* b = base_of(result, r);
  if (r.variant == "base" || b == nullptr || !r.simulation) return "";
  return fmt::format("{:.2f}x", r.samples_per_s / b->samples_per_s);
}

std::string how(const Run& r) {
  if (r.variant == "base" || !r.simulation) return r.plan_summary;
  return fmt::format("{}: {}", r.replanned ? "re-planned" : "same plan", r.plan_summary);
}

std::vector<std::string> cells(const scenarios::ScenarioResult& result, const Run& r, bool colour) {
  std::vector<std::string> c = {"  " + r.plan, how(r)};
  if (r.simulation) {
    const sim::SimulationResult& s = *r.simulation;
    c.insert(c.end(), {base::to_text(s.iteration_time), fmt::format("{:.4g}", r.samples_per_s), against_base(result, r), percent(r.mfu),
                       percent(share(s.breakdown.exposed_communication, r)), percent(share(s.breakdown.bubble, r)),
                       fmt::format("{} of {}", base::to_text(s.memory.peak), base::to_text(s.memory.capacity))});
  } else {
    c.resize(9, "-");
    c[4] = "";
  }
  c.push_back(status_text(r, colour));
  return c;
}

const Run* best_of_base(const scenarios::ScenarioResult& result) {
  const Run* best = nullptr;
  for (const Run& r : result.runs)
    if (r.variant == "base" && r.status == Status::ok && (best == nullptr || r.simulation->iteration_time < best->simulation->iteration_time)) best = &r;
  return best;
}

std::string best_text(const Run& r, bool colour) {
  const sim::SimulationResult& s = *r.simulation;
  const sim::Breakdown& b = s.breakdown;
  const sim::MemoryUse& m = s.memory;
  const auto part = [&](const char* name, base::Seconds t) { return fmt::format("{} {} ({})", name, base::to_text(t), percent(share(t, r))); };
  std::string out = fmt::format("\n{}: {} on {} GPUs\n", coloured("best", kBold, colour), r.plan_summary.empty() ? r.plan : r.plan + ", " + r.plan_summary, r.gpus);
  out += fmt::format("  time    {}, {}, {}, {}\n", part("compute", b.compute), part("exposed communication", b.exposed_communication), part("bubble", b.bubble),
                     part("idle", b.idle));
  out += fmt::format("          90 % interval {} to {}\n", base::to_text(r.interval_low), base::to_text(r.interval_high));
  out += fmt::format("  memory  weights {}, gradients {}, optimizer {}, activations {}, workspace {}\n", base::to_text(m.weights), base::to_text(m.gradients),
                     base::to_text(m.optimizer), base::to_text(m.activations), base::to_text(m.workspace));
  out += fmt::format("  sent    {}", base::to_text(s.bytes.total));
  for (const auto& [name, bytes] : s.bytes.by_collective) out += fmt::format(", {} {}", name, base::to_text(bytes));
  return out + "\n";
}

// Each note once, in the order in which it first comes, with the runs that it is about unless it is about all.
std::string notes_text(const scenarios::ScenarioResult& result) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> about;
  for (const Run& r : result.runs)
    for (const std::string& note : r.notes) {
      auto& runs = about[note];
      if (runs.empty()) order.push_back(note);
      const std::string run = r.variant == "base" ? r.plan : fmt::format("{} ({}{})", r.plan, r.variant, r.replanned ? "" : ", same plan");
      if (std::ranges::find(runs, run) == runs.end()) runs.push_back(run);
    }
  std::string out = order.empty() ? "" : "\nnotes\n";
  constexpr std::size_t kNamed = 3;
  for (const std::string& note : order) {
    const auto& runs = about[note];
    std::string who;
    for (std::size_t i = 0; i < std::min(runs.size(), kNamed); ++i) who += (i == 0 ? "" : ", ") + runs[i];
    if (runs.size() > kNamed) who += fmt::format(" and {} more", runs.size() - kNamed);
    out += runs.size() == result.runs.size() ? fmt::format("  all runs: {}\n", note) : fmt::format("  {}: {}\n", who, note);
  }
  return out;
}

}  // namespace

std::string text_table(const scenarios::ScenarioResult& result, bool colour) {
  using Align = Table::Align;
  Table table({{"", Align::left}, {"plan", Align::left}, {"iteration", Align::right}, {"samples/s", Align::right}, {"vs base", Align::right}, {"MFU", Align::right},
               {"exposed comm.", Align::right}, {"bubble", Align::right}, {"peak memory", Align::right}, {"status", Align::left}});
  std::string variant;
  for (const Run& r : result.runs) {
    if (r.variant != variant) table.heading(coloured(r.variant, kBold, colour));
    variant = r.variant;
    table.row(cells(result, r, colour));
  }
  std::string out = coloured(result.scenario, kBold, colour) + "\n\n" + table.text();
  if (const Run* best = best_of_base(result)) out += best_text(*best, colour);
  return out + notes_text(result);
}

}  // namespace reports
