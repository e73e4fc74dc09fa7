#include "search/planners/automatic/automatic.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/processes/worker_pool.hpp"
#include "search/problem/budget.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/options.hpp"
#include "search/problem/result_codec.hpp"
#include "search/problem/search_result.hpp"

namespace search {
namespace {

constexpr double kBudget = 60;  // seconds

// The planner's defaults, and these limits where it searches.
struct Found {
  std::string planner;
  SearchResult result;
  std::optional<base::Seconds> time;  // of its plan, if that fits
};

Found ask(const Planner& planner, const Problem& problem, const SearchLimits& limits, const SearchContext& context) {
  SearchContext its = context;
  its.progress = nullptr;
  its.jobs = 1;
  OptionValues values(planner.options);
  values.limit(limits);
  Found f{planner.name(), planner.plan(problem, values, its), {}};
  if (f.result.best && problem.oracle.memory(*f.result.best).fits()) {
    if (!f.result.simulation) f.result.simulation = problem.oracle.plan(*f.result.best);
    f.time = f.result.simulation->iteration_time;
  }
  return f;
}

// The times of the plans, the quickest first, and why planners have none.
std::vector<base::Fact> what_was_found(const std::vector<Found>& all, const sim::Oracle& oracle) {
  base::Fact::Times times;
  std::vector<base::Fact> notes;
  for (const Found& f : all) {
    if (f.time) {
      times.emplace_back(f.planner, f.time->value());
    } else if (f.result.best) {
      const sim::MemoryUse memory = oracle.memory(*f.result.best);
      notes.emplace_back("planner-without-memory", f.planner, memory.peak.value(), memory.capacity.value());
    } else {
      notes.emplace_back("planner-without-plan", f.planner, to_text(f.result.termination));
    }
  }
  std::ranges::stable_sort(times, {}, &base::Fact::Times::value_type::second);
  if (!times.empty()) notes.insert(notes.begin(), base::Fact("planners-times", times));
  return notes;
}

// The findings of the planners that were asked before the time was up. `lost`: planners whose worker process was ended before it had
// answered, and how.
struct Asked {
  std::vector<Found> found;
  std::vector<std::string> lost;
};

// Asks every planner, in worker processes where there are several jobs.
Asked ask_all(const std::vector<Planner>& planners, const Problem& problem, const Budget& budget, const SearchContext& context) {
  // An equal share of the time that is left to this planner and those after it, as many at once as there are jobs; or of all candidates,
  // so that no planner's answer depends on another's.
  const auto asked = [&](std::size_t p) -> std::optional<Found> {
    if (budget.time_is_up()) return std::nullopt;
    const auto left = static_cast<double>(planners.size() - p), at_once = std::min(left, static_cast<double>(context.jobs));
    if (!budget.is_counted()) return ask(planners[p], problem, budget.left() * (at_once / left), context);
    return ask(planners[p], problem, budget.part(1 / static_cast<double>(planners.size())), context);
  };
  std::size_t done = 0;
  const auto finished = [&](std::size_t p) {
    if (context.progress) context.progress(fmt::format("{}: {} of {} planners have answered", planners[p].name(), ++done, planners.size()));
  };
  Asked all;
  if (context.jobs <= 1) {
    for (std::size_t p = 0; p < planners.size(); finished(p++))
      if (std::optional<Found> f = asked(p)) all.found.push_back(*std::move(f));
    return all;
  }
  const auto encoded = [&](std::size_t p) {
    const std::optional<Found> f = asked(p);
    return f ? nlohmann::json{{"result", f->result}, {"time", f->time}} : nlohmann::json();
  };
  const std::vector<base::WorkerAnswer> answers = base::try_workers(planners.size(), context.jobs, encoded, finished);
  for (std::size_t p = 0; p < answers.size(); ++p) {
    const base::WorkerAnswer& a = answers[p];
    if (a.fate != base::WorkerAnswer::Fate::answered) all.lost.push_back(fmt::format("{} ({})", planners[p].name(), a.ended));
    if (a.answer.is_null()) continue;
    Found& f = all.found.emplace_back(Found{planners[p].name(), {.termination = Termination::optimal()}, {}});
    a.answer.at("result").get_to(f.result);
    a.answer.at("time").get_to(f.time);
  }
  return all;
}

SearchResult best_of(const std::vector<Planner>& planners, const Problem& problem, const SearchLimits& limits,
                     const SearchContext& context) {
  Budget budget(context, limits);
  auto [all, lost] = ask_all(planners, problem, budget, context);
  const std::size_t not_asked = planners.size() - all.size() - lost.size();
  const std::vector<base::Fact> notes = what_was_found(all, problem.oracle);
  Confirmation confirmation(problem, context, "auto", Ties::to_quickest);
  for (Found& f : all) {
    std::optional<pcg::Plan>& plan = f.result.best ? f.result.best : f.result.closest;
    if (!plan) continue;
    plan->summary = fmt::format("{}: {}", f.planner, plan->summary);
    if (f.time) confirmation.take(std::move(*plan), std::move(*f.result.simulation));
    else confirmation.confirm(std::move(*plan));
  }
  std::vector<std::string> out_of_time, out_of_candidates;
  for (const Found& f : all) {
    const std::optional<Limit> limit = f.result.termination.limit();
    budget.add_part(f.result.counted, limit);
    if (limit == Limit::time || limit == Limit::effort) out_of_time.push_back(f.planner);
    if (limit == Limit::candidates) out_of_candidates.push_back(f.planner);
  }
  if (not_asked > 0 || !lost.empty()) budget.end(Limit::effort);
  SearchResult r = std::move(confirmation).result(budget);
  // Without any plan the reason of the last that was asked is given.
  if (!r.best && !r.closest && !budget.ended_by())
    for (Found& f : all)
      if (f.result.termination.is_infeasible()) r.termination = std::move(f.result.termination);
  r.notes.insert(r.notes.end(), notes.begin(), notes.end());
  if (!out_of_time.empty()) r.notes.emplace_back("planners-out-of-time", out_of_time);
  if (!out_of_candidates.empty()) r.notes.emplace_back("planners-out-of-candidates", out_of_candidates);
  if (!lost.empty()) r.notes.emplace_back("planners-lost", lost);
  if (not_asked > 0) r.notes.emplace_back("planners-not-asked", not_asked);
  return r;
}

}  // namespace

Planner auto_planner(std::vector<Planner> others) {
  std::erase_if(others, [](const Planner& p) { return !p.needs.empty(); });
  return {.kind = "auto",
          .about = "Every planner, within one budget; the best plan of all, and who found it.",
          .searches = true,
          .options = with_limits({base::Seconds(kBudget)}, "candidates, shared out evenly among the searches,", {}),
          .plan = [planners = std::move(others)](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return best_of(planners, p, limits_of(o), c);
          }};
}

}  // namespace search
