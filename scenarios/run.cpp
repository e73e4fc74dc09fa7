#include "scenarios/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/processes/worker_pool.hpp"
#include "scenarios/answer.hpp"
#include "scenarios/capacity_answer.hpp"
#include "scenarios/run_codec.hpp"

namespace scenarios {
namespace {

using Answers = std::vector<Run>;

class Runner {
 public:
  Runner(const Scenario& scenario, const RunOptions& options) : scenario_(scenario), options_(options) {
    // Several progress lines at once would be noise: with workers the line counts what is finished.
    if (options_.jobs > 1) worker_options_.progress = {};
  }

  ScenarioResult run() {
    total_ = scenario_.variants.size() * scenario_.plans.size();

    const std::size_t plans = scenario_.plans.size();
    const std::vector<Answers> base = all(0, plans, [&](std::size_t p) {
      return Answers{answer(entry(p), scenario_.seen_by(p, 0), std::string(kBaseName), nullptr, worker_options_,
                            options_.trace ? Spans::keep : Spans::drop)};
    });
    const std::vector<Answers> changed = all(1, (scenario_.variants.size() - 1) * plans, [&](std::size_t i) {
      return answer_variant(1 + i / plans, i % plans, base[i % plans].front());
    });

    ScenarioResult result;
    result.scenario = scenario_.name;
    for (const auto* answers : {&base, &changed})
      for (const Answers& a : *answers) result.runs.insert(result.runs.end(), a.begin(), a.end());
    if (scenario_.capacity) answer_capacity(*scenario_.capacity, result);
    return result;
  }

 private:
  const PlanEntry& entry(std::size_t p) const { return scenario_.plans[p]; }

  Answers answer_variant(std::size_t v, std::size_t p, const Run& base) const {
    const std::string& name = scenario_.variants[v].name;
    const Variant variant = scenario_.seen_by(p, v);
    const bool same = base.made && is_same_question(scenario_.seen_by(p, 0), variant);
    Answers answers;
    if (same) answers.push_back(answer_with_same_plan(base, variant, name));
    Run again = answer(entry(p), variant, name, same ? &answers[0] : nullptr, worker_options_, Spans::drop);
    if (!same && base.made) again.base_gpus = base.gpus;
    answers.push_back(std::move(again));
    return answers;
  }

  void answer_capacity(const CapacityQuestion& question, ScenarioResult& result) {
    const std::size_t count = capacity_run_count(question);
    for (std::size_t i = 0; i < count; ++i) {
      result.capacity_runs.push_back(capacity_run(question, i, options_));
      if (options_.progress) options_.progress(fmt::format("capacity: {} of {} answered", i + 1, count));
    }
    result.capacity = capacity_answer(question, result.capacity_runs);
  }

  // A piece of work that was done in a worker process: of the plan entries in turn, on one variant after another from `first`.
  Answers taken(std::size_t first, std::size_t i, const base::WorkerAnswer& a) const {
    using Fate = base::WorkerAnswer::Fate;
    const std::size_t v = first + i / scenario_.plans.size(), p = i % scenario_.plans.size();
    if (a.fate != Fate::answered)
      return {unanswered(entry(p), scenario_.seen_by(p, v), scenario_.variants[v].name,
                         a.fate == Fate::crashed ? Status::crashed : Status::lost, a.ended)};
    Answers answers = decode(a.answer);
    if (!a.ended.empty())
      for (Run& r : answers)
        r.notes.push_back({base::NoteKind::problem,
                           fmt::format("its worker process ended before it had answered ({}); this is a second one's answer", a.ended)});
    return answers;
  }

  // work(i) for all i, here or in worker processes.
  std::vector<Answers> all(std::size_t first, std::size_t count, const std::function<Answers(std::size_t)>& work) {
    // What an entry may use of them for itself.
    worker_options_.jobs = std::max(1, options_.jobs / static_cast<int>(std::max<std::size_t>(1, count)));
    std::vector<Answers> results;
    const auto finished = [&](std::size_t) {
      if (options_.progress) options_.progress(fmt::format("{} of {} answered", ++done_, total_));
    };
    if (options_.jobs > 1) {
      const std::vector<base::WorkerAnswer> answers = base::try_workers(
          count, options_.jobs, [&](std::size_t i) { return encode(work(i)); }, finished);
      for (std::size_t i = 0; i < count; ++i) results.push_back(taken(first, i, answers[i]));
      return results;
    }
    for (std::size_t i = 0; i < count; ++i) {
      results.push_back(work(i));
      finished(i);
    }
    return results;
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  RunOptions worker_options_ = options_;
  std::size_t total_ = 0, done_ = 0;
};

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options) { return Runner(scenario, options).run(); }

}  // namespace scenarios
