#include "reports/diff/diff.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/diagnostics.hpp"
#include "base/units.hpp"
#include "reports/layout/table.hpp"

namespace reports {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); }

// Leaves by their path, in order: "cluster.nodes", "plans[0].megatron.tensor".
using Leaves = std::vector<std::pair<std::string, std::string>>;
void collect(const Json& j, const std::string& path, Leaves& leaves) {
  if (j.is_object() && !j.empty())
    for (const auto& [key, value] : j.items()) collect(value, path.empty() ? key : path + "." + key, leaves);
  else if (j.is_array() && !j.empty())
    for (std::size_t i = 0; i < j.size(); ++i) collect(j[i], fmt::format("{}[{}]", path, i), leaves);
  else leaves.emplace_back(path, text_of(j));
}

std::vector<ChangedKey> changed_keys(const Json& before, const Json& after) {
  Leaves a, b;
  collect(before, "", a);
  collect(after, "", b);
  const std::map<std::string, std::string> old_values(a.begin(), a.end()), new_values(b.begin(), b.end());
  std::vector<ChangedKey> changed;
  for (const auto& [path, value] : a)
    if (const auto at = new_values.find(path); at == new_values.end() || at->second != value)
      changed.push_back({path, value, at == new_values.end() ? "" : at->second});
  for (const auto& [path, value] : b)
    if (!old_values.contains(path)) changed.push_back({path, "", value});
  return changed;
}

using RunKey = std::tuple<std::string, std::string, bool>;  // plan, variant, re-planned
RunKey key_of(const Json& run) {
  return {run.value("plan", ""), run.value("variant", ""), run.value("variant", "") == "base" || run.value("replanned", true)};
}

std::optional<double> seconds_of(const Json& run) {
  const auto at = run.find("iteration_time_s");
  return at != run.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

void fill_before(ChangedRun& c, const Json& run) {
  c.status_before = run.value("status", "");
  c.seconds_before = seconds_of(run);
  c.plan_before = run.value("plan_summary", "");
}

std::vector<ChangedRun> runs_of(const Json& before, const Json& after) {
  std::map<RunKey, const Json*> old_runs;
  for (const Json& run : before) old_runs.emplace(key_of(run), &run);
  std::vector<ChangedRun> runs;
  for (const Json& run : after) {
    ChangedRun& c = runs.emplace_back();
    c.plan = run.value("plan", "");
    c.variant = run.value("variant", "");
    c.status_after = run.value("status", "");
    c.seconds_after = seconds_of(run);
    c.plan_after = run.value("plan_summary", "");
    if (const auto at = old_runs.find(key_of(run)); at != old_runs.end()) {
      fill_before(c, *at->second);
      old_runs.erase(at);
    }
  }
  for (const Json& run : before) {
    if (!old_runs.contains(key_of(run))) continue;
    ChangedRun& c = runs.emplace_back();
    c.plan = run.value("plan", "");
    c.variant = run.value("variant", "");
    fill_before(c, run);
  }
  return runs;
}

bool is_result(const Json& j) { return j.is_object() && j.contains("runs") && j["runs"].is_array() && j.contains("question"); }

ResultDiff diff_of_one(const Json& before, const Json& after) {
  if (!is_result(before) || !is_result(after)) base::refuse("", "this is no result of format 2", "write both with foreshard run --json");
  return {after.value("scenario", ""), changed_keys(before["question"], after["question"]), runs_of(before["runs"], after["runs"])};
}

std::string time_text(const std::optional<double>& seconds, const std::string& status) {
  return seconds ? base::to_text(base::Seconds(*seconds)) : status.empty() ? "-" : status;
}

std::string change_text(const ChangedRun& r) {
  if (r.status_before.empty()) return "new";
  if (r.status_after.empty()) return "gone";
  if (!r.seconds_before || !r.seconds_after || *r.seconds_before <= 0) return r.status_before == r.status_after ? "" : "other status";
  const double change = 100 * (*r.seconds_after / *r.seconds_before - 1);
  return change == 0 ? "same" : fmt::format("{:+.1f} %", change);
}

}  // namespace

bool ResultDiff::is_beyond(double limit) const {
  return std::ranges::any_of(runs, [&](const ChangedRun& r) {
    if (r.status_before != r.status_after || r.seconds_before.has_value() != r.seconds_after.has_value()) return true;
    return r.seconds_before && std::abs(*r.seconds_after - *r.seconds_before) > limit * *r.seconds_before;
  });
}

std::vector<ResultDiff> diff_of(const Json& before, const Json& after) {
  if (before.is_array() != after.is_array() || (before.is_array() && before.size() != after.size()))
    base::refuse("", "the two files hold results of different numbers of scenarios", "write both with the same scenarios");
  if (!before.is_array()) return {diff_of_one(before, after)};
  std::vector<ResultDiff> all;
  for (std::size_t i = 0; i < before.size(); ++i) all.push_back(diff_of_one(before[i], after[i]));
  return all;
}

std::string diff_text(const ResultDiff& diff, std::size_t width) {
  std::string out = diff.scenario + "\n";
  if (diff.question.empty()) out += "  the question is the same\n";
  for (const ChangedKey& k : diff.question)
    out += hanging(fmt::format("  {}: {} -> {}", k.path, k.before.empty() ? "-" : k.before, k.after.empty() ? "-" : k.after), width);
  Table table({{"plan"}, {"variant"}, {"before", Align::right}, {"after", Align::right}, {"change", Align::right}, {"another plan"}});
  for (const ChangedRun& r : diff.runs)
    table.row(
        {r.plan, r.variant, time_text(r.seconds_before, r.status_before), time_text(r.seconds_after, r.status_after), change_text(r),
         r.plan_before == r.plan_after || r.plan_before.empty() || r.plan_after.empty() ? "" : r.plan_before + " -> " + r.plan_after});
  return out + table.text(2, width);
}

}  // namespace reports
