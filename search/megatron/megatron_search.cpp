#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "search/estimates/estimate.hpp"
#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

using base::Seconds;

constexpr std::size_t kMostRefusals = 10;

struct Candidate {
  std::size_t point = 0;  // of the grid
  MegatronConfig config;
  Seconds estimate;
};

std::vector<int> divisors(std::int64_t n, std::int64_t at_most) {
  std::vector<int> result;
  for (std::int64_t d = 1; d <= std::min(n, at_most); ++d)
    if (n % d == 0) result.push_back(static_cast<int>(d));
  return result;
}

int weighty_blocks(const pcg::Graph& g) { return static_cast<int>(std::ranges::count_if(g.blocks(), &pcg::Block::weighty)); }

// Degrees and micro-batches that come out even; what the model makes of them shows when the plan is built.
std::vector<MegatronConfig> grid_points(const Problem& problem) {
  const int devices = problem.cluster.device_count();
  std::vector<MegatronConfig> points;
  for (int tensor : divisors(devices, devices))
    for (int pipeline : divisors(devices / tensor, std::max(1, weighty_blocks(problem.model)))) {
      const int data = devices / tensor / pipeline;
      if (problem.training.global_batch % data != 0) continue;
      const std::int64_t replica = problem.training.global_batch / data;
      for (int micro_batch : divisors(replica, replica))
        for (int chunks : {1, 2, 4}) {
          if (chunks > 1 && (pipeline == 1 || replica / micro_batch % pipeline != 0)) continue;
          MegatronConfig c;
          c.tensor = tensor;
          c.pipeline = pipeline;
          c.data = data;
          c.micro_batch = micro_batch;
          c.chunks = chunks;
          c.schedule = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
          points.push_back(c);
        }
    }
  return points;
}

class Search {
 public:
  Search(const Problem& problem, const MegatronSearchConfig& config) : problem_(problem), config_(config) {
    if (config_.clock) start_ = config_.clock();
    for (std::size_t d = 0; d < problem.cluster.devices().size(); ++d) {
      const profiles::DeviceProfile& profile = problem.oracle.device(base::DeviceId(d));
      const base::Bytes memory = problem.cluster.devices()[d].memory.value_or(profile.memory);
      if (d == 0 || memory - profile.reserved < room_) room_ = memory - profile.reserved;
    }
  }

  SearchResult run() {
    rank();
    std::ranges::stable_sort(candidates_, {}, &Candidate::estimate);
    confirm();
    if (result_.best) explain_losers();
    else explain_nothing();
    return std::move(result_);
  }

 private:
  bool out_of_time() {
    if (!config_.clock || config_.clock() - start_ <= config_.budget) return false;
    result_.stop_reason = StopReason::time_limit;
    return true;
  }

  void tell(const std::string& text) const {
    if (config_.progress) config_.progress(text);
  }

  void refuse(const std::string& candidate, std::string reason) {
    if (result_.refusals.size() < kMostRefusals) result_.refusals.push_back({candidate, std::move(reason)});
  }

  std::optional<pcg::Plan> build(const MegatronConfig& c) {
    try {
      return megatron_plan(problem_, c);
    } catch (const PlanError& e) {
      last_error_ = e.what();
      return std::nullopt;
    }
  }

