#include "reports/comparison.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "reports/json_numbers.hpp"
#include "reports/layout/table.hpp"
#include "reports/layout/time_unit.hpp"
#include "search/problem/search_result.hpp"

namespace reports {
namespace {

using scenarios::Run;
using scenarios::ScenarioResult;

constexpr double kLeastShare = 0.01;  // of the largest term: smaller ones explain nothing

using Terms = std::vector<std::pair<std::string, base::Seconds>>;
constexpr std::string_view kExposed = "exposed communication";

Terms terms_of(const sim::Breakdown& b) {
  return {{"compute", b.compute},
          {std::string(kExposed), b.exposed_communication},
          {"bubble", b.bubble},
          {"imbalance", b.imbalance},
          {"idle", b.idle}};
}

base::Seconds size_of(base::Seconds s) { return base::Seconds(std::abs(s.value())); }

// "100 ms more bubble, 20 ms less idle", the largest first; without those that are below a share of `largest`.
std::vector<std::string> terms_text(Terms terms, base::Seconds largest) {
  std::ranges::stable_sort(terms, std::ranges::greater(), [](const auto& t) { return size_of(t.second); });
  std::vector<std::string> words;
  for (const auto& [name, seconds] : terms)
    if (seconds != base::Seconds() && size_of(seconds) >= largest * kLeastShare)
      words.push_back(fmt::format("{} {} {}", base::to_text(size_of(seconds)), seconds > base::Seconds() ? "more" : "less", name));
  return words;
}

// " (90 ms more all_reduce; 90 ms more over pcie)".
std::string exposed_text(const sim::Breakdown& b, base::Seconds largest) {
  Terms by_link;
  for (const auto& [type, seconds] : b.exposed_by_link) by_link.emplace_back("over " + type, seconds);
  const std::vector<std::string> collectives = terms_text({b.exposed_by_collective.begin(), b.exposed_by_collective.end()}, largest),
                                 links = terms_text(std::move(by_link), largest);
  if (collectives.empty() || links.empty()) return "";
  return fmt::format(" ({}; {})", fmt::join(collectives, ", "), fmt::join(links, ", "));
}

std::string terms_text(const sim::Breakdown& b) {
  Terms terms = terms_of(b);
  base::Seconds largest;
  for (const auto& [name, seconds] : terms) largest = std::max(largest, size_of(seconds));
  for (auto& [name, seconds] : terms)
    if (name == kExposed) name += exposed_text(b, largest);
  return fmt::format("{}", fmt::join(terms_text(std::move(terms), largest), ", "));
}

std::map<std::string, base::Seconds> difference(std::map<std::string, base::Seconds> mine,
                                                const std::map<std::string, base::Seconds>& its) {
  for (const auto& [name, seconds] : its) mine[name] = mine[name] - seconds;
  return mine;
}

nlohmann::ordered_json exposed_json(const sim::Breakdown& b) {
  nlohmann::ordered_json j;
  for (const auto& [name, seconds] : b.exposed_by_collective) j["by_collective"][name] = seconds.value();
  for (const auto& [type, seconds] : b.exposed_by_link) j["by_link"][type] = seconds.value();
  return j;
}

// The runs that were simulated, each once.
std::vector<const Run*> runs_compared(const ScenarioResult& result) {
  std::vector<const Run*> runs;
  for (std::size_t i = 0; i < result.runs.size(); ++i)
    if (result.runs[i].simulation && (i == 0 || !is_repeated(result.runs[i], result.runs[i - 1]))) runs.push_back(&result.runs[i]);
  return runs;
}

std::string named(const Run& r) { return r.is_of_base() || r.replanned ? r.plan : r.plan + ", same plan"; }

Columns<Run> columns_of(const char* title) {
  Columns<Run> c;
  c.add(left(title), [](const Run& r) { return "  " + named(r); });
  return c;
}

std::string table_of(const Columns<Run>& columns, const std::vector<const Run*>& runs, std::size_t width) {
  Table table(columns.headings);
  std::string variant;
  for (const Run* r : runs) {
    if (r->variant != variant) table.heading(r->variant);
    variant = r->variant;
    table.row(columns.row(*r));
  }
  return table.text_in_parts(width);
}

std::string times_table(const std::vector<const Run*>& runs, std::size_t width) {
  Columns<Run> c = columns_of("time");
  c.add(right("iteration"), [](const Run& r) { return base::to_text(r.simulation->iteration_time); });
  for (const auto& [title, part] :
       {std::pair("compute", &sim::Breakdown::compute), std::pair("exposed comm.", &sim::Breakdown::exposed_communication),
        std::pair("bubble", &sim::Breakdown::bubble), std::pair("imbalance", &sim::Breakdown::imbalance),
        std::pair("idle", &sim::Breakdown::idle)})
    c.add(right(title), [part](const Run& r) { return base::to_text(r.simulation->breakdown.*part); });
  c.add(right("search"), [](const Run& r) { return r.planning ? base::to_text(r.search_time) : ""; });
  for (const auto& [title, bound] :
       {std::pair("objective", &scenarios::Planning::objective), std::pair("bound", &scenarios::Planning::bound)}) {
    const auto is_known = [bound](const Run& r) { return r.planning && (*r.planning.*bound).has_value(); };
    if (std::ranges::any_of(runs, [&](const Run* r) { return is_known(*r); }))
      c.add(right(title), [=](const Run& r) { return is_known(r) ? base::to_text(*(*r.planning.*bound)) : "-"; });
  }
  return table_of(c, runs, width);
}

std::string bytes_table(const std::vector<const Run*>& runs, std::size_t width) {
  Columns<Run> c = columns_of("sent");
  c.add(right("all"), [](const Run& r) { return traffic_text(r.simulation->bytes.total); });
  const std::size_t without_names = c.cells.size();
  for (const auto map : {&sim::CommunicationBytes::by_collective, &sim::CommunicationBytes::by_link}) {
    std::set<std::string> names;
    for (const Run* r : runs)
      for (const auto& [name, bytes] : r->simulation->bytes.*map)
        if (bytes > base::Bytes()) names.insert(name);
    for (const std::string& name : names)
      c.add(right(map == &sim::CommunicationBytes::by_link ? "over " + name : name), [map, name](const Run& r) {
        const auto at = (r.simulation->bytes.*map).find(name);
        return at == (r.simulation->bytes.*map).end() ? "-" : traffic_text(at->second);
      });
  }
  return c.cells.size() == without_names ? "" : table_of(c, runs, width);
}

}  // namespace

std::optional<Behind> behind(const ScenarioResult& result, const Run& run) {
  const Run* quickest = result.best_on(run.variant);
  if (quickest == nullptr || quickest == &run || !run.simulation) return std::nullopt;
  const sim::SimulationResult &mine = *run.simulation, &its = *quickest->simulation;
  if (mine.memory.is_tight() && mine.iteration_time < its.iteration_time) return std::nullopt;
  if (run.plan == quickest->plan && have_same_plan(run, *quickest)) return std::nullopt;
  const sim::Breakdown &a = mine.breakdown, &b = its.breakdown;
  return Behind{.quickest = quickest,
                .time = mine.iteration_time - its.iteration_time,
                .terms = {a.compute - b.compute, a.exposed_communication - b.exposed_communication, a.bubble - b.bubble,
                          a.imbalance - b.imbalance, a.idle - b.idle, difference(a.exposed_by_collective, b.exposed_by_collective),
                          difference(a.exposed_by_link, b.exposed_by_link)},
                .shortage = mine.memory.fits() ? base::Bytes() : mine.memory.peak - mine.memory.capacity};
}

std::string behind_text(const Behind& b) {
  const std::string terms = terms_text(b.terms);
  std::string out = b.time > base::Seconds()   ? fmt::format("{} behind {}", base::to_text(b.time), b.quickest->plan)
                    : b.time < base::Seconds() ? fmt::format("{} ahead of {}", base::to_text(size_of(b.time)), b.quickest->plan)
                                               : fmt::format("as quick as {}", b.quickest->plan);
  if (b.shortage > base::Bytes()) out += fmt::format(", and needs {} more memory than there is", search::memory_text(b.shortage));
  return terms.empty() ? out : out + ": " + terms;
}

void add_exposed(nlohmann::ordered_json& j, const sim::Breakdown& b) {
  if (!b.exposed_by_collective.empty()) j["exposed_communication_s"] = exposed_json(b);
}

void add_behind(nlohmann::ordered_json& j, const ScenarioResult& result, const Run& run) {
  const std::optional<Behind> b = behind(result, run);
  if (!b) return;
  const sim::Breakdown& t = b->terms;
  j["behind"] = {{"plan", b->quickest->plan},
                 {"seconds", b->time.value()},
                 {"terms",
                  {{"compute", t.compute.value()},
                   {"exposed_communication", t.exposed_communication.value()},
                   {"bubble", t.bubble.value()},
                   {"imbalance", t.imbalance.value()},
                   {"idle", t.idle.value()}}}};
  add_exposed(j["behind"], t);
  if (b->shortage > base::Bytes()) j["behind"]["memory_shortage_bytes"] = count(b->shortage);
}

std::string comparison_text(const ScenarioResult& result, std::size_t width) {
  const std::vector<const Run*> runs = runs_compared(result);
  if (runs.size() < 2) return "";
  std::string lines;
  for (const Run* r : runs)
    if (const auto b = behind(result, *r))
      lines +=
          hanging(fmt::format("  {}{}: {}", named(*r), r->is_of_base() ? "" : fmt::format(" ({})", r->variant), behind_text(*b)), width);
  std::string out = "\n" + times_table(runs, width);
  if (const std::string bytes = bytes_table(runs, width); !bytes.empty()) out += "\n" + bytes;
  return lines.empty() ? out : out + "\nbehind the quickest plan that fits\n" + lines;
}

bool is_repeated(const Run& r, const Run& same) {
  return r.replanned && !same.replanned && r.plan == same.plan && r.variant == same.variant && have_same_plan(r, same);
}

}  // namespace reports
