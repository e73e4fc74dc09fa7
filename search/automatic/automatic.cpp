#include "search/automatic/automatic.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/processes/worker_pool.hpp"
#include "search/problem/confirmation.hpp"
#include "search/problem/deadline.hpp"
#include "search/problem/result_codec.hpp"
#include "search/problem/wording.hpp"

namespace search {
namespace {

constexpr double kBudget = 240;  // seconds

// The planner's defaults, and so much time where it has a budget.
OptionValues values_within(const Planner& planner, base::Seconds budget) {
  std::vector<Option> options = planner.options;
  for (Option& o : options)
    if (auto* time = std::get_if<Duration>(&o.type); time != nullptr && o.key == "budget") time->by_default = budget;
  return OptionValues(options);
}

// What one planner has found.
struct Found {
  std::string planner;
  SearchResult result;
  std::optional<base::Seconds> time;  // of its plan, if that fits
};

Found ask(const Planner& planner, const Problem& problem, base::Seconds budget, const SearchContext& context) {
  SearchContext its = context;
  its.progress = nullptr;
  its.jobs = 1;
  Found f{planner.name(), planner.plan(problem, values_within(planner, budget), its), {}};
  if (f.result.best && problem.oracle.memory(*f.result.best).fits()) {
    if (!f.result.simulation) f.result.simulation = problem.oracle.plan(*f.result.best);
    f.time = f.result.simulation->iteration_time;
  }
  return f;
}

// "unity 1.2 s, alpa 1.3 s".
std::string what_was_found(const std::vector<Found>& all) {
  std::vector<const Found*> sorted;
  for (const Found& f : all)
    if (f.time) sorted.push_back(&f);
  std::ranges::stable_sort(sorted, {}, [](const Found* f) { return *f->time; });
  std::vector<std::string> texts;
  for (const Found* f : sorted) texts.push_back(fmt::format("{} {:.4g} s", f->planner, f->time->value()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string why_nothing(const Found& f, const sim::Oracle& oracle) {
  if (!f.result.best) return to_text(f.result.termination);
  const sim::MemoryUse memory = oracle.memory(*f.result.best);
  return to_text(std::variant<Slower, NeedsMemory>(NeedsMemory{memory.peak, memory.capacity}));
}

nlohmann::json encode(const std::optional<Found>& f) {
  if (!f) return {};
  return {{"result", f->result}, {"time", f->time}};
}

// What the planners found; nullopt: the time was up before. `lost`: planners whose worker process was ended before it had answered, and
// how.
struct Asked {
  std::vector<std::optional<Found>> found;
  std::vector<std::string> lost;
};

// Asks every planner, in worker processes where there are several jobs.
Asked ask_all(const std::vector<Planner>& planners, const Problem& problem, const Deadline& deadline, const SearchContext& context) {
  // An equal share of the time that is left to this planner and those behind it, as many at once as there are jobs.
  const auto asked = [&](std::size_t p) -> std::optional<Found> {
    if (deadline.has_passed()) return std::nullopt;
    const auto left = static_cast<double>(planners.size() - p), at_once = std::min(left, static_cast<double>(context.jobs));
    return ask(planners[p], problem, deadline.left() * (at_once / left), context);
  };
  std::size_t done = 0;
  const auto finished = [&](std::size_t p) {
    if (context.progress) context.progress(fmt::format("{}: {} of {} planners have answered", planners[p].name(), ++done, planners.size()));
  };
  Asked all;
  if (context.jobs <= 1) {
    for (std::size_t p = 0; p < planners.size(); finished(p++)) all.found.push_back(asked(p));
    return all;
  }
  for (const base::WorkerAnswer& a : base::try_workers(
           planners.size(), context.jobs, [&](std::size_t p) { return encode(asked(p)); }, finished)) {
    std::optional<Found>& f = all.found.emplace_back();
    const std::string name = planners[all.found.size() - 1].name();
    if (a.fate != base::WorkerAnswer::Fate::answered) all.lost.push_back(fmt::format("{} ({})", name, a.ended));
    if (a.answer.is_null()) continue;
    f = Found{name, {.termination = Termination::optimal()}, {}};
    a.answer.at("result").get_to(f->result);
    a.answer.at("time").get_to(f->time);
  }
  return all;
}

SearchResult best_of(const std::vector<Planner>& planners, const Problem& problem, base::Seconds budget, const SearchContext& context) {
  const Deadline deadline(context, budget);
  std::vector<Found> all;
  Asked asked = ask_all(planners, problem, deadline, context);
  for (std::optional<Found>& f : asked.found)
    if (f) all.push_back(std::move(*f));
  const std::size_t not_asked = planners.size() - all.size() - asked.lost.size();
  const std::string found = what_was_found(all);
  std::vector<std::string> without;
  for (const Found& f : all)
    if (!f.time) without.push_back(fmt::format("no plan of {}: {}", f.planner, why_nothing(f, problem.oracle)));
  Confirmation confirmation(problem, context, "auto");
  for (Found& f : all) {
    std::optional<pcg::Plan>& plan = f.result.best ? f.result.best : f.result.closest;
    if (!plan) continue;
    plan->summary = fmt::format("{}: {}", f.planner, plan->summary);
    if (f.time) confirmation.take(std::move(*plan), std::move(*f.result.simulation));
    else confirmation.confirm(std::move(*plan));
  }
  std::vector<std::string> ended;
  for (const Found& f : all)
    if (f.result.termination.limit() == Limit::time) ended.push_back(f.planner);
  const bool cut_off = not_asked > 0 || !ended.empty() || !asked.lost.empty();
  SearchResult r = std::move(confirmation).result(cut_off);
  // Without any plan the reason of the last that was asked stands for all.
  if (!r.best && !r.closest && !cut_off)
    for (Found& f : all)
      if (f.result.termination.is_infeasible()) r.termination = std::move(f.result.termination);
  if (!found.empty()) r.notes.push_back(found);
  r.notes.insert(r.notes.end(), without.begin(), without.end());
  if (!ended.empty()) r.notes.push_back(fmt::format("searches that their share of the time ended: {}", fmt::join(ended, ", ")));
  if (!asked.lost.empty())
    r.notes.push_back(fmt::format("planners whose worker process was ended, twice: {}", fmt::join(asked.lost, ", ")));
  if (not_asked > 0) r.notes.push_back(fmt::format("{} planners were not asked: the time was up", not_asked));
  return r;
}

}  // namespace

Planner auto_planner(std::vector<Planner> others) {
  std::erase_if(others, [](const Planner& p) { return !p.needs.empty(); });
  return {.kind = "auto",
          .about = "Every planner, within one budget; the best plan of all, and who found it.",
          .searches = true,
          .options = {{"budget", Duration{base::Seconds(kBudget)}, "the time that all searches together may take"}},
          .plan = [planners = std::move(others)](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return best_of(planners, p, o.duration("budget"), c);
          }};
}

}  // namespace search
