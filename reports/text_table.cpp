#include "reports/text_table.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/comparison.hpp"
#include "reports/table.hpp"
#include "scenarios/run_notes.hpp"
#include "search/problem/wording.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::Status;

// Escape sequences of ECMA-48 (select graphic rendition), which every terminal understands.
constexpr const char* kRed = "\033[31m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kBold = "\033[1m";
constexpr const char* kPlain = "\033[0m";

std::string coloured(const std::string& text, const char* code, Colour colour) {
  return colour == Colour::terminal ? code + text + kPlain : text;
}

double share(base::Seconds part, const Run& r) {
  return r.simulation->iteration_time.value() > 0 ? part / r.simulation->iteration_time : 0;
}

std::string status_text(const Run& r, Colour colour) {
  switch (r.status) {
    case Status::ok: return coloured("ok", kGreen, colour);
    case Status::out_of_memory: return coloured("out of memory", kRed, colour);
    case Status::infeasible: return coloured("infeasible", kRed, colour);
    case Status::time_limit: return coloured("time limit", kRed, colour);
    case Status::lost: return coloured("lost", kRed, colour);
    case Status::crashed: return coloured("crashed", kRed, colour);
  }
  return {};
}

// The run of the same plan entry on the base.
const Run* base_of(const scenarios::ScenarioResult& result, const Run& r) {
  for (const Run& b : result.runs)
    if (b.is_of_base() && b.plan == r.plan && b.simulation) return &b;
  return nullptr;
}

// Throughput, not time: a variant with more GPUs has a larger batch, so its longer iteration may still be the better one.
std::string against_base(const scenarios::ScenarioResult& result, const Run& r) {
  const Run* b = base_of(result, r);
  if (r.is_of_base() || b == nullptr || !r.simulation) return "";
  return fmt::format("{:.2f}x", r.samples_per_s / b->samples_per_s);
}

// A plan that is not timed as the others are says so in its row.
std::string described(const Run& r) {
  return r.has_own_framework && r.simulation ? fmt::format("{}, under {}", r.plan_summary, r.framework) : r.plan_summary;
}

std::string how(const Run& r, bool repeated) {
  if (r.is_of_base() || !r.simulation) return described(r);
  if (repeated) return "unchanged: " + described(r);
  return fmt::format("{}: {}", r.replanned ? "re-planned" : "same plan", described(r));
}

std::vector<std::string> cells(const scenarios::ScenarioResult& result, const Run& r, bool repeated, Colour colour) {
  std::vector<std::string> c = {"  " + r.plan, how(r, repeated)};
  if (r.simulation) {
    const sim::SimulationResult& s = *r.simulation;
    c.insert(c.end(), {base::to_text(s.iteration_time), fmt::format("{:.4g}", r.samples_per_s), against_base(result, r), percent(r.mfu),
                       percent(share(s.breakdown.exposed_communication, r)), percent(share(s.breakdown.bubble, r)),
                       fmt::format("{} of {}", search::memory_text(s.memory.peak), search::memory_text(s.memory.capacity))});
  } else {
    c.resize(9, "-");  // a dash for each figure that the row has not
    c[4] = "";         // the column of the comparison stays empty, as for the base
  }
  c.push_back(status_text(r, colour));
  return c;
}

// Only plans that fit count, and only the base: what-ifs stand beside it in the table.
const Run* best_of_base(const scenarios::ScenarioResult& result) {
  const Run* best = nullptr;
  for (const Run& r : result.runs)
    if (r.is_of_base() && r.status == Status::ok && (best == nullptr || r.simulation->iteration_time < best->simulation->iteration_time))
      best = &r;
  return best;
}

// Two conventions are in use, and they differ where attention is causal.
std::string mfu_text(const Run& r) {
  if (r.mfu_causal == r.mfu) return percent(r.mfu);
  return fmt::format("{} with whole attention squares, as in the table; {} without their masked half", percent(r.mfu),
                     percent(r.mfu_causal));
}

std::string best_text(const Run& r, Colour colour) {
  const sim::SimulationResult& s = *r.simulation;
  const sim::Breakdown& b = s.breakdown;
  const sim::MemoryUse& m = s.memory;
  const auto part = [&](const char* name, base::Seconds t) {
    return fmt::format("{} {} ({})", name, base::to_text(t), percent(share(t, r)));
  };
  std::string out = fmt::format("\n{}: {} on {} GPUs\n", coloured("best", kBold, colour),
                                r.plan_summary.empty() ? r.plan : r.plan + ", " + described(r), r.gpus);
  out += fmt::format("  time    {}, {}, {}, {}\n", part("compute", b.compute), part("exposed communication", b.exposed_communication),
                     part("bubble", b.bubble), part("idle", b.idle));
  out += fmt::format("          interval {} to {}\n", base::to_text(r.interval_low), base::to_text(r.interval_high));
  out += fmt::format("  MFU     {}\n", mfu_text(r));
  out += fmt::format("  memory  weights {}, gradients {}, optimizer {}, activations {}, workspace {}\n", search::memory_text(m.weights),
                     search::memory_text(m.gradients), search::memory_text(m.optimizer), search::memory_text(m.activations),
                     search::memory_text(m.workspace));
  out += fmt::format("  sent    {}", base::to_text(s.bytes.total));
  for (const auto& [name, bytes] : s.bytes.by_collective) out += fmt::format(", {} {}", name, base::to_text(bytes));
  out += "\n";
  if (s.busiest_link) {
    out += fmt::format("          busiest link: {} ({}), at work {} of the time\n", s.busiest_link->type, s.busiest_link->name,
                       percent(s.busiest_link->busy));
  }
  return out;
}

// A run's name in the notes: what is the same for the same plan and for planning anew is said once.
std::string name_in_notes(const Run& r) { return r.is_of_base() ? r.plan : fmt::format("{} ({})", r.plan, r.variant); }

// Of the candidates that lost a search, so many are shown: more would hide the other notes. The JSON result has more.
constexpr std::size_t kMostLost = 3;

// Each note once, in the order in which it first comes, with the runs that it is about unless it is about all.
std::string notes_text(const scenarios::ScenarioResult& result, std::size_t most_lost) {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::size_t>> about;  // note -> indices of runs
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    for (const std::string& note : scenarios::run_notes(result.runs[i], most_lost)) {
      if (about[note].empty()) order.push_back(note);
      about[note].insert(i);
    }
  }
  std::string out = order.empty() ? "" : "\nnotes\n";
  constexpr std::size_t kNamed = 3;  // so many names leave room for the note in a line; the JSON result names every run
  for (const std::string& note : order) {
    std::vector<std::string> names;
    for (const std::size_t i : about[note])
      if (const std::string name = name_in_notes(result.runs[i]); std::ranges::find(names, name) == names.end()) names.push_back(name);
    std::string who =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)), ", "));
    if (names.size() > kNamed) who += fmt::format(" and {} more", names.size() - kNamed);
    if (about[note].size() == result.runs.size()) who = "all";
    out += fmt::format("  {}: {}\n", who, note);
  }
  return out;
}

}  // namespace

std::string text_table(const scenarios::ScenarioResult& result, Colour colour, Explained explained) {
  Table table({{"", Align::left},
               {"plan", Align::left},
               {"iteration", Align::right},
               {"samples/s", Align::right},
               {"vs base", Align::right},
               {"MFU", Align::right},
               {"exposed comm.", Align::right},
               {"bubble", Align::right},
               {"peak memory", Align::right},
               {"status", Align::left}});
  std::string variant;
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const Run& r = result.runs[i];
    if (i > 0 && is_repeated(r, result.runs[i - 1])) continue;
    const bool repeated = i + 1 < result.runs.size() && is_repeated(result.runs[i + 1], r);
    if (r.variant != variant) table.heading(coloured(r.variant, kBold, colour));
    variant = r.variant;
    table.row(cells(result, r, repeated, colour));
  }
  std::string out = coloured(result.scenario, kBold, colour) + "\n\n" + table.text();
  if (const Run* best = best_of_base(result)) out += best_text(*best, colour);
  if (explained == Explained::no) return out + notes_text(result, kMostLost);
  return out + comparison_text(result) + notes_text(result, 0) + explanation_text(result);
}

}  // namespace reports
