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

// Leaves by their path, in order: "cluster.nodes", "plans[0].megatron.tensor".
using Leaves = std::vector<std::pair<std::string, std::string>>;
void collect(const Json& j, const std::string& path, Leaves& leaves) {
  if (j.is_object() && !j.empty())
    for (const auto& [key, value] : j.items()) collect(value, path.empty() ? key : path + "." + key, leaves);
  else if (j.is_array() && !j.empty())
    for (std::size_t i = 0; i < j.size(); ++i) collect(j[i], fmt::format("{}[{}]", path, i), leaves);
  else leaves.emplace_back(path, j.is_string() ? j.get<std::string>() : j.dump());
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

ChangedRun::Side side_of(const Json& run) {
  const auto at = run.find("iteration_time_s");
  const bool is_timed = at != run.end() && at->is_number();
  return {run.value("status", ""), is_timed ? std::optional(at->get<double>()) : std::nullopt, run.value("plan_summary", "")};
}

std::vector<ChangedRun> runs_of(const Json& before, const Json& after) {
  std::map<RunKey, const Json*> old_runs;
  for (const Json& run : before) old_runs.emplace(key_of(run), &run);
  std::vector<ChangedRun> runs;
  for (const Json& run : after) {
    runs.push_back({run.value("plan", ""), run.value("variant", ""), {}, side_of(run)});
    if (const auto at = old_runs.find(key_of(run)); at != old_runs.end()) {
      runs.back().before = side_of(*at->second);
      old_runs.erase(at);
    }
  }
  for (const Json& run : before)
    if (old_runs.contains(key_of(run))) runs.push_back({run.value("plan", ""), run.value("variant", ""), side_of(run), {}});
  return runs;
}

ResultDiff diff_of_one(const Json& before, const Json& after) {
  return {after.value("scenario", ""), changed_keys(before["question"], after["question"]), runs_of(before["runs"], after["runs"])};
}

std::string time_text(const ChangedRun::Side& s) {
  return s.seconds ? base::to_text(base::Seconds(*s.seconds)) : s.status.empty() ? "-" : s.status;
}

std::string change_text(const ChangedRun& r) {
  const ChangedRun::Side &before = r.before, &after = r.after;
  if (before.status.empty()) return "new";
  if (after.status.empty()) return "gone";
  if (!before.seconds || !after.seconds || *before.seconds <= 0) return before.status == after.status ? "" : "other status";
  const double change = 100 * (*after.seconds / *before.seconds - 1);
  return change == 0 ? "same" : fmt::format("{:+.1f} %", change);
}

bool is_one_result(const Json& j) { return j.is_object() && j.contains("runs") && j["runs"].is_array() && j.contains("question"); }

}  // namespace

bool is_result(const Json& j) { return j.is_array() ? std::ranges::all_of(j, is_one_result) : is_one_result(j); }

bool ResultDiff::is_beyond(double limit) const {
  return std::ranges::any_of(runs, [&](const ChangedRun& r) {
    if (r.before.status != r.after.status || r.before.seconds.has_value() != r.after.seconds.has_value()) return true;
    return r.before.seconds && std::abs(*r.after.seconds - *r.before.seconds) > limit * *r.before.seconds;
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
  Table table({left("plan"), left("variant"), right("before"), right("after"), right("change"), left("another plan")});
  for (const ChangedRun& r : diff.runs)
    table.row(
        {r.plan, r.variant, time_text(r.before), time_text(r.after), change_text(r),
         r.before.plan == r.after.plan || r.before.plan.empty() || r.after.plan.empty() ? "" : r.before.plan + " -> " + r.after.plan});
  return out + table.text(2, width);
}

}  // namespace reports