  // Every point of the grid by the sum of its kernels and collectives. Recomputation and ZeRO 1 change the sum, not the plan's graph.
  void rank() {
    const std::vector<MegatronConfig> points = grid_points(problem_);
    hopeless_.assign(points.size(), false);
    tried_frugal_.assign(points.size(), false);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (out_of_time()) {
        result_.notes.push_back(fmt::format("time was up after {} of {} points of the grid", i, points.size()));
        return;
      }
      tell(fmt::format("megatron: {} of {} points of the grid", i, points.size()));
      auto plan = build(points[i]);
      if (!plan) continue;
      Estimator estimates(*plan, problem_.oracle);
      pcg::Plan variant = *plan;
      for (int zero : {0, 1})
        for (const pcg::Recompute recompute : {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full}) {
          if (zero == 1 && points[i].data == 1) continue;
          variant.recompute = recompute;
          variant.zero = zero;
          MegatronConfig c = points[i];
          c.recompute = recompute;
          c.zero = zero;
          if (const base::Bytes states = estimates.model_states(variant); states > room_) refuse_states(variant, c, states);
          else candidates_.push_back({i, c, estimates.time(variant)});
        }
    }
  }

  // Weights, gradients and optimizer state alone are too much: no need to look closer.
  void refuse_states(const pcg::Plan& plan, const MegatronConfig& c, base::Bytes states) {
    ++too_big_;
    if (states >= least_.peak) return;
    least_.peak = states;
    least_.capacity = room_;
    least_summary_ = fmt::format("{}, recompute {}, zero {} (model states alone)", plan.summary,
                                 pcg::recompute_names()[static_cast<std::size_t>(c.recompute)], c.zero);
  }

  bool fits(const pcg::Plan& plan, std::string& why) {
    const sim::MemoryUse memory = problem_.oracle.memory(plan);
    if (memory.fits()) return true;
    why = fmt::format("needs {} of {}", memory_text(memory.peak), memory_text(memory.capacity));
    if (memory.peak < least_.peak) {
      least_ = memory;
      least_summary_ = plan.summary;
    }
    return false;
  }

  // A point of the grid whose most frugal variant does not fit either need not be asked about the others.
  void look_at_most_frugal(const Candidate& c, const pcg::Plan& plan) {
    if (tried_frugal_[c.point]) return;
    tried_frugal_[c.point] = true;
    pcg::Plan frugal = plan;
    frugal.recompute = pcg::Recompute::full;
    frugal.zero = 1;
    frugal.summary += " (even with recompute full and zero 1)";
    std::string why;
    if (fits(frugal, why)) return;
    refuse(frugal.summary, why);
    hopeless_[c.point] = true;
  }

  // From the best estimate on: what does not fit is left out, until enough was simulated whole.
  void confirm() {
    int simulated = 0;
    for (const Candidate& c : candidates_) {
      if (hopeless_[c.point]) continue;
      if (simulated == config_.simulate_best || out_of_time()) break;
      auto plan = build(c.config);
      if (!plan) continue;
      ++result_.candidates;
      if (std::string why; !fits(*plan, why)) {
        refuse(plan->summary, why);
        look_at_most_frugal(c, *plan);
        continue;
      }
      tell(fmt::format("megatron: simulating {}", plan->summary));
      const Seconds time = problem_.oracle.plan(*plan).iteration_time;
      ++simulated;
      losers_.push_back({plan->summary, time});
      if (result_.objective && *result_.objective <= time) continue;
      result_.objective = time;
      result_.best = std::move(plan);
    }
  }

  void explain_losers() {
    const Seconds best = *result_.objective;
    std::vector<Refusal> slower;
    std::ranges::stable_sort(losers_, {}, &Simulated::time);
    for (const Simulated& l : losers_)
      if (l.summary != result_.best->summary)
        slower.push_back({l.summary, fmt::format("{} against {}", base::to_text(l.time), base::to_text(best))});
    result_.refusals.insert(result_.refusals.begin(), slower.begin(), slower.end());
    if (result_.refusals.size() > kMostRefusals) result_.refusals.resize(kMostRefusals);
    result_.notes.push_back(
        fmt::format("best of {} points of the grid, {} simulated whole", candidates_.size() + too_big_, losers_.size()));
  }

  void explain_nothing() {
    if (result_.stop_reason != StopReason::time_limit) result_.stop_reason = StopReason::infeasible;
    if (!least_summary_.empty())
      result_.notes.push_back(fmt::format("nothing in the grid fits: the least is {}, which needs {} of {}", least_summary_,
                                          memory_text(least_.peak), memory_text(least_.capacity)));
    else result_.notes.push_back(fmt::format("no point of the grid can be built{}{}", last_error_.empty() ? "" : ": ", last_error_));
  }

  struct Simulated {
    std::string summary;
    Seconds time;
  };

  const Problem& problem_;
  const MegatronSearchConfig& config_;
  SearchResult result_;
  Seconds start_;
  std::vector<Candidate> candidates_;
  std::vector<Simulated> losers_;
  base::Bytes room_;                           // of a device, for tensors
  std::vector<bool> tried_frugal_, hopeless_;  // by point of the grid
  std::size_t too_big_ = 0;
  sim::MemoryUse least_{.peak = base::Bytes(std::numeric_limits<double>::infinity())};  // the nearest to fitting
  std::string least_summary_, last_error_;
};

}  // namespace

SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config) { return Search(problem, config).run(); }

}  // namespace search
