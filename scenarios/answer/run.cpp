#include "scenarios/answer/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.hpp"
#include "base/yaml/parse.hpp"
#include "scenarios/answer/answer.hpp"
#include "scenarios/answer/comparisons.hpp"
#include "scenarios/answer/work_list.hpp"
#include "scenarios/intervals/interval.hpp"

namespace scenarios {
namespace {

using Answers = std::vector<Run>;
using Answer = WorkList::Answer;

// The scenario and options that tasks refer to. Outlives them.
struct Asked {
  const Scenario& scenario;
  const RunOptions& options;

  [[nodiscard]] const PlanEntry& entry(std::size_t plan) const { return scenario.plans[plan]; }
  [[nodiscard]] PlanEntry entry(std::size_t plan, std::size_t variant) const { return scenario.entry(plan, scenario.variants[variant]); }
  [[nodiscard]] Variant seen_by(std::size_t plan, std::size_t variant) const {
    return scenarios::seen_by(entry(plan, variant), scenario.variants.load(variant));
  }
};

// A plan's run on the base, and a digest of the plan for questions that depend on it.
struct BaseRun {
  Run run;
  std::string digest;
};

// Tasks that are done together, each with the place of its answer.
struct Tasks {
  std::vector<Task> tasks;
  std::vector<Answer*> places;

