#include "search/planners/megatron/ranking.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "search/grid/grid_plan.hpp"

namespace search {
namespace {

// Megatron-LM's interleaved schedule is reported with few virtual stages per device (arXiv 2104.04473, sections 2.2 and 5.4.2); more are
// tried where they divide a stage's layers.
constexpr std::int64_t kFewChunks = 8;

// Ascending. Cost: O(sqrt n).
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// The experts of a layer, as many as all such layers have in common; 1 where there are none.
std::int64_t experts_of(const pcg::Graph& model) {
  std::int64_t experts = 0;
  for (const pcg::GraphNode& n : model.nodes())
    if (std::holds_alternative<pcg::ExpertLinear>(n.op)) experts = std::gcd(experts, n.outputs[0].sizes[0]);
  return std::max<std::int64_t>(1, experts);
}

bool has_sequence(const pcg::Graph& model) {
  return std::ranges::any_of(model.nodes(), [](const pcg::GraphNode& n) {
    return std::holds_alternative<pcg::Attention>(n.op) || std::holds_alternative<pcg::Embedding>(n.op);
  });
}

class Points {
 public:
  Points(const Problem& problem, const Wishes& wishes) : problem_(problem), wishes_(wishes) {}

  std::vector<GridConfig> run() && {
    for (const std::int64_t group : divisors(devices_))
      for (const std::int64_t context : contexts_)
        if (group % context == 0) add_cuts(group / context, context);
    return std::move(points_);
  }

 private:
  void add_cuts(std::int64_t tensor, std::int64_t context) {
    if (wishes_.tensor_within_node() && static_cast<std::size_t>(tensor) > problem_.cluster.node_devices(0).size()) return;
    GridConfig c;
    c.tensor = static_cast<int>(tensor);
    c.context = static_cast<int>(context);
    for (const std::int64_t expert : experts_)
      for (const bool sequence_parallel : {false, true}) {
        if (sequence_parallel && tensor == 1) continue;
        c.expert = static_cast<int>(expert);
        c.sequence_parallel = sequence_parallel;
        for (const std::int64_t micro_batch : micro_batches_) {
          c.micro_batch = micro_batch;
          add_pipelines(c);
        }
      }
  }

  void add_pipelines(GridConfig c) {
    const std::int64_t rest = devices_ / c.tensor / c.context, from_data = c.expert / std::gcd(c.expert, c.context);
    for (std::int64_t pipeline = 1; pipeline <= std::min(rest, std::max<std::int64_t>(1, layers_)); ++pipeline) {
      if (rest % pipeline != 0 || rest / pipeline % from_data != 0) continue;
      c.pipeline = static_cast<int>(pipeline);
      c.data = static_cast<int>(rest / pipeline);
      if (batch_ % (c.data * c.micro_batch) == 0) add_chunks(c);
    }
  }

  void add_chunks(GridConfig c) {
    const std::int64_t longest = layers_ / c.pipeline;
    for (std::int64_t chunks = 1; chunks <= std::max<std::int64_t>(1, longest); ++chunks) {
      const bool divides = layers_ % (c.pipeline * chunks) == 0;
      if (chunks > kFewChunks && !divides) continue;
      if (chunks > 1 && (c.pipeline == 1 || batch_ / c.data / c.micro_batch % c.pipeline != 0)) break;
      c.chunks = static_cast<int>(chunks);
      c.schedule = chunks > 1 ? pcg::ScheduleKind::interleaved : pcg::ScheduleKind::one_f_one_b;
      // Where layers do not divide, stages are balanced in any case.
      for (const bool balanced : {false, true}) {
        if (balanced && (c.pipeline == 1 || !divides)) continue;
        c.balanced_stages = balanced;
        GridConfig point = c;
        wishes_.adapt(point);
        if (wishes_.allow(point, Wishes::Decided::point)) points_.push_back(std::move(point));
      }
    }
  }

  const Problem& problem_;
  const Wishes& wishes_;
  std::int64_t devices_ = problem_.cluster.device_count(), batch_ = problem_.training.global_batch;
  std::int64_t layers_ = std::ranges::count_if(problem_.model.blocks(), &pcg::Block::weighty);
  std::vector<std::int64_t> experts_ = divisors(experts_of(problem_.model)), micro_batches_ = divisors(batch_);
  std::vector<std::int64_t> contexts_ = divisors(has_sequence(problem_.model) ? devices_ : 1);
  std::vector<GridConfig> points_;
};

constexpr double kNever = std::numeric_limits<double>::infinity();
// A line of micro-batches ends where a larger one gains less than a tenth and takes this many times the best: products grow more
// efficient with their size ever more slowly, and fewer micro-batches fill a pipeline worse.
constexpr double kLeastGainOfMore = 0.9, kFarSlower = 1.5;

// Memory for tensors of the device that has most.
double most_room(const Problem& problem) {
  double room = 0;
  for (std::size_t d = 0; d < problem.cluster.devices().size(); ++d) {
    const profiles::DeviceProfile& profile = problem.oracle.device(base::DeviceId(d));
    room = std::max(room, (problem.cluster.devices()[d].memory.value_or(profile.memory) - profile.reserved).value());
  }
  return room;
}

// Points of one line have all in common but micro-batch and stages.
bool in_one_line(const GridConfig& a, const GridConfig& b) {
  return std::tie(a.tensor, a.context, a.expert, a.sequence_parallel) == std::tie(b.tensor, b.context, b.expert, b.sequence_parallel);
}

class Ranker {
 public:
  Ranker(const Problem& problem, const Wishes& wishes, PlanBounds& bounds)
      : wishes_(wishes),
        recomputations_(recomputations_of(problem.model)),
        layers_(std::ranges::count_if(problem.model.blocks(), &pcg::Block::weighty)),
        bounds_(bounds) {
    ranking_.room = most_room(problem);
  }

