#include "scenarios/answer/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.hpp"
#include "base/yaml/emit.hpp"
#include "scenarios/answer/answer.hpp"
#include "scenarios/answer/answer_store.hpp"
#include "scenarios/answer/capacity_answer.hpp"
#include "scenarios/answer/sensitivity.hpp"
#include "scenarios/answer/work_list.hpp"

namespace scenarios {
namespace {

using Answers = std::vector<Run>;

class Runner {
 public:
  Runner(const Scenario& scenario, const RunOptions& options) : scenario_(scenario), options_(options) {
    if (!options.resume.empty()) store_.emplace(options.resume);
  }

  ScenarioResult run() {
    const std::size_t plans = scenario_.plans.size();
    std::vector<Piece> first;
    for (std::size_t p = 0; p < plans; ++p) first.push_back(base_piece(p));
    const std::size_t machines = scenario_.capacity ? capacity_run_count(*scenario_.capacity) : 0;
    WorkList work(options_, store_ ? &*store_ : nullptr,
                  plans * (scenario_.variants.size() + kPiecesOfProbe * scenario_.probes.size()) + machines);

    result_.scenario = scenario_.name;
    for (auto& answers : work.answers(first, each_)) {
      base_.push_back(std::move(answers->front()));
      base_.back().made.keep_value();
    }
    result_.runs = base_;
    base_texts_.resize(plans);
    for (std::size_t p = 0; p < plans; ++p)
      if (base_[p].made) base_texts_[p] = digest(base_[p].made.text());

    std::vector<Piece> second;
    for (std::size_t v = 1; v < scenario_.variants.size(); ++v)
      for (std::size_t p = 0; p < plans; ++p) second.push_back(what_if_piece(v, p));
    const std::size_t what_ifs = second.size();
    for (std::size_t p = 0; p < plans; ++p)
      for (const Probe& probe : scenario_.probes) add_probe_pieces(probe, p, second);
    const std::size_t probes = second.size() - what_ifs;
    for (std::size_t i = 0; i < machines; ++i) second.push_back(capacity_piece(i));
    const std::vector<WorkList::Answer> answers = work.answers(second, each_);
    const std::span<const WorkList::Answer> all(answers);
    for (std::size_t i = 0; i < what_ifs; ++i) add_what_if(1 + i / plans, all[i]);
    add_sensitivity(all.subspan(what_ifs, probes));
    if (scenario_.capacity) add_capacity(all.subspan(what_ifs + probes));
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kPiecesOfProbe = 3;  // down, up, twice as good

  const PlanEntry& entry(std::size_t p) const { return scenario_.plans[p]; }

  // Stands for a plan's text, which may be as long as a thousand questions about it.
  static std::string digest(const std::string& text) {
    base::Hash other(1);
    for (const char c : text) other(static_cast<unsigned char>(c));
    return fmt::format("plan {:016x}{:016x} of {}\n", base::hash_text(text), other.value(), text.size());
  }

  // All that an answer depends on: but for its name, two variants may be the same.
  std::string question(std::string_view kind, const PlanEntry& e, const base::Yaml& document, std::string_view base) const {
    std::string text = fmt::format("{}\n{}\nseed {}\n{}: {}\n", options_.inputs, kind, options_.seed, e.name, e.text);
    text += base::emit_yaml(document);
    return text + std::string(base);
  }

  // `base`: the digest of a plan that the answer rests on.
  Piece piece(std::string_view kind, const PlanEntry& e, Variant v, const std::string& name, std::string_view base = {}) const {
    Piece piece;
    piece.question = question(kind, e, v.document, base);
    piece.unanswered = [&e, v = std::move(v), name](Status s, const std::string& ended) { return unanswered(e, v, name, s, ended); };
    return piece;
  }

  Variant seen_by(std::size_t p, std::size_t v) const { return scenario_.seen_by(p, scenario_.variants.load(v)); }

  Piece base_piece(std::size_t p) {
    const Variant v = seen_by(p, 0);
    Piece piece = this->piece(options_.trace ? "base, traced" : "base", entry(p), v, std::string(kBaseName));
    piece.needed = true;
    piece.answer = [this, p, v] {
      return Answers{answer(entry(p), v, std::string(kBaseName), nullptr, each_, options_.trace ? Spans::keep : Spans::drop)};
    };
    return piece;
  }

  Piece what_if_piece(std::size_t v, std::size_t p) {
    const WhatIf& named = scenario_.variants[v];
    Piece piece;
    piece.question =
        question(named.replan ? "same plan, then re-planned" : "same plan", entry(p), scenario_.variants.document(v), base_texts_[p]);
    piece.unanswered = [this, v, p](Status s, const std::string& ended) {
      return unanswered(entry(p), seen_by(p, v), scenario_.variants[v].name, s, ended);
    };
    piece.known = base_[p].made.value();
    piece.answer = [this, v, p] { return what_if_answers(v, p); };
    return piece;
  }

  // The same plan where it can be run, and a new one where that is asked for or there is no other.
  Answers what_if_answers(std::size_t v, std::size_t p) const {
    const WhatIf& named = scenario_.variants[v];
    const Variant variant = seen_by(p, v);
    const Run& base = base_[p];
    const bool same = base.made && is_same_question(seen_by(p, 0), variant);
    Answers answers;
    if (same) answers.push_back(answer_with_same_plan(base, variant, named.name));
    if (same && !named.replan) return answers;
    Run again = answer(entry(p), variant, named.name, same ? &answers[0] : nullptr, each_, Spans::drop);
    if (!same && base.made) again.base_gpus = base.gpus;
    answers.push_back(std::move(again));
    return answers;
  }

  // A point of a sweep may ask what another one asks, or a run that was kept: the name is this variant's.
  void add_what_if(std::size_t v, const WorkList::Answer& answers) {
    if (!answers) {
      ++result_.unanswered;
      return;
    }
    const WhatIf& named = scenario_.variants[v];
    for (const Run& r : *answers) {
      Run& run = result_.runs.emplace_back(r);
      run.variant = named.name;
      run.sweep = named.sweep;
      run.settings = named.settings;
    }
  }

  void add_probe_pieces(const Probe& probe, std::size_t p, std::vector<Piece>& pieces) {
    const auto same_plan = [&](const std::optional<Variant>& v) {
      const Variant seen = scenario_.seen_by(p, v ? *v : probe.improved);
      Piece piece = this->piece("probe", entry(p), seen, probe.parameter.path, base_texts_[p]);
      piece.known = base_[p].made.value();
      piece.answer = [this, p, seen, is_asked = v.has_value()] {
        const bool has_answer = is_asked && base_[p].simulation.has_value();
        return has_answer ? Answers{answer_with_same_plan(base_[p], seen, std::string(kBaseName))} : Answers{};
      };
      return piece;
    };
    pieces.push_back(same_plan(probe.down));
    pieces.push_back(same_plan(probe.up));
    if (!probe.parameter.is_capacity) {
      pieces.push_back(same_plan(probe.improved));
      return;
    }
    const Variant seen = scenario_.seen_by(p, probe.improved);
    Piece piece = this->piece("re-planned", entry(p), seen, probe.parameter.path, base_texts_[p]);
    piece.known = base_[p].made.value();
    piece.answer = [this, p, seen] {
      if (!base_[p].made) return Answers{answer(entry(p), seen, std::string(kBaseName), nullptr, each_, Spans::drop)};
      const Run same = answer_with_same_plan(base_[p], seen, std::string(kBaseName));
      return Answers{answer(entry(p), seen, std::string(kBaseName), &same, each_, Spans::drop)};
    };
    pieces.push_back(std::move(piece));
  }

  // The time of a probe; nullopt: none.
  static std::optional<base::Seconds> time_of(const WorkList::Answer& answer) {
    if (!answer || answer->empty() || !answer->front().simulation) return std::nullopt;
    return answer->front().simulation->iteration_time;
  }

  void add_sensitivity(std::span<const WorkList::Answer> answers) {
    for (std::size_t p = 0; p < scenario_.plans.size(); ++p) {
      std::vector<Sensitivity> of_plan;
      for (std::size_t i = 0; i < scenario_.probes.size(); ++i) {
        const Parameter& parameter = scenario_.probes[i].parameter;
        const WorkList::Answer* probed = &answers[(p * scenario_.probes.size() + i) * kPiecesOfProbe];
        for (std::size_t k = 0; k < kPiecesOfProbe; ++k) result_.unanswered += probed[k] ? 0U : 1U;
        if (!base_[p].simulation) continue;
        const auto down = time_of(probed[0]), up = time_of(probed[1]);
        if (!parameter.is_capacity && (!down || !up)) continue;  // lost, or not begun
        Sensitivity s{.plan = entry(p).name, .parameter = parameter.path, .change = improvement(parameter)};
        s.elasticity = parameter.is_capacity ? 0 : elasticity(*down, *up);
        s.replanned = parameter.is_capacity;
        s.time = base_[p].simulation->iteration_time;
        if (const auto improved = time_of(probed[2]); improved && probed[2]->front().status == Status::ok) s.improved = improved;
        of_plan.push_back(std::move(s));
      }
      rank(of_plan);
      result_.sensitivity.insert(result_.sensitivity.end(), of_plan.begin(), of_plan.end());
    }
  }

  Piece capacity_piece(std::size_t i) {
    const CapacityRun run = capacity_run(*scenario_.capacity, i);
    Piece piece = this->piece("capacity", run.entry, run.variant, run.name);
    piece.answer = [this, run] { return Answers{answer(run.entry, run.variant, run.name, nullptr, each_, Spans::drop)}; };
    return piece;
  }

  // What to buy follows from all machines together.
  void add_capacity(std::span<const WorkList::Answer> answers) {
    const auto not_begun = static_cast<std::size_t>(std::ranges::count(answers, false, &WorkList::Answer::has_value));
    result_.unanswered += not_begun;
    if (not_begun > 0) return;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      result_.capacity_runs.push_back(answers[i]->front());
      result_.capacity_runs.back().variant = capacity_run(*scenario_.capacity, i).name;
    }
    result_.capacity = capacity_answer(*scenario_.capacity, result_.capacity_runs);
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  RunOptions each_ = options_;  // what one piece may use
  std::optional<AnswerStore> store_;
  std::vector<Run> base_;                // per plan
  std::vector<std::string> base_texts_;  // of their plans
  ScenarioResult result_;
};

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options) { return Runner(scenario, options).run(); }

}  // namespace scenarios