  void add(Task task, Answer& place) {
    tasks.push_back(std::move(task));
    places.push_back(&place);
  }
  void do_by(WorkList& work) {
    std::vector<Answer> answers = work.answers(tasks);
    for (std::size_t i = 0; i < answers.size(); ++i) *places[i] = std::move(answers[i]);
  }
};

struct WhatIfAnswer {
  std::size_t variant = 0, plan = 0;
  Answer answer;
};

struct ProbeAnswer {
  const Probe& probe;
  std::size_t plan = 0;
  Answer down, up, improved;
};

// A plan's text may be as long as a thousand questions about it.
std::string digest(const StoredPlan& plan) {
  if (!plan) return {};
  const std::string text = plan.text();
  base::Hash other(1);
  for (const char c : text) other(static_cast<unsigned char>(c));
  return fmt::format("plan {:016x}{:016x} of {}\n", base::hash_text(text), other.value(), text.size());
}

// All that an answer depends on: but for its name, two variants may be the same.
std::string question(const RunOptions& options, std::string_view kind, const PlanEntry& e, const base::Yaml& document,
                     std::string_view base) {
  return fmt::format("{}\n{}\nseed {}\n{}: {}\n{}{}", options.inputs, kind, options.seed, e.name, e.text, base::emit_yaml(document), base);
}

// `base`: the digest of a plan that the answer is based on.
Task task_of(const RunOptions& options, std::string_view kind, const PlanEntry& e, Variant v, const std::string& name,
             std::string_view base = {}) {
  Task task;
  task.question = question(options, kind, e, v.document, base);
  task.unanswered = [&e, v = std::move(v), name](Status s, const std::string& ended) { return unanswered(e, v, name, s, ended); };
  return task;
}

Task base_task(const Asked& asked, std::size_t p) {
  const Variant v = asked.seen_by(p, 0);
  const bool traced = asked.options.trace;
  Task task = task_of(asked.options, traced ? "base, traced" : "base", asked.entry(p), v, std::string(kBaseName));
  task.needed = true;
  task.answer = [&asked, p, v, traced](const RunOptions& each) {
    return Answers{answer(asked.entry(p), v, std::string(kBaseName), nullptr, each, traced ? Spans::keep : Spans::drop)};
  };
  return task;
}

std::vector<BaseRun> base_runs(const Asked& asked, WorkList& work) {
  std::vector<Answer> answers(asked.scenario.plans.size());
  Tasks tasks;
  for (std::size_t p = 0; p < answers.size(); ++p) tasks.add(base_task(asked, p), answers[p]);
  tasks.do_by(work);
  std::vector<BaseRun> bases;
  for (Answer& a : answers) {
    Run& run = a->front();
    run.made.keep_value();
    bases.push_back({std::move(run), {}});
    bases.back().digest = digest(bases.back().run.made);
  }
  return bases;
}

// The same plan where it can be run, and a new one where that is asked for or there is no other.
Answers what_if_answers(const Asked& asked, const Run& base, std::size_t v, std::size_t p, const RunOptions& each) {
  const WhatIf& named = asked.scenario.variants[v];
  const Variant variant = asked.seen_by(p, v);
  const bool changed = asked.scenario.changes(named, p);
  const bool same = base.made && !changed && is_same_question(asked.seen_by(p, 0), variant);
  Answers answers;
  if (same) answers.push_back(answer_with_same_plan(base, variant, named.name));
  if (same && !named.replan) return answers;
  Run again = answer(asked.entry(p, v), variant, named.name, same ? &answers[0] : nullptr, each, Spans::drop);
  if (!same && !changed && base.made) again.base_gpus = base.gpus;
  answers.push_back(std::move(again));
  return answers;
}

// The variant is loaded where it is answered: a sweep has thousands.
Task what_if_task(const Asked& asked, const BaseRun& base, std::size_t v, std::size_t p) {
  const WhatIf& named = asked.scenario.variants[v];
  Task task;
  task.question = question(asked.options, named.replan ? "same plan, then re-planned" : "same plan", asked.entry(p, v),
                           asked.scenario.variants.document(v), base.digest);
  task.unanswered = [&asked, &named, v, p](Status s, const std::string& ended) {
    return unanswered(asked.entry(p, v), asked.seen_by(p, v), named.name, s, ended);
  };
  task.known = base.run.made.value();
  task.answer = [&asked, &base, v, p](const RunOptions& each) { return what_if_answers(asked, base.run, v, p, each); };
  return task;
}

// A point of a sweep may ask what another one asks, or a run that was kept: the name is this variant's.
void add_what_if(const Asked& asked, const WhatIfAnswer& a, ScenarioResult& result) {
  if (!a.answer) {
    ++result.unanswered;
    return;
  }
  const WhatIf& named = asked.scenario.variants[a.variant];
  for (const Run& r : *a.answer) {
    Run& run = result.runs.emplace_back(r);
    run.variant = named.name;
    run.sweep = named.sweep;
    run.settings = named.settings;
  }
}

// nullopt: a probe that is not there, which has no answer.
Task same_plan_task(const Asked& asked, const BaseRun& base, const ProbeAnswer& a, const std::optional<Variant>& v) {
  const Variant seen = seen_by(asked.entry(a.plan), v ? *v : a.probe.improved);
  Task task = task_of(asked.options, "probe", asked.entry(a.plan), seen, a.probe.parameter.path, base.digest);
  task.known = base.run.made.value();
  task.answer = [&base, seen, is_asked = v.has_value()](const RunOptions&) {
    const bool has_answer = is_asked && base.run.simulation.has_value();
    return has_answer ? Answers{answer_with_same_plan(base.run, seen, std::string(kBaseName))} : Answers{};
  };
  return task;
}

Task replanned_task(const Asked& asked, const BaseRun& base, const ProbeAnswer& a) {
  const Variant seen = seen_by(asked.entry(a.plan), a.probe.improved);
  Task task = task_of(asked.options, "re-planned", asked.entry(a.plan), seen, a.probe.parameter.path, base.digest);
  task.known = base.run.made.value();
  task.answer = [&asked, &base, seen, p = a.plan](const RunOptions& each) {
    const std::string name(kBaseName);
    if (!base.run.made) return Answers{answer(asked.entry(p), seen, name, nullptr, each, Spans::drop)};
    const Run same = answer_with_same_plan(base.run, seen, name);
    return Answers{answer(asked.entry(p), seen, name, &same, each, Spans::drop)};
  };
  return task;
}

// nullopt: it has no time.
std::optional<base::Seconds> time_of(const Answer& answer) {
  if (!answer || answer->empty() || !answer->front().simulation) return std::nullopt;
  return answer->front().simulation->iteration_time;
}

// nullopt: a time is not known, because a run was lost or not begun, or the base has none.
std::optional<Sensitivity> sensitivity_of(const Run& base, const ProbeAnswer& a) {
  const Parameter& parameter = a.probe.parameter;
  const auto down = time_of(a.down), up = time_of(a.up), improved = time_of(a.improved);
  if (!base.simulation || (!parameter.is_capacity && (!down || !up))) return std::nullopt;
  Sensitivity s{.plan = base.plan, .parameter = parameter.path, .change = improvement(parameter)};
  // Messages that meet in another order may cost a trace of time where a part is better: that is no property of the part.
  const double change = parameter.is_capacity ? 0 : elasticity(*down, *up);
  s.elasticity = parameter.more_is_worse ? std::max(change, 0.0) : std::min(change, 0.0);
  s.replanned = parameter.is_capacity;
  s.time = base.simulation->iteration_time;
  if (improved && a.improved->front().status == Status::ok) {
    s.improved = improved;
    s.speedup = speedup_of(shipped_intervals().pairs, a.improved->front(), base);
  }
  return s;
}

void add_sensitivities(const std::vector<BaseRun>& bases, const std::vector<ProbeAnswer>& probed, ScenarioResult& result) {
  for (std::size_t p = 0; p < bases.size(); ++p) {
    std::vector<Sensitivity> of_plan;
    for (const ProbeAnswer& a : probed) {
      if (a.plan != p) continue;
      for (const Answer* answer : {&a.down, &a.up, &a.improved}) result.unanswered += *answer ? 0U : 1U;
      if (auto s = sensitivity_of(bases[p].run, a)) of_plan.push_back(*std::move(s));
    }
    rank(of_plan);
    result.sensitivity.insert(result.sensitivity.end(), of_plan.begin(), of_plan.end());
  }
}

Task capacity_task(const Asked& asked, std::size_t i) {
  const CapacityRun run = capacity_run(*asked.scenario.capacity, i);
  Task task = task_of(asked.options, "capacity", run.entry, run.variant, run.name);
  task.answer = [run](const RunOptions& each) { return Answers{answer(run.entry, run.variant, run.name, nullptr, each, Spans::drop)}; };
  return task;
}

// The choice of a machine follows from all of them together.
void add_capacity(const CapacityQuestion& question, const std::vector<Answer>& answers, ScenarioResult& result) {
  const auto not_begun = static_cast<std::size_t>(std::ranges::count(answers, false, &Answer::has_value));
  result.unanswered += not_begun;
  if (not_begun > 0) return;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    result.capacity_runs.push_back(answers[i]->front());
    result.capacity_runs.back().variant = capacity_run(question, i).name;
  }
  result.capacity = capacity_answer(question, result.capacity_runs);
}

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options) {
  const Asked asked{scenario, options};
  std::optional<AnswerStore> store;
  if (!options.resume.empty()) store.emplace(options.resume);
  const std::size_t plans = scenario.plans.size(), machines = scenario.capacity ? capacity_run_count(*scenario.capacity) : 0;
  constexpr std::size_t kTasksOfProbe = 3;  // down, up, improved
  WorkList work(options, store ? &*store : nullptr, plans * (scenario.variants.size() + kTasksOfProbe * scenario.probes.size()) + machines);
  const std::vector<BaseRun> bases = base_runs(asked, work);

  std::vector<WhatIfAnswer> what_ifs;
  for (std::size_t v = 1; v < scenario.variants.size(); ++v)
    for (std::size_t p = 0; p < plans; ++p)
      if (scenario.asks(scenario.variants[v], p)) what_ifs.push_back({v, p, {}});
  std::vector<ProbeAnswer> probed;
  for (std::size_t p = 0; p < plans; ++p)
    for (const Probe& probe : scenario.probes) probed.push_back({probe, p, {}, {}, {}});
  std::vector<Answer> of_machines(machines);
  Tasks tasks;
  for (WhatIfAnswer& a : what_ifs) tasks.add(what_if_task(asked, bases[a.plan], a.variant, a.plan), a.answer);
  for (ProbeAnswer& a : probed) {
    const BaseRun& base = bases[a.plan];
    tasks.add(same_plan_task(asked, base, a, a.probe.down), a.down);
    tasks.add(same_plan_task(asked, base, a, a.probe.up), a.up);
    tasks.add(a.probe.parameter.is_capacity ? replanned_task(asked, base, a) : same_plan_task(asked, base, a, a.probe.improved),
              a.improved);
  }
  for (std::size_t i = 0; i < machines; ++i) tasks.add(capacity_task(asked, i), of_machines[i]);
  tasks.do_by(work);

  ScenarioResult result;
  result.scenario = scenario.name;
  result.question = scenario.question;
  result.subject = scenario.subject;
  result.program = options.program;
  result.seed = options.seed;
  for (const BaseRun& b : bases) result.runs.push_back(b.run);
  for (const WhatIfAnswer& a : what_ifs) add_what_if(asked, a, result);
  add_sensitivities(bases, probed, result);
  if (scenario.capacity) add_capacity(*scenario.capacity, of_machines, result);
  add_comparisons(shipped_intervals().pairs, result);
  return result;
}

double elasticity(base::Seconds down, base::Seconds up) { return std::log(up / down) / (2 * std::log(kProbeStep)); }

void rank(std::vector<Sensitivity>& all) {
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Sensitivity& s) { return std::abs(s.elasticity); });
}

}  // namespace scenarios
