#include "scenarios/run.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/worker_pool.hpp"
#include "scenarios/answer.hpp"
#include "scenarios/run_codec.hpp"
#include "scenarios/variant.hpp"

namespace scenarios {
namespace {

using Answers = std::vector<Run>;

class Runner {
 public:
  Runner(const Scenario& scenario, const RunOptions& options) : scenario_(scenario), options_(options) {
    // Several progress lines at once would be noise: with workers only what is finished is told.
    if (options_.jobs > 1) worker_options_.progress = {};
  }

  ScenarioResult run() {
    variants_.push_back(load_variant(scenario_.document, scenario_.directory));
    for (std::size_t i = 0; i < scenario_.what_if.size(); ++i) variants_.push_back(load_what_if(i));
    total_ = variants_.size() * scenario_.plans.size();

    const std::size_t plans = scenario_.plans.size();
    const std::vector<Answers> base = all(
        plans, [&](std::size_t p) { return Answers{answer(entry(p), variants_[0], "base", nullptr, worker_options_, options_.trace)}; });
    const std::vector<Answers> changed = all(
        (variants_.size() - 1) * plans, [&](std::size_t i) { return answer_variant(1 + i / plans, i % plans, base[i % plans].front()); });

    ScenarioResult result;
    result.scenario = scenario_.name;
    for (const auto* answers : {&base, &changed})
      for (const Answers& a : *answers) result.runs.insert(result.runs.end(), a.begin(), a.end());
    return result;
  }

 private:
  const PlanEntry& entry(std::size_t p) const { return scenario_.plans[p]; }

  Variant load_what_if(std::size_t i) const {
    base::Diagnostics sink;
    base::Yaml document = patched(scenario_.document, scenario_.what_if[i], fmt::format("what_if[{}]", i), scenario_.directory, sink);
    sink.throw_if_any();
    return load_variant(std::move(document), scenario_.directory);
  }

  Answers answer_variant(std::size_t v, std::size_t p, const Run& base) const {
    const std::string& name = scenario_.what_if[v - 1].name;
    const bool same = base.made && is_same_question(variants_[0], variants_[v]);
    Answers answers;
    if (same) answers.push_back(answer_with_same_plan(base, variants_[v], name));
    Run again = answer(entry(p), variants_[v], name, same ? &answers[0] : nullptr, worker_options_, false);
    if (!same && base.made)
      again.notes.insert(again.notes.begin(), variants_[0].cluster.device_count() == variants_[v].cluster.device_count()
                                                  ? "the model or the training is another one: the plan is made anew"
                                                  : fmt::format("the base's plan is for {} GPUs, here are {}: the plan is made anew",
                                                                variants_[0].cluster.device_count(), variants_[v].cluster.device_count()));
    answers.push_back(std::move(again));
    return answers;
  }

  // work(i) for all i, here or in worker processes.
  std::vector<Answers> all(std::size_t count, const std::function<Answers(std::size_t)>& work) {
    std::vector<Answers> results;
    const auto finished = [&](std::size_t) {
      if (options_.progress) options_.progress(fmt::format("{} of {} answered", ++done_, total_));
    };
    if (options_.jobs > 1) {
      for (const std::string& text : base::run_workers(
               count, options_.jobs, [&](std::size_t i) { return encode(work(i)); }, finished))
        results.push_back(decode(text));
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
  std::vector<Variant> variants_;  // the base first
  std::size_t total_ = 0, done_ = 0;
};

}  // namespace

std::string_view to_text(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::out_of_memory: return "out_of_memory";
    case Status::infeasible: return "infeasible";
    case Status::time_limit: return "time_limit";
  }
  return "";
}

ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options) { return Runner(scenario, options).run(); }

}  // namespace scenarios