  Ranking run(std::span<const GridConfig> points, Budget& budget, const SearchContext& context) {
    const GridConfig* before = nullptr;
    for (std::size_t first = 0, end = 0; first < points.size(); first = end) {
      while (end < points.size() && in_one_line(points[first], points[end]) && points[first].micro_batch == points[end].micro_batch) ++end;
      const std::span<const GridConfig> cut = points.subspan(first, end - first);
      for (const GridConfig& c : cut) ranking_.plans += plans_of(c);
      if (before == nullptr || !in_one_line(*before, cut.front())) line_ = {};
      before = &cut.front();
      if (context.progress) context.progress(fmt::format("megatron: {} of {} points of the grid sketched", first, points.size()));
      if (!budget.take()) prune(cut, ranking_.pruned.unreached);
      else add_cut(cut);
    }
    // Stable: among equals the order of the grid decides, so that the answer does not depend on the library.
    std::ranges::stable_sort(ranking_.families, {}, [](const Family& f) { return f.variants.front().seconds; });
    return std::move(ranking_);
  }

 private:
  struct Line {
    double best = kNever;                  // seconds of the micro-batch before
    std::size_t PrunedCounts::*over = {};  // larger micro-batches are pruned, for this reason
  };
  [[nodiscard]] static int zero_stages(const GridConfig& c) { return c.data * c.context > 1 ? 4 : 1; }
  [[nodiscard]] std::size_t plans_of(GridConfig c) const {
    std::size_t plans = 0;
    for (c.zero = 0; c.zero < zero_stages(c); ++c.zero)
      for (const pcg::Recompute r : recomputations_) c.recompute = r, plans += wishes_.allow(c) ? 1 : 0;
    return plans;
  }
  void prune(std::span<const GridConfig> points, std::size_t& why) const {
    for (const GridConfig& c : points) why += plans_of(c);
  }

  void add_cut(std::span<const GridConfig> points) {
    if (line_.over != nullptr) return prune(points, ranking_.pruned.*line_.over);
    if (const Refusal* refused = bounds_.refusal(points.front())) {
      ranking_.refusal = *refused;
      return prune(points, ranking_.pruned.refused);
    }
    double best = kNever;
    for (const GridConfig& c : points) best = std::min(best, add_point(c));
    best_ = std::min(best_, best);
    // The memory that a micro-batch needs only grows with it.
    if (best == kNever) line_.over = &PrunedCounts::too_big;
    else if (best > kLeastGainOfMore * line_.best && best > kFarSlower * best_) line_.over = &PrunedCounts::dominated;
    line_.best = best;
  }

  // Returns the seconds of its quickest plan that fits.
  double add_point(const GridConfig& point) {
    // The costs that balance layers are those with recomputation: then each kind has its own stages.
    const bool apart = point.pipeline > 1 && (point.balanced_stages || layers_ % (point.pipeline * point.chunks) != 0);
    double best = kNever;
    Family family{point, {}};
    for (const pcg::Recompute recompute : recomputations_) {
      if (apart) family = {point, {}};
      if (apart) family.config.recompute = recompute;
      add_variants(family, recompute);
      if (apart || recompute == recomputations_.back()) best = std::min(best, add_family(family));
    }
    return best;
  }

  void add_variants(Family& family, pcg::Recompute recompute) {
    GridConfig c = family.config;
    c.recompute = recompute;
    for (c.zero = 0; c.zero < zero_stages(c); ++c.zero) {
      if (!wishes_.allow(c)) continue;
      const PlanBound bound = bounds_.bound(c);
      if (bound.bytes <= ranking_.room) family.variants.push_back({{recompute, c.zero}, bound.seconds});
      else too_big(c, bound.bytes);
    }
  }

  double add_family(Family family) {
    if (family.variants.empty()) return kNever;
    std::ranges::stable_sort(family.variants, {}, &RankedVariant::seconds);
    const double best = family.variants.front().seconds;
    ranking_.families.push_back(std::move(family));
    return best;
  }

  void too_big(const GridConfig& c, double bytes) {
    ++ranking_.pruned.too_big;
    if (bytes >= least_too_big_) return;
    least_too_big_ = bytes;
    ranking_.smallest = c;
  }

  const Wishes& wishes_;
  std::vector<pcg::Recompute> recomputations_;
  std::int64_t layers_;
  PlanBounds& bounds_;
  double best_ = kNever, least_too_big_ = kNever;
  Line line_;
  Ranking ranking_;
};

}  // namespace

std::vector<GridConfig> grid_points(const Problem& problem, const Wishes& wishes) { return Points(problem, wishes).run(); }

Ranking rank(const Problem& problem, const Wishes& wishes, PlanBounds& bounds, Budget& budget, const SearchContext& context) {
  return Ranker(problem, wishes, bounds).run(grid_points(problem, wishes), budget, context);
}

}  // namespace search
