#include "search/automatic/automatic.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "search/problem/confirmation.hpp"
#include "search/problem/deadline.hpp"

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
  Found f{planner.name(), planner.plan(problem, values_within(planner, budget), its), {}};
  if (f.result.best && problem.oracle.memory(*f.result.best).fits()) {
    if (!f.result.simulation) f.result.simulation = problem.oracle.plan(*f.result.best);
    f.time = f.result.simulation->iteration_time;
  }
  return f;
}

// "unity 1.2 s, alpa 1.3 s; no plan that fits: inter-op".
std::string what_was_found(const std::vector<Found>& all) {
  std::vector<const Found*> sorted;
  for (const Found& f : all) sorted.push_back(&f);
  std::ranges::stable_sort(sorted, {}, [](const Found* f) { return f->time ? f->time->value() : std::numeric_limits<double>::infinity(); });
  std::string found, nothing;
  for (const Found* f : sorted) {
    std::string& text = f->time ? found : nothing;
    if (!text.empty()) text += ", ";
    text += f->time ? fmt::format("{} {:.4g} s", f->planner, f->time->value()) : f->planner;
  }
  return fmt::format("{}{}", found, nothing.empty() ? "" : fmt::format("{}no plan that fits: {}", found.empty() ? "" : "; ", nothing));
}

SearchResult best_of(const std::vector<Planner>& planners, const Problem& problem, base::Seconds budget, const SearchContext& context) {
  const Deadline deadline(context, budget);
  std::vector<Found> all;
  std::size_t not_asked = 0;
  for (std::size_t p = 0; p < planners.size(); ++p) {
    if (deadline.has_passed()) {
      not_asked = planners.size() - p;
      break;
    }
    all.push_back(ask(planners[p], problem, deadline.left() / static_cast<double>(planners.size() - p), context));
    if (context.progress && all.back().time) context.progress(fmt::format("{}: {:.4g} s", all.back().planner, all.back().time->value()));
  }
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
    if (f.result.termination.limit()) ended.push_back(f.planner);
  const bool cut_off = not_asked > 0 || !ended.empty();
  SearchResult r = std::move(confirmation).result(cut_off);
  // Without any plan the reason of the last that was asked stands for all.
  if (!r.best && !r.closest && !cut_off)
    for (Found& f : all)
      if (f.result.termination.is_infeasible()) r.termination = std::move(f.result.termination);
  r.notes.push_back(what_was_found(all));
  if (!ended.empty()) r.notes.push_back(fmt::format("searches that their share of the time ended: {}", fmt::join(ended, ", ")));
  if (not_asked > 0) r.notes.push_back(fmt::format("{} planners were not asked: the time was up", not_asked));
  return r;
}

}  // namespace

Planner auto_planner(std::vector<Planner> others) {
  std::erase_if(others, [](const Planner& p) { return !p.needs.empty(); });
  return {.kind = "auto",
          .about = "Every planner in turn, within one budget; the best plan of all, and who found it.",
          .searches = true,
          .options = {{"budget", Duration{base::Seconds(kBudget)}, "the time that all searches together may take"}},
          .plan = [planners = std::move(others)](const Problem& p, const OptionValues& o, const SearchContext& c) {
            return best_of(planners, p, o.duration("budget"), c);
          }};
}

}  // namespace search
