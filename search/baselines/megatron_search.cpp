#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "search/baselines/baselines.hpp"
#include "search/estimate.hpp"

namespace search {
namespace {

using base::Seconds;

constexpr std::size_t kMostRefusals = 10;

struct Candidate {
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
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (out_of_time()) {
        result_.notes.push_back(fmt::format("time was up after {} of {} points of the grid", i, points.size()));
        return;
      }
      tell(fmt::format("megatron: {} of {} points of the grid", i, points.size()));
      auto plan = build(points[i]);
      if (!plan) continue;
      const std::vector<StageCost> costs = stage_costs(*plan, problem_.oracle);
      for (int zero : {0, 1})
        for (const pcg::Recompute recompute : {pcg::Recompute::none, pcg::Recompute::selective, pcg::Recompute::full}) {
          if (zero == 1 && points[i].data == 1) continue;
          plan->recompute = recompute;
          plan->zero = zero;
          MegatronConfig c = points[i];
          c.recompute = recompute;
          c.zero = zero;
          candidates_.push_back({c, estimate(costs, *plan)});
        }
    }
  }

  // From the best estimate on: what does not fit is left out, until enough was simulated whole.
  void confirm() {
    int simulated = 0;
    for (Candidate& c : candidates_) {
      if (simulated == config_.simulate_best || (simulated > 0 && out_of_time())) break;
      auto plan = build(c.config);
      if (!plan) continue;
      ++result_.candidates;
      const sim::MemoryUse memory = problem_.oracle.memory(*plan);
      if (!memory.fits()) {
        refuse(plan->summary, fmt::format("needs {} of {}", base::to_text(memory.peak), base::to_text(memory.capacity)));
        if (memory.peak < least_memory_) {
          least_memory_ = memory.peak;
          least_summary_ = plan->summary;
          capacity_ = memory.capacity;
        }
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
    result_.notes.push_back(fmt::format("best of {} points of the grid, {} simulated whole", candidates_.size(), losers_.size()));
  }

  void explain_nothing() {
    if (result_.stop_reason != StopReason::time_limit) result_.stop_reason = StopReason::infeasible;
    if (!least_summary_.empty())
      result_.notes.push_back(fmt::format("nothing in the grid fits: the least is {}, which needs {} of {}", least_summary_,
                                          base::to_text(least_memory_), base::to_text(capacity_)));
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
  base::Bytes least_memory_{std::numeric_limits<double>::infinity()}, capacity_;
  std::string least_summary_, last_error_;
};

}  // namespace

SearchResult megatron_search(const Problem& problem, const MegatronSearchConfig& config) { return Search(problem, config).run(); }

}  // namespace search
