#include "scenarios/answer/comparisons.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace scenarios {
namespace {

bool has_time(const Run& run) { return run.simulation && run.simulation->iteration_time > base::Seconds(0) && run.samples_per_s > 0; }

// nullptr: the entry has no time on the base.
const Run* base_of(const ScenarioResult& result, const Run& run) {
  const auto at = std::ranges::find_if(result.runs, [&](const Run& b) { return b.is_of_base() && b.plan == run.plan && has_time(b); });
  return at == result.runs.end() ? nullptr : &*at;
}

bool are_equally_quick(const PairModel& model, const Run& a, const Run& b) {
  const auto speedup = speedup_of(model, a, b);
  return speedup && speedup->is_exact() && speedup->ratio == 1;
}

// The machine that the answer names: what others are compared with.
std::optional<std::size_t> named_machine(const CapacityResult& capacity) {
  for (const auto& chosen : {capacity.choices.cheapest, capacity.choices.smallest})
    if (chosen) return chosen;
  const auto first = std::ranges::find_if(capacity.entries, [](const CapacityEntry& e) { return e.outcome.has_value(); });
  return first == capacity.entries.end() ? std::nullopt : std::optional(static_cast<std::size_t>(first - capacity.entries.begin()));
}

// Time to train, failures included: these are certain beside the iteration time.
void compare_machines(const PairModel& model, const std::vector<Run>& runs, CapacityResult& capacity) {
  const std::optional<std::size_t> named = named_machine(capacity);
  if (!named) return;
  const CapacityEntry against = capacity.entries[*named];
  for (CapacityEntry& e : capacity.entries)
    if (e.outcome && against.outcome)
      e.speedup = speedup_interval(model, runs[e.asked.run].facts, runs[against.asked.run].facts, against.outcome->time / e.outcome->time);
}

// A factor that makes part of the cluster better: "4x" of a bandwidth or a speed, "0.5x" of a latency.
bool improves(const std::string& path, const std::string& value) {
  double factor = 0;
  const char* const all = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), all, factor);
  if (error != std::errc() || std::string_view(end, all) != "x") return false;
  return path.ends_with("latency") ? factor < 1 : (path.ends_with("bandwidth") || path.ends_with("_speed")) && factor > 1;
}

// No quicker link costs time by itself. Where messages of many devices keep step, those that went one after another may meet on a link when
// one of them comes sooner.
void note_anomaly(Run& run) {
  constexpr double kShown = 5e-4;  // less is rounding of a time
  const bool better = !run.settings.empty() && std::ranges::all_of(run.settings, [](const auto& s) { return improves(s.first, s.second); });
  if (!better || run.replanned || !run.against_base || !(run.against_base->ratio < 1 - kShown)) return;
  run.notes.push_back(
      {base::NoteKind::caution, "better-is-slower",
       fmt::format("the same plan is {:.1f} % slower with it: messages that went one after another meet on a link now; other "
                   "micro-batches or another order of them part them again",
                   100 * (1 / run.against_base->ratio - 1))});
}

}  // namespace

double own_spread(const Run& run) { return run.interval_low > base::Seconds(0) ? std::log(run.interval_high / run.interval_low) / 2 : 0; }

std::optional<Speedup> speedup_of(const PairModel& model, const Run& run, const Run& against) {
  if (!has_time(run) || !has_time(against)) return std::nullopt;
  const bool tokens = run.tokens_per_s > 0 && against.tokens_per_s > 0;  // another model may have samples of another length
  return speedup_interval(model, run.facts, against.facts,
                          tokens ? run.tokens_per_s / against.tokens_per_s : run.samples_per_s / against.samples_per_s);
}

std::optional<Favourite> favourite_of(const PairModel& model, const ScenarioResult& result) {
  const Run* best = result.best_of_base();
  if (best == nullptr || !has_time(*best)) return std::nullopt;
  Favourite favourite;
  std::vector<Rival> rivals;
  std::vector<const Run*> others;  // of equal ones the first
  for (const Run& r : result.runs) {
    if (!r.is_of_base() || r.status != Status::ok || !has_time(r)) continue;
    ++favourite.of;
    if (are_equally_quick(model, r, *best)) {
      favourite.plans.push_back(r.plan);
    } else if (std::ranges::none_of(others, [&](const Run* o) { return are_equally_quick(model, r, *o); })) {
      others.push_back(&r);
      const Speedup s = *speedup_of(model, *best, r);
      rivals.push_back({std::max(0.0, std::log(s.ratio)), std::log(s.high / s.low) / 2});
    }
  }
  if (favourite.of < 2) return std::nullopt;
  favourite.probability = probability_of_best(rivals, model.level);
  return favourite;
}

void add_comparisons(const PairModel& model, ScenarioResult& result) {
  const Run* best = result.best_of_base();
  for (Run& r : result.runs) {
    if (r.is_of_base()) continue;
    const Run* base = base_of(result, r);
    if (base != nullptr) r.against_base = speedup_of(model, r, *base);
    note_anomaly(r);
    if (best != nullptr && best != base) r.against_best = speedup_of(model, r, *best);
  }
  result.favourite = favourite_of(model, result);
  if (result.capacity) compare_machines(model, result.capacity_runs, *result.capacity);
}

}  // namespace scenarios
